"""The figures of an evaluation: risk against coverage, expected against true errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib.figure

from facereject.faces.evaluation.evidence import ReliabilityGroup
from facereject.plotting import RiskCoverageDisplay
from facereject.plotting._style import GREY, PALETTE, tidy

# inches; small, so that the letters are still large enough when a phone shrinks the figure to its width
_SIZE = (5.2, 3.9)


def draw_risk_coverage(
    losses: Any, uncertainty: Any, detector_scores: Any, own: tuple[float, float]
) -> matplotlib.figure.Figure:
    """Mean error of the accepted faces by coverage: this model, the detector's score, the oracle.

    ``own`` is the point (coverage, mean error) of the model's threshold; NaN if it accepts nothing.
    """
    figure = matplotlib.figure.Figure(figsize=_SIZE)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.12, right=0.95, bottom=0.13, top=0.97)
    scores = {"this model": uncertainty, "detector's score": -detector_scores}
    display = RiskCoverageDisplay.from_predictions(
        losses, scores, ax=axes, risk_label="mean error of the accepted (%)"
    )
    coverage, error = own
    if math.isfinite(error):
        color = display.lines_["this model"].get_color()
        axes.plot([coverage], [error], "o", color=color, markersize=8, zorder=4, clip_on=False)
    axes.set_xlabel("accepted share of the faces found")
    # the oracle needs the room at the lower left to be seen
    axes.legend(loc="lower right", frameon=False, fontsize="small")
    return figure


def draw_reliability(groups: Sequence[ReliabilityGroup]) -> matplotlib.figure.Figure:
    """Mean true error of groups of faces against their mean expected error, with the diagonal."""
    figure = matplotlib.figure.Figure(figsize=_SIZE)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.12, right=0.95, bottom=0.13, top=0.97)
    expected = [group.expected for group in groups]
    observed = [group.observed for group in groups]
    bars = [0.0 if math.isnan(group.half_width) else group.half_width for group in groups]
    top = 1.1 * max(*expected, *(value + bar for value, bar in zip(observed, bars, strict=True)), 1e-9)
    axes.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=1.2, label="expected = true")
    axes.errorbar(expected, observed, yerr=bars, fmt="o", color=PALETTE[0], capsize=3, label="faces")
    axes.set(xlim=(0, top), ylim=(0, top))
    axes.set_xlabel("expected error (%)")
    axes.set_ylabel("true error (%)")
    axes.legend(loc="upper left", frameon=False, fontsize="small")
    tidy(axes, grid="both")
    return figure
