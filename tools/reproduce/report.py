"""The report: tables.md, figures, and the number-carrying blocks of the README, all from stored results."""

from __future__ import annotations

import re
from pathlib import Path

from data_scripts import registry
from tools.reproduce import checks, explain_tables, figures, tables
from tools.reproduce.store import Store, write_atomically
from tools.reproduce.summary import TASK_OF, OurTable

_HEAD = """\
# Tables

Made by `python -m tools.reproduce` from the files in raw/; what they mean is in [README.md](README.md).

"""
# a block of README.md that is filled in from results
_BLOCK = re.compile(r"(<!-- begin (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write(store: Store) -> list[checks.Check]:
    """Write all of the report that the results at hand allow; returns the checks."""
    found = {task: store.load(task) for task in sorted(set(TASK_OF.values()))}
    # by the rows that were there, since a reader may have the complete table
    partial = {
        name
        for results in found.values()
        for name, splits in results.items()
        if registry.is_partial(name, sum(splits[0]["sizes"]))
    }
    collected = {
        predictor: OurTable(predictor, found[task], partial)
        for predictor, task in TASK_OF.items()
        if found[task]
    }
    if not collected:
        print("no results of tables yet")
        return []
    list_of_checks = checks.all_checks(collected)
    found["landmarks"] = store.load("landmarks")
    seconds = {
        task: {
            "runs": sum(len(splits) for splits in results.values()),
            "cpu": sum(one.get("cpu_seconds", 0.0) for splits in results.values() for one in splits),
        }
        for task, results in found.items()
        if results
    }
    drawn = figures.draw_all(collected, store.folder / "figures")
    blocks = {
        "checks": tables.check_list(list_of_checks),
        "time": tables.time_table(seconds),
        "ties": tables.ties_text(collected),
        **{f"agreement-{name}": tables.agreement_text(table) for name, table in collected.items()},
        **{f"ranks-{name}": tables.rank_table(table) for name, table in collected.items()},
        **{f"extra-{name}": tables.extra_table(table) for name, table in collected.items()},
        **explain_tables.blocks(store),
    }
    text = "\n\n".join(
        [
            _HEAD + tables.LEGEND,
            *(tables.section(table) for table in collected.values()),
            "## Checks",
            blocks["checks"],
            "## Time",
            blocks["time"],
            "## Figures",
            "\n".join(f"- [{name}](figures/{name})" for name in drawn),
        ]
    )
    write_atomically(store.folder / "tables.md", text + "\n")
    fill(store.folder / "README.md", blocks)
    print(tables.check_list(list_of_checks))
    print(f"written: {store.folder / 'tables.md'} and {len(drawn)} figures")
    return list_of_checks


def fill(path: Path, blocks: dict[str, str]) -> None:
    """Replace the text between ``<!-- begin name -->`` and ``<!-- end -->``; blocks without numbers stay."""
    if not path.exists():
        return

    def replaced(match: re.Match[str]) -> str:
        block = blocks.get(match["name"])
        return match[0] if block is None else f"{match[1]}\n{block}\n\n{match[3]}"

    text = path.read_text(encoding="utf-8")
    filled = _BLOCK.sub(replaced, text)
    if filled != text:
        write_atomically(path, filled)
