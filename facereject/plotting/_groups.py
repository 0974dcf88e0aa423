"""Risk and coverage of every group under a guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from facereject.plotting._style import INK, PALETTE, tidy
from facereject.selection import Guarantee
from facereject.selection.selector import GroupSelection

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class GroupDisplay:
    """One row per group: risk of its accepted calibration examples against the bound, and its coverage.

    Parameters
    ----------
    groups : sequence of GroupSelection
        ``groups`` of a guarantee.
    max_risk : float
        The guaranteed risk of each group.

    Attributes
    ----------
    ax_, coverage_ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    facereject.selection.guaranteed_risk_per_group : Thresholds with a guarantee for every group.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.plotting import GroupDisplay
    >>> from facereject.selection import guaranteed_risk
    >>> rng = np.random.default_rng(0)
    >>> uncertainty, groups = rng.random(2000), rng.choice(["old", "young"], 2000)
    >>> losses = (rng.random(2000) < 0.3 * uncertainty**2).astype(float)
    >>> selector = guaranteed_risk(losses, uncertainty, max_risk=0.1, groups=groups)
    >>> [group.name for group in GroupDisplay.from_guarantee(selector.guarantee_).groups]
    ['old', 'young']
    """

    def __init__(self, groups: Sequence[GroupSelection], max_risk: float) -> None:
        if not groups:
            raise ValueError("groups must hold at least one group; pass groups= to guaranteed_risk")
        self.groups = list(groups)
        self.max_risk = max_risk

    @classmethod
    def from_guarantee(cls, guarantee: Guarantee, ax: Any = None) -> GroupDisplay:
        """Draw the groups of a guarantee.

        Parameters
        ----------
        guarantee : Guarantee
            ``selector.guarantee_``.
        ax : sequence of two matplotlib Axes, optional
            For risk and coverage, side by side; a new figure by default.

        Returns
        -------
        GroupDisplay
            The drawn groups.
        """
        return cls(guarantee.groups, guarantee.bound).plot(ax)

    def plot(self, ax: Any = None) -> GroupDisplay:
        """Draw the groups.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
            For risk and coverage, side by side; a new figure by default.

        Returns
        -------
        GroupDisplay
            Itself.
        """
        left, right = _side_by_side(ax, 1.2 + 0.35 * len(self.groups))
        rows = range(len(self.groups))
        left.plot([g.selective_risk for g in self.groups], rows, "o", color=PALETTE[0], markersize=7)
        left.axvline(self.max_risk, color=INK, linestyle="--", linewidth=1.2)
        left.set_xlim(
            0, 1.15 * max([self.max_risk, *(g.selective_risk for g in self.groups if g.n_accepted)])
        )
        left.set_xlabel(f"risk of the accepted (at most {self.max_risk:g})")
        right.barh(rows, [g.coverage for g in self.groups], color=PALETTE[0], height=0.6)
        for row, group in enumerate(self.groups):
            right.text(
                min(group.coverage, 0.98) - 0.02 if group.coverage > 0.5 else group.coverage + 0.02,
                row,
                f"{group.n_accepted:,} of {group.n:,}",
                ha="right" if group.coverage > 0.5 else "left",
                va="center",
                color="white" if group.coverage > 0.5 else INK,
                fontsize="small",
            )
        right.set_xlim(0, 1)
        right.set_xlabel("coverage")
        left.set_yticks(list(rows), [g.name for g in self.groups])
        left.set_ylim(len(self.groups) - 0.5, -0.5)
        tidy(left, grid="x")
        tidy(right, grid="x")
        self.ax_, self.coverage_ax_, self.figure_ = left, right, left.figure
        return self


def _side_by_side(ax: Any, height: float) -> tuple[Axes, Axes]:
    if ax is not None:
        left, right = ax
        return left, right
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(7.0, height), layout="constrained")
    return left, right
