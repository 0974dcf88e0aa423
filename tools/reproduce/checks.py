"""What was to be reached, as a computed list: each line says how far and names the exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tools.reproduce.summary import OurTable, r100_agrees, sele_reaches_paper

#: Share of the complete data sets on which a figure has to agree.
SHARE = 0.8
#: Seconds on two cores for everything.
TIME_LIMIT = 90 * 60.0


class Check(NamedTuple):
    """One statement and whether the results bear it out."""

    statement: str
    met: bool
    finding: str

    def __str__(self) -> str:
        return f"{'✓' if self.met else '✗'} {self.statement}: {self.finding}"


def all_checks(tables: dict[str, OurTable]) -> list[Check]:
    """The checks that the tables at hand allow."""
    found = []
    for name in ("LR", "SVM"):
        if name in tables and tables[name].statistics is not None:
            found.append(best_rank(tables[name]))
    if "SVOR" in tables:
        found.append(learned_beat_margin(tables["SVOR"]))
    for table in tables.values():
        if table.complete:
            found += [r100_check(table), sele_check(table), boosted_check(table)]
    return found


def best_rank(table: OurTable) -> Check:
    """SELE has the best average rank of the paper's scores."""
    statistics = table.statistics
    assert statistics is not None
    ranks = dict(zip(table.methods, statistics.friedman.average_ranks, strict=True))
    finding = ", ".join(
        f"{name} {rank:.2f}" for name, rank in sorted(ranks.items(), key=lambda item: item[1])
    )
    others = min(rank for name, rank in ranks.items() if name != "SELE")
    statement = f"{table.predictor}: SELE has the best average rank on {len(table.complete)} complete sets"
    return Check(statement, bool(ranks["SELE"] < others), finding)


def learned_beat_margin(table: OurTable) -> Check:
    """SELE and REG are below the margin score on every complete data set."""
    means = table.means(("Margin", "SELE", "REG"))
    worse = [
        name for name, (margin, *learned) in zip(table.complete, means, strict=True) if max(learned) >= margin
    ]
    n = len(table.complete)
    finding = f"{n - len(worse)} of {n}" + (f"; not on {', '.join(worse)}" if worse else "")
    statement = f"{table.predictor}: SELE and REG are below the margin score on every complete set"
    return Check(statement, not worse, finding)


def r100_check(table: OurTable) -> Check:
    statement = f"{table.predictor}: R@100 within the paper's mean ± 3 std or ± 5 % on at least 80 %"
    return _share(
        table, statement, lambda name: r100_agrees(table.r100(name), table.paper.r100(name)), _r100_text
    )


def sele_check(table: OurTable) -> Check:
    statement = f"{table.predictor}: AuRC(SELE) at most the paper's mean + 2 std on at least 80 %"
    return _share(
        table,
        statement,
        lambda name: sele_reaches_paper(table.aurc(name, "SELE"), table.paper.aurc(name, "SELE")),
        _sele_text,
    )


def boosted_check(table: OurTable) -> Check:
    """Not a bar: how often the boosted score is below all of the paper's scores."""
    means = table.means((*table.methods, "BoostedSELE"))
    lower = means[:, -1] < means[:, :-1].min(axis=1)
    gain = 100 * (1 - means[:, -1] / means[:, table.methods.index("SELE")])
    statement = f"{table.predictor}: BoostedSELE is below every score of the paper"
    exceptions = [name for name, ok in zip(table.complete, lower, strict=True) if not ok]
    finding = f"{int(lower.sum())} of {len(lower)}, below SELE by {np.median(gain):.0f} % in the median"
    return Check(statement, bool(lower.all()), finding + _listed(exceptions))


def _share(
    table: OurTable, statement: str, holds: Callable[[str], bool], text: Callable[[OurTable, str], str]
) -> Check:
    """Whether something holds on enough of the complete sets, the others named by ``text``."""
    exceptions = [name for name in table.complete if not holds(name)]
    n = len(table.complete)
    finding = f"{n - len(exceptions)} of {n}" + _listed([text(table, name) for name in exceptions])
    return Check(statement, n - len(exceptions) >= SHARE * n, finding)


def _listed(exceptions: list[str]) -> str:
    return f"; not on {', '.join(exceptions)}" if exceptions else ""


def _r100_text(table: OurTable, name: str) -> str:
    return f"{name} ({table.r100(name)}, paper {table.paper.r100(name)})"


def _sele_text(table: OurTable, name: str) -> str:
    return f"{name} ({table.aurc(name, 'SELE')}, paper {table.paper.aurc(name, 'SELE')})"
