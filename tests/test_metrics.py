"""Metrics against brute force: double loops, and averages over every order of tied examples."""

from __future__ import annotations

import datetime
import functools
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from facereject.metrics import (
    augrc,
    aurc,
    coverage_at_risk,
    eaurc,
    edc_area,
    error_discard_curve,
    risk_at_coverage,
    risk_coverage_curve,
    sele_loss,
)
from facereject.selection import BoundedCoverage, guaranteed_risk

AREAS = [aurc, eaurc, augrc]
METRICS = [
    risk_coverage_curve,
    *AREAS,
    sele_loss,
    error_discard_curve,
    edc_area,
    pytest.param(lambda losses, u: risk_at_coverage(losses, u, 0.5), id="risk_at_coverage"),
    pytest.param(lambda losses, u: coverage_at_risk(losses, u, 0.5), id="coverage_at_risk"),
]

finite_losses = st.floats(0, 1e6, allow_subnormal=False)


@st.composite
def samples(draw, max_size=30, distinct=False):
    """Losses and uncertainties; few distinct levels, so that ties are common, unless ``distinct``."""
    n = draw(st.integers(1, max_size))
    losses = draw(st.lists(finite_losses, min_size=n, max_size=n))
    several = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    levels = draw(st.permutations(range(n)) if distinct else several)
    return np.array(losses), np.array(levels, dtype=float)


def slow_risks(ranked):
    """L(k)/k for losses in ranked order; the areas below take the same."""
    return [sum(ranked[: k + 1]) / (k + 1) for k in range(len(ranked))]


def slow_aurc(ranked):
    return sum(slow_risks(ranked)) / len(ranked)


def slow_sele(losses, uncertainty):
    n = len(losses)
    return sum(losses[i] for i in range(n) for j in range(n) if uncertainty[i] <= uncertainty[j]) / n**2


SLOW_AREAS = {
    aurc: slow_aurc,
    eaurc: lambda ranked: slow_aurc(ranked) - slow_aurc(sorted(ranked)),
    augrc: lambda ranked: sum(sum(ranked[: k + 1]) for k in range(len(ranked))) / len(ranked) ** 2,
}


def all_rankings(losses, uncertainty):
    """The losses in every order that is sorted by uncertainty: each order of the ties once."""
    n = len(losses)
    return [
        [losses[i] for i in order]
        for order in permutations(range(n))
        if all(uncertainty[order[k]] <= uncertainty[order[k + 1]] for k in range(n - 1))
    ]


def stable_ranking(losses, uncertainty):
    return [losses[i] for i in sorted(range(len(losses)), key=lambda i: uncertainty[i])]


@given(samples(max_size=6))
@settings(max_examples=60, deadline=None)
def test_expected_ties_are_the_average_over_all_orders(sample):
    rankings = all_rankings(*sample)
    for metric, slow in SLOW_AREAS.items():
        assert metric(*sample) == pytest.approx(np.mean([slow(r) for r in rankings]), rel=1e-12, abs=1e-9)
    risks = np.mean([slow_risks(r) for r in rankings], axis=0)
    np.testing.assert_allclose(risk_coverage_curve(*sample).risk, risks, rtol=1e-12)


@given(samples())
@settings(deadline=None)
def test_index_ties_are_the_stable_order(sample):
    ranked = stable_ranking(*sample)
    for metric, slow in SLOW_AREAS.items():
        assert metric(*sample, ties="index") == pytest.approx(slow(ranked), rel=1e-12, abs=1e-9)
    risk = risk_coverage_curve(*sample, ties="index").risk
    np.testing.assert_allclose(risk, slow_risks(ranked), rtol=1e-12)


@given(samples())
@settings(deadline=None)
def test_sele_is_the_double_loop(sample):
    assert sele_loss(*sample) == pytest.approx(slow_sele(*sample), rel=1e-12)


