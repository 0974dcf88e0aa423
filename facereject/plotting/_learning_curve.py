"""Learning curves: a quantity such as test AuRC against the number of training examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from facereject._validation import check_vector
from facereject.comparison import summarize_splits
from facereject.plotting._style import (
    axes_or_new,
    check_same_methods,
    check_series,
    mark_method,
    method_style,
    n_methods_drawn,
    place_legend,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LearningCurveDisplay:
    """Mean and spread over repetitions against the training size, one line per method.

    Parameters
    ----------
    train_sizes : array-like of shape (n_sizes,)
        Numbers of training examples.
    mean : mapping of str to array-like of shape (n_sizes,)
        Per method, the mean over repetitions.
    std : mapping of str to array-like of shape (n_sizes,), optional
        Per method, the standard deviation; NaN draws no band.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict of str to Line2D
        The means.
    bands_ : dict of str to FillBetweenPolyCollection
        Mean ± one standard deviation.

    See Also
    --------
    RelativeImprovementDisplay : Methods compared over data sets.

    Examples
    --------
    >>> from facereject.plotting import LearningCurveDisplay
    >>> aurc = {"SELE": [[0.30, 0.28], [0.20, 0.22], [0.15, 0.16]]}
    >>> display = LearningCurveDisplay.from_values([100, 1000, 10000], aurc)
    >>> display.mean["SELE"]
    array([0.29 , 0.21 , 0.155])
    """

    def __init__(
        self, train_sizes: Any, mean: Mapping[str, Any], std: Mapping[str, Any] | None = None
    ) -> None:
        self.train_sizes = check_vector(train_sizes, "train_sizes", non_negative=True)
        self.mean = check_series(mean, "mean", len(self.train_sizes))
        self.std = None if std is None else check_series(std, "std", len(self.train_sizes))
        if self.std is not None:
            check_same_methods(mean=self.mean, std=self.std)

    @classmethod
    def from_values(
        cls, train_sizes: Any, values: Mapping[str, Any], *, ax: Axes | None = None, **plot_options: Any
    ) -> LearningCurveDisplay:
        """Summarise repeated measurements and draw them.

        Parameters
        ----------
        train_sizes : array-like of shape (n_sizes,)
            Numbers of training examples.
        values : mapping of str to array-like of shape (n_sizes, n_repetitions)
            Per method, the quantity for each size and repetition.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        LearningCurveDisplay
        """
        summaries = {method: summarize_splits(repeated) for method, repeated in values.items()}
        display = cls(
            train_sizes,
            {method: summary.mean for method, summary in summaries.items()},
            {method: summary.std for method, summary in summaries.items()},
        )
        return display.plot(ax, **plot_options)

    def plot(
        self, ax: Axes | None = None, *, ylabel: str = "test AuRC", log_x: bool = False
    ) -> LearningCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default. On axes that already show curves the colours continue.
        ylabel : str, default="test AuRC"
            Name, and unit, of the quantity.
        log_x : bool, default=False
            Whether the axis of training sizes is logarithmic.

        Returns
        -------
        LearningCurveDisplay
            Itself.
        """
        ax = axes_or_new(ax, (7.0, 4.2))
        order = np.argsort(self.train_sizes, kind="stable")
        sizes = self.train_sizes[order]
        self.lines_, self.bands_ = {}, {}
        for index, (method, mean) in enumerate(self.mean.items(), start=n_methods_drawn(ax)):
            style = method_style(index)
            (line,) = ax.plot(
                sizes, mean[order], label=method, linewidth=1.8, markersize=5, zorder=3, **style
            )
            mark_method(line)
            self.lines_[method] = line
            if self.std is not None:
                low, high = (mean - self.std[method])[order], (mean + self.std[method])[order]
                self.bands_[method] = ax.fill_between(
                    sizes, low, high, color=style["color"], alpha=0.18, linewidth=0
                )
        if log_x:
            _set_log_scale(ax)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.set_xlabel("training examples")
        ax.set_ylabel(ylabel)
        tidy(ax, grid="both")
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _set_log_scale(ax: Axes) -> None:
    """Logarithmic sizes with ticks at 1, 2 and 5 per decade; matplotlib's own labels run into each other."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_xscale("log")
    low, high = ax.get_xlim()
    subs = (1.0, 2.0, 5.0) if high / low < 1000.0 else (1.0,)
    ax.xaxis.set_major_locator(LogLocator(subs=subs))
    ax.xaxis.set_minor_locator(NullLocator())
