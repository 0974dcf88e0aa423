"""Tables in Markdown: ours beside the paper's, ranks and tests, what we add, what was chosen, time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from facereject.comparison import relative_improvement
from tools.reproduce.checks import TIME_LIMIT, Check
from tools.reproduce.summary import EXTRA, OurTable, Statistics, agreement, r100_agrees

TITLES = {
    "LR": "Scores on logistic regression (0/1 loss, percent)",
    "SVM": "Scores on the support vector machine (0/1 loss, percent)",
    "SVOR": "Scores on ordinal regression (absolute error, classes)",
}
LEGEND = """\
AuRC and R@100 on the test part, mean ± standard deviation over the splits; in parentheses the paper's. After
the parentheses: ≈ no difference beyond chance (t test of two means over splits, 5 %); ↓ ours is lower
(better), ↑ higher; ⇊ ⇈ by more than two standard deviations of single splits. For R@100: ✓ within three
standard deviations of the paper or 5 %, ✗ outside. **Bold**: our lowest among the paper's scores. † Part of
the paper's examples only: not comparable, left out of ranks and checks."""


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main_table(table: OurTable) -> str:
    """Every cell of the paper's table: ours, the paper's, agreement."""
    rows = []
    for name in table.datasets:
        partial = name in table.partial
        means = {method: table.aurc(name, method).mean for method in table.methods}
        row = [_dataset(table, name)]
        for method in table.methods:
            ours, paper = table.aurc(name, method), table.paper.aurc(name, method)
            text = f"**{ours}**" if means[method] == min(means.values()) else str(ours)
            row.append(
                f"{text} ({paper})" + ("" if partial else f" {agreement(ours, paper, table.n_splits[name])}")
            )
        ours, paper = table.r100(name), table.paper.r100(name)
        mark = "" if partial else (" ✓" if r100_agrees(ours, paper) else " ✗")
        rows.append([*row, f"{ours} ({paper}){mark}"])
    return markdown(["", *(f"{table.predictor}+{method}" for method in table.methods), "R@100"], rows)


def agreement_text(table: OurTable) -> str:
    """How many cells of the complete sets agree, and which do not."""
    cells = {
        f"{name} {method}": (table.aurc(name, method), table.paper.aurc(name, method), table.n_splits[name])
        for name in table.complete
        for method in table.methods
    }
    marks = {where: agreement(*found) for where, found in cells.items()}
    sentences = [f"AuRC: {list(marks.values()).count('≈')} of {len(cells)} cells agree"]
    for marks_of, word in (("↓⇊", "lower (better) than the paper"), ("↑⇈", "higher")):
        listed = [
            f"{where} ({cells[where][0]}, paper {cells[where][1]}) {found}"
            for where, found in marks.items()
            if found in marks_of
        ]
        if listed:
            sentences.append(f"{word}: {', '.join(listed)}")
    inside = [name for name in table.complete if r100_agrees(table.r100(name), table.paper.r100(name))]
    sentences.append(f"R@100: {len(inside)} of {len(table.complete)} agree")
    return "; ".join(sentences) + "."


def ties_text(tables: dict[str, OurTable]) -> str:
    """How much it matters that ties count in expectation and not in the order of the file."""
    differences: dict[str, float] = {}
    n = 0
    for table in tables.values():
        for name, splits in table.results.items():
            for one in splits:
                for method, score in one["scores"].items():
                    n += 1
                    if "aurc_ties_by_index" in score and score["aurc"] > 0:
                        change = abs(score["aurc_ties_by_index"] / score["aurc"] - 1)
                        where = f"{name} {table.predictor}+{method}"
                        differences[where] = max(change, differences.get(where, 0.0))
    if not differences:
        return f"Breaking ties by the order of the file instead changes none of the {n} AuRC values."
    worst = max(differences, key=lambda where: differences[where])
    return (
        f"Breaking ties by the order of the file instead changes AuRC in {len(differences)} combinations of "
        f"set and score, at most by {100 * differences[worst]:.2g} % in one split ({worst})."
    )


