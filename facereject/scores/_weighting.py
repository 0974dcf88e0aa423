"""How much a learned score may change the order of a base score: no more than held-out losses support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray

#: Weights of the learned score that are compared.
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
# standard errors that are taken off the gain of a weight, and errors needed for weight 1. A few errors ranked
# as certain make up much of a small AuRC; results/strong/tables_used.json says where both were chosen
_CAUTION, _ENOUGH_ERRORS = 2.5, 40.0
# standard errors within which two scores count as equally good
_EQUAL = 1.25
# values of a score that are kept to read ranks from
_MAX_KNOTS = 1000


class RankScale(NamedTuple):
    """The share of a sample below a value, linear between the sample's quantiles and beyond them."""

    values: FloatArray
    ranks: FloatArray

    @classmethod
    def of(cls, sample: FloatArray) -> RankScale:
        """Read from a sample; values that occur often count half."""
        values, counts = np.unique(sample, return_counts=True)
        ranks = (np.cumsum(counts) - 0.5 * counts) / len(sample)
        if len(values) > _MAX_KNOTS:
            knots = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _MAX_KNOTS)))
            values, ranks = values[knots], ranks[knots]
        return cls(values, ranks)

    def __call__(self, scores: FloatArray) -> FloatArray:
        lowest, highest = self.values[0], self.values[-1]
        # beyond the sample ranks go on, so that the order of scores is kept there too
        beyond = (scores - np.clip(scores, lowest, highest)) / ((highest - lowest) or 1.0)
        return np.asarray(np.interp(scores, self.values, self.ranks) + beyond)


class Weighting(NamedTuple):
    """A mean of the ranks of a base score and a learned one, and why it has these weights.

    With weight 1 the learned score is used as it is, with weight 0 the base score.
    """

    weight: float
    reason: str
    base: RankScale | None = None
    learned: RankScale | None = None

    def __call__(self, base: FloatArray | None, learned: FloatArray) -> FloatArray:
        if base is None or self.weight == 1.0:
            return learned
        if self.base is None or self.learned is None:
            return base
        return (1.0 - self.weight) * self.base(base) + self.weight * self.learned(learned)


def choose_weighting(
    losses: FloatArray, base: FloatArray, learned: FloatArray, sample_weight: FloatArray | None = None
) -> Weighting:
    """Find the weight of a learned score against a base score.

    It is the one with the surest gain: AuRC of the base score less that of the weighted mean of ranks, less
    2.5 standard errors of this difference. With m errors (``count_errors``) it is at most m/40. Where no gain
    is sure, it is 0.

    Parameters
    ----------
    losses : ndarray of shape (n,)
    base, learned : ndarrays of shape (n,)
        Uncertainties by scores that have not seen these losses.
    sample_weight : ndarray of shape (n,), optional

    Notes
    -----
    The standard error is that of the difference between two AuRC of the same examples, by the infinitesimal
    jackknife: what the bootstrap tends to, without drawing samples [1]_.

    References
    ----------
    .. [1] B. Efron, "Nonparametric standard errors and confidence intervals", Canadian Journal of Statistics
       9(2), 1981.
    """
    weight = np.ones(len(losses)) if sample_weight is None else sample_weight
    used = weight > 0
    losses, base, learned, weight = losses[used], base[used], learned[used], weight[used]
    n_errors = count_errors(losses, weight)
    errors = f"{len(losses)} losses"
    if ((losses == 0) | (losses == 1)).all():
        errors = f"{n_errors:.0f} error{'' if n_errors == 1 else 's'}"
    if n_errors < 2:
        return Weighting(0.0, f"{errors}: not enough to learn from")
    scales = RankScale.of(base), RankScale.of(learned)
    ranks = scales[0](base), scales[1](learned)
    mixtures = [base, *((1.0 - w) * ranks[0] + w * ranks[1] for w in WEIGHTS[1:-1]), learned]
    areas, influences = _areas(losses, mixtures, weight)
    gains = areas[0] - areas
    sure = gains - _CAUTION * _noise(influences, n_errors, 0)
    allowed = np.array(WEIGHTS) <= n_errors / _ENOUGH_ERRORS
    chosen = int(np.where(allowed, sure, -np.inf).argmax())
    if sure[chosen] <= 0:
        why = "the learned score ranks no better"
        if gains.max() > 0:
            few = n_errors < _ENOUGH_ERRORS
            why = "not enough to learn from" if few else "the learned score is better only within chance"
        return Weighting(0.0, f"{errors}: {why}")
    reason = f"{errors}: AuRC {areas[chosen] / areas[0]:.2f} of the base score's on held-out examples"
    if not allowed[sure.argmax()]:
        reason += ", too few errors for more weight"
    return Weighting(WEIGHTS[chosen], reason, *scales)


