"""Plot of a monitor: the mean of what it watches, and the evidence against "all is well"."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from facereject._validation import FloatArray, check_integer
from facereject.plotting._style import INK, PALETTE, one_above_the_other, place_legend, tidy
from facereject.selection.monitor import CoverageMonitor, Monitor


@dataclass(eq=False, repr=False)
class MonitorDisplay:
    """Moving mean of the watched quantity, and the evidence that it has passed its limit.

    Parameters
    ----------
    values, evidence : ndarray of shape (n,)
        ``values_`` and ``evidence_path_`` of a monitor.
    limit : float
        The limit of the watched quantity.
    delta : float
        The alarm is raised at an evidence of 1 / delta.
    alarm_at : int or None
        Number of examples at the alarm; None without one.
    label : str
        What is watched.
    unit : str
        What is counted on the x-axis.

    Attributes
    ----------
    ax_, evidence_ax_, figure_ : matplotlib Axes and Figure
    mean_line_, evidence_line_ : Line2D

    See Also
    --------
    facereject.selection.RiskMonitor : Watches the risk of accepted predictions.
    facereject.selection.CoverageMonitor : Watches the coverage.

    Examples
    --------
    >>> from facereject.plotting import MonitorDisplay
    >>> from facereject.selection import RiskMonitor
    >>> monitor = RiskMonitor(max_risk=0.1)
    >>> _ = monitor.update([0, 0, 1] * 100)
    >>> MonitorDisplay.from_monitor(monitor).alarm_at == monitor.alarm_at_
    True
    """

    values: FloatArray
    evidence: FloatArray
    _: KW_ONLY
    limit: float
    delta: float
    alarm_at: int | None
    label: str = "risk"
    unit: str = "labels"

    def __post_init__(self) -> None:
        n, m = len(self.values), len(self.evidence)
        if n != m or not n:
            raise ValueError(f"values and evidence must be of one length above 0, got {n} and {m}")

    @classmethod
    def from_monitor(cls, monitor: Monitor, ax: Any = None, **plot_options: Any) -> MonitorDisplay:
        """Draw a monitor that has seen at least one example.

        Parameters
        ----------
        monitor : RiskMonitor or CoverageMonitor
            The monitor.
        ax : sequence of two matplotlib Axes, optional
            For the mean and for the evidence; a new figure by default.
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        MonitorDisplay
            The drawn course.
        """
        coverage = isinstance(monitor, CoverageMonitor)
        display = cls(
            monitor.values_,
            monitor.evidence_path_,
            limit=monitor.limit,
            delta=monitor.delta,
            alarm_at=monitor.alarm_at_,
            label="coverage" if coverage else "risk of the accepted",
            unit="predictions" if coverage else "labels of accepted predictions",
        )
        return display.plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, window: int = 100) -> MonitorDisplay:
        """Draw mean and evidence.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
            For the mean and for the evidence; a new figure by default.
        window : int
            Number of examples that the moving mean covers.

        Returns
        -------
        MonitorDisplay
            Itself.
        """
        window = check_integer(window, "window", minimum=1)
        top, bottom = one_above_the_other(ax, (6.0, 4.2), (1, 1))
        n = np.arange(1, len(self.values) + 1)
        sums = np.append(0.0, np.cumsum(self.values))
        first = np.maximum(n - window, 0)
        mean = (sums[n] - sums[first]) / (n - first)
        (self.mean_line_,) = top.plot(n, mean, color=PALETTE[0], linewidth=1.4)
        self.mean_line_.set_label(f"mean of the last {window}")
        top.axhline(self.limit, color=INK, linestyle="--", linewidth=1.2, label="limit")
        (self.evidence_line_,) = bottom.plot(n, self.evidence, color=PALETTE[0], linewidth=1.4)
        bottom.axhline(1 / self.delta, color=INK, linestyle="--", linewidth=1.2)
        bottom.set_yscale("log")
        if self.alarm_at is not None:
            for axes in (top, bottom):
                axes.axvline(self.alarm_at, color=PALETTE[1], linewidth=1.6, label="alarm")
        top.set_ylim(bottom=0)
        top.set_ylabel(self.label)
        bottom.set_ylabel(f"evidence (alarm at {1 / self.delta:g})")
        bottom.set_xlabel(self.unit)
        bottom.set_xlim(0, len(self.values))
        for axes in (top, bottom):
            tidy(axes, grid="both")
        place_legend(top)
        self.ax_, self.evidence_ax_, self.figure_ = top, bottom, top.figure
        return self
