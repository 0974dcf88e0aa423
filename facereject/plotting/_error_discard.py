"""Error-versus-discard curves (EDC) of several uncertainty scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from facereject.metrics import edc_area, error_discard_curve
from facereject.plotting._style import (
    GRID,
    axes_or_new,
    check_curves,
    draw_curves,
    legend_label,
    place_legend,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class ErrorDiscardDisplay:
    """Mean loss of the kept examples against the share discarded, one line per uncertainty score.

    Parameters
    ----------
    curves : mapping of str to curve
        Per method a result of :func:`facereject.metrics.error_discard_curve`, or any tuple that starts with
        discard (fractions) and error.
    areas : mapping of str to float, optional
        Partial area per method, for the legend.
    bands : mapping of str to (discard, low, high), optional
        Interval of the error per method, drawn behind its line.
    max_discard : float, default=0.2
        The partial area ends here; it is shaded.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to Line2D
        One line per method; x is the share discarded, y the error.

    See Also
    --------
    RiskCoverageDisplay : The same points by coverage, with oracle and random rejection.

    References
    ----------
    .. [1] Schlett, Rathgeb, Tapia and Busch, "Considerations on the Evaluation of Biometric Quality
       Assessment Algorithms", IEEE T-BIOM 2024.

    Examples
    --------
    >>> from facereject.plotting import ErrorDiscardDisplay
    >>> losses, uncertainty = [0, 0, 1, 0], [0.1, 0.2, 0.9, 0.4]
    >>> display = ErrorDiscardDisplay.from_predictions(losses, {"mine": uncertainty}, max_discard=0.5)
    >>> display.lines_["mine"].get_label()
    'mine (area 0.125)'
    """

    curves: Mapping[str, Any]
    _: KW_ONLY
    areas: Mapping[str, float] | None = None
    bands: Mapping[str, Any] | None = None
    max_discard: float = 0.2

    def __post_init__(self) -> None:
        check_curves(self.curves, self.areas, "areas")

    @classmethod
    def from_predictions(
        cls,
        losses: Any,
        scores: Mapping[str, Any],
        *,
        max_discard: float = 0.2,
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> ErrorDiscardDisplay:
        """Compute the curves and partial areas, and draw them.

        Parameters
        ----------
        losses : array-like of shape (n,)
            Loss of each example, at least 0.
        scores : mapping of str to array-like of shape (n,)
            Uncertainties by name, higher = less certain.
        max_discard : float, default=0.2
            End of the partial area.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **plot_options
            Passed on to :meth:`plot`.

        Returns
        -------
        ErrorDiscardDisplay
            What was drawn.
        """
        areas = {name: edc_area(losses, score, max_discard=max_discard) for name, score in scores.items()}
        curves = {name: error_discard_curve(losses, score) for name, score in scores.items()}
        return cls(curves, areas=areas, max_discard=max_discard).plot(ax, **plot_options)

    def plot(self, ax: Axes | None = None, *, error_label: str = "error of the kept") -> ErrorDiscardDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. On axes that already show curves the colours continue.
        error_label : str, default="error of the kept"
            Label of the error axis; the place to state the unit.

        Returns
        -------
        ErrorDiscardDisplay
            Itself.
        """
        ax = axes_or_new(ax, (7.4, 4.2))
        ax.axvspan(0.0, self.max_discard, color=GRID, alpha=0.5, linewidth=0, zorder=0)
        labels = {method: legend_label(method) for method in self.curves}
        for method, area in (self.areas or {}).items():
            labels[method] += f" (area {area:.3g})"
        # beyond nine tenths the mean is over few examples, and one of them can make the largest error of all
        self.lines_, _ = draw_curves(ax, self.curves, labels, self.bands, lambda discard: discard <= 0.9)
        ax.set_xlabel("discarded")
        ax.set_ylabel(error_label)
        tidy(ax, grid="both")
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