@given(samples(distinct=True))
@settings(deadline=None)
def test_sele_bounds_aurc_for_distinct_scores(sample):
    losses, uncertainty = sample
    n = len(losses)
    sele, area = sele_loss(losses, uncertainty), aurc(losses, uncertainty)
    harmonic = sum(1 / k for k in range(1, n + 1))
    assert sele <= area * (1 + 1e-12)
    assert area <= harmonic * sele * (1 + 1e-12)
    assert augrc(losses, uncertainty) == pytest.approx(sele, rel=1e-12)
    perfect = np.argsort(np.argsort(losses, kind="stable"))
    assert aurc(losses, perfect) <= 2 * n / (n + 1) * sele_loss(losses, perfect) * (1 + 1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_sele_bounds_are_attained(n):
    ranking = np.arange(n)
    harmonic = np.sum(1 / np.arange(1, n + 1))
    all_loss_first = np.eye(1, n)[0]
    assert aurc(all_loss_first, ranking) == pytest.approx(harmonic * sele_loss(all_loss_first, ranking))
    equal = np.ones(n)
    assert aurc(equal, ranking) == pytest.approx(2 * n / (n + 1) * sele_loss(equal, ranking))
    all_loss_last = all_loss_first[::-1]
    assert aurc(all_loss_last, ranking) == pytest.approx(sele_loss(all_loss_last, ranking))


def test_aurc_can_exceed_twice_sele():
    losses, ranking = [1, 0, 0, 0], [1, 2, 3, 4]
    assert aurc(losses, ranking) == pytest.approx(0.5208, abs=5e-5)
    assert 2 * sele_loss(losses, ranking) == 0.5


@given(samples())
@settings(deadline=None)
def test_ties_add_to_sele_half_of_the_group_beyond_the_example(sample):
    losses, uncertainty = sample
    group_size = (uncertainty[:, None] == uncertainty).sum(axis=1)
    extra = np.sum(losses * (group_size - 1) / 2) / len(losses) ** 2
    assert sele_loss(losses, uncertainty) == pytest.approx(augrc(losses, uncertainty) + extra, rel=1e-12)


def test_augrc_agrees_with_the_closed_form_of_its_authors(rng):
    """For 0/1 losses: (1 - AUROC) acc (1 - acc) + (1 - acc)^2 / 2, the trapezoid area; AUROC halves ties."""
    losses = rng.integers(0, 2, size=200)
    uncertainty = rng.integers(0, 20, size=200) + losses
    accuracy = 1 - losses.mean()
    auroc = roc_auc_score(losses, uncertainty)
    area = (1 - auroc) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    assert augrc(losses, uncertainty) - losses.mean() / (2 * 200) == pytest.approx(area, rel=1e-12)


@given(samples())
@settings(deadline=None)
def test_excess_is_exactly_zero_for_a_perfect_ranking_and_never_negative(sample):
    losses, uncertainty = sample
    assert eaurc(losses, losses) == 0.0
    # ties among equal losses only, with losses whose group sums round
    tenths = np.round(uncertainty) / 10
    assert eaurc(tenths, uncertainty) == 0.0
    ranks = np.argsort(np.argsort(losses, kind="stable"))
    for ties in ("expected", "index"):
        assert eaurc(losses, ranks, ties=ties) == 0.0
        assert eaurc(losses, uncertainty, ties=ties) >= 0.0
        assert eaurc(losses, np.zeros(len(losses)), ties=ties) >= 0.0


def test_a_small_excess_survives_beside_large_losses():
    losses = np.r_[1.0, 1.0 + 2**-50, np.full(1000, 1e3)]
    swapped = np.r_[1.0, 0.0, np.arange(2.0, 1002.0)]
    assert eaurc(losses, swapped) == pytest.approx(2**-50 / 1002, rel=1e-9)


def test_tied_examples_of_different_loss_cost_excess_only_in_expectation():
    assert eaurc([0, 1], [5, 5]) == pytest.approx(0.25)
    assert eaurc([0, 1], [-0.0, 0.0]) == pytest.approx(0.25)
    assert eaurc([0, 1], [5, 5], ties="index") == 0.0


def test_the_curve_of_a_small_sample():
    curve = risk_coverage_curve([4, 1, 3, 0], [0.9, 0.2, 0.2, 0.1])
    assert curve.coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    np.testing.assert_allclose(curve.risk, [0, 1, 4 / 3, 2])
    assert curve.threshold.tolist() == [0.1, 0.2, 0.2, 0.9]
    assert risk_coverage_curve([4, 1, 3, 0], [0.9, 0.2, 0.2, 0.1], ties="index").risk[1] == 0.5


@given(samples())
@settings(deadline=None)
def test_only_the_order_of_the_uncertainty_matters(sample):
    losses, uncertainty = sample
    for metric in [*AREAS, sele_loss]:
        assert metric(losses, uncertainty) == metric(losses, np.exp(uncertainty) - 7)


@given(samples(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_examples_does_not_matter(sample, random):
    losses, uncertainty = sample
    order = random.sample(range(len(losses)), len(losses))
    for metric in [*AREAS, sele_loss]:
        shuffled = metric(losses[order], uncertainty[order])
        assert shuffled == pytest.approx(metric(losses, uncertainty), rel=1e-12, abs=1e-9)


@given(samples(), st.integers(1, 30))
@settings(deadline=None)
def test_risk_at_each_coverage_of_the_curve_is_the_risk_of_the_curve(sample, k):
    losses, uncertainty = sample
    n = len(losses)
    k = min(k, n)
    curve = risk_coverage_curve(losses, uncertainty)
    assert risk_at_coverage(losses, uncertainty, k / n) == curve.risk[k - 1]
    between = np.nextafter((k - 1) / n, 1)
    assert risk_at_coverage(losses, uncertainty, between) == curve.risk[k - 1]


def test_risk_at_coverage_counts_exactly():
    """0.07 * 100 is 7.000000000000001 in floating point; seven examples are meant."""
    losses = np.arange(1.0, 101.0)
    assert risk_at_coverage(losses, losses, 0.07) == 4.0
    assert risk_at_coverage(losses, losses, 1.0) == 50.5
    assert risk_at_coverage([2, 1], [3, 3], 0.5, ties="index") == 2.0


def test_coverage_at_risk_is_the_largest():
    losses, ranking = [1, 0, 0, 1, 1], [1, 2, 3, 4, 5]
    assert coverage_at_risk(losses, ranking, 0.5) == 0.8
    assert coverage_at_risk(losses, ranking, 0.4) == 0.6
    assert coverage_at_risk(losses, ranking, 0.6) == 1.0
    assert coverage_at_risk(losses, ranking, 1e300) == 1.0
    assert coverage_at_risk([2, 1], [3, 3], 1.0, ties="index") == 0.0


def test_coverage_at_an_unreachable_risk_is_zero():
    assert coverage_at_risk([1, 2], [1, 2], 0.5) == 0.0
    assert coverage_at_risk([1, 0, 0], [1, 2, 3], 0.0) == 0.0
    assert coverage_at_risk([0, 0, 5], [1, 2, 3], 0.0) == pytest.approx(2 / 3)


@given(finite_losses, st.integers(1, 300), st.booleans())
@settings(deadline=None)
def test_coverage_at_the_risk_of_equal_losses_is_full(loss, n, tied):
    uncertainty = np.zeros(n) if tied else np.arange(n)
    assert coverage_at_risk(np.full(n, loss), uncertainty, loss) == 1.0


@given(samples(), finite_losses)
@settings(deadline=None)
def test_coverage_at_risk_is_consistent_with_the_curve(sample, target):
    risk = risk_coverage_curve(*sample).risk
    count = round(coverage_at_risk(*sample, target) * len(risk))
    assert count == 0 or risk[count - 1] <= target * (1 + 1e-12)
    assert np.all(risk[count:] > target)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("losses", "uncertainty", "message"),
    [
        ([1, np.nan], [1, 2], r"losses must be finite, but losses\[1\] is nan"),
        ([1, np.inf], [1, 2], r"losses must be finite"),
        ([1, -2], [1, 2], r"losses must not be negative, but losses\[1\]"),
        ([1, 2], [np.nan, 2], r"uncertainty must be finite, but uncertainty\[0\] is nan"),
        ([1, 2], [1, -np.inf], r"uncertainty must be finite"),
        ([1, 2], [1, 2, 3], r"losses has 2, uncertainty has 3"),
        ([], [], r"losses must hold at least 1"),
        ([1], [], r"uncertainty must hold at least 1"),
        ([[1, 2]], [1, 2], r"losses must be one-dimensional"),
        (["a", "b"], [1, 2], r"losses must hold numbers"),
    ],
)
def test_bad_input_is_named(metric, losses, uncertainty, message):
    with pytest.raises(ValueError, match=message):
        metric(losses, uncertainty)


@pytest.mark.parametrize("wrong", [-0.1, np.nan, np.inf])
def test_options_out_of_range(wrong):
    with pytest.raises(ValueError, match=r"ties must be 'expected' or 'index', got"):
        aurc([1], [1], ties=wrong)
    for coverage in (wrong, 0, 1.1):
        with pytest.raises(ValueError, match="coverage must be above 0 and at most 1"):
            risk_at_coverage([1, 2], [1, 2], coverage)
    with pytest.raises(ValueError, match="risk must be a finite number >= 0"):
        coverage_at_risk([1, 2], [1, 2], wrong)


@pytest.mark.parametrize("metric", METRICS)
def test_input_is_not_changed(metric):
    losses, uncertainty = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0])
    metric(losses, uncertainty)
    assert losses.tolist() == [3, 1, 2]
    assert uncertainty.tolist() == [1, 1, 0]


