"""The bundle method where numbers get extreme: vanishing risks, far starts, tiny alpha, float32."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_problems import EVERY, D, N, X
from sklearn.exceptions import ConvergenceWarning

from facereject.risks import SELE, BinaryHinge, CrossEntropy, MulticlassHinge, OrdinalHinge, SquaredError
from facereject.solver import LinearObjective, bundle_minimize, bundle_path


@pytest.mark.parametrize(("alpha", "start"), [(0.0, 0.0), (0.3, 0.0), (0.3, 2.0)])
def test_zero_risk_gives_zero_weights(alpha, start):
    result = bundle_minimize(LinearObjective(X, SELE(np.zeros(N))), alpha, x0=np.full(D + 1, start))
    assert result.success
    np.testing.assert_allclose(result.x, 0.0, atol=1e-5)
    assert result.fun == pytest.approx(0.0, abs=1e-9)


def test_separable_hinge_without_regularisation_reaches_zero():
    result = bundle_minimize(LinearObjective(X, BinaryHinge(X[:, 0] > 0)), 0.0)
    assert result.success
    assert result.fun == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("path", [[0.0], [1e-3, 1e-5, 0.0]], ids=["alone", "path"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "make",
    [
        lambda s: CrossEntropy(s > 0, 2),
        lambda s: BinaryHinge(s > 0),
        lambda s: MulticlassHinge((s > -0.5) * 1 + (s > 0.5), 3),
        lambda s: OrdinalHinge((s > 0) * 1, 2),
        lambda s: SquaredError(s),
    ],
    ids=["cross-entropy", "binary hinge", "multi-class hinge", "ordinal hinge", "squared error"],
)
def test_a_risk_that_can_be_brought_to_zero_is(make, seed, path):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 10))
    objective = LinearObjective(features, make(features @ rng.normal(size=10)))
    result = bundle_path(objective, path)[-1]
    assert result.success
    assert result.fun <= 1e-8 * objective(np.zeros(objective.n_weights))[0]


@pytest.mark.parametrize("distance", [1e2, 1e6, 1e14])
def test_a_far_start_is_no_excuse(distance):
    target = np.array([1.0, -2.0, 0.5])

    def risk(w):
        return float(np.abs(w - target).mean()), np.sign(w - target) / 3

    result = bundle_minimize(risk, 1e-3, x0=np.full(3, distance))
    assert result.success
    assert result.dual <= 0.5e-3 * target @ target <= result.fun <= 1.011 * 0.5e-3 * target @ target


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), log_alpha=st.floats(-12, 3))
def test_the_bound_holds_in_floating_point(seed, log_alpha):
    """Slopes over eight decades and tiny alpha: the bound may be loose there, never above a known value."""
    rng = np.random.default_rng(seed)
    slopes, target = 10.0 ** rng.uniform(-4, 4, 5), rng.normal(size=5)

    def risk(w):
        return float(slopes @ np.abs(w - target)), slopes * np.sign(w - target)

    alpha = 10.0**log_alpha
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = bundle_minimize(risk, alpha, x0=rng.normal(size=5), max_iter=40)
    assert result.dual <= 0.5 * alpha * target @ target * (1 + 1e-9)
    assert result.dual <= result.fun


@pytest.mark.parametrize("scale", [1e-3, 1e4])
@pytest.mark.parametrize("name", ["sele", "squared error", "binary hinge"])
def test_features_of_any_scale_reach_the_minimum(name, scale):
    objective = LinearObjective(scale * X, EVERY[name].risk)
    result = bundle_minimize(objective, 1e-2 * scale**2, tol=0.05)
    assert result.success


def test_negative_risks_converge_too():
    result = bundle_minimize(lambda w: (float(w @ w) - 7.0, 2 * w), 0.1, x0=np.ones(3), tol=1e-6)
    assert result.success
    assert result.fun == pytest.approx(-7.0, abs=1e-4)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_float32_features_reach_the_same_minimum(tol):
    rng = np.random.default_rng(8)
    features = rng.normal(size=(2000, 40)) * rng.exponential(5.0, size=40) + 10
    risk = BinaryHinge(features[:, 0] + 5 * rng.normal(size=2000) > 10)
    single, double = (LinearObjective(features.astype(kind), risk) for kind in (np.float32, np.float64))
    assert bundle_minimize(single, 1e-3, tol=tol).fun == pytest.approx(
        bundle_minimize(double, 1e-3, tol=tol).fun, rel=tol + 1e-4
    )
