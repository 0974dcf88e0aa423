"""Error-versus-discard curves (EDC) of several uncertainty scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from facereject.metrics import edc_area, error_discard_curve
from facereject.plotting._style import (
    GRID,
    axes_or_new,
    draw_band,
    legend_label,
    mark_method,
    method_style,
    n_methods_drawn,
    percent_axis,
    place_legend,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    def __init__(
        self,
        curves: Mapping[str, Any],
        *,
        areas: Mapping[str, float] | None = None,
        bands: Mapping[str, Any] | None = None,
        max_discard: float = 0.2,
    ) -> None:
        if not curves:
            raise ValueError("curves must hold at least one method")
        if areas is not None and set(areas) != set(curves):
            raise ValueError(f"methods differ: curves has {list(curves)}, areas has {list(areas)}")
        self.curves = dict(curves)
        self.areas = None if areas is None else dict(areas)
        self.bands = {} if bands is None else dict(bands)
        self.max_discard = max_discard

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
        first = n_methods_drawn(ax)
        ax.axvspan(0.0, self.max_discard, color=GRID, alpha=0.5, linewidth=0, zorder=0)
        self.lines_ = {}
        # beyond nine tenths the mean is over few examples, and one of them can make the largest error of all
        top = ax.get_ylim()[1] if first else 0.0
        for index, (method, (discard, error, *_)) in enumerate(self.curves.items(), start=first):
            style = method_style(index) | {"marker": ""}
            label = legend_label(method)
            label = label if self.areas is None else f"{label} (area {self.areas[method]:.3g})"
            (line,) = ax.plot(discard, error, label=label, linewidth=1.8, zorder=3, **style)
            mark_method(line)
            self.lines_[method] = line
            if method in self.bands:
                draw_band(ax, self.bands[method], line)
            shown = np.asarray(error)[np.asarray(discard) <= 0.9]
            top = max(top, 1.08 * float(shown.max(initial=0.0)))
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, top or 1.0)
        ax.xaxis.set_major_formatter(percent_axis())
        ax.set_xlabel("discarded")
        ax.set_ylabel(error_label)
        tidy(ax, grid="both")
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
