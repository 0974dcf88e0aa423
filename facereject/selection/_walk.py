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
losses; it is that of a generator over the sorted sample with the uncertainties as its seed, so that the order
of the input does not matter. A single start fixed in advance needs none of this: the same argument with real
thresholds only, a the infimum of the bad t >= u, holds for any distribution (Angelopoulos et al. 2021, "Learn
then test", fixed-sequence testing).

*Groups.* One threshold is to be good for every group: it is bad if it is bad for some group. The walk from a
start passes a count if the p-values of all groups pass there. The first bad threshold a is bad for some
group, whose own p-value has to be small at a; so there is no correction for the number of groups (an
intersection-union test). Given the counts, the losses of this group have a mean of at most max_risk up to l
and of at least max_risk between l and a. Few examples up to l favour both "the start lies in [l, a)" and a
large p-value, so that the bound of the proof holds as before. This is for one start at a time: budgets are
not added up along the way.

*Weights.* With density ratios w_i <= w_max each example is kept with probability w_i / w_max. The kept ones
are independent draws from the new distribution (rejection sampling; Park et al. 2022, "PAC prediction sets
under covariate shift"), and all of the above holds for them.
"""

from __future__ import annotations

import math
import zlib
from bisect import bisect_left
from dataclasses import dataclass, replace

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
    """Where a walk begins: after ``count`` examples; it certifies thresholds from ``low`` on."""

    count: int
    low: float
    budget: float
    fixed_in_advance: bool = False


@dataclass(frozen=True)
class Sample:
    """Losses in [0, 1] by increasing uncertainty, ties in random order; ``rows`` are those of the input."""

    losses: FloatArray
    uncertainty: FloatArray
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, losses: FloatArray, uncertainty: FloatArray, keep: FloatArray | None = None) -> Sample:
        """All examples, or each with the probability ``keep`` of its own."""
        order = np.lexsort((losses, uncertainty) if keep is None else (keep, losses, uncertainty))
        ties = bool(np.any(np.diff(uncertainty[order]) == 0))
        if ties or keep is not None:
            rng = np.random.default_rng(zlib.crc32(uncertainty[order].tobytes()))
            if ties:
                order = order[np.lexsort((rng.random(len(order)), uncertainty[order]))]
            if keep is not None:
                order = order[rng.random(len(order)) < keep[order]]
        return cls(losses[order], uncertainty[order], order)

    @property
    def group_ends(self) -> NDArray[np.bool_]:
        return np.append(np.diff(self.uncertainty) > 0, True)[: len(self.losses)]

    def count(self, threshold: float) -> int:
        """N(threshold)."""
        return int(np.searchsorted(self.uncertainty, threshold, side="right"))

    def p_values(self, method: str, risk: float, delta: float) -> FloatArray:
        """p-value of the k first examples at index k, k = 0, ..., n; no examples give 1."""
        counts = np.arange(1, len(self.losses) + 1)
        if method == "betting":
            p = betting_p_values(self.losses, risk, delta) if len(counts) else np.empty(0)
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


def rank_counts(n: int, risk: float, delta: float, smallest_group: int | None = None) -> list[int]:
    """Ranks c, 2c, 4c, ... and n, which stands for t = infinity.

    c is the fewest examples that pass the binomial test with one error among them (with none, if the sample
    is too small): a start that no single error can end. With groups, so many of the smallest are expected.
    """
    m = n if smallest_group is None else smallest_group
    counts: list[int] = []
    for errors in (1, 0):
        fewest = bisect_left(range(1, m + 1), True, key=lambda c: bdtr(errors, c, risk) <= delta) + 1
        if fewest < m:
            counts.append(math.ceil(fewest * n / m))
            break
    while counts and 2 * counts[-1] < 0.75 * n:
        counts.append(2 * counts[-1])
    return [*counts, n]


def rank_starts(sample: Sample, risk: float, delta: float, smallest_group: int | None = None) -> list[Start]:
    """Starts at ranks of the sample; the first has most of the budget."""
    n = len(sample.losses)
    counts = rank_counts(n, risk, _FIRST_SHARE * delta, smallest_group)
    rest = (1 - _FIRST_SHARE) * delta / max(len(counts) - 1, 1)
    budgets = [delta] if len(counts) == 1 else [_FIRST_SHARE * delta] + [rest] * (len(counts) - 1)
    lows = [float(sample.uncertainty[count]) if count < n else math.inf for count in counts]
    return [Start(*start) for start in zip(counts, lows, budgets, strict=True)]


def fixed_start(sample: Sample, threshold: float, budget: float) -> Start:
    """Start at a threshold that was fixed before the sample was seen."""
    return Start(sample.count(threshold), threshold, budget, fixed_in_advance=True)


def certified_stretches(sample: Sample, p_values: FloatArray, starts: list[Start]) -> list[Stretch]:
    """What the walks certify; ``p_values`` are those of ``sample.p_values``."""
    n = len(sample.losses)
    # A number comes before a rank with the same count: that rank is a larger uncertainty.
    starts = sorted(starts, key=lambda start: (start.count, not start.fixed_in_advance))
    looked_at = np.ones(n + 1, dtype=bool)
    if len(starts) == 1 and starts[0].fixed_in_advance:
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
        if start.low < stop or math.isinf(stop):
            stretches.append(Stretch(start.low, stop))
    return stretches


def part_of(sample: Sample, starts: list[Start], members: NDArray[np.bool_]) -> tuple[Sample, list[Start]]:
    """The examples of a group (``members`` of the sample) and the same starts counted in its examples."""
    counts = np.append(0, np.cumsum(members))
    part = Sample(sample.losses[members], sample.uncertainty[members], sample.rows[members])
    return part, [replace(start, count=int(counts[start.count])) for start in starts]


def largest_threshold(candidates: FloatArray, groups: list[list[Stretch]]) -> float | None:
    """Largest candidate, or infinity, that some stretch of every group contains; None if there is none."""
    candidates = np.append(np.unique(candidates), math.inf)
    allowed = np.ones(len(candidates), dtype=bool)
    for stretches in groups:
        allowed &= np.any([np.zeros_like(allowed)] + [s.contains(candidates) for s in stretches], axis=0)
    return float(candidates[allowed][-1]) if allowed.any() else None
