"""Guarantees under covariate shift: kept on the new distribution, with weights known or estimated."""

from __future__ import annotations

import numpy as np
import pytest
from guarantee_problems import DELTA, MAX_RISK, allowed, quadratic, thresholds
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler

from facereject.selection import NoValidThresholdError, density_ratio, guaranteed_risk, two_sample_test

DRAWS = 500
# New data have the density 2u instead of 1: R(t) = 0.15 t^2 there, 0.1 t^2 in the calibration data.
ORACLE = (1 / 3) ** 0.5


def certify(weights, n=1500, **options):
    def once(rng):
        losses, u = quadratic(rng, n)
        return guaranteed_risk(
            losses=losses, uncertainty=u, max_risk=MAX_RISK, delta=DELTA, weights=weights(u), **options
        )

    return once


@pytest.mark.parametrize("options", [{}, {"start": 0.3}, {"weight_bound": 2.0}], ids=str)
def test_risk_is_kept_on_the_new_distribution(options):
    found = thresholds(certify(lambda u: 2 * u, **options), DRAWS, seed=1)
    assert np.mean(found > ORACLE) <= allowed(DRAWS)
    assert np.mean(found > 0.2) > 0.3


def test_without_weights_it_is_not():
    found = thresholds(certify(np.ones_like), DRAWS, seed=2)
    assert np.mean(found > ORACLE) > 0.5


def test_equal_weights_change_nothing(rng):
    losses, u = quadratic(rng, 1000)
    plain = guaranteed_risk(losses=losses, uncertainty=u, max_risk=MAX_RISK)
    weighted = guaranteed_risk(losses=losses, uncertainty=u, max_risk=MAX_RISK, weights=np.full(1000, 7.0))
    assert weighted.threshold_ == plain.threshold_
    assert weighted.coverage_ == pytest.approx(plain.coverage_)
    assert weighted.guarantee_.weight_bound == 7
    assert "by the weights given (at most 7)" in weighted.guarantee_.statement


def test_coverage_and_risk_are_weighted_and_order_does_not_matter(rng):
    losses, u = quadratic(rng, 3000)
    w = 2 * u
    selector = guaranteed_risk(losses=losses, uncertainty=u, max_risk=MAX_RISK, weights=w, weight_bound=1.5)
    clipped, accepted = np.minimum(w, 1.5), u <= selector.threshold_
    assert selector.coverage_ == pytest.approx(clipped[accepted].sum() / clipped.sum())
    assert selector.selective_risk_ == pytest.approx(np.average(losses[accepted], weights=clipped[accepted]))
    order = rng.permutation(3000)
    again = guaranteed_risk(
        losses=losses[order], uncertainty=u[order], max_risk=MAX_RISK, weights=w[order], weight_bound=1.5
    )
    assert again.threshold_ == selector.threshold_


def test_density_ratio_of_two_normal_distributions(rng):
    """exp(x - 1/2) for N(1, 1) against N(0, 1); logistic regression can express it."""
    x, new = rng.normal(size=4000), 1 + rng.normal(size=6000)
    ratio = density_ratio(x, new)
    truth = np.minimum(np.exp(x - 0.5), 20.0)
    middle = np.abs(x) < 1.5
    np.testing.assert_allclose(ratio[middle], truth[middle], rtol=0.25)
    assert ratio.mean() == pytest.approx(1, abs=0.1)
    assert density_ratio(x, new, max_ratio=2.0).max() == 2
    trees = density_ratio(x, new, HistGradientBoostingClassifier(max_iter=20))
    assert np.corrcoef(trees, truth)[0, 1] > 0.8


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X_new": np.zeros((9, 2))}, ValueError, "same columns, got 1 and 2"),
        ({"X_new": np.zeros((2, 2, 2))}, ValueError, "X_new must be a table"),
        ({"X_new": np.zeros(3)}, ValueError, "at least cv = 5 rows"),
        ({"classifier": StandardScaler()}, TypeError, "predict_proba"),
        ({"max_ratio": 0.0}, ValueError, "max_ratio"),
        ({"cv": 1}, ValueError, "cv"),
    ],
)
def test_mistakes_are_explained(arguments, error, message):
    with pytest.raises(error, match=message):
        density_ratio(**({"X_calibration": np.zeros(9), "X_new": np.ones(9)} | arguments))


def test_weights_that_leave_nothing_are_an_error():
    with pytest.raises(NoValidThresholdError):
        guaranteed_risk(
            losses=np.zeros(300),
            uncertainty=np.arange(300.0),
            max_risk=0.1,
            weights=np.ones(300),
            weight_bound=1e9,
        )
    with pytest.raises(NoValidThresholdError, match="none in"):
        guaranteed_risk(
            losses=np.zeros(300),
            uncertainty=np.arange(300.0),
            max_risk=0.1,
            weights=np.ones(300),
            weight_bound=1e9,
            groups=np.arange(300) % 2,
        )


def test_two_samples_of_one_distribution_are_seldom_told_apart(rng):
    p_values = []
    for _ in range(40):
        X, new = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
        p_values.append(two_sample_test(X, new, LinearDiscriminantAnalysis(), permutations=19).p_value)
    assert np.mean(np.array(p_values) <= 0.1) <= 0.25
    assert 0.3 < np.mean(p_values) < 0.7
    other = two_sample_test(X, new + 1, LinearDiscriminantAnalysis(), permutations=19)
    assert other.p_value == 1 / 20


def test_two_samples_that_differ_are_told_apart_as_often_as_they_can_be(rng):
    """Of N(1, 1) and N(0, 1), the larger is the new one with probability Phi(1 / sqrt 2) = 0.76."""
    found = two_sample_test(rng.normal(size=4000), 1 + rng.normal(size=2000), margin=0.7)
    assert found.told_apart == pytest.approx(0.760, abs=0.02)
    assert found.p_value < 0.001
    p = two_sample_test(rng.normal(size=400), 1 + rng.normal(size=60), margin=0.8).p_value
    assert p > 0.5
    draws = [two_sample_test(rng.normal(size=300), 1 + rng.normal(size=80), margin=0.6) for _ in range(40)]
    spread = np.std([draw.told_apart for draw in draws])
    assert np.mean([draw.standard_error for draw in draws]) == pytest.approx(spread, rel=0.3)


def test_samples_that_never_mix_leave_some_doubt(rng):
    found = two_sample_test(rng.normal(size=50), 100 + rng.normal(size=10), margin=0.9)
    assert found.told_apart == 1
    assert found.standard_error > 0
    with pytest.raises(ValueError, match="margin"):
        two_sample_test(np.zeros(9), np.ones(9), margin=0.4)
