"""Which thresholds a calibration sample certifies: walks over all thresholds from starts that share delta.

The calibration examples are n independent draws (s_i, loss_i), not used to train the predictor or the score.
F(t) = P(s <= t) is the true coverage and R(t) = E[loss | s <= t] the true selective risk of the threshold t;
t is bad if R(t) > max_risk, else good.

**One threshold.** For a fixed t, given how many examples N(t) fall at or below t, their losses are N(t)
independent draws with mean R(t). So p(t), one of the p-values of :mod:`.pvalues` on those losses, is valid
for the hypothesis R(t) >= max_risk. It depends on the sample through the count N(t) and those losses.

**All thresholds.** Starts U_1 <= ... <= U_m with budgets d_1, ..., d_m that sum to delta are either numbers
fixed before the sample is seen or ranks: U = s_(c+1), the (c+1)-th smallest uncertainty. The walk from U_i
looks at every count from N(U_i) (from c for a rank) upwards and continues while p <= level_i, the sum of the
budgets of the starts U_i, ..., U_m passed so far. All thresholds from U_i on, before it stops, are certified.
*Claim:* with probability >= 1 - delta no certified threshold is bad. Nothing is assumed about the shape of R.

*Proof.* Let s be continuous, so that R is, and cut the line into maximal intervals [l, a) of good thresholds:
R(l) = R(a) = max_risk, where l may be -infinity. A walk that starts in [l, a) and certifies a bad threshold
has passed a, so p(a) is at most the sum of the budgets of the starts in [l, a). Given N(l) and N(a), which
also tell which ranks lie in between, the losses up to l are independent draws with mean max_risk, and so are
those between l and a, as R(a) F(a) - R(l) F(l) = max_risk (F(a) - F(l)). The p-values are valid for such
draws, hence this happens with at most the expected sum of the budgets in [l, a). A walk that starts at a bad
threshold must pass its first test. If the start is a rank, then given U the c losses below are independent
draws with mean R(U) > max_risk; so this happens with at most its budget. The sum over all intervals and all
bad starts is at most delta.

*Ties.* Order tied examples at random: with U(0, 1) as a second key the uncertainty is continuous, and walks
over all pairs certify, among others, the thresholds of whole groups. The random order must not depend on the
losses; it is that of a generator with a fixed seed over the sorted sample, so that the order of the input
does not matter. A single start fixed in advance needs none of this: the same argument with real thresholds
only, a the infimum of the bad t >= u, holds for any distribution (Angelopoulos et al. 2021, "Learn then
test", fixed-sequence testing).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from facereject._validation import FloatArray
from facereject.selection.pvalues import betting_p_values, binomial_p_value, hoeffding_bentkus_p_value

# Share of delta for the first rank. Compared with 0.5 and 0.9, and with other first ranks, on ten shapes of
# R and five sample sizes; later ranks help where the most certain examples are not the best.
_FIRST_SHARE = 0.7


@dataclass(frozen=True)
class Start:
    """Where a walk begins: after the ``count`` smallest uncertainties, or at a ``threshold`` fixed before."""

    count: int
    budget: float
    threshold: float | None = None


@dataclass(frozen=True)
class Sample:
    """Losses in [0, 1] and weights in [0, 1] by increasing uncertainty, ties in random order."""

    losses: FloatArray
    uncertainty: FloatArray
    weights: FloatArray | None

    @classmethod
    def of(cls, losses: FloatArray, uncertainty: FloatArray, weights: FloatArray | None = None) -> Sample:
        keys = (losses, uncertainty) if weights is None else (weights, losses, uncertainty)
        order = np.lexsort(keys)
        if np.any(np.diff(uncertainty[order]) == 0):
            second = np.random.default_rng(0).random(len(order))
            order = order[np.lexsort((second, uncertainty[order]))]
        return cls(losses[order], uncertainty[order], None if weights is None else weights[order])

    @property
    def group_ends(self) -> NDArray[np.bool_]:
        return np.append(np.diff(self.uncertainty) > 0, True)

    def count(self, threshold: float) -> int:
        """N(threshold)."""
        return int(np.searchsorted(self.uncertainty, threshold, side="right"))

    def p_values(self, method: str, risk: float, delta: float) -> FloatArray:
        """p-value of the k first examples at index k, k = 0, ..., n; no examples give 1."""
        counts = np.arange(1, len(self.losses) + 1)
        if method == "betting":
            p = betting_p_values(self.losses, risk, delta, weights=self.weights)
        elif method == "binomial":
            p = binomial_p_value(np.cumsum(np.rint(self.losses)).astype(int), counts, risk)
        else:
            means = np.minimum(np.cumsum(self.losses) / counts, 1.0)
            p = hoeffding_bentkus_p_value(means, counts, risk)
        return np.append(1.0, p)


@dataclass(frozen=True)
class Stretch:
    """Certified thresholds t: low <= t < stop, and also t = infinity if stop is infinite."""

    low: float
    stop: float

    def contains(self, thresholds: FloatArray) -> NDArray[np.bool_]:
        return (thresholds >= self.low) & ((thresholds < self.stop) | math.isinf(self.stop))


def rank_starts(n: int, risk: float, delta: float, *, even: bool = False) -> list[Start]:
    """Starts at ranks c, 2c, 4c, ... and at t = infinity, which has the rank n.

    c is the fewest examples that pass the binomial test with one error among them (with none, if the sample
    is too small): a start that no single error can end. ``even`` gives all starts the same budget.
    """
    level = delta if even else _FIRST_SHARE * delta
    first = n
    for errors in (1, 0):
        fewest = bisect_left(range(1, n + 1), True, key=lambda c: bdtr(errors, c, risk) <= level) + 1
        if fewest < n:
            first = fewest
            break
    counts: list[int] = []
    while first < 0.75 * n or (first < n and not counts):
        counts.append(first)
        first *= 2
    counts.append(n)
    if len(counts) == 1:
        return [Start(n, delta)]
    share = 1 / len(counts) if even else (1 - _FIRST_SHARE) / (len(counts) - 1)
    first_share = share if even else _FIRST_SHARE
    return [Start(counts[0], first_share * delta), *(Start(count, share * delta) for count in counts[1:])]


def fixed_start(sample: Sample, threshold: float, budget: float) -> Start:
    return Start(sample.count(threshold), budget, threshold)


def certified_stretches(sample: Sample, p_values: FloatArray, starts: list[Start]) -> list[Stretch]:
    """What the walks certify; ``p_values`` are those of ``sample.p_values``."""
    n = len(sample.losses)
    # A number comes before a rank with the same count: that rank is a larger uncertainty.
    starts = sorted(starts, key=lambda start: (start.count, start.threshold is None))
    looked_at = np.ones(n + 1, dtype=bool)
    if len(starts) == 1 and starts[0].threshold is not None:
        looked_at[1:] = sample.group_ends
    stretches = []
    for i, start in enumerate(starts):
        level = np.full(n + 1, start.budget)
        for later in starts[i + 1 :]:
            level[later.count + 1 :] += later.budget
        failed = np.flatnonzero((p_values > level)[start.count :] & looked_at[start.count :])
        stop = math.inf
        if len(failed):
            if failed[0] == 0:
                continue
            stop = float(sample.uncertainty[start.count + failed[0] - 1])
        if start.threshold is not None:
            low = start.threshold
        else:
            low = float(sample.uncertainty[start.count]) if start.count < n else math.inf
        if low < stop or math.isinf(stop):
            stretches.append(Stretch(low, stop))
    return stretches


def largest_threshold(candidates: FloatArray, groups: list[list[Stretch]]) -> float | None:
    """Largest candidate, or infinity, that some stretch of every group contains; None if there is none."""
    candidates = np.append(np.unique(candidates), math.inf)
    allowed = np.ones(len(candidates), dtype=bool)
    for stretches in groups:
        allowed &= np.any([np.zeros_like(allowed)] + [s.contains(candidates) for s in stretches], axis=0)
    return float(candidates[allowed][-1]) if allowed.any() else None
