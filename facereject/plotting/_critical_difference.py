"""Critical difference diagram: average ranks on a line, methods that do not differ significantly joined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from facereject._validation import FloatArray, check_vector
from facereject.comparison import average_ranks as ranks_of
from facereject.comparison import nemenyi
from facereject.plotting._style import GREY, INK, PALETTE, check_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Heights, in rows of labels: positive is below the line of ranks.
_CD_BAR = -1.45
_FIRST_LANE = 0.45
_LANE = 0.4
_ROW_INCHES = 0.27
# Ranks left free between two group bars of the same lane.
_BAR_GAP = 0.1
# In points.
_FONT_SIZE = 10.0
_GAP = 8.0


class CriticalDifferenceDisplay:
    """Average ranks of the methods with the critical difference of the Nemenyi test (Demšar 2006).

    Parameters
    ----------
    average_ranks : array-like of shape (n_methods,)
        Average rank of each method, 1 is best.
    names : sequence of str
        Names of the methods.
    critical_difference : float
        Drawn as the bar on top.
    groups : sequence of sequences of int
        Methods (positions in `names`) that do not differ significantly, drawn as bars that join them.
    alpha : float, optional
        Level of the test, for the label of the bar.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    labels_ : dict of str to Text
    elbows_ : dict of str to Line2D
        From the rank on the line to the label.
    group_bars_ : list of Line2D
        In the order of `groups`; x from the best to the worst rank of the group.
    cd_bar_ : Line2D
        x from 1 to 1 + critical difference.

    See Also
    --------
    facereject.comparison.nemenyi : The test behind the diagram.
    RelativeImprovementDisplay : How much better the methods are.

    References
    ----------
    J. Demšar: Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
    Research 7, 2006.

    Examples
    --------
    >>> from facereject.plotting import CriticalDifferenceDisplay
    >>> aurc = [[0.1, 0.2, 0.3], [0.2, 0.3, 0.5], [0.1, 0.3, 0.2]]
    >>> display = CriticalDifferenceDisplay.from_values(aurc, ["SELE", "REG", "max-prob"])
    >>> display.average_ranks.round(2), display.groups
    (array([1.  , 2.33, 2.67]), ((0, 1, 2),))
    """

    def __init__(
        self,
        average_ranks: Any,
        names: Sequence[str],
        *,
        critical_difference: float,
        groups: Sequence[Sequence[int]],
        alpha: float | None = None,
    ) -> None:
        self.average_ranks = check_vector(average_ranks, "average_ranks", min_length=2)
        self.names = check_names(names, "names", len(self.average_ranks))
        self.critical_difference = float(critical_difference)
        self.groups = tuple(tuple(group) for group in groups)
        self.alpha = alpha

    @classmethod
    def from_values(
        cls, values: Any, names: Sequence[str], *, alpha: float = 0.10, ax: Axes | None = None
    ) -> CriticalDifferenceDisplay:
        """Rank the methods on each data set, apply the Nemenyi test and draw the result.

        Parameters
        ----------
        values : array-like of shape (n_datasets, n_methods)
            For instance test AuRC; lower is better.
        names : sequence of str
            Names of the methods.
        alpha : float, default=0.10
            Level of the test.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CriticalDifferenceDisplay
        """
        return cls.from_ranks(ranks_of(values), len(values), names, alpha=alpha, ax=ax)

    @classmethod
    def from_ranks(
        cls,
        average_ranks: Any,
        n_datasets: int,
        names: Sequence[str],
        *,
        alpha: float = 0.10,
        ax: Axes | None = None,
    ) -> CriticalDifferenceDisplay:
        """Apply the Nemenyi test to average ranks and draw the result.

        Parameters
        ----------
        average_ranks : array-like of shape (n_methods,)
            Average rank of each method, 1 is best.
        n_datasets : int
            Number of data sets the ranks were averaged over.
        names : sequence of str
            Names of the methods.
        alpha : float, default=0.10
            Level of the test.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CriticalDifferenceDisplay
            The drawn diagram.
        """
        result = nemenyi(average_ranks, n_datasets, alpha=alpha)
        display = cls(
            result.average_ranks,
            names,
            critical_difference=result.critical_difference,
            groups=result.groups,
            alpha=result.alpha,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> CriticalDifferenceDisplay:
        """Draw the diagram: best rank on the left, labels of the better half left, of the others right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure, as large as the labels need, by default. All ink stays inside the
            axes, so they may be one of several in a figure; the letters shrink if the axes are too small.

        Returns
        -------
        CriticalDifferenceDisplay
            Itself.
        """
        order = [int(k) for k in np.argsort(self.average_ranks, kind="stable")]
        n_left = (len(order) + 1) // 2
        # Outermost rank in the uppermost row, on both sides: so no elbow crosses another.
        left, right = order[:n_left], order[n_left:][::-1]
        spans = [_span(self.average_ranks[list(group)]) for group in self.groups]
        lanes = _lanes(spans)
        first_row = _FIRST_LANE + _LANE * len(set(lanes)) + 0.45
        top, bottom = _CD_BAR - 1.0, first_row + n_left - 0.4

        texts = [f"{name}  {rank:.2f}" for name, rank in zip(self.names, self.average_ranks, strict=True)]
        margins = [max(_text_width(texts[k]) for k in side) + 2.0 * _GAP for side in (left, right)]
        if ax is None:
            ax = _new_axes(width=4.2 + sum(margins) / 72.0, height=_ROW_INCHES * (bottom - top))
        width, height = _size_in_points(ax)
        # Long names or many rows in small axes: smaller letters rather than letters on top of each other.
        scale = min(1.0, 0.7 * width / sum(margins), height / (bottom - top) / (1.3 * _FONT_SIZE))
        ranks_per_point = self._set_limits(ax, width, margins[0] * scale, margins[1] * scale)
        ax.set_ylim(bottom, top)
        ax.set_axis_off()

        self._draw_rank_line(ax, scale, ranks_per_point)
        self._draw_cd_bar(ax, scale, ranks_per_point)
        self.group_bars_ = []
        for span, lane in zip(spans, lanes, strict=True):
            y = _FIRST_LANE + _LANE * lane
            (bar,) = ax.plot(span, [y, y], color=PALETTE[0], linewidth=4, solid_capstyle="round", zorder=3)
            self.group_bars_.append(bar)
        self.labels_, self.elbows_ = {}, {}
        gap = _GAP * scale * ranks_per_point
        sides = ((left, 1.0 - gap, -1, "right"), (right, len(order) + gap, 1, "left"))
        for methods, end, direction, alignment in sides:
            for row, k in enumerate(methods):
                y, rank = first_row + row, self.average_ranks[k]
                (elbow,) = ax.plot([rank, rank, end], [0.0, y, y], color=INK, linewidth=0.9)
                self.elbows_[self.names[k]] = elbow
                label = ax.text(end + direction * 0.5 * gap, y, texts[k], fontsize=_FONT_SIZE * scale)
                label.set(horizontalalignment=alignment, verticalalignment="center")
                self.labels_[self.names[k]] = label
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_limits(self, ax: Axes, width: float, left: float, right: float) -> float:
        """Reserve margins for the labels beside the line of ranks (all in points); return ranks per point."""
        n_methods = len(self.names)
        ranks_per_point = (n_methods - 1) / (width - left - right)
        end = n_methods + right * ranks_per_point
        bar_end = 1.02 + self.critical_difference
        if bar_end > end:  # with few data sets the bar can be longer than the line and the labels
            ranks_per_point = (bar_end - 1.0) / (width - left)
            end = bar_end
        ax.set_xlim(1.0 - left * ranks_per_point, end)
        return ranks_per_point

    def _draw_rank_line(self, ax: Axes, scale: float, ranks_per_point: float) -> None:
        n_methods = len(self.names)
        ax.plot([1, n_methods], [0, 0], color=INK, linewidth=1.2)
        numbered = range(1, n_methods + 1, math.ceil(2.0 * _FONT_SIZE * scale * ranks_per_point))
        for rank in range(1, n_methods + 1):
            ax.plot([rank, rank], [0, -0.18], color=INK, linewidth=1.2)
            if rank in numbered:
                number = ax.text(rank, -0.3, str(rank), fontsize=_FONT_SIZE * scale, color=GREY)
                number.set(horizontalalignment="center", verticalalignment="bottom")

    def _draw_cd_bar(self, ax: Axes, scale: float, ranks_per_point: float) -> None:
        (self.cd_bar_,) = ax.plot(
            [1.0, 1.0 + self.critical_difference], [_CD_BAR, _CD_BAR], color=INK, linewidth=1.2, marker="|"
        )
        level = "" if self.alpha is None else f"  (α = {self.alpha:g})"
        caption = f"CD = {self.critical_difference:.3g}{level}"
        # Above the start of the bar, unless that is too close to the right end of the axes.
        room = (_text_width(caption) + _GAP) * scale * ranks_per_point
        start = min(1.0, ax.get_xlim()[1] - room)
        ax.text(start, _CD_BAR - 0.2, caption, fontsize=_FONT_SIZE * scale, verticalalignment="bottom")


def _size_in_points(ax: Axes) -> tuple[float, float]:
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("ax must belong to a figure")
    box = ax.get_window_extent()
    return box.width * 72.0 / figure.dpi, box.height * 72.0 / figure.dpi


def _new_axes(width: float, height: float) -> Axes:
    """Axes that fill a new figure (inches): nothing is drawn outside them."""
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height)).add_axes((0.01, 0.01, 0.98, 0.98))


def _text_width(text: str) -> float:
    """Width of `text` in points at full size, which needs no canvas."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    width = TextPath((0, 0), text, prop=FontProperties(size=_FONT_SIZE)).get_extents().width
    # On a raster each small letter is rounded to whole pixels, which makes a line up to 8 % wider.
    return 1.08 * float(width)


def _span(ranks: FloatArray) -> tuple[float, float]:
    return float(ranks.min()), float(ranks.max())


def _lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """For each bar the uppermost lane where it meets no other: bars that touch would look like one."""
    lanes = [0] * len(spans)
    ends: list[float] = []
    for bar in sorted(range(len(spans)), key=lambda k: spans[k]):
        start, end = spans[bar]
        lane = next((k for k, last in enumerate(ends) if last + _BAR_GAP < start), len(ends))
        ends[lane : lane + 1] = [end]
        lanes[bar] = lane
    return lanes
