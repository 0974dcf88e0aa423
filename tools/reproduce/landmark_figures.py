"""Figures of the landmark experiment: risk-coverage curves and learning curves, from stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from facereject.metrics import risk_coverage_curve
from facereject.plotting import LearningCurveDisplay, RiskCoverageDisplay
from tools.reproduce.figures import save
from tools.reproduce.landmark_scores import unpack
from tools.reproduce.landmark_statistics import DETECTOR, ORACLE

#: coverages of the curves that are averaged over splits
_GRID = np.arange(1, 201) / 200


def draw_all(results: dict[str, list[dict[str, Any]]], titles: dict[str, str], folder: Path) -> list[str]:
    """Both figures, a panel per predictor; returns the names of the files."""
    pictures = {"landmarks-risk-coverage.svg": _curves, "landmarks-learning-curve.svg": _learning}
    for name, draw in pictures.items():
        figure, axes = plt.subplots(
            1, len(titles), figsize=(5.2 * len(titles), 4.6), layout="constrained", squeeze=False
        )
        for ax, (dataset, title) in zip(axes.flat, titles.items(), strict=True):
            draw(results[dataset], ax)
            ax.set_title(title, fontsize="medium")
            ax.legend(*ax.get_legend_handles_labels(), frameon=False, fontsize="small")
        save(figure, folder / name)
    return sorted(pictures)


def _curves(splits: list[dict[str, Any]], ax: Any) -> None:
    """Means over the splits."""
    parts = [unpack(one["test"]) for one in splits]
    areas = [part.areas() for part in parts]
    mean = {method: float(np.mean([each[method] for each in areas])) for method in areas[0]}
    methods = list(parts[0].scores)
    display = RiskCoverageDisplay(
        {method: _mean_curve([(p.losses, p.scores[method]) for p in parts]) for method in methods},
        aurc={method: mean[method] for method in methods},
        oracle=_mean_curve([(p.losses, p.losses) for p in parts]),
        oracle_aurc=mean[ORACLE],
        random_risk=float(np.mean([p.losses.mean() for p in parts])),
    )
    display.plot(ax, risk_label="selective risk [% of the eye distance]")
    # the whole picture lies between the best faces and the mean
    ax.set_ylim(bottom=0.8 * display.oracle[1].min())


def _mean_curve(pairs: list[Any]) -> tuple[Any, Any]:
    risks = []
    for losses, uncertainty in pairs:
        curve = risk_coverage_curve(losses, uncertainty)
        # the smallest coverage of the curve that is at least the one asked for, but for rounding
        risks.append(curve.risk[np.searchsorted(curve.coverage, _GRID - 1e-9)])
    return _GRID, np.mean(risks, axis=0)


def _learning(splits: list[dict[str, Any]], ax: Any) -> None:
    """Test AuRC against the number of training faces, mean and spread over the splits."""
    n_sizes = len(next(iter(splits[0]["learning"].values())))
    # first and flat, so that every method has the colour it has in the other figure
    curves = {DETECTOR: np.array([[one["methods"][DETECTOR]["aurc"] for one in splits]] * n_sizes)}
    for method in splits[0]["learning"]:
        curves[method] = np.array([[step["test"] for step in one["learning"][method]] for one in splits]).T
    faces = np.mean([[step["faces"] for step in one["learning"][method]] for one in splits], axis=0)
    LearningCurveDisplay.from_values(
        faces, curves, ax=ax, log_x=True, ylabel="test AuRC [% of the eye distance]"
    )
    ax.set_xlabel("training faces")
