"""The bundle method against L-BFGS and exact QPs, and its certificate against random points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from linear_problems import EVERY, HINGES, LOSSES, SMOOTH, N, X, hinge_optimum
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from facereject.risks import SELE
from facereject.solver import (
    LinearObjective,
    NonFiniteRiskError,
    SubgradientError,
    bundle_minimize,
    bundle_path,
)
from facereject.solver._cuts import Bundle


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0])
def test_smooth_risks_reach_the_minimum_of_lbfgs(name, alpha):
    objective = SMOOTH[name]

    def regularised(w):
        value, gradient = objective(w)
        return value + 0.5 * alpha * w @ w, gradient + alpha * w

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10}
    expected = minimize(
        regularised, np.zeros(objective.n_weights), jac=True, method="L-BFGS-B", options=options
    )
    result = bundle_minimize(objective, alpha, tol=1e-6)
    assert result.success
    assert result.dual <= expected.fun * (1 + 1e-9)
    assert result.fun <= expected.fun * (1 + 1e-6)


@pytest.mark.parametrize("name", HINGES)
@pytest.mark.parametrize("alpha", [1e-3, 1e-1])
def test_hinge_risks_reach_the_minimum_of_an_exact_qp(name, alpha):
    expected = hinge_optimum(name, alpha)
    result = bundle_minimize(HINGES[name], alpha, tol=1e-4)
    assert result.success
    assert result.dual <= expected * (1 + 1e-6)
    assert expected * (1 - 1e-6) <= result.fun <= expected * (1 + 1.1e-4)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), spread=st.sampled_from([1e-3, 0.1, 1.0, 10.0]))
def test_no_point_lies_below_the_bound(name, seed, spread):
    objective, alpha = EVERY[name], 0.01
    result = _solved(name, alpha)
    assert result.gap == pytest.approx((result.fun - result.dual) / result.fun, abs=1e-12)
    assert result.gap <= 0.01
    w = result.x + spread * np.random.default_rng(seed).normal(size=result.x.size)
    assert objective(w)[0] + 0.5 * alpha * w @ w >= result.dual


_solutions: dict = {}


def _solved(name, alpha):
    if (name, alpha) not in _solutions:
        _solutions[name, alpha] = bundle_minimize(EVERY[name], alpha)
    return _solutions[name, alpha]


@pytest.mark.parametrize("name", EVERY)
def test_result_is_consistent(name):
    result = _solved(name, 0.01)
    value = EVERY[name](result.x)[0]
    assert result.fun == pytest.approx(value + 0.005 * result.x @ result.x, rel=1e-9)
    assert result.nit == len(result.history) - 1 == result.history[-1].iteration
    assert result.nfev == result.history[-1].n_evaluations
    duals = [entry.dual for entry in result.history]
    assert duals == sorted(duals)
    funs = [entry.fun for entry in result.history]
    assert funs == sorted(funs, reverse=True)
    assert result.bundle.n_cuts == result.history[-1].n_cuts


@pytest.mark.parametrize("name", EVERY)
def test_path_equals_single_runs_and_shares_cuts(name):
    alphas = [1e-3, 1.0, 1e-1, 1e-2]
    path = bundle_path(EVERY[name], alphas, tol=1e-3)
    for alpha, result in zip(alphas, path, strict=True):
        alone = bundle_minimize(EVERY[name], alpha, tol=1e-3)
        assert result.success
        assert result.fun == pytest.approx(alone.fun, rel=2e-3)
        assert result.dual <= alone.fun * (1 + 1e-9)
    assert len({id(result.bundle) for result in path}) == 1


def test_cuts_of_another_alpha_are_valid_and_help():
    objective = SMOOTH["sele in blocks"]
    first = bundle_minimize(objective, 1e-2)
    cold = bundle_minimize(objective, 1e-3)
    warm = bundle_minimize(objective, 1e-3, x0=first.x, bundle=first.bundle)
    assert warm.history[0].gap < cold.history[0].gap
    assert warm.dual <= cold.fun


def test_memory_is_bounded_and_the_bound_survives_thinning():
    objective, alpha = HINGES["multi-class hinge"], 1e-3
    bundle = Bundle(objective.n_weights, max_cuts=8)
    result = bundle_minimize(objective, alpha, tol=0.02, max_iter=3000, bundle=bundle)
    assert max(entry.n_cuts for entry in result.history) <= 8
    assert result.success
    assert result.nfev > 16  # it was thinned more than once
    assert result.dual <= hinge_optimum("multi-class hinge", alpha) * (1 + 1e-6)


@pytest.mark.parametrize("name", EVERY)
def test_without_regularisation_the_stated_ball_is_certified(name):
    objective = EVERY[name]
    result = bundle_minimize(objective, 0.0, tol=0.02)
    assert result.success
    radius = max(1.0, np.linalg.norm(result.x))
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = rng.normal(size=result.x.size)
        step *= radius * rng.random() / np.linalg.norm(step)
        assert objective(result.x + step)[0] >= result.dual
    assert result.dual >= (1 - 0.02) * result.fun


def test_squared_error_without_regularisation_is_least_squares():
    result = bundle_minimize(SMOOTH["squared error"], 0.0, tol=1e-6)
    design = np.c_[X, np.ones(N)]
    expected = np.linalg.lstsq(design, LOSSES, rcond=None)[1][0] / N
    assert result.fun == pytest.approx(expected, rel=1e-6)


def test_max_iter_and_time_limit_warn_and_report():
    for options, reason in (({"max_iter": 2}, "max_iter = 2"), ({"time_limit": 0.0}, "time limit")):
        with pytest.warns(ConvergenceWarning, match=reason):
            result = bundle_minimize(HINGES["multi-class hinge"], 1e-4, **options)
        assert not result.success
        assert reason in result.message
        assert result.gap > 0.01
        assert result.dual <= result.fun


def test_callback_sees_every_iteration_and_can_stop():
    seen = []

    def callback(progress):
        seen.append(progress)
        if progress.iteration == 3:
            raise StopIteration

    with pytest.warns(ConvergenceWarning, match="stopped by the callback"):
        result = bundle_minimize(SMOOTH["sele"], 1e-6, tol=1e-9, callback=callback)
    assert [entry.iteration for entry in seen] == [0, 1, 2, 3]
    assert result.nit == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_risk_names_the_iterate(bad):
    def risk(w):
        return (bad if w[0] > 0.5 else float((w[0] - 1) ** 2)), 2 * (w - 1)

    with pytest.raises(NonFiniteRiskError, match=r"the risk is not finite at evaluation \d+ \(iteration \d+"):
        bundle_minimize(risk, 1e-3, x0=np.zeros(1))


def test_non_finite_subgradient_is_reported():
    with pytest.raises(NonFiniteRiskError, match="the subgradient of the risk is not finite at evaluation 1"):
        bundle_minimize(lambda w: (1.0, np.full(2, np.nan)), 1.0, x0=np.zeros(2))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda w: (float((w - 3) @ (w - 3)), -2 * (w - 3)),
        lambda w: (float((w - 3) @ (w - 3)), 6 * (w - 3)),
        lambda w: (-float(w @ w), -2 * w),
    ],
    ids=["wrong sign", "wrong factor", "concave"],
)
def test_wrong_subgradients_are_found(wrong):
    with pytest.raises(SubgradientError, match=r"not\s+convex"):
        bundle_minimize(wrong, 0.1, x0=np.ones(3), tol=1e-6, max_iter=50)


def test_a_function_may_reuse_its_array():
    buffer = np.empty(3)

    def risk(w):
        np.multiply(2, w - 1, out=buffer)
        return float((w - 1) @ (w - 1)), buffer

    np.testing.assert_allclose(bundle_minimize(risk, 1e-6, x0=np.zeros(3), tol=1e-4).x, 1.0, atol=1e-3)


def test_a_subgradient_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=r"the subgradient must have shape \(2,\), got \(3,\)"):
        bundle_minimize(lambda w: (1.0, np.ones(3)), 1.0, x0=np.zeros(2))


def test_a_path_evaluates_no_point_twice():
    seen = []

    def risk(w):
        seen.append(w.tobytes())
        return float(np.abs(w - 1).sum()), np.sign(w - 1)

    results = bundle_path(risk, [1.0, 0.1, 0.01], x0=np.zeros(4), tol=1e-3)
    assert sum(result.nfev for result in results) == len(seen) == len(set(seen))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"^alpha "):
        bundle_minimize(SMOOTH["sele"], -1.0)
    with pytest.raises(ValueError, match=r"^tol "):
        bundle_minimize(SMOOTH["sele"], 1.0, tol=0.0)
    with pytest.raises(ValueError, match=r"^x0 "):
        bundle_minimize(lambda w: (0.0, w), 1.0)
    with pytest.raises(ValueError, match=r"^x0 "):
        bundle_minimize(SMOOTH["sele"], 1.0, x0=np.zeros(3))
    with pytest.raises(ValueError, match=r"^bundle "):
        bundle_minimize(SMOOTH["sele"], 1.0, bundle=Bundle(3))
    with pytest.raises(TypeError, match=r"^objective "):
        bundle_minimize(3.0, 1.0, x0=np.zeros(1))
    with pytest.raises(ValueError, match=r"^max_cuts "):
        Bundle(3, max_cuts=2)


@pytest.mark.data
@pytest.mark.parametrize("c", [1, 1000])
def test_real_table_needs_few_evaluations(uci_dir, c):
    with np.load(uci_dir / "letter.npz") as table:
        features, labels = table["X"][:6000].astype(float), table["y"][:6000]
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    predicted = np.roll(labels, 1)  # any grouping of the rows will do for the solver
    losses = 100.0 * (np.abs(features[:, 0]) > 1)
    objective = LinearObjective(features, SELE(losses), blocks=predicted.astype(int))
    result = bundle_minimize(objective, c / labels.size)
    assert result.success
    assert result.nfev <= 60
