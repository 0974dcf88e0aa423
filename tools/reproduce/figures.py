"""Figures of the tables: CD diagrams, relative improvement, risk-coverage curves, what we add."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from facereject.plotting import (
    CriticalDifferenceDisplay,
    RelativeImprovementDisplay,
    RiskCoverageDisplay,
)
from tools.reproduce.store import write_atomically
from tools.reproduce.summary import EXTRA, OurTable
from tools.reproduce.tabular import COVERAGES

UNITS = {"LR": "selective risk [%]", "SVM": "selective risk [%]", "SVOR": "selective risk [classes]"}
COLUMNS = 3


def draw_all(tables: dict[str, OurTable], folder: Path) -> list[str]:
    """Draw what the tables at hand allow into ``folder``; returns the names of the files."""
    drawn = []
    for predictor, table in tables.items():
        pictures = {"relative-improvement": improvement, "risk-coverage": curves, "extra": extra}
        if len(table.complete) > 1:
            pictures["critical-difference"] = critical_difference
        for kind, draw in pictures.items():
            if table.complete:
                name = f"{kind}-{predictor}.svg"
                save(draw(table), folder / name)
                drawn.append(name)
    return sorted(drawn)


def critical_difference(table: OurTable) -> Any:
    """Nemenyi diagram of the paper's scores, and of these with ours."""
    figure, axes = plt.subplots(2, 1, figsize=(7.0, 4.2))
    for ax, methods in zip(axes, (table.methods, (*table.methods, *EXTRA)), strict=True):
        found = table.statistics_of(methods)
        assert found is not None
        CriticalDifferenceDisplay.from_ranks(
            found.friedman.average_ranks, found.n_datasets, methods, alpha=found.nemenyi.alpha, ax=ax
        )
    figure.subplots_adjust(0.01, 0.01, 0.99, 0.99, hspace=0.05)
    return figure


def improvement(table: OurTable) -> Any:
    """The paper's figure: learned scores against the baseline."""
    return _improvement(table, table.baseline, table.methods[1:])


def extra(table: OurTable) -> Any:
    """Chunks and boosted trees against SELE over all pairs."""
    return _improvement(table, "SELE", EXTRA)


def _improvement(table: OurTable, baseline: str, methods: tuple[str, ...]) -> Any:
    names = _equally_often_split(table)
    display = RelativeImprovementDisplay.from_values(
        np.array([table.values(name, baseline) for name in names]),
        {method: np.array([table.values(name, method) for name in names]) for method in methods},
        names,
        baseline_name=f"{table.predictor}+{baseline}",
    )
    return display.figure_


def curves(table: OurTable) -> Any:
    """Risk-coverage curves of all complete sets, means over the splits."""
    n_rows = -(-len(table.complete) // COLUMNS)
    figure, axes = plt.subplots(
        n_rows, COLUMNS, figsize=(10.5, 2.7 * n_rows + 0.5), layout="constrained", squeeze=False
    )
    for ax in axes.flat[len(table.complete) :]:
        ax.set_axis_off()
    for k, name in enumerate(table.complete):
        _curves_of(table, name, axes.flat[k])
        if k + COLUMNS < len(table.complete):
            axes.flat[k].set_xlabel("")
    lines, labels = axes.flat[0].get_legend_handles_labels()
    for ax in axes.flat[: len(table.complete)]:
        ax.get_legend().remove()
    figure.legend(
        lines, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize="small"
    )
    return figure


def _curves_of(table: OurTable, name: str, ax: Any) -> None:
    splits = table.results[name]

    def mean_curve(read: Any) -> tuple[np.ndarray, np.ndarray]:
        return COVERAGES, np.mean([read(one) for one in splits], axis=0)

    methods = (*table.methods, "BoostedSELE")
    display = RiskCoverageDisplay(
        {m: mean_curve(lambda one, m=m: one["scores"][m]["curve"]) for m in methods},
        oracle=mean_curve(lambda one: one["oracle_curve"]),
        random_risk=table.r100(name).mean,
    )
    display.plot(ax, random=False, risk_label=UNITS[table.predictor])
    ax.set_title(name, fontsize="medium")
    if ax.get_subplotspec().colspan.start:
        ax.set_ylabel("")


def _equally_often_split(table: OurTable) -> list[str]:
    """Complete sets with all splits: a run that is not finished may lack some."""
    most = max(table.n_splits[name] for name in table.complete)
    return [name for name in table.complete if table.n_splits[name] == most]


def save(figure: Any, path: Path) -> None:
    """As SVG, the same bytes for the same numbers: no date, ids from a fixed salt."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "facereject", "svg.fonttype": "none", "path.simplify": True}):
        figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    write_atomically(path, stream.getvalue())
