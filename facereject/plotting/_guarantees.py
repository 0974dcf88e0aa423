"""Plots of risk guarantees: where the search for a threshold stops, and what a shift changes."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from facereject.plotting._style import (
    GREY,
    INK,
    PALETTE,
    axes_or_new,
    one_above_the_other,
    place_legend,
    tidy,
)
from facereject.selection import NoValidThresholdError, guaranteed_risk
from facereject.selection.curves import (
    EvidenceCurve,
    WeightedRiskCurve,
    evidence_curve,
    weighted_risk_curve,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# p-values below are all the same to a reader.
_SMALLEST_P = 1e-6


@dataclass(eq=False, repr=False)
class GuaranteeDisplay:
    """Risk on the calibration sample, and p-value of the test for a larger risk, by threshold.

    Parameters
    ----------
    curve : EvidenceCurve
        From `facereject.selection.evidence_curve`.
    max_risk : float
        The risk to guarantee.
    delta : float
        Allowed probability that the guarantee fails.
    threshold : float or None
        The guaranteed threshold; None if there is none.
    start : float, optional
        Where the search began, if that was fixed in advance.

    Attributes
    ----------
    ax_, evidence_ax_, figure_ : matplotlib Axes and Figure
    risk_line_, evidence_line_ : Line2D

    See Also
    --------
    facereject.selection.guaranteed_risk : Finds the threshold.
    ShiftDisplay : The same for new data from another distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.plotting import GuaranteeDisplay
    >>> rng = np.random.default_rng(0)
    >>> uncertainty = rng.random(1000)
    >>> losses = (rng.random(1000) < 0.3 * uncertainty**2).astype(float)
    >>> display = GuaranteeDisplay.from_predictions(losses, uncertainty, max_risk=0.1)
    >>> display.threshold > 0.5
    True
    """

    curve: EvidenceCurve
    _: KW_ONLY
    max_risk: float
    delta: float
    threshold: float | None
    start: float | None = None

    @classmethod
    def from_predictions(
        cls,
        losses: Any,
        uncertainty: Any,
        max_risk: float,
        delta: float = 0.05,
        loss_bound: float = 1.0,
        *,
        start: float | None = None,
        method: str = "auto",
        ax: Any = None,
    ) -> GuaranteeDisplay:
        """Find the guaranteed threshold and draw it.

        Parameters
        ----------
        losses, uncertainty, max_risk, delta, loss_bound
            As in `facereject.selection.guaranteed_risk`.
        start, method
            As in `facereject.selection.guaranteed_risk`.
        ax : sequence of two matplotlib Axes, optional
            For the risk and for the p-value; a new figure by default.

        Returns
        -------
        GuaranteeDisplay
            The drawn curves.
        """
        settings: dict[str, Any] = {
            "losses": losses,
            "uncertainty": uncertainty,
            "max_risk": max_risk,
            "delta": delta,
            "loss_bound": loss_bound,
            "method": method,
        }
        try:
            threshold = guaranteed_risk(**settings, start=start).threshold_
        except NoValidThresholdError:
            threshold = None
        display = cls(
            evidence_curve(**settings), max_risk=max_risk, delta=delta, threshold=threshold, start=start
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> GuaranteeDisplay:
        """Draw the risk above and the p-value below.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
            For the risk and for the p-value; a new figure by default.

        Returns
        -------
        GuaranteeDisplay
            Itself.
        """
        top, bottom = one_above_the_other(ax, (6.0, 4.6), (2, 1))
        coverage = self.curve.coverage
        (self.risk_line_,) = top.plot(coverage, self.curve.risk, color=PALETTE[0], linewidth=1.8)
        self.risk_line_.set_label("mean loss of the accepted")
        top.axhline(self.max_risk, color=INK, linestyle="--", linewidth=1.2, label="largest risk allowed")
        p = np.maximum(self.curve.p_value, _SMALLEST_P)
        (self.evidence_line_,) = bottom.plot(coverage, p, color=PALETTE[0], linewidth=1.4)
        bottom.axhline(self.delta, color=INK, linestyle="--", linewidth=1.2)
        for axes in (top, bottom):
            if self.start is not None:
                axes.axvline(
                    _share(self.curve, self.start), color=GREY, linestyle=":", linewidth=1.4, label="start"
                )
            if self.threshold is not None:
                reached = _share(self.curve, self.threshold)
                axes.axvspan(
                    0, reached, color=PALETTE[2], alpha=0.12, linewidth=0, label="accepted: guaranteed"
                )
        top.set_ylim(0, 1.6 * max(self.max_risk, float(np.median(self.curve.risk))))
        top.set_ylabel("selective risk")
        bottom.set_yscale("log")
        bottom.set_ylabel(f"p-value (delta = {self.delta:g})")
        bottom.set_xlabel("coverage of the calibration sample")
        bottom.set_xlim(0, 1)
        for axes in (top, bottom):
            tidy(axes, grid="both")
        place_legend(top)
        self.ax_, self.evidence_ax_, self.figure_ = top, bottom, top.figure
        return self


@dataclass(eq=False, repr=False)
class ShiftDisplay:
    """Selective risk by threshold for calibration data and for new data, with both guaranteed thresholds.

    Parameters
    ----------
    calibration, new : WeightedRiskCurve
        From `facereject.selection.weighted_risk_curve`, without and with the density ratios.
    max_risk : float
        The risk to guarantee.
    thresholds : tuple of two floats or None
        Guaranteed for calibration data and for new data; None where there is none.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of two Line2D

    See Also
    --------
    facereject.selection.density_ratio : Estimates the weights.
    GuaranteeDisplay : Without a shift.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.plotting import ShiftDisplay
    >>> rng = np.random.default_rng(0)
    >>> uncertainty = rng.random(2000)
    >>> losses = (rng.random(2000) < 0.3 * uncertainty**2).astype(float)
    >>> harder = 2 * uncertainty  # density of the new data, relative to the calibration data
    >>> display = ShiftDisplay.from_predictions(losses, uncertainty, harder, max_risk=0.1)
    >>> display.thresholds[0] > display.thresholds[1]
    True
    """

    calibration: WeightedRiskCurve
    new: WeightedRiskCurve
    _: KW_ONLY
    max_risk: float
    thresholds: tuple[float | None, float | None]

    @classmethod
    def from_predictions(
        cls,
        losses: Any,
        uncertainty: Any,
        weights: Any,
        max_risk: float,
        delta: float = 0.05,
        loss_bound: float = 1.0,
        *,
        ax: Axes | None = None,
    ) -> ShiftDisplay:
        """Find both thresholds and draw them.

        Parameters
        ----------
        losses, uncertainty, weights, max_risk, delta, loss_bound
            As in `facereject.selection.guaranteed_risk`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ShiftDisplay
            The drawn curves.
        """
        found: list[float | None] = []
        for given in (None, weights):
            try:
                selector = guaranteed_risk(losses, uncertainty, max_risk, delta, loss_bound, weights=given)
                found.append(selector.threshold_)
            except NoValidThresholdError:
                found.append(None)
        clipped = np.minimum(np.asarray(losses, dtype=np.float64), loss_bound)
        display = cls(
            weighted_risk_curve(clipped, uncertainty),
            weighted_risk_curve(clipped, uncertainty, weights),
            max_risk=max_risk,
            thresholds=(found[0], found[1]),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> ShiftDisplay:
        """Draw both curves, thick where accepted under a guarantee.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ShiftDisplay
            Itself.
        """
        ax = axes_or_new(ax, (6.0, 3.6))
        self.lines_ = []
        names = ("calibration data", "new data (weighted)")
        for i, (curve, threshold) in enumerate(
            zip((self.calibration, self.new), self.thresholds, strict=True)
        ):
            label = f"{names[i]}: none guaranteed"
            if threshold is not None:
                label = f"{names[i]}: {_share(curve, threshold):.0%} accepted"
            (line,) = ax.plot(curve.threshold, curve.risk, color=PALETTE[i], linewidth=1.2, label=label)
            self.lines_.append(line)
            if threshold is not None:
                accepted = curve.threshold <= threshold
                ax.plot(curve.threshold[accepted], curve.risk[accepted], color=PALETTE[i], linewidth=3.2)
                ax.axvline(
                    float(curve.threshold[accepted][-1]), color=PALETTE[i], linestyle=":", linewidth=1.4
                )
        ax.axhline(self.max_risk, color=INK, linestyle="--", linewidth=1.2, label="largest risk allowed")
        ax.set_ylim(0, 2.5 * self.max_risk)
        ax.set_xlabel("threshold on the uncertainty")
        ax.set_ylabel("selective risk")
        tidy(ax, grid="both")
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _share(curve: EvidenceCurve | WeightedRiskCurve, threshold: float) -> float:
    """Compute the coverage at a threshold."""
    if math.isinf(threshold):
        return 1.0 if threshold > 0 else 0.0
    k = int(np.searchsorted(curve.threshold, threshold, side="right"))
    return float(curve.coverage[k - 1]) if k else 0.0