# --- numbers at the ends of the range, and what is no number ---

LARGEST = np.finfo(np.float64).max


@pytest.mark.parametrize("size", [1e306, LARGEST])
def test_sums_of_huge_losses_do_not_overflow(rng, size):
    losses, uncertainty = rng.random(500), rng.integers(0, 40, 500).astype(float)
    for function in (aurc, eaurc, augrc, sele_loss):
        assert function(size * losses, uncertainty) / size == pytest.approx(function(losses, uncertainty))
    curve = risk_coverage_curve(size * losses, uncertainty)
    np.testing.assert_allclose(curve.risk / size, risk_coverage_curve(losses, uncertainty).risk)
    target = 0.4 * size
    assert coverage_at_risk(size * losses, uncertainty, target) == coverage_at_risk(losses, uncertainty, 0.4)
    assert coverage_at_risk(np.full(100, size), np.arange(100), size) == 1
    assert coverage_at_risk(losses, uncertainty, LARGEST) == 1
    assert risk_at_coverage(np.full(7, LARGEST), np.zeros(7), 1.0) == LARGEST


def test_coverage_of_the_smallest_losses_is_exact():
    tiny = 5e-324
    # two tied examples: each counts tiny / 2, which is no number but more than 0
    assert coverage_at_risk([0.0, tiny], [1.0, 1.0], 0.0) == 0
    assert coverage_at_risk([0.0, tiny], [0.0, 1.0], 0.0) == 0.5
    losses = np.array([1, 2, 3, 4, 5, 6, 7]) * tiny
    for k in range(1, 8):
        # the mean of 1, ..., k is (k + 1) / 2: a target of j is met up to k = 2 j - 1
        assert coverage_at_risk(losses, np.arange(7), tiny * k) == min(2 * k - 1, 7) / 7
    np.testing.assert_array_equal(risk_coverage_curve(2 * losses, np.arange(7)).risk, tiny * np.arange(2, 9))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ma.masked_array([0.0, 1.0, 2.0], [False, True, False]), "must not be masked, but entry 1 is"),
        (np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]"), "got times"),
        (np.array([1, 2, 3], dtype="timedelta64[s]"), "got time differences"),
        ([datetime.date(2020, 1, 1)] * 3, "got times"),
        (["0", "1", "2"], "got text"),
        (np.array([0, "1", 2.0], dtype=object), "got text"),
        (np.array([b"0", b"1", b"2"]), "got text"),
        (np.array([0, 1j, 2]), "got complex"),
        ([None, 1.0, 2.0], "must"),
    ],
    ids=str,
)
@pytest.mark.parametrize("argument", ["losses", "uncertainty"])
def test_what_is_no_number_is_refused(bad, message, argument):
    arguments = {"losses": [0.0, 1.0, 2.0], "uncertainty": [0.0, 1.0, 2.0], argument: bad}
    for function in (aurc, risk_coverage_curve, sele_loss):
        with pytest.raises(ValueError, match=f"{argument} .*{message}"):
            function(**arguments)
    for select in (BoundedCoverage(0.5).fit, functools.partial(guaranteed_risk, max_risk=0.1)):
        with pytest.raises(ValueError, match=f"{argument} .*{message}"):
            select(**arguments)