def rank_table(table: OurTable) -> str:
    """Average ranks, Friedman and Nemenyi: ours, and the paper's on the same and on all of its sets."""
    rows = []
    if table.statistics is not None:
        rows.append(_rank_row("ours, complete sets", table.statistics))
        rows.append(_rank_row("paper, the same sets", table.paper.statistics(table.complete)))
    rows.append(_rank_row("paper, all its sets", table.paper.statistics()))
    header = ["average ranks", "sets", *table.methods, "Friedman p", "CD (α = 0.10)", "not told apart"]
    return markdown(header, rows)


def extra_table(table: OurTable) -> str:
    """SELE over all pairs, over chunks of 500, boosted, and the oracle; changes are per split."""
    rows = []
    for name in table.datasets:
        sele = table.values(name, "SELE")
        changes = [_change(sele, table.values(name, method)) for method in EXTRA]
        best = min(table.aurc(name, method).mean for method in table.methods)
        boosted = table.aurc(name, "BoostedSELE")
        rows.append(
            [
                _dataset(table, name),
                str(table.aurc(name, "SELE")),
                f"{table.aurc(name, 'SELE-500')} ({changes[0]})",
                f"**{boosted}** ({changes[1]})" if boosted.mean < best else f"{boosted} ({changes[1]})",
                f"{best:.2f}",
                str(table.oracle(name)),
            ]
        )
    header = ["", "SELE, all pairs", "SELE, chunks of 500", "BoostedSELE", "best of the paper's", "oracle"]
    return markdown(header, rows)


def choice_table(table: OurTable) -> str:
    """Which regularisation won how often."""
    scores = [method for method in table.methods if method not in ("MCP", "Margin")] + ["SELE-500"]
    rows = []
    for name in table.datasets:
        row = [_dataset(table, name), _counted([one["c"] for one in table.results[name]])]
        row += [_counted(table.facts(name, method, "alpha")) for method in scores]
        trees = table.facts(name, "BoostedSELE", "trees")
        rows.append([*row, f"{min(trees)}–{max(trees)}"])
    return markdown(["", f"c of {table.predictor}", *(f"alpha of {s}" for s in scores), "trees"], rows)


def time_table(seconds: dict[str, dict[str, float]]) -> str:
    """Processor minutes of the parts of a run, given as part -> {"runs": …, "cpu": …}."""
    rows = [[part, f"{found['runs']:.0f}", f"{found['cpu'] / 60:.1f}"] for part, found in seconds.items()]
    total = sum(found["cpu"] for found in seconds.values())
    rows.append(["all", f"{sum(found['runs'] for found in seconds.values()):.0f}", f"{total / 60:.1f}"])
    note = (
        f"\n\nThe sum of what each run measured; on two free cores about {total / 120:.0f} minutes "
        f"(to be reached: {TIME_LIMIT / 60:.0f})."
    )
    return markdown(["", "runs", "processor minutes"], rows) + note


def check_list(checks: list[Check]) -> str:
    return "\n".join(f"- {check}" for check in checks)


def section(table: OurTable) -> str:
    """Everything about one predictor."""
    parts = [
        f"## {TITLES[table.predictor]}",
        main_table(table),
        rank_table(table),
        "What the paper lacks; in parentheses the mean change of AuRC against SELE over all pairs:",
        extra_table(table),
        "Chosen on the validation parts (times chosen, where not every split agreed):",
        choice_table(table),
    ]
    return "\n\n".join(parts)


def _dataset(table: OurTable, name: str) -> str:
    return f"{name}†" if name in table.partial else name


def _rank_row(what: str, found: Statistics) -> list[str]:
    groups = ["–".join(found.methods[k] for k in group) for group in found.nemenyi.groups]
    ranks = [f"{rank:.2f}" for rank in found.friedman.average_ranks]
    p_value = f"{found.friedman.p_value:.2g}"
    difference = f"{found.nemenyi.critical_difference:.2f}"
    return [what, str(found.n_datasets), *ranks, p_value, difference, ", ".join(groups) or "none"]


def _change(base: np.ndarray, values: np.ndarray) -> str:
    return f"{-float(relative_improvement(base, values).mean):+.1f} %"


def _counted(values: list[float]) -> str:
    counts = sorted(Counter(values).items())
    if len(counts) == 1:
        return f"{counts[0][0]:g}"
    return ", ".join(f"{value:g} ({count}×)" for value, count in counts)
