"""From a score to a unit: expected error in percent by isotonic regression, and thresholds for a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject._validation import FloatArray, check_losses_and_uncertainty
from facereject.faces.regions import REGIONS
from facereject.selection.ranking import Ranking
from facereject.selection.selector import Selector
from facereject.selection.thresholds import largest_coverage, lowest_cost, lowest_risk

# more knots than this follow the noise of the sample; the curve is averaged over blocks of equal size first
_MAX_KNOTS = 200

# fewer annotated faces than this tell no unit
_LEAST_FACES = 50


@dataclass(frozen=True)
class Target:
    """What acceptance is tuned for: one kind and its value.

    ``max_error``: mean error of the accepted faces at most this, in percent; ``coverage``: at least this
    share of faces accepted; ``cost``: a rejection is as bad as an error of this many percent;
    ``threshold``: accept up to this uncertainty.
    """

    kind: str
    value: float

    def __post_init__(self) -> None:
        if self.kind not in _MODELS and self.kind != "threshold":
            raise ValueError(f"target must be one of {', '.join(_MODELS)}, threshold; got {self.kind!r}")
        if not np.isfinite(self.value):
            raise ValueError(
                f"target {self.kind} must be finite, got {self.value}; coverage=1 accepts every face"
            )


def checked_target(kind: str, value: float) -> Target:
    """A target whose value makes sense, whatever the faces; ValueError otherwise."""
    target = Target(kind, value)
    # without any loss every sensible target is within reach, so only the value itself can be refused
    Calibration(losses=[0.0, 0.0], uncertainty=[0.0, 1.0]).select(target)
    return target


_MODELS = {"max_error": largest_coverage, "coverage": lowest_risk, "cost": lowest_cost}


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class RegionSample:
    """Expected and true errors of the regions of calibration faces, in percent.

    Parameters
    ----------
    expected, losses : array-like of shape (n, r)
        One column for every region of `facereject.faces.REGIONS`, means over its points.
    """

    expected: NDArray[np.float32]
    losses: NDArray[np.float32]

    def __post_init__(self) -> None:
        for name in ("expected", "losses"):
            values = np.asarray(getattr(self, name), dtype=np.float32)
            if values.ndim != 2 or values.shape[1] != len(REGIONS) or not np.isfinite(values).all():
                raise ValueError(f"{name} must be finite, one column for each of {', '.join(REGIONS)}")
            object.__setattr__(self, name, values)
        if self.expected.shape != self.losses.shape:
            raise ValueError(f"expected has {len(self.expected)} faces, losses {len(self.losses)}")

    @classmethod
    def of_points(cls, expected: ArrayLike, losses: ArrayLike) -> RegionSample:
        """From expected and true errors of all points, shape (n, 68)."""
        members = [list(points) for points in REGIONS.values()]
        parts = (np.asarray(values, dtype=np.float64) for values in (expected, losses))
        return cls(*(np.column_stack([part[:, group].mean(axis=1) for group in members]) for part in parts))

    def rows(self, chosen: Any) -> RegionSample:
        """The sample of some faces, by position or by mask."""
        return RegionSample(self.expected[chosen], self.losses[chosen])

    def calibration(self, names: Sequence[str]) -> Calibration:
        """Calibration for the points of some regions: their mean error, ranked by the expected one."""
        sizes = np.array([len(points) if name in names else 0 for name, points in REGIONS.items()])
        share = sizes / sizes.sum()
        losses, expected = (part.astype(np.float64) @ share for part in (self.losses, self.expected))
        return Calibration(losses=losses, uncertainty=expected, regions=self)


class Calibration:
    """Losses and uncertainties of faces the score was not trained on.

    Parameters
    ----------
    losses, uncertainty : array-like of shape (n,)
        Losses in percent.
    regions : RegionSample or None
        Of the same faces: what it takes to be calibrated for some regions only.

    Attributes
    ----------
    knots : ndarray of shape (k,)
        Uncertainties, ascending.
    values : ndarray of shape (k,)
        Expected loss there, never descending.
    """

    def __init__(self, losses: Any, uncertainty: Any, regions: RegionSample | None = None) -> None:
        self.losses, self.uncertainty = check_losses_and_uncertainty(losses, uncertainty)
        if regions is not None and len(regions.losses) != len(self.losses):
            raise ValueError(f"regions has {len(regions.losses)} faces, losses {len(self.losses)}")
        self.regions = regions
        order = np.argsort(self.uncertainty, kind="stable")
        blocks = np.array_split(order, min(_MAX_KNOTS, len(order)))
        centers = np.array([self.uncertainty[block].mean() for block in blocks])
        means = np.array([self.losses[block].mean() for block in blocks])
        weights = np.array([len(block) for block in blocks], dtype=float)
        self.knots: FloatArray
        self.values: FloatArray
        self.knots, self.values = _isotonic(centers, means, weights)

    def expected_error(self, uncertainty: Any) -> FloatArray:
        """Expected loss in percent: linear between the knots, constant beyond the first and the last."""
        return np.interp(np.asarray(uncertainty, dtype=np.float64), self.knots, self.values)

    def rescaled(self, losses: Any, uncertainty: Any) -> tuple[Calibration, float]:
        """This calibration, its losses shifted and scaled to fit those of other faces, and their factor.

        The factor is the mean loss of the faces over the mean that was expected. Raises ValueError for fewer
        than 50 faces.
        """
        losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
        if len(losses) < _LEAST_FACES:
            raise ValueError(f"losses: at least {_LEAST_FACES} annotated faces are needed, got {len(losses)}")
        expected = self.expected_error(uncertainty)
        factor = float(losses.mean()) / max(float(expected.mean()), 1e-9)
        spread = float(expected.var())
        slope = factor
        if spread > 0:
            slope = float(np.mean((expected - expected.mean()) * (losses - losses.mean()))) / spread
        slope = max(slope, 0.0)
        shift = float(losses.mean()) - slope * float(expected.mean())
        regions = self.regions
        if regions is not None:
            regions = RegionSample(regions.expected * factor, regions.losses * factor)
        moved = np.maximum(shift + slope * self.losses, 0.0)
        return Calibration(moved, self.uncertainty, regions), factor

    def select(self, target: Target) -> Selector:
        """The selection rule that meets the target on this sample.

        A rule that accepts the whole sample has nothing to tell apart: its threshold is +inf. A fixed
        ``threshold`` stays as it is.
        """
        if target.kind == "threshold":
            accepted = self.uncertainty <= target.value
            risk = float(self.losses[accepted].mean()) if accepted.any() else float("nan")
            return Selector(float(target.value), 1.0, float(accepted.mean()), risk)
        return _MODELS[target.kind](Ranking.of(self.losses, self.uncertainty), target.value)


def _isotonic(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Knots and values of the weighted isotonic regression of y on x (ascending), which joins them linearly.

    Adjacent blocks that descend are pooled until none does. Of a level stretch only the ends are knots.
    scikit-learn has this too; its import takes longer than to judge a photograph.
    """
    x, first = np.unique(x, return_index=True)
    sums = np.add.reduceat(y * weights, first)
    weights = np.add.reduceat(weights, first)
    # each block: sum of weighted values, weight, index of its first and last point
    blocks: list[tuple[float, float, int, int]] = []
    for i, (total, weight) in enumerate(zip(sums.tolist(), weights.tolist(), strict=True)):
        block = (total, weight, i, i)
        while blocks and blocks[-1][0] * block[1] >= block[0] * blocks[-1][1]:
            total_before, weight_before, start, _ = blocks.pop()
            block = (total_before + block[0], weight_before + block[1], start, block[3])
        blocks.append(block)
    ends = [(x[i], total / weight) for total, weight, *ends in blocks for i in dict.fromkeys(ends)]
    knots, values = np.array(ends).T
    return knots, values