def test_numbers_in_other_clothes_are_taken():
    expected = aurc([0.0, 1.0, 1.0], [0.0, 1.0, 2.0])
    clothes = [
        np.array([0, 1, 1], dtype=object),
        [Fraction(0), Fraction(1), Decimal(1)],
        np.array([False, True, True]),
        np.ma.masked_array([0.0, 1.0, 1.0], mask=False),
        np.array([0, 1, 1], dtype=np.uint8),
    ]
    for losses in clothes:
        assert aurc(losses, [0, 1, 2]) == expected


@given(samples(), st.floats(0.01, 1.0))
def test_partial_edc_area_is_the_integral_of_the_steps(sample, max_discard):
    losses, uncertainty = sample
    n = len(losses)
    risks = risk_coverage_curve(losses, uncertainty).risk
    # the curve as a function of the discarded share, at the middles of steps that are fine against 1/n
    steps = (np.arange(100_000) + 0.5) / 100_000 * max_discard
    kept = n - np.floor(steps * n).astype(int)
    assert edc_area(losses, uncertainty, max_discard=max_discard) == pytest.approx(
        risks[kept - 1].mean(), rel=1e-3, abs=1e-3 * losses.max()
    )


@given(samples())
def test_discarding_is_covering_from_the_right(sample):
    assert edc_area(*sample, max_discard=1.0) == pytest.approx(aurc(*sample))
    discard, error, threshold = error_discard_curve(*sample)
    curve = risk_coverage_curve(*sample)
    np.testing.assert_allclose(1 - discard, curve.coverage[::-1])
    np.testing.assert_array_equal(error, curve.risk[::-1])
    np.testing.assert_array_equal(threshold, curve.threshold[::-1])


@pytest.mark.parametrize("max_discard", [0, -0.1, 1.5, np.nan])
def test_edc_area_refuses_impossible_shares(max_discard):
    with pytest.raises(ValueError, match="max_discard"):
        edc_area([0, 1], [0, 1], max_discard=max_discard)
