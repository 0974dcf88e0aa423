"""The walk over all thresholds: against a literal one, its budgets, and how ties are ordered."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from facereject.selection import NoValidThresholdError, guaranteed_risk
from facereject.selection._walk import (
    Sample,
    Start,
    counts_to_test,
    fixed_start,
    largest_below,
    largest_certified,
    passed_counts,
    rank_starts,
    walk_stop,
)


@pytest.mark.parametrize("n", [1, 20, 59, 60, 117, 118, 500, 2000, 50_000])
@pytest.mark.parametrize("delta", [0.01, 0.2])
def test_ranks_spend_delta_and_end_with_everything(n, delta):
    starts = rank_starts(n, 0.05, delta)
    assert sum(start.budget for start in starts) == pytest.approx(delta)
    counts = [start.count for start in starts]
    assert counts == sorted(set(counts))
    assert counts[-1] == n
    if len(starts) > 2:
        # The first rank passes with one error among its examples, and would not with one example less.
        level = 0.999 * starts[0].budget
        assert stats.binom.cdf(1, counts[0], 0.05) <= level < stats.binom.cdf(1, counts[0] - 1, 0.05)


def literal(p, starts, listed):
    """Every start and every count in turn, with the rule of the module docstring."""
    passed = set()
    counts = sorted(set(listed) | {start.count for start in starts})
    for start in starts:
        for count in counts:
            if count < start.count:
                continue
            later = [
                other.budget
                for other in starts
                if other is not start
                and (other.count, other.number is None) >= (start.count, start.number is None)
                and count > other.count
            ]
            if p[count] > start.budget + sum(later):
                break
            passed.add(count)
    return passed


RANKS = [Start(3, 0.02), Start(8, 0.01), Start(14, 0.03), Start(20, 0.04)]
P_VALUES = [0.001, 0.015, 0.025, 0.035, 0.2]


@pytest.mark.parametrize("listed", [range(21), [2, 6, 9, 12, 13, 17, 20]], ids=["all", "some"])
@pytest.mark.parametrize("kind", ["ranks", "number", "both"])
def test_walk_follows_its_definition(rng, kind, listed):
    number = Start(5, 0.025, 4.5)
    starts = {"ranks": RANKS, "number": [number], "both": [number, *RANKS]}[kind]
    mask = np.isin(np.arange(21), listed)
    seen = set()
    for _ in range(1000):
        p = np.append(1.0, rng.choice(P_VALUES, 20, p=[0.5, 0.2, 0.1, 0.1, 0.1]))
        answer = literal(p, starts, listed)
        assert (
            set(
                np.flatnonzero(
                    passed_counts(20, lambda _, low, high, p=p: p[low:high], starts, mask)
                ).tolist()
            )
            == answer
        )
        seen.add(max(answer, default=None))
    assert None in seen or kind == "both"
    assert 20 in seen
    assert len(seen) > 4


@pytest.mark.parametrize("kind", ["ranks", "number", "both"])
def test_only_whole_groups_of_tested_values_are_certified(rng, kind):
    seen = set()
    for _ in range(1000):
        sample = Sample.of(np.zeros(20), rng.integers(0, 12, 20).astype(float))
        p = np.append(1.0, rng.choice(P_VALUES, 20, p=[0.6, 0.15, 0.1, 0.1, 0.05]))
        number = fixed_start(sample, 4.5, 0.025)
        starts = {"ranks": RANKS, "number": [number], "both": [number, *RANKS]}[kind]
        certified = {
            math.inf
            if k == 20
            else 4.5
            if kind != "ranks" and k == number.count
            else sample.uncertainty[k - 1]
            for k in literal(p, starts, range(21))
            if k == 20 or sample.uncertainty[k - 1] < sample.uncertainty[k]
        }
        answer = max(certified, default=None)
        assert (
            largest_certified(sample, lambda _, low, high, p=p: p[low:high], starts, "betting", 0.05)
            == answer
        )
        seen.add(answer)
    assert None in seen or kind == "both"
    assert math.inf in seen
    assert len(seen) > 8


def test_a_value_that_was_not_tested_is_not_certified():
    """New examples may share the value of the first error, about which the examples before it say nothing."""
    for method in ("binomial", "betting", "hoeffding-bentkus"):
        losses, uncertainty = np.repeat([0.0, 1.0], [200, 40]), np.minimum(np.arange(240.0), 200.0)
        sample = {"losses": losses, "uncertainty": uncertainty, "max_risk": 0.02, "method": method}
        assert guaranteed_risk(**sample, start=199).threshold_ == 199
        assert guaranteed_risk(**sample, start=199, groups=np.zeros(240)).threshold_ == 199
        assert guaranteed_risk(**sample, start=190.5).threshold_ < 200


@pytest.mark.parametrize(
    ("n", "risk", "level"), [(500, 0.05, 0.05), (59, 0.05, 0.05), (300, 0.4, 0.01), (5, 0.1, 0.1)]
)
def test_counts_to_test_are_those_at_which_one_more_error_is_allowed(n, risk, level):
    counts = np.arange(1, n + 1)
    allowed = np.array([np.sum(stats.binom.cdf(np.arange(k + 1), k, risk) <= level) for k in counts])
    steps = counts[np.diff(np.append(0, allowed)) > 0]
    np.testing.assert_array_equal(counts_to_test(n, risk, level), np.union1d(steps, [n]))


def test_few_ties_certify_what_both_lists_do(rng):
    """Between no ties and many, a threshold needs the walk over all counts and that over the listed ones."""
    n, starts = 400, rank_starts(400, 0.05, 0.05)
    for _ in range(50):
        u = np.sort(rng.random(n))
        losses = (rng.random(n) < 0.3 * u**2).astype(float)
        u[301] = u[300]
        sample = Sample.of(losses, u)
        p = sample.p_values("binomial", 0.05, 0.05)
        listed = np.isin(np.arange(n + 1), counts_to_test(n, 0.05, 0.999 * 0.7 * 0.05))
        both = passed_counts(n, lambda _, low, high, p=p: p[low:high] / 0.999, starts) & passed_counts(
            n, lambda _, low, high, p=p: p[low:high] / 0.999, starts, listed
        )
        last = np.flatnonzero(both).max(initial=0)
        answer = None if last == 0 else math.inf if last == n else u[last - 1]
        assert (
            largest_certified(sample, lambda _, low, high, p=p: p[low:high], starts, "binomial", 0.05)
            == answer
        )


def test_a_group_stops_at_its_first_failure():
    part = Sample.of(np.zeros(4), np.array([1.0, 3.0, 5.0, 7.0]))
    assert walk_stop(part, np.array([1.0, 0.01, 0.01, 0.2, 0.01]), 1, 0.05) == 5
    assert walk_stop(part, np.array([1.0, 0.01, 0.2, 0.01, 0.01]), 2, 0.05) is None
    assert walk_stop(part, np.array([1.0, 0.01, 0.01, 0.01, 0.01]), 1, 0.05) == math.inf
    sample = Sample.of(np.zeros(8), np.arange(8.0))
    assert largest_below(sample, Start(2, 0.05), 5.0) == 4
    assert largest_below(sample, Start(2, 0.05), 1.0) is None
    assert largest_below(sample, Start(5, 0.05, 4.5), 5.0) == 4.5
    assert largest_below(sample, Start(0, 0.05, -1.0), 0.0) == -1
    assert largest_below(sample, Start(2, 0.05), math.inf) == math.inf


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
