"""Thresholds with a guarantee: what they return and refuse. Whether they keep it is simulated elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from facereject.selection import NoValidThresholdError, guaranteed_coverage, guaranteed_risk

ALL_METHODS = ["binomial", "betting", "hoeffding-bentkus"]


@pytest.fixture
def sample(rng):
    uncertainty = rng.random(3000)
    return (rng.random(3000) < 0.3 * uncertainty**3).astype(float), uncertainty


@pytest.mark.parametrize("method", ALL_METHODS)
def test_guarantee_and_numbers_of_the_sample(sample, method):
    losses, uncertainty = sample
    selector = guaranteed_risk(
        losses=losses, uncertainty=uncertainty, max_risk=0.05, delta=0.1, loss_bound=1.0, method=method
    )
    accepted = selector.accept(uncertainty)
    assert selector.coverage_ == pytest.approx(accepted.mean())
    assert selector.selective_risk_ == pytest.approx(losses[accepted].mean())
    assert selector.selective_risk_ < 0.05
    assert 0.6 < selector.coverage_ < 0.87
    guarantee = selector.guarantee_
    assert (guarantee.quantity, guarantee.bound, guarantee.delta) == ("risk", 0.05, 0.1)
    assert (guarantee.n, guarantee.method) == (3000, method)
    assert "at most 0.05" in guarantee.statement
    # the exact test takes no other losses than 0 and 1
    assert ("error rate" in guarantee.statement) == (method == "binomial")


@pytest.mark.parametrize("method", ALL_METHODS)
def test_ranking_scale_and_order_decide(sample, method, rng):
    losses, uncertainty = sample
    plain = guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05, method=method)
    order = rng.permutation(len(losses))
    assert (
        guaranteed_risk(losses=losses[order], uncertainty=uncertainty[order], max_risk=0.05, method=method)
        == plain
    )
    other = guaranteed_risk(
        losses=64 * losses,
        uncertainty=np.exp(9 * uncertainty),
        max_risk=64 * 0.05,
        loss_bound=64.0,
        method=method,
    )
    assert other.coverage_ == plain.coverage_
    assert other.threshold_ == pytest.approx(np.exp(9 * plain.threshold_))


@pytest.mark.parametrize("method", ALL_METHODS)
def test_stricter_wishes_never_give_more_coverage(sample, method):
    coverages = [guaranteed_risk(*sample, risk, method=method).coverage_ for risk in (0.03, 0.05, 0.07, 0.2)]
    assert coverages == sorted(coverages)
    assert coverages[-1] == 1


def test_auto_is_exact_for_two_valued_losses_and_bets_otherwise(sample):
    losses, uncertainty = sample
    assert (
        guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05).guarantee_.method == "binomial"
    )
    assert (
        guaranteed_risk(losses=0.9 * losses, uncertainty=uncertainty, max_risk=0.05).guarantee_.method
        == "betting"
    )
    with pytest.raises(ValueError, match="binomial method"):
        guaranteed_risk(losses=0.9 * losses, uncertainty=uncertainty, max_risk=0.05, method="binomial")


@pytest.mark.parametrize("scale", [1.0, 0.9], ids=["0/1", "real"])
def test_a_randomised_test_certifies_more_and_repeats_itself(sample, scale):
    losses, uncertainty = scale * sample[0][:400], sample[1][:400]
    plain = guaranteed_risk(losses, uncertainty, 0.05, start=0.3)
    coverages = []
    for seed in range(30):
        selector = guaranteed_risk(losses, uncertainty, 0.05, start=0.3, random_state=seed)
        assert selector == guaranteed_risk(losses, uncertainty, 0.05, start=0.3, random_state=seed)
        assert f"random_state {seed}" in selector.guarantee_.method
        coverages.append(selector.coverage_)
    if scale == 1.0:
        # bets come in another order for every seed, the exact test does not
        assert min(coverages) >= plain.coverage_
        assert np.mean(coverages) > plain.coverage_
    else:
        assert len(set(coverages)) > 1
    with pytest.raises(ValueError, match="random_state needs"):
        guaranteed_risk(losses, uncertainty, 0.05, method="hoeffding-bentkus", random_state=0)


def test_clipping_is_reported(sample, rng):
    _, uncertainty = sample
    losses = rng.lognormal(1.0, 0.5, len(uncertainty))
    losses[:3] = 1e6
    selector = guaranteed_risk(
        losses=losses, uncertainty=uncertainty, max_risk=6.0, delta=0.05, loss_bound=30.0
    )
    assert selector.threshold_ == math.inf
    assert selector.selective_risk_ == pytest.approx(np.minimum(losses, 30).mean())
    assert selector.guarantee_.n_clipped == 3
    assert "min(loss, 30)" in selector.guarantee_.statement
    assert "3 calibration losses were above 30" in selector.guarantee_.statement


def test_ties_are_accepted_together(rng):
    uncertainty = rng.integers(0, 4, 2000)
    losses = (rng.random(2000) < np.array([0.01, 0.01, 0.01, 0.4])[uncertainty]).astype(float)
    selector = guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05)
    assert selector.threshold_ == 2
    assert selector.acceptance_ == 1


@pytest.mark.parametrize("method", ALL_METHODS)
def test_a_later_start_rescues_a_bad_most_certain_end(method, rng):
    """8 % errors among the most certain tenth, 1 % after it: the risk at half coverage is fine."""
    uncertainty = rng.random(20000)
    losses = (rng.random(20000) < np.where(uncertainty < 0.1, 0.08, 0.01)).astype(float)
    assert (
        guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.05, method=method).coverage_ == 1
    )


@pytest.mark.parametrize(
    "losses", [np.ones(500), np.full(500, 0.2), np.tile([0.0] * 9 + [1.0], 50)], ids=["all", "real", "tenth"]
)
def test_no_valid_threshold_is_an_error(losses):
    with pytest.raises(NoValidThresholdError, match="certify no threshold"):
        guaranteed_risk(losses=losses, uncertainty=np.arange(500), max_risk=0.1)


def test_losses_of_another_unit_than_the_bound_are_pointed_out(rng):
    uncertainty, losses = rng.random(500), 3 + rng.random(500)
    with pytest.raises(NoValidThresholdError, match="500 losses were clipped to loss_bound = 1, which seems"):
        guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=0.5)
    with pytest.raises(NoValidThresholdError, match=r"5 losses were clipped to loss_bound = 1$"):
        guaranteed_risk(losses=np.r_[losses[:5], np.ones(495)], uncertainty=uncertainty, max_risk=0.5)
    with pytest.raises(ValueError, match="max_risk must be below loss_bound, got 5 and 1"):
        guaranteed_risk(losses=losses, uncertainty=uncertainty, max_risk=5)


def test_coverage_takes_no_losses(rng):
    for losses in (rng.random(500), [0.0] * 500):
        with pytest.raises(ValueError, match="guaranteed_coverage takes no losses") as error:
            guaranteed_coverage(rng.random(500), losses, 0.5)
        assert len(str(error.value)) < 200


def test_too_few_examples_say_how_many():
    with pytest.raises(NoValidThresholdError, match="takes 59 accepted"):
        guaranteed_risk(losses=np.zeros(58), uncertainty=np.arange(58), max_risk=0.05)
    assert guaranteed_risk(losses=np.zeros(59), uncertainty=np.arange(59), max_risk=0.05).coverage_ == 1


@pytest.mark.parametrize(
    ("n", "coverage", "delta"), [(100, 0.8, 0.05), (1000, 0.5, 0.1), (59, 0.95, 0.05), (10, 0.01, 0.5)]
)
def test_coverage_takes_the_smallest_valid_order_statistic(n, coverage, delta):
    selector = guaranteed_coverage(np.arange(1, n + 1), coverage, delta)
    k = int(selector.threshold_)
    assert stats.binom.sf(k - 1, n, coverage) <= delta
    assert k == 1 or stats.binom.sf(k - 2, n, coverage) > delta
    assert selector.coverage_ == pytest.approx(k / n)
    assert math.isnan(selector.selective_risk_)
    assert selector.guarantee_.quantity == "coverage"
    assert f"at least {coverage:g} of all predictions" in selector.guarantee_.statement


def test_coverage_without_enough_examples_is_an_error():
    with pytest.raises(NoValidThresholdError, match="it takes 59"):
        guaranteed_coverage(np.arange(58), 0.95, 0.05)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"uncertainty": [0.0, np.nan]}, "uncertainty"),
        ({"losses": [0.0, -1.0]}, "losses"),
        ({"losses": [0.0]}, "lengths differ"),
        ({"uncertainty": [], "losses": []}, "losses"),
        ({"max_risk": 0.0}, "max_risk"),
        ({"max_risk": 1.0}, "max_risk"),
        ({"max_risk": np.nan}, "max_risk"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"loss_bound": 0.0}, "loss_bound"),
        ({"loss_bound": np.inf}, "loss_bound"),
        ({"method": "guess"}, "method"),
        ({"random_state": -1}, "random_state"),
        ({"start": np.inf}, "start"),
        ({"start": 0.5, "start_share": 0.0}, "start_share"),
        ({"groups": ["a"]}, "lengths differ"),
        ({"groups": ["a", None]}, r"groups\[1\] is None"),
        ({"groups": [0.0, np.nan]}, r"groups\[1\] is nan"),
        ({"groups": [["a", "b"]]}, "groups must be one-dimensional"),
        ({"weights": [1.0]}, "lengths differ"),
        ({"weights": [1.0, -1.0]}, "weights"),
        ({"weights": [0.0, 0.0]}, "weights must have a positive entry"),
        ({"weights": [1.0, 1.0], "weight_bound": 0.0}, "weight_bound"),
        ({"weight_bound": 2.0}, "weight_bound needs weights"),
    ],
)
def test_bad_arguments_of_guaranteed_risk_are_named(change, name):
    arguments = {"uncertainty": [0.0, 1.0], "losses": [0.0, 1.0], "max_risk": 0.1, "delta": 0.05}
    with pytest.raises(ValueError, match=name):
        guaranteed_risk(**(arguments | change))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"uncertainty": [np.inf]}, "uncertainty"),
        ({"uncertainty": []}, "uncertainty"),
        ({"min_coverage": 0.0}, "min_coverage"),
        ({"min_coverage": 1.0}, "min_coverage"),
        ({"delta": 1.5}, "delta"),
    ],
)
def test_bad_arguments_of_guaranteed_coverage_are_named(change, name):
    with pytest.raises(ValueError, match=name):
        guaranteed_coverage(**({"uncertainty": [0.0, 1.0], "min_coverage": 0.5, "delta": 0.1} | change))
