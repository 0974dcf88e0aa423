"""The figures of an evaluation: risk against coverage, expected against true errors, cumulative errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import matplotlib.figure
import numpy as np

from facereject.faces.evaluation.evidence import FAILURE_LEVELS, ReliabilityGroup
from facereject.plotting import RiskCoverageDisplay
from facereject.plotting._style import GREY, PALETTE, tidy

# inches; small, so that the letters are still large enough when a phone shrinks the figure to its width
_SIZE = (5.2, 3.9)

# share of the errors that the axis of the cumulative curve spans; the last few would make it too wide
_SPANNED = 0.98


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


def draw_cumulative(losses: Any, accepted: Any) -> matplotlib.figure.Figure:
    """Share of the faces whose error is at most x: of all that were found, and of the accepted ones."""
    figure = matplotlib.figure.Figure(figsize=_SIZE)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.12, right=0.95, bottom=0.13, top=0.97)
    right = max(1.2 * max(FAILURE_LEVELS), float(np.quantile(losses, _SPANNED)))
    lines = {"accepted": (losses[accepted], PALETTE[0], "-"), "all that were found": (losses, GREY, "--")}
    for name, (errors, color, style) in lines.items():
        if not len(errors):
            continue
        shares = np.arange(len(errors) + 1) / len(errors)
        # beyond the largest error the curve goes on at 1
        steps = np.concatenate([[0.0], np.sort(errors), [max(right, errors.max())]])
        axes.step(steps, [*shares, 1.0], where="post", color=color, linestyle=style, label=name)
    for level in FAILURE_LEVELS:
        axes.axvline(level, color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xlim=(0, right), ylim=(0, 1.02))
    axes.set_xlabel("error (%)")
    axes.set_ylabel("share of the faces with at most this error")
    axes.legend(loc="lower right", frameon=False, fontsize="small")
    tidy(axes, grid="both")
    return figure