def compare_areas(
    losses: FloatArray, scores: Sequence[FloatArray], sample_weight: FloatArray | None = None
) -> tuple[int, list[int]]:
    """Position of the score with the lowest AuRC, and of all that are within 1.25 standard errors of it."""
    weight = np.ones(len(losses)) if sample_weight is None else sample_weight
    areas, influences = _areas(losses, scores, weight)
    best, n_errors = int(areas.argmin()), count_errors(losses, weight)
    if n_errors < 2:
        return best, list(range(len(scores)))
    equal = np.flatnonzero(areas <= areas[best] + _EQUAL * _noise(influences, n_errors, best))
    return best, [int(position) for position in equal]


def _areas(
    losses: FloatArray, scores: Sequence[FloatArray], weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """AuRC of each score, (k,), and influences of the examples on it, (k, n)."""
    areas, influences = zip(*(_aurc(losses, score, weight) for score in scores), strict=True)
    return np.array(areas), np.array(influences)


def _noise(influences: FloatArray, n_errors: float, other: int) -> FloatArray:
    """Standard errors of the differences to one of several AuRC."""
    # few errors underestimate their variation
    correction = n_errors / (n_errors - 1.0)
    return np.asarray(np.sqrt(correction * ((influences - influences[other]) ** 2).sum(axis=1)))


def count_errors(losses: FloatArray, sample_weight: FloatArray | None) -> float:
    """(Σ ωℓ)² / Σ ωℓ²: the number of errors for 0/1 losses, an equivalent of it for others.

    A weight of w counts as w examples. Weights that are all below 1 cannot be counts: the largest then
    counts as one.
    """
    counts = np.ones(len(losses)) if sample_weight is None else sample_weight
    if not losses[counts > 0].any():
        return 0.0
    counts = counts / min(1.0, float(counts.max()))
    # in units of the largest, squares neither overflow nor vanish
    units = losses / losses[counts > 0].max()
    return float((counts @ units) ** 2 / (counts @ units**2))


def _aurc(losses: FloatArray, scores: FloatArray, weight: FloatArray) -> tuple[float, NDArray[np.float64]]:
    """AuRC of weighted examples, and how it changes with the weight of each, times that weight.

        A = Σⱼ ωⱼ Rⱼ / Σ ω,    Rⱼ = Σ_{i ≤ j} ωᵢ ℓᵢ / Wⱼ,    Wⱼ = Σ_{i ≤ j} ωᵢ,    sorted by score
        ωᵢ ∂A/∂ωᵢ = ωᵢ (Rᵢ + Σ_{j ≥ i} ωⱼ (ℓᵢ − Rⱼ)/Wⱼ − A) / Σ ω

    Examples of equal score share their mean: the expectation over random orders.
    """
    order = np.argsort(scores, kind="stable")
    ties = np.cumsum(np.diff(scores[order], prepend=scores[order[0]]) != 0)
    mass = np.bincount(ties, weight[order])

    def shared(values: FloatArray) -> FloatArray:
        return np.asarray((np.bincount(ties, weight[order] * values) / mass)[ties])

    sums = np.cumsum(weight[order])
    share = weight[order] / sums
    risks = np.cumsum(weight[order] * shared(losses[order])) / sums
    area = float(weight[order] @ risks / sums[-1])
    # Σ over j ≥ i
    later, later_risk = (np.cumsum(part[::-1])[::-1] for part in (share, share * risks))
    change = shared(risks - later_risk) + losses[order] * shared(later) - area
    influence = np.empty(len(losses))
    influence[order] = weight[order] * change / sums[-1]
    return area, influence
