"""Which thresholds a calibration sample certifies: walks over all thresholds from starts that share delta.

The calibration examples are n independent draws (s_i, loss_i), not used to train the predictor or the score.
F(t) = P(s <= t) is the true coverage and R(t) = E[loss | s <= t] the true selective risk of the threshold t;
t is bad if R(t) > max_risk. Nothing is assumed about the distribution: values of s may have positive
probability, and R may have any shape.

**Places.** Give every example, seen or new, a key v uniform in (0, 1), and order pairs (s, v) first by s,
then by v. The place q = P(pair <= (s, v)) of an example is uniform in (0, 1); q_(1) < ... < q_(n) are the
places of the sample, q_(0) = 0 and q_(n+1) = 1. Accepting s <= t means accepting the places up to F(t). Let
G(q) = E[(loss - max_risk) [place <= q]], a continuous function with G(0) = 0. The place q is bad if G(q) > 0;
t is bad exactly if the place F(t) is. N(q) is the number of examples at places <= q, and p(k) one of the
p-values of :mod:`.pvalues` on the losses of the first k examples. They are valid, P(p(k) <= x) <= x, if these
k losses are independent with means of at least max_risk. (Random numbers that do not depend on
the sample change nothing.)

**Walks.** A list of counts is fixed in advance. It has n and the ranks of all starts in it. A start has a
budget; the budgets add up to delta. It begins at a rank c, or at a number t_0 that was fixed before the
sample was seen and has the count N(F(t_0)). Its walk looks at the listed counts from its own on, and at the
counts of numbers. It stops at the first k with p(k) > level(k), the sum of its own budget and those of the
starts that begin later in this walk and at a count below k. Every look at a listed count k that passes
certifies the places from q_(k) to q_(k+1), every look at a number that passes the place F(t_0).
*Claim:* with probability >= 1 - delta no certified place is bad.

*Proof.* As G is continuous, the bad places form open intervals, and the others closed ones between them, with
G = 0 at all ends (except at 1). So the mean loss within each interval is max_risk. (Where infinitely many bad
intervals leave single points between them, the mean loss at almost all of these is max_risk, too.) Given
which of the intervals q_(1), ..., q_(n) are in, the losses are independent with the mean max_risk, and it is
known which looks are bad, that is, would certify a bad place: the look at k is unless q_(k) and q_(k+1) are
in the same closed interval. Let k be the first bad look of some walk. If q_(k+1) is in a bad interval, then
given its value v, the losses between the lower end of the interval and v have a mean of at least max_risk, as
G(v) > 0; if it is not, the first k examples fill whole intervals; for the look at a number in a bad interval,
the same holds with v = F(t_0). So p(k) is valid. A start has at most one first bad look. Those that share it
include all whose budgets are in the level there, as their walks look at the same counts. So the probability
that some walk passes its first bad look is at most the sum of all budgets.

*Tests made for a level.* Hedged bets (:func:`.pvalues.hedged_betting_p_values`) are another test for every
level, and one that passes at a small level need not pass at a larger one. So a look passes only if those of
all earlier starts at the same count do (but the look at the rank or number where the walk begins, whose
budget no other level includes). Their random order is drawn with the uncertainties as its seed.

*Thresholds.* The real thresholds among the places from q_(k) to q_(k+1) are s_(k) <= t < s_(k+1). The value
s_(k+1) is not certified: p(k) says nothing about other examples that have it. Of those certified, the largest
s_(k) is chosen, and t = infinity if k = n passes. Where s_(k) = s_(k+1) there is none.

*Ties.* Only the order of tied examples in the sample depends on the keys. It must not depend on the losses:
it is that of a generator over the sorted sample with the uncertainties as its seed, so that the order of the
input does not matter.

*Lists.* One list has all counts. The other, for the binomial test, has those at which the test begins to
allow one error more (:func:`counts_to_test`), as a look in between would only stop the walk earlier; it
certifies more if s is continuous and little if many examples are tied. The choice depends on X, the number of
examples that share their value with one before: the second list if X = 0, the first if X > 2 h sqrt(n), what
both certify in between. As one example changes X by at most 1, P(X >= E[X] + h sqrt(n)) and P(X <= E[X] - h
sqrt(n)) are at most exp(-2 h^2) (McDiarmid). So for every distribution either the first or the second list
decides alone with at most this probability, and delta is to pay for the other list and exp(-2 h^2) = delta /
1000.

*Groups.* One threshold is to be good for every group, so a place is bad if it is bad for some group. The walk
of one start looks at all counts, and passes while the p-values of all groups pass at the counts of their own
examples. At the end l of a closed interval [b, l] some group g turns bad, and its own p-value has to pass
there; so there is no correction for the number of groups (an intersection-union test). For this group G(l) =
0, but G(b) <= 0: its mean loss is at most max_risk up to b and at least max_risk from b to l. That the rank c
is in the interval, N(b) <= c < N(l), bounds the number of its examples up to b from above. The fewer they
are, the less probable are small p-values, which therefore are valid as before. This is for one start at a
time: budgets are not added up along the way; and for tests that do not depend on the order of the losses, so
that bets are not hedged.

*Weights.* With density ratios w_i <= w_max, w_max fixed in advance, each example is kept with probability w_i
/ w_max. The kept ones are independent draws from the new distribution (rejection sampling; Park et al. 2022,
"PAC prediction sets under covariate shift"), and all of the above holds for them.
"""

