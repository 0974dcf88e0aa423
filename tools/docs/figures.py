"""Figures that README and the pages repeat, from the model cards and results/.

    python tools/docs/figures.py            says which pages are out of date; exit code 1 if any is
    python tools/docs/figures.py --write    brings them up to date

A statement is a piece of a page with the names of figures in place of its numbers. The page must say the same
words, line breaks aside; its numbers are compared, or replaced.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
CARD = "facereject/pretrained/CARD.md"
MESH_CARD = "facereject/pretrained/CARD-mesh.md"

#: page, words with figures
STATEMENTS = [
    *(
        (
            "README.md",
            f"| {words} | {{{m}.clean.usable:.0f}} % | {{{m}.clean.plain:.0f}} % | "
            f"{{{m}.degraded.usable:.0f}} % | {{{m}.degraded.plain:.0f}} % |",
        )
        for m, words in (
            ("dlib", "`dlib`: dlib's detector and landmarks, as in the paper"),
            (
                "default",
                "**`default`**: YuNet finds faces; two runs of dlib's predictor are averaged and corrected",
            ),
            ("thorough", "**`thorough`**: six runs are averaged; slower"),
        )
    ),
    (
        "README.md",
        "is {default.percent.set_aside:.2f} on the photos set aside. dlib's predictor was trained on those, "
        "so its errors there are too small; with a predictor that was not, the ratio is "
        "{default.percent.unseen:.2f}. On the London Set it is {default.percent.london:.2f} if the "
        "difference between the annotation rules of both data sets is taken out, and "
        "{default.percent.marked:.2f} if not",
    ),
    (
        "README.md",
        "reaches {others.share.score:.0f} % of the way from a random to the best possible ranking, their own "
        "confidences {others.share.own:.0f} %",
    ),
    (
        "docs/faq.md",
        "by YuNet's score, the mean error over all coverages (AuRC) is {default.clean.detector:.2f} % on "
        "clean photos, by `default` {default.clean.aurc:.2f} %, by an oracle {default.clean.oracle:.2f} %; "
        "on degraded photos {default.degraded.detector:.2f}, {default.degraded.aurc:.2f} and "
        "{default.degraded.oracle:.2f} %",
    ),
    ("docs/start.md", "On clean photos `default` expects {default.clean.expected:.1f} % in the mean"),
    *(
        (
            "docs/benchmarks.md",
            f"| `{m}` | {words} | {{{m}.{group}.detector:.2f}} | {{{m}.{group}.aurc:.2f}} | "
            f"{{{m}.{group}.oracle:.2f}} | {{{m}.{group}.gap:.0f}} % |",
        )
        for group, words in (("clean", "clean"), ("detected", "degraded, box as detected"))
        for m in ("dlib", "default", "thorough")
    ),
    (
        "docs/stacks.md",
        "`mesh` misses {mesh.clean.missed} % of the clean and {mesh.degraded.missed} % of the degraded faces "
        "and closes {mesh.clean.gap:.0f} and {mesh.degraded.gap:.0f} % of the gap between YuNet's own score "
        "and the oracle, `mesh-free` {mesh_free.clean.gap:.0f} and {mesh_free.degraded.gap:.0f} %",
    ),
]


class Table(NamedTuple):
    """A table of a Markdown page: the heading above it and its rows by the names of the columns."""

    heading: str
    rows: list[dict[str, str]]


def tables_of(page: str) -> Iterator[Table]:
    """The tables of a Markdown file of the repository."""
    heading, lines = "", (ROOT / page).read_text(encoding="utf-8").splitlines()
    names: list[str] = []
    rows: list[dict[str, str]] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            cells = [cell.strip().strip("*`") for cell in line.strip().strip("|").split("|")]
            if not names:
                names = cells
            elif not set("".join(cells)) <= set("-: "):
                rows.append(dict(zip(names, cells, strict=True)))
        else:
            if rows:
                yield Table(heading, rows)
            names, rows = [], []
            if line.startswith("#"):
                heading = line.lstrip("# ")


def number(text: str) -> float:
    """The first number of a cell."""
    found = re.search(r"[−-]?\d[\d,]*\.?\d*", text.replace("*", ""))
    if found is None:
        raise ValueError(f"no number in {text!r}")
    return float(found[0].replace(",", "").replace("−", "-"))


def figures() -> dict[str, Any]:
    """Every figure that a statement may name."""
    found: dict[str, Any] = {}
    for table in tables_of(CARD):
        if table.heading == "Results on photographs set aside":
            for row in table.rows:
                _put(
                    found,
                    row["model"],
                    _group(row["pictures"]),
                    mean=number(row["mean error"]),
                    detector=number(row["AuRC detector score"]),
                    aurc=number(row["AuRC model"]),
                    oracle=number(row["AuRC oracle"]),
                    gap=number(row["gap closed"]),
                )
        elif table.heading == "Usable share":
            for row in table.rows:
                plain = number(row["by the detector's score"])
                _put(found, row["model"], _group(row["pictures"]), usable=number(row["usable"]), plain=plain)
        elif table.heading == "Whether the percent is right":
            for row in table.rows:
                for model in ("default", "thorough"):
                    if row["faces"] in _PERCENT:
                        _put(found, model, "percent", **{_PERCENT[row["faces"]]: number(row[model])})
        elif table.heading == "With the shipped target":
            for row in table.rows:
                _put(found, row["model"], _group(row["group"]), expected=number(row["expected"]))
    for table in tables_of(MESH_CARD):
        if table.heading == "Results on photographs set aside":
            for row in table.rows:
                model, group = row["model"].replace("-", "_"), row["faces"].partition(",")[0]
                _put(found, model, group, gap=number(row["gap closed"]), missed=number(row["missed"]))
    for row in next(tables_of("results/predictors.md")).rows:
        if row["share of random to oracle"] == "mean":
            share = {"score": number(row["default"]), "own": number(row["its own confidence"])}
            _put(found, "others", "share", **share)
    return {model: SimpleNamespace(**groups) for model, groups in found.items()}


_PERCENT = {
    "set aside in 300-W, seen by dlib's predictor": "set_aside",
    "300-W, a predictor that was trained on them": "seen",
    "300-W, a predictor that was not": "unseen",
    "London Set, points placed by hand": "marked",
    "London Set, without the difference of mark-ups": "london",
}


def _group(text: str) -> str:
    name = re.sub(r"\(.*?\)", "", text).strip()
    return {"degraded, detector's box": "detected"}.get(name, name)


def _put(found: dict[str, Any], model: str, group: str, **values: float) -> None:
    place = found.setdefault(model, {}).setdefault(group, SimpleNamespace())
    vars(place).update(values)


def check(statement: str, text: str, values: dict[str, Any]) -> tuple[int, str]:
    """How often the words of a statement are in a text, and the text with the right numbers."""
    pieces = re.split(r"(\{[^}]*\})", statement)
    pattern, numbers = "", []
    for piece in pieces:
        if piece.startswith("{"):
            numbers.append(piece.format(**values))
            pattern += r"([−+]?\d[\d.,]*\d|\d)"
        else:
            pattern += r"\s+".join(re.escape(word) for word in re.split(r"\s+", piece))
    matches = list(re.finditer(pattern, text))
    for match in reversed(matches):
        for i in reversed(range(len(numbers))):
            start, end = match.span(i + 1)
            text = text[:start] + numbers[i] + text[end:]
    return len(matches), text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="bring the pages up to date")
    write = parser.parse_args().write
    wrong = 0
    values = figures()
    for page, statement in STATEMENTS:
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        matches, renewed = check(statement, text, values)
        if not matches:
            wrong += 1
            print(f"{page}: says no longer: {statement}")
        elif renewed != text:
            wrong += not write
            print(f"{page}: {'renewed' if write else 'out of date'}: {statement.format(**values)}")
            if write:
                path.write_text(renewed, encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
