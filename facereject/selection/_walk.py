"""Which thresholds a calibration sample certifies: walks over all thresholds from starts that share delta.

The calibration examples are n independent draws (s_i, loss_i), not used to train the predictor or the score.
F(t) = P(s <= t) is the true coverage and R(t) = E[loss | s <= t] the true selective risk of the threshold t;
t is bad if R(t) > max_risk, else good.

**One threshold.** For a fixed t, given how many examples N(t) fall at or below t, their losses are N(t)
independent draws with mean R(t). So p(t), one of the p-values of :mod:`.pvalues` on those losses, is valid
for the hypothesis R(t) >= max_risk. It depends on the sample through the count N(t) and those losses.

**All thresholds.** Starts U_1 <= ... <= U_m with budgets d_1, ..., d_m that sum to delta are either numbers
fixed before the sample is seen or ranks: U = s_(c+1), the (c+1)-th smallest uncertainty. The walk from U_i
looks at counts k, from N(U_i) (from c for a rank) upwards, and continues while p <= level_i, the sum of the
budgets of the starts U_i, ..., U_m that it has looked at before. It certifies U_i and s_(k+1) for every count
k passed. The counts are those of the starts and a list fixed in advance: all of them, or for the binomial
test those at which it begins to allow one error more (:func:`counts_to_test`), as a look in between would
only stop the walk earlier.
*Claim:* with probability >= 1 - delta no certified threshold is bad. Nothing is assumed about the shape of R.

*Proof.* Let s be continuous, so that R is. At the points where good thresholds turn bad or bad ones good, R =
max_risk; hence the mean loss between two such points is max_risk as well. Given how many examples lie between
them, it is known which of the listed s_(k+1) and which starts are good, and the losses between two points are
independent draws with mean max_risk. Let k be the first count at which a walk looks with a bad threshold.
Given its value v, the losses from the last point up to v have a mean of at least max_risk, as R(v) >
max_risk. So p is valid at k, and a walk certifies a bad threshold only if p <= level there. All starts in
this level are good ones since the last bad count, and have the same k; a start that is bad itself has to pass
at its own count with its own budget. So every budget is spent at one count only, and the sum over all bad
counts is at most delta.

*Ties.* Order tied examples at random: with U(0, 1) as a second key the uncertainty is continuous. Of the
pairs a walk certifies, only the thresholds of whole groups are of use. So where the sample has ties, walks
look at every count and certify all thresholds they pass. The random order must not depend on the losses; it
is that of a generator over the sorted sample with the uncertainties as its seed, so that the order of the
input does not matter. (Values that new examples can share, although the sample has no ties, have a
probability of the order of 1/n and change R by as little.)

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
from functools import lru_cache

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
    def distinct(self) -> bool:
        return bool(self.group_ends.all())

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
class Segment:
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


def certified_stretches(sample: Sample, p_values: FloatArray, starts: list[Start]) -> list[Segment]:
    """What walks that look at every count certify; ``p_values`` are those of ``sample.p_values``."""
    n = len(sample.losses)
    # A number comes before a rank with the same count: that rank is a larger uncertainty.
    starts = sorted(starts, key=lambda start: (start.count, not start.fixed_in_advance))
    stretches = []
    for i, start in enumerate(starts):
        level = np.full(n + 1, start.budget)
        for later in starts[i + 1 :]:
            level[later.count + 1 :] += later.budget
        failed = np.flatnonzero((p_values > level)[start.count :])
        stop = math.inf
        if len(failed):
            if failed[0] == 0:
                continue
            stop = float(sample.uncertainty[start.count + failed[0] - 1])
        if start.low < stop or math.isinf(stop):
            stretches.append(Segment(start.low, stop))
    return stretches


def part_of(sample: Sample, starts: list[Start], members: NDArray[np.bool_]) -> tuple[Sample, list[Start]]:
    """The examples of a group (``members`` of the sample) and the same starts counted in its examples."""
    counts = np.append(0, np.cumsum(members))
    part = Sample(sample.losses[members], sample.uncertainty[members], sample.rows[members])
    return part, [replace(start, count=int(counts[start.count])) for start in starts]


@lru_cache(maxsize=64)
def counts_to_test(n: int, risk: float, level: float) -> NDArray[np.int64]:
    """For j = 0, 1, ... the fewest examples that pass the binomial test with j errors; and n."""
    errors = np.arange(int(n * risk) + 1)
    errors = errors[bdtr(errors.astype(np.float64), n, risk) <= level]
    low, high = errors + 1, np.full_like(errors, n)
    while np.any(low < high):
        middle = (low + high) // 2
        passed = bdtr(errors.astype(np.float64), middle, risk) <= level
        low, high = np.where(passed, low, middle + 1), np.where(passed, middle, high)
    return np.unique(np.append(low, n)).astype(np.int64)


def largest_by_rank(
    sample: Sample, p_values: FloatArray, starts: list[Start], tested: NDArray[np.int64]
) -> float | None:
    """Largest threshold that the walks certify if they look at the counts ``tested``; for distinct values."""
    n = len(sample.losses)
    starts = sorted(starts, key=lambda start: (start.count, not start.fixed_in_advance))
    beyond = np.append(sample.uncertainty, math.inf)
    tested = _insert(tested, [start.count for start in starts if not start.fixed_in_advance])
    numbers = [start for start in starts if start.fixed_in_advance]
    for start in numbers:
        if not _contains(tested, start.count):
            beyond[start.count] = start.low
    tested = _insert(tested, [start.count for start in numbers])
    before = np.append(0, tested[:-1])
    best: float | None = None
    for i, start in enumerate(starts):
        if p_values[start.count] > start.budget:
            continue
        first = int(np.searchsorted(tested, start.count, side="right"))
        ahead = tested[first:]
        level = np.full(len(ahead), start.budget)
        for later in starts[i + 1 :]:
            level[np.searchsorted(before[first:], later.count) :] += later.budget
        failed = np.flatnonzero(p_values[ahead] > level)
        passed = ahead[: failed[0]] if len(failed) else ahead
        # A sample accepted as a whole is no reason to reject anything.
        reached = float(beyond[passed[-1]]) if len(passed) else start.low if start.count < n else math.inf
        best = reached if best is None else max(best, reached)
    return best


def _contains(counts: NDArray[np.int64], count: int) -> bool:
    """Whether the increasing ``counts`` have ``count`` among them."""
    at = int(np.searchsorted(counts, count))
    return at < len(counts) and int(counts[at]) == count


def _insert(counts: NDArray[np.int64], others: list[int]) -> NDArray[np.int64]:
    """Union of the increasing ``counts`` and a few others; sorting all anew would take most of the time."""
    missing = sorted({other for other in others if not _contains(counts, other)})
    return np.insert(counts, np.searchsorted(counts, missing), missing) if missing else counts


def largest_threshold(candidates: FloatArray, groups: list[list[Segment]]) -> float | None:
    """Largest candidate, or infinity, that some stretch of every group contains; None if there is none."""
    candidates = np.append(np.unique(candidates), math.inf)
    allowed = np.ones(len(candidates), dtype=bool)
    for stretches in groups:
        allowed &= np.any([np.zeros_like(allowed)] + [s.contains(candidates) for s in stretches], axis=0)
    return float(candidates[allowed][-1]) if allowed.any() else None


def largest_certified(
    sample: Sample, p_values: FloatArray, starts: list[Start], method: str, risk: float
) -> float | None:
    """Largest threshold that the walks certify, or infinity; None if there is none."""
    n = len(sample.losses)
    if sample.distinct:
        # The start with most of the budget is to find the counts that suit it.
        level = max(start.budget for start in starts)
        tested = counts_to_test(n, risk, level) if method == "binomial" else np.arange(1, n + 1)
        return largest_by_rank(sample, p_values, starts, tested)
    numbers = [start.low for start in starts if start.fixed_in_advance]
    candidates = np.append(sample.uncertainty, numbers)
    return largest_threshold(candidates, [certified_stretches(sample, p_values, starts)])