from __future__ import annotations

import math
import zlib
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from facereject._validation import FloatArray
from facereject.selection.pvalues import (
    betting_p_values,
    binomial_p_value,
    hedged_betting_p_values,
    hoeffding_bentkus_p_value,
)

BoolArray = NDArray[np.bool_]
#: (levels of the counts low, ..., high - 1; low; high) -> their p-values
Tests = Callable[[FloatArray, int, int], FloatArray]

# Share of delta for the first rank. Compared with 0.5 and 0.9, and with other first ranks, on ten shapes of
# R and five sample sizes; later ranks help where the most certain examples are not the best.
_FIRST_SHARE = 0.7
# Share of delta for the choice of the list.
_CHOICE_SHARE = 1e-3
# Bets in a random order take a time that grows with n squared, and gain the less the larger n is.
_MOST_ORDERED = 2000
# Counts that are looked at together, at first and at most.
_BLOCK, _LARGEST_BLOCK = 32, 1 << 16


@dataclass(frozen=True)
class Start:
    """Where a walk begins: after ``count`` examples; ``number`` is the threshold fixed in advance, if any."""

    count: int
    budget: float
    number: float | None = None


@dataclass(frozen=True)
class Sample:
    """Losses in [0, 1] by increasing uncertainty, ties in random order; ``rows`` are those of the input."""

    losses: FloatArray
    uncertainty: FloatArray
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, losses: FloatArray, uncertainty: FloatArray, keep: FloatArray | None = None) -> Sample:
        """All examples, or each of them with its probability ``keep``."""
        order = np.lexsort((losses, uncertainty) if keep is None else (keep, losses, uncertainty))
        ordered = uncertainty[order]
        ties = bool(np.any(ordered[1:] == ordered[:-1]))
        if ties or keep is not None:
            rng = np.random.default_rng(zlib.crc32(ordered.data))
            if ties:
                order = order[np.lexsort((rng.random(len(order)), ordered))]
            if keep is not None:
                order = order[rng.random(len(order)) < keep[order]]
        return cls(losses[order], uncertainty[order], order)

    @property
    def group_ends(self) -> BoolArray:
        """Whether the next example, if any, has a larger uncertainty."""
        ends = np.ones(len(self.uncertainty), dtype=bool)
        np.greater(self.uncertainty[1:], self.uncertainty[:-1], out=ends[:-1])
        return ends

    def count(self, threshold: float) -> int:
        """N(threshold)."""
        return int(np.searchsorted(self.uncertainty, threshold, side="right"))

    def p_values(self, method: str, risk: float, delta: float, random_state: int | None = None) -> FloatArray:
        """p-value of the k first examples at index k, k = 0, ..., n; no examples give 1.

        None depends on the order of the examples. With a ``random_state``, that of the randomised form of the
        test: for 0/1 losses P(Bin < errors) + uniform P(Bin = errors), for bets uniform / capital.
        """
        n = len(self.losses)
        uniform = 1.0 if random_state is None else np.random.default_rng(random_state).random()
        if method == "betting" and n:
            return np.append(1.0, uniform * betting_p_values(self.losses, risk, delta))
        # sums at first, in whose place the p-values are written: files can have many millions of rows
        p = np.ones(n + 1)
        np.cumsum(self.losses, out=p[1:])
        for low in range(1, n + 1, _LARGEST_BLOCK):
            sums = p[low : low + _LARGEST_BLOCK]  # whole numbers for the binomial test
            counts = np.arange(low, low + len(sums))
            if method != "binomial":
                sums[:] = hoeffding_bentkus_p_value(np.minimum(sums / counts, 1.0), counts, risk)
            elif random_state is None:
                sums[:] = binomial_p_value(sums, counts, risk)
            else:
                fewer = np.where(sums > 0, binomial_p_value(np.maximum(sums - 1, 0), counts, risk), 0.0)
                sums[:] = fewer + uniform * (binomial_p_value(sums, counts, risk) - fewer)
        return p

    def tests(self, method: str, risk: float, delta: float, random_state: int | None = None) -> Tests:
        """The tests of a walk: hedged bets up to 2,000 examples, else ``p_values``."""
        if method != "betting" or len(self.losses) > _MOST_ORDERED:
            p = self.p_values(method, risk, delta, random_state)
            return lambda _, low, high: p[low:high]
        seed = [zlib.crc32(self.uncertainty.tobytes()), 1] if random_state is None else random_state

        def hedged(level: FloatArray, low: int, high: int) -> FloatArray:
            counts = range(max(low, 1), high)
            p = np.ones(high - low)
            if counts:
                p[counts.start - low :] = hedged_betting_p_values(
                    self.losses, risk, level[counts.start - low :], seed, counts, random_state is not None
                )
            return p

        return hedged


