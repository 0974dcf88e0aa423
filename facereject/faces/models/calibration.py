"""From a score to percent: expected errors, intervals, and thresholds for a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject._validation import FloatArray, check_losses_and_uncertainty, check_number
from facereject.faces.models._unit import LEAST_FACES, Unit, fit_unit
from facereject.faces.regions import REGIONS
from facereject.selection.ranking import Ranking
from facereject.selection.selector import Selector
from facereject.selection.thresholds import largest_coverage, lowest_cost, lowest_risk

# more knots than this follow the noise of the sample; the curve is averaged over blocks of equal size first
_MAX_KNOTS = 200

# faces of similar uncertainty whose errors give the ends of an interval, and the most such groups
_INTERVAL_FACES, _MAX_GROUPS = 100, 20

#: probability that the error lies in an interval, unless another one is asked for
INTERVAL_LEVEL = 0.8


@dataclass(frozen=True)
class Target:
    """What acceptance is tuned for: one kind and its value.

    ``max_error``: mean error of the accepted faces at most this, in percent; ``max_expected_error``: expected
    error of each accepted face at most this; ``max_error_bound``: upper end of its 80 % interval at most
    this; ``coverage``: at least this share of faces accepted; ``cost``: a rejection is as bad as an error of
    this many percent; ``threshold``: accept up to this uncertainty.

    Parameters
    ----------
    kind : str
        One of these names.
    value : float

    Examples
    --------
    >>> from facereject.faces import Target
    >>> Target("max_error", 4.0)
    Target(kind='max_error', value=4.0)
    """

    kind: str
    value: float

    def __post_init__(self) -> None:
        if self.kind not in TARGET_KINDS:
            raise ValueError(f"target must be one of {', '.join(TARGET_KINDS)}; got {self.kind!r}")
        if not np.isfinite(self.value):
            raise ValueError(
                f"target {self.kind} must be finite, got {self.value}; coverage=1 accepts every face"
            )


def checked_target(kind: str, value: float) -> Target:
    """Make a target; ValueError if no faces could meet its value."""
    target = Target(kind, value)
    # without losses every valid target can be met, so an error is about the value itself
    Calibration(losses=[0.0, 0.0], uncertainty=[0.0, 1.0]).select(target)
    return target


_MODELS = {"max_error": largest_coverage, "coverage": lowest_risk, "cost": lowest_cost}

#: what a target may bound
TARGET_KINDS = (*_MODELS, "max_expected_error", "max_error_bound", "threshold")


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
        Of the same faces, to calibrate for some regions only.
    unit_error : float, default=0
        Standard error of the logarithm of the losses' unit, see `with_unit`: intervals are wider for it.
    unseen_ratio : array-like of shape (n,) or None
        The losses over those of faces that the landmark predictor was trained on, if they are those of unseen
        faces. Intervals are for an even mix of both: of a face it is not known whether it was seen.

    Attributes
    ----------
    knots : ndarray of shape (k,)
        Uncertainties, ascending.
    values : ndarray of shape (k,)
        Expected loss there by isotonic regression, never descending.

    Examples
    --------
    >>> from facereject.faces import Calibration
    >>> calibration = Calibration(losses=[1.0, 2.0, 3.0], uncertainty=[0.1, 0.2, 0.3])
    >>> float(calibration.expected_error(0.25))
    2.5
    """

    def __init__(
        self,
        losses: Any,
        uncertainty: Any,
        regions: RegionSample | None = None,
        unit_error: float = 0.0,
        unseen_ratio: Any = None,
    ) -> None:
        self.losses, self.uncertainty = check_losses_and_uncertainty(losses, uncertainty)
        if regions is not None and len(regions.losses) != len(self.losses):
            raise ValueError(f"regions has {len(regions.losses)} faces, losses {len(self.losses)}")
        self.regions = regions
        self.unit_error = check_number(unit_error, "unit_error", minimum=0)
        self.unseen_ratio = np.ones(0) if unseen_ratio is None else np.asarray(unseen_ratio, dtype=np.float64)
        if len(self.unseen_ratio) not in (0, len(self.losses)) or not (self.unseen_ratio > 0).all():
            raise ValueError("unseen_ratio must have a positive number for every face")
        centers, means, weights = self._blocks(min(_MAX_KNOTS, len(self.losses)), self.losses, np.mean)
        self.knots: FloatArray
        self.values: FloatArray
        self.knots, self.values = isotonic(centers, means, weights)
        self._ends: dict[float, _Ends] = {}

    def expected_error(self, uncertainty: Any) -> FloatArray:
        """Expected loss in percent: linear between the knots, constant beyond the first and the last."""
        return np.interp(np.asarray(uncertainty, dtype=np.float64), self.knots, self.values)

    def error_interval(
        self, uncertainty: Any, level: float = INTERVAL_LEVEL
    ) -> tuple[FloatArray, FloatArray]:
        """Interval that holds the loss of a face of this uncertainty with probability ``level``.

        The calibration faces are cut into groups of similar uncertainty. In each, the conformal quantiles of
        loss over expected loss at (1 - level) / 2 and (1 + level) / 2 give the ends, which are made to never
        descend and are linear between the groups. Both ends are as likely to be missed.

        Parameters
        ----------
        uncertainty : float or array-like
        level : float, default=0.8

        Returns
        -------
        low, high : ndarray
            In percent.
        """
        ends = self._interval(level)
        values = np.asarray(uncertainty, dtype=np.float64)
        return np.interp(values, ends.knots, ends.low), np.interp(values, ends.knots, ends.high)

    def with_unit(self, losses: Any, uncertainty: Any, *, relative: bool = False) -> tuple[Calibration, Unit]:
        """This calibration with its losses corrected to fit a few annotated faces, and the correction.

        Parameters
        ----------
        losses, uncertainty : array-like of shape (n,)
            Of at least ten annotated faces; losses in percent.
        relative : bool, default=False
            The losses of this calibration have no unit: nothing is known of the factor beforehand.
        """
        losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
        if len(losses) < LEAST_FACES:
            raise ValueError(f"losses: at least {LEAST_FACES} annotated faces are needed, got {len(losses)}")
        own = self.expected_error(self.uncertainty)
        dispersion = float(((self.losses - own) ** 2).sum() / max(float(own.sum()), 1e-9))
        unit = fit_unit(self.expected_error(uncertainty), losses, dispersion, relative=relative)
        corrected = self.scaled(unit(own))
        return Calibration(corrected.losses, self.uncertainty, corrected.regions, unit.standard_error), unit

    def scaled(self, factor: FloatArray, unseen: bool = False) -> Calibration:
        """This calibration with the losses of every face multiplied by its own factor.

        Parameters
        ----------
        factor : ndarray of shape (n,)
        unseen : bool, default=False
            The factor is the error on unseen faces over that on seen ones.
        """
        regions = self.regions
        if regions is not None:
            regions = RegionSample(*(_times(part, factor) for part in (regions.expected, regions.losses)))
        ratio = factor if unseen else None
        return Calibration(self.losses * factor, self.uncertainty, regions, self.unit_error, ratio)

    def select(self, target: Target) -> Selector:
        """The selection rule that meets the target on this sample.

        A rule that accepts the whole sample has nothing to tell apart: its threshold is +inf. A fixed
        ``threshold`` stays as it is.
        """
        if target.kind in _MODELS:
            return _MODELS[target.kind](Ranking.of(self.losses, self.uncertainty), target.value)
        threshold = target.value
        if target.kind == "max_expected_error":
            threshold = _last_below(self.knots, self.values, target.value)
        elif target.kind == "max_error_bound":
            ends = self._interval(INTERVAL_LEVEL)
            threshold = _last_below(ends.knots, ends.high, target.value)
        accepted = self.uncertainty <= threshold
        risk = float(self.losses[accepted].mean()) if accepted.any() else float("nan")
        return Selector(float(threshold), 1.0, float(accepted.mean()), risk)

    def _interval(self, level: float) -> _Ends:
        level = check_number(level, "level", above=0, below=1)
        if level not in self._ends:
            expected = np.maximum(self.expected_error(self.uncertainty), 1e-9)
            groups = min(max(len(self.losses) // _INTERVAL_FACES, 1), _MAX_GROUPS)
            tail = (1 - level) / 2
            ratio = (self.losses / expected)[:, None]
            if len(self.unseen_ratio):
                ratio = np.column_stack([ratio, ratio[:, 0] / self.unseen_ratio])
            centers, high, _ = self._blocks(groups, ratio, lambda values: _upper(values, tail))
            low = self._blocks(groups, ratio, lambda values: -_upper(-values, tail))[1]
            # the unit may be wrong as well: both spreads add up in squares of logarithms
            unit = NormalDist().inv_cdf(1 - tail) * self.unit_error
            # ratios between the groups, times the expected error there
            knots, _, weights = self._blocks(min(_MAX_KNOTS, len(self.losses)), ratio, np.mean)
            expected = self.expected_error(knots)
            low, high = (np.interp(knots, centers, end) for end in (low, high))
            high = np.exp(np.hypot(np.log(np.maximum(high, 1.0)), unit)) * np.minimum(high, 1.0)
            low = np.exp(-np.hypot(np.log(np.clip(low, 1e-9, 1.0)), unit)) * np.maximum(low, 1.0)
            ends = [np.interp(knots, *isotonic(knots, expected * end, weights)) for end in (low, high)]
            knots, first = np.unique(knots, return_index=True)
            self._ends[level] = _Ends(knots, *(end[first] for end in ends))
        return self._ends[level]

    def _blocks(
        self, number: int, values: FloatArray, figure: Callable[[FloatArray], Any]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Blocks of equal size by uncertainty: its mean, a figure of the values and the number of faces."""
        order = np.argsort(self.uncertainty, kind="stable")
        blocks = np.array_split(order, number)
        centers = np.array([self.uncertainty[block].mean() for block in blocks])
        figures = np.array([float(figure(values[block])) for block in blocks])
        return centers, figures, np.array([len(block) for block in blocks], dtype=float)


def _times(values: NDArray[np.float32], factor: FloatArray) -> NDArray[np.float32]:
    return (values * factor[:, None]).astype(np.float32)


class _Ends(NamedTuple):
    """Lower and upper end of intervals by uncertainty, neither ever descending."""

    knots: FloatArray
    low: FloatArray
    high: FloatArray


def _upper(values: FloatArray, tail: float) -> float:
    """The value that one more from the same source exceeds with a probability of at most ``tail``.

    For fewer values than that takes, the largest.
    """
    # several values of one face are no more faces
    n, copies = len(values), values.size // len(values)
    rank = math.ceil((n + 1) * (1 - tail) * copies)
    return float(np.sort(values, axis=None)[min(rank, values.size) - 1])


def _last_below(knots: FloatArray, values: FloatArray, most: float) -> float:
    """The largest u whose value, linear between knots and never descending, is at most ``most``.

    +inf if that is every u; the smallest number if there is none, as thresholds have to be finite.
    """
    if most >= values[-1]:
        return math.inf
    if most < values[0]:
        return float(np.finfo(np.float64).min)
    last = int(np.searchsorted(values, most, side="right")) - 1
    rise = (most - values[last]) / (values[last + 1] - values[last])
    threshold = float(knots[last] + rise * (knots[last + 1] - knots[last]))
    while threshold > knots[last] and np.interp(threshold, knots, values) > most:
        # rounding must not accept what was excluded
        threshold = math.nextafter(threshold, -math.inf)
    return threshold


def isotonic(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Knots and values of the weighted isotonic regression of y on x (ascending), which joins them linearly.

    Adjacent blocks that descend are pooled until none does. Where the result is level, only
    the ends are knots. scikit-learn has this too; its import takes longer than scoring a photo.
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
