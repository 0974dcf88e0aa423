"""Relative improvement of several methods over a baseline on several data sets, with error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from facereject.comparison import relative_improvement
from facereject.plotting._style import (
    GREY,
    GRID,
    axes_or_new,
    check_names,
    check_same_methods,
    check_series,
    method_style,
    place_legend,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RelativeImprovementDisplay:
    """Improvement of methods over a baseline: one row per data set, one point per method.

    Parameters
    ----------
    mean : mapping of str to array-like of shape (n_datasets,)
        Per method, the mean relative improvement in percent.
    std : mapping of str to array-like of shape (n_datasets,)
        Per method, its standard deviation over splits in percent; NaN draws no error bar.
    dataset_names : sequence of str
        Names of the rows.
    baseline_name : str, default="baseline"
        Name of the baseline, which is at zero.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    containers_ : dict of str to ErrorbarContainer
        Per method the points (x: percent, y: row) and their error bars.
    zero_line_ : Line2D

    See Also
    --------
    facereject.comparison.relative_improvement : The numbers behind it.
    CriticalDifferenceDisplay : Tests whether methods differ.

    Examples
    --------
    >>> from facereject.plotting import RelativeImprovementDisplay
    >>> display = RelativeImprovementDisplay.from_values(
    ...     [[2.0, 2.0]], {"SELE": [[1.0, 1.5]]}, ["LETTER"], baseline_name="max-prob"
    ... )
    >>> display.mean["SELE"]
    array([37.5])
    """

    def __init__(
        self,
        mean: Mapping[str, Any],
        std: Mapping[str, Any],
        dataset_names: Sequence[str],
        *,
        baseline_name: str = "baseline",
    ) -> None:
        self.dataset_names = check_names(dataset_names, "dataset_names", len(dataset_names))
        self.mean = check_series(mean, "mean", len(self.dataset_names))
        self.std = check_series(std, "std", len(self.dataset_names))
        check_same_methods(mean=self.mean, std=self.std)
        self.baseline_name = baseline_name

    @classmethod
    def from_values(
        cls,
        baseline: Any,
        methods: Mapping[str, Any],
        dataset_names: Sequence[str],
        *,
        baseline_name: str = "baseline",
        ax: Axes | None = None,
        **plot_options: Any,
    ) -> RelativeImprovementDisplay:
        """Compute the improvements per split and draw their means and standard deviations.

        Parameters
        ----------
        baseline : array-like of shape (n_datasets, n_splits)
            For instance test AuRC of the baseline; lower is better.
        methods : mapping of str to array-like of shape (n_datasets, n_splits)
            The same for each method.
        dataset_names : sequence of str
            Names of the data sets.
        baseline_name : str, default="baseline"
            Name of the baseline in the axis label.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **plot_options
            Passed on to :meth:`plot`.

        Returns
        -------
        RelativeImprovementDisplay
        """
        improvements = {name: relative_improvement(baseline, values) for name, values in methods.items()}
        display = cls(
            {name: improvement.mean for name, improvement in improvements.items()},
            {name: improvement.std for name, improvement in improvements.items()},
            dataset_names,
            baseline_name=baseline_name,
        )
        return display.plot(ax, **plot_options)

    def plot(self, ax: Axes | None = None) -> RelativeImprovementDisplay:
        """Draw the rows, the first data set on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure, as high as the rows need, by default.

        Returns
        -------
        RelativeImprovementDisplay
            Itself.
        """
        n_rows, n_methods = len(self.dataset_names), len(self.mean)
        row_height = 0.16 + 0.13 * n_methods
        ax = axes_or_new(ax, (7.0, 0.7 + row_height * n_rows))
        rows = np.arange(n_rows, dtype=np.float64)
        offsets = (np.arange(n_methods) - (n_methods - 1) / 2) * 0.7 / n_methods

        self.zero_line_ = ax.axvline(0.0, color=GREY, linewidth=1.2, zorder=1)
        self.containers_ = {}
        for index, (method, mean) in enumerate(self.mean.items()):
            style = method_style(index)
            self.containers_[method] = ax.errorbar(
                mean,
                rows + offsets[index],
                xerr=self.std[method],
                label=method,
                color=style["color"],
                marker=style["marker"],
                linestyle="none",
                markersize=5,
                elinewidth=1.4,
                capsize=2,
                zorder=3,
            )
        for border in rows[1:] - 0.5:
            ax.axhline(border, color=GRID, linewidth=0.8, zorder=0)
        ax.set_ylim(n_rows - 0.5, -0.5)
        ax.set_yticks(rows, self.dataset_names)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"improvement over {self.baseline_name} [%]")
        tidy(ax, grid="x")
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
