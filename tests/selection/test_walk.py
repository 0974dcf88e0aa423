"""The walk over all thresholds: against a literal one, its budgets, and how ties are ordered."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from facereject.selection import NoValidThresholdError, guaranteed_risk
from facereject.selection._walk import (
    Sample,
    Segment,
    Start,
    certified_stretches,
    counts_to_test,
    fixed_start,
    largest_by_rank,
    largest_threshold,
    rank_starts,
)


@pytest.mark.parametrize("n", [1, 20, 59, 60, 117, 118, 500, 2000, 50_000])
@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_ranks_spend_delta_and_end_with_everything(n, delta):
    starts = rank_starts(Sample.of(np.zeros(n), np.arange(n, dtype=float)), 0.05, delta)
    assert all(start.low == (start.count if start.count < n else math.inf) for start in starts)
    assert sum(start.budget for start in starts) == pytest.approx(delta)
    counts = [start.count for start in starts]
    assert counts == sorted(set(counts))
    assert counts[-1] == n
    if len(starts) > 2:
        # The first rank passes with one error among its examples, and would not with one example less.
        level = starts[0].budget
        assert stats.binom.cdf(1, counts[0], 0.05) <= level < stats.binom.cdf(1, counts[0] - 1, 0.05)


def literal(sample, p, starts):
    """Every real or tied threshold in turn, with the rule of the module docstring."""
    n = len(sample.losses)
    certified = set()
    for start in starts:
        passed = []
        for count in range(start.count, n + 1):
            inside = 0 < count < n and sample.uncertainty[count - 1] == sample.uncertainty[count]
            later = [
                other.budget
                for other in starts
                if other is not start
                and (other.count, not other.fixed_in_advance) >= (start.count, not start.fixed_in_advance)
                and count > other.count
            ]
            if p[count] > start.budget + sum(later):
                break
            if not inside:
                passed.append(count)
        for count in passed:
            value = sample.uncertainty[count - 1] if count else -math.inf
            if start.fixed_in_advance:
                certified.add(max(value, start.low))
            elif count > start.count:
                certified.add(value)
        if passed and passed[-1] == n:
            certified.add(math.inf)
    return max(certified, default=None)


@pytest.mark.parametrize("kind", ["ranks", "number", "both"])
def test_walk_follows_its_definition(rng, kind):
    counts, budgets = [3, 8, 14, 20], [0.02, 0.01, 0.03, 0.04]
    seen = set()
    for _ in range(2000):
        sample = Sample.of(np.zeros(20), rng.integers(0, 12, 20).astype(float))
        p = np.append(1.0, rng.choice([0.001, 0.015, 0.025, 0.035, 0.2], 20, p=[0.6, 0.15, 0.1, 0.1, 0.05]))
        lows = [*sample.uncertainty[counts[:-1]].tolist(), math.inf]
        ranks = [Start(*start) for start in zip(counts, lows, budgets, strict=True)]
        number = fixed_start(sample, 4.5, 0.025)
        starts = {"ranks": ranks, "number": [number], "both": [number, *ranks]}[kind]
        answer = literal(sample, p, starts)
        candidates = np.append(sample.uncertainty, 4.5 if kind != "ranks" else [])
        assert largest_threshold(candidates, [certified_stretches(sample, p, starts)]) == answer
        seen.add(answer)
    assert None in seen
    assert math.inf in seen
    assert len(seen) > 8


def literal_by_rank(sample, p, starts, tested):
    """Every start and every tested count in turn, for distinct uncertainties."""
    n = len(sample.losses)
    numbers = {start.count: start.low for start in starts if start.fixed_in_advance}
    ranks = set(tested) | {start.count for start in starts if not start.fixed_in_advance}
    counts = sorted(ranks | set(numbers))
    certified = []
    for i, start in enumerate(starts):
        if p[start.count] > start.budget:
            continue
        certified.append(start.low)
        seen = [start]
        for count in counts:
            if count <= start.count:
                continue
            if p[count] > sum(other.budget for other in seen):
                break
            seen += [other for other in starts[i + 1 :] if other.count == count]
            value = sample.uncertainty[count] if count < n else math.inf
            certified.append(value if count in ranks else numbers[count])
    return max(certified, default=None)


@pytest.mark.parametrize("kind", ["ranks", "number", "both"])
def test_walk_over_counts_to_test_follows_its_definition(rng, kind):
    seen = set()
    for _ in range(2000):
        sample = Sample.of(np.zeros(20), np.arange(20.0))
        p = np.append(1.0, rng.choice([0.001, 0.015, 0.025, 0.035, 0.2], 20, p=[0.3, 0.2, 0.15, 0.15, 0.2]))
        ranks = [Start(3, 3.0, 0.02), Start(8, 8.0, 0.01), Start(14, 14.0, 0.03), Start(20, math.inf, 0.04)]
        number = fixed_start(sample, 4.5, 0.025)
        starts = {"ranks": ranks, "number": [number], "both": [ranks[0], number, *ranks[1:]]}[kind]
        tested = np.array([2, 6, 9, 12, 13, 17, 20])
        answer = literal_by_rank(sample, p, starts, tested)
        assert largest_by_rank(sample, p, starts, tested) == answer
        seen.add(answer)
    assert None in seen
    assert math.inf in seen
    assert len(seen) > 4


@pytest.mark.parametrize(
    ("n", "risk", "level"), [(500, 0.05, 0.05), (59, 0.05, 0.05), (300, 0.4, 0.01), (5, 0.1, 0.1)]
)
def test_counts_to_test_are_those_at_which_one_more_error_is_allowed(n, risk, level):
    counts = np.arange(1, n + 1)
    allowed = np.array([np.sum(stats.binom.cdf(np.arange(k + 1), k, risk) <= level) for k in counts])
    steps = counts[np.diff(np.append(0, allowed)) > 0]
    np.testing.assert_array_equal(counts_to_test(n, risk, level), np.union1d(steps, [n]))


def test_a_common_threshold_lies_in_a_stretch_of_every_group():
    first = [Segment(0.0, 2.0), Segment(4.0, 6.0)]
    assert largest_threshold(np.arange(10.0), [first]) == 5
    assert largest_threshold(np.arange(10.0), [first, [Segment(1.0, math.inf)]]) == 5
    assert largest_threshold(np.arange(10.0), [first, [Segment(0.0, 4.0)]]) == 1
    assert largest_threshold(np.arange(10.0), [first, []]) is None
    assert largest_threshold(np.arange(10.0), [[Segment(math.inf, math.inf)]]) == math.inf


def test_ties_are_ordered_without_regard_to_input_and_losses(rng):
    losses, uncertainty = rng.integers(0, 2, 400).astype(float), rng.integers(0, 3, 400).astype(float)
    sample = Sample.of(losses, uncertainty)
    order = rng.permutation(400)
    np.testing.assert_array_equal(Sample.of(losses[order], uncertainty[order]).losses, sample.losses)
    for value in range(3):
        group = sample.losses[sample.uncertainty == value]
        half = len(group) // 2
        assert abs(group[:half].mean() - group[half:].mean()) < 0.25


def test_a_start_fixed_in_advance_takes_the_whole_delta():
    uncertainty = np.arange(200.0)
    losses = np.r_[np.zeros(59), np.ones(141)]
    assert guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05, start=58).threshold_ == 58
    # the threshold itself, where no example lies on it
    assert (
        guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05, start=58.5).threshold_ == 58.5
    )
    for options in ({"start": 57}, {"start": 59}, {"start": -1}, {"start": 58, "start_share": 0.9}, {}):
        with pytest.raises(NoValidThresholdError):
            guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05, **options)


def test_ranks_help_out_where_the_start_was_a_bad_choice(rng):
    uncertainty = rng.random(2000)
    losses = (rng.random(2000) < 0.3 * uncertainty**2).astype(float)
    sample = {"losses": losses, "uncertainty": uncertainty, "max_risk": 0.05}
    plain = guaranteed_risk(**sample).coverage_
    with pytest.raises(NoValidThresholdError):
        guaranteed_risk(**sample, start=0.95)
    assert guaranteed_risk(**sample, start=0.95, start_share=0.8).coverage_ == pytest.approx(plain, abs=0.1)
    selector = guaranteed_risk(**sample, start=0.3)
    assert selector.guarantee_.start == 0.3
    assert selector.coverage_ == pytest.approx(plain, abs=0.05)
