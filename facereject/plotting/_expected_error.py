"""Expected against true errors: whether an expected error can be taken at its word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from facereject._validation import check_same_length, check_vector
from facereject.plotting._style import (
    GREY,
    axes_or_new,
    legend_label,
    mark_reference,
    method_style,
    place_legend,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ExpectedErrorDisplay:
    """Mean loss of groups of examples against their mean expected error, with the diagonal.

    Parameters
    ----------
    groups : mapping of str to (expected, observed, low, high)
        Per method four sequences, one number per group: mean expected error, mean loss, and the interval of
        the mean loss.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    containers_ : dict of str to ErrorbarContainer
        Points and intervals per method.

    See Also
    --------
    sklearn.calibration.CalibrationDisplay : The same for probabilities of a binary classifier.

    Examples
    --------
    >>> from facereject.plotting import ExpectedErrorDisplay
    >>> losses, expected = [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]
    >>> display = ExpectedErrorDisplay.from_predictions(losses, {"mine": expected}, n_groups=2)
    >>> [[round(float(value), 2) for value in point] for point in zip(*display.groups["mine"][:2])]
    [[0.15, 0.0], [0.85, 1.0]]
    """

    def __init__(self, groups: Mapping[str, Any]) -> None:
        if not groups:
            raise ValueError("groups must hold at least one method")
        self.groups = {
            method: tuple(np.asarray(part, dtype=np.float64) for part in parts)
            for method, parts in groups.items()
        }

    @classmethod
    def from_predictions(
        cls, losses: Any, expected: Mapping[str, Any], *, n_groups: int = 10, ax: Axes | None = None
    ) -> ExpectedErrorDisplay:
        """Group examples by their expected error, and draw the means with 95 % intervals.

        Parameters
        ----------
        losses : array-like of shape (n,)
            Loss of each example, at least 0.
        expected : mapping of str to array-like of shape (n,)
            Expected errors by name, in the unit of the losses.
        n_groups : int, default=10
            Groups of equal size.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ExpectedErrorDisplay
            What was drawn.
        """
        target = check_vector(losses, "losses", non_negative=True)
        groups = {}
        for name, values in expected.items():
            errors = check_vector(values, f"expected[{name!r}]")
            check_same_length(losses=target, **{f"expected[{name!r}]": errors})
            parts = np.array_split(np.argsort(errors, kind="stable"), min(n_groups, len(errors)))
            mean = np.array([target[part].mean() for part in parts])
            half = np.array([1.96 * target[part].std() / np.sqrt(len(part)) for part in parts])
            groups[name] = (
                np.array([errors[part].mean() for part in parts]),
                mean,
                np.maximum(mean - half, 0.0),
                mean + half,
            )
        return cls(groups).plot(ax)

    def plot(self, ax: Axes | None = None, *, unit: str = "") -> ExpectedErrorDisplay:
        """Draw the groups.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        unit : str, default=""
            Unit of the losses, for the labels.

        Returns
        -------
        ExpectedErrorDisplay
            Itself.
        """
        ax = axes_or_new(ax, (5.2, 4.2))
        top = 1.05 * max(float(max(parts[0].max(), parts[3].max())) for parts in self.groups.values()) or 1.0
        (diagonal,) = ax.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=1.2)
        diagonal.set_label("expected = true")
        mark_reference(diagonal)
        self.containers_ = {}
        for index, (method, (expected, observed, low, high)) in enumerate(self.groups.items()):
            style = method_style(index)
            self.containers_[method] = ax.errorbar(
                expected,
                observed,
                yerr=np.maximum([observed - low, high - observed], 0.0),
                label=legend_label(method),
                color=style["color"],
                marker=style["marker"],
                linestyle="none",
                markersize=5,
                elinewidth=1.2,
                capsize=2,
            )
        ax.set(xlim=(0, top), ylim=(0, top))
        ax.set_xlabel(f"expected error{unit and f' ({unit})'}")
        ax.set_ylabel(f"true error{unit and f' ({unit})'}")
        tidy(ax, grid="both")
        place_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