def rank_counts(n: int, risk: float, delta: float, smallest_group: int | None = None) -> list[int]:
    """Ranks c, 2c, 4c, ... and n, which stands for t = infinity.

    c is the fewest examples that pass the binomial test with one error among them (with none, if the sample
    is too small): a start that no single error can end. With groups, c is the number of examples
    among which this many of the smallest group are expected.
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


def rank_starts(n: int, risk: float, delta: float, smallest_group: int | None = None) -> list[Start]:
    """Starts at ranks of a sample of n examples; the first has most of the budget."""
    counts = rank_counts(n, risk, (1 - _CHOICE_SHARE) * _FIRST_SHARE * delta, smallest_group)
    if len(counts) == 1:
        return [Start(counts[0], delta)]
    rest = (1 - _FIRST_SHARE) * delta / (len(counts) - 1)
    return [Start(counts[0], _FIRST_SHARE * delta), *(Start(count, rest) for count in counts[1:])]


def fixed_start(sample: Sample, threshold: float, budget: float) -> Start:
    """Start at a threshold that was fixed before the sample was seen."""
    return Start(sample.count(threshold), budget, threshold)


def passed_counts(n: int, tests: Tests, starts: list[Start], listed: BoolArray | None = None) -> BoolArray:
    """Which counts k = 0, ..., n some walk has passed; all counts are listed by default."""
    looks = np.ones(n + 1, dtype=bool) if listed is None else listed.copy()
    looks[[start.count for start in starts]] = True
    passed = np.zeros_like(looks)
    # A number comes before a rank with the same count: the rank is at a place behind it.
    starts = sorted(starts, key=lambda start: (start.count, start.number is None))

    def level(i: int, low: int, high: int) -> FloatArray:
        levels = np.full(high - low, starts[i].budget)
        for later in starts[i + 1 :]:
            levels[max(later.count + 1 - low, 0) :] += later.budget
        return levels

    for i, start in enumerate(starts):
        # An earlier walk that came this far passes all that this one would. Looks come in growing blocks:
        # many walks end soon.
        low, size = start.count, _BLOCK
        while low <= n and not (low == start.count and passed[low]):
            high = min(low + size, n + 1)
            begins = np.arange(low, high) == start.count
            passes = np.ones(high - low, dtype=bool)
            for k in range(i + 1):
                levels = level(k, low, high)
                passes &= (tests(levels, low, high) <= levels) | (begins if k < i else False)
            failed = np.flatnonzero(looks[low:high] & ~passes)
            passed[low : low + failed[0] if len(failed) else high] = True
            if len(failed):
                break
            low, size = high, min(2 * size, _LARGEST_BLOCK)
    return passed & looks


def largest_certified(
    sample: Sample, tests: Tests, starts: list[Start], method: str, risk: float
) -> float | None:
    """Largest threshold that the walks certify, or infinity; None if there is none."""
    n = len(sample.losses)
    if method != "binomial":
        passed = passed_counts(n, tests, starts)
    else:

        def dearer(level: FloatArray, low: int, high: int) -> FloatArray:
            return tests(level, low, high) / (1 - _CHOICE_SHARE)

        n_tied = n - int(np.count_nonzero(sample.group_ends))
        delta = sum(start.budget for start in starts)
        many = math.sqrt(2 * n * math.log(1 / (_CHOICE_SHARE * delta)))  # 2 h sqrt(n)
        passed = np.ones(n + 1, dtype=bool)
        if n_tied > 0:
            passed &= passed_counts(n, dearer, starts)
        if n_tied <= many:
            # The start with most of the budget is to find the counts that suit it.
            level = (1 - _CHOICE_SHARE) * max(start.budget for start in starts)
            listed = np.zeros(n + 1, dtype=bool)
            listed[counts_to_test(n, risk, level)] = True
            passed &= passed_counts(n, dearer, starts, listed)
    passed[1:] &= sample.group_ends
    certified = np.flatnonzero(passed)
    if not len(certified):
        return None
    last = int(certified[-1])
    if last == n:
        return math.inf
    numbers = [start.number for start in starts if start.number is not None and start.count == last]
    return numbers[0] if numbers else float(sample.uncertainty[last - 1])


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


def part_of(sample: Sample, members: BoolArray) -> Sample:
    """The examples of a group, ``members`` of the sample."""
    return Sample(sample.losses[members], sample.uncertainty[members], sample.rows[members])


def walk_stop(part: Sample, p_values: FloatArray, count: int, budget: float) -> float | None:
    """The walk from ``count`` certifies thresholds below this value for a group; None if it fails at once."""
    failed = np.flatnonzero(p_values[count:] > budget)
    if not len(failed):
        return math.inf
    return float(part.uncertainty[count + failed[0] - 1]) if failed[0] else None


def largest_below(sample: Sample, start: Start, stop: float) -> float | None:
    """Largest threshold below ``stop`` that the walk from a start can certify, or infinity."""
    if math.isinf(stop):
        return math.inf
    below = int(np.searchsorted(sample.uncertainty, stop, side="left"))
    if start.number is not None:
        return max(start.number, float(sample.uncertainty[below - 1])) if below else start.number
    return float(sample.uncertainty[below - 1]) if below >= start.count else None
