"""The methods of the solver: the same certified optimum by each, and BMRM step by step."""

from __future__ import annotations

import numpy as np
import pytest
import quadprog
from linear_problems import EVERY, HINGES, SMOOTH, hinge_optimum
from scipy.optimize import minimize

from facereject.solver import bundle_minimize, bundle_path
from facereject.solver._bundle import METHODS

BMRM = ["bmrm", "bmrm-line-search"]


def reference(name, alpha):
    """The minimum by L-BFGS for smooth risks, by an interior point for hinges."""
    if name in HINGES:
        return hinge_optimum(name, alpha)
    objective = SMOOTH[name]

    def regularised(w):
        value, gradient = objective(w)
        return value + 0.5 * alpha * w @ w, gradient + alpha * w

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10}
    start = np.zeros(objective.n_weights)
    return minimize(regularised, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("method", BMRM)
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_bmrm_certifies_the_same_optimum(name, alpha, method):
    expected = reference(name, alpha)
    result = bundle_minimize(EVERY[name], alpha, tol=1e-3, method=method)
    assert result.success
    assert result.gap <= 1e-3
    assert result.dual <= expected * (1 + 1e-6)
    assert expected * (1 - 1e-6) <= result.fun <= expected * (1 + 1.1e-3)


@pytest.mark.parametrize("method", BMRM)
@pytest.mark.parametrize("name", EVERY)
def test_bmrm_without_regularisation(name, method):
    result = bundle_minimize(EVERY[name], 0.0, tol=1e-2, method=method)
    default = bundle_minimize(EVERY[name], 0.0, tol=1e-4)
    assert result.success
    assert default.dual * (1 - 1e-6) <= result.fun <= 1.011 * default.fun


@pytest.mark.parametrize("method", METHODS)
def test_a_path_reaches_each_optimum(method):
    alphas = [0.1, 1.0, 0.01]
    path = bundle_path(HINGES["binary hinge"], alphas, tol=1e-3, method=method)
    for alpha, result in zip(alphas, path, strict=True):
        assert result.success
        assert result.fun == pytest.approx(hinge_optimum("binary hinge", alpha), rel=1.1e-3)
    assert len({id(result.bundle) for result in path}) == 1


def model_minimiser(cuts, alpha):
    """argmin alpha/2 ‖w‖² + max_t a_t·w + b_t over (w, height), by quadprog."""
    slopes, offsets = np.array([a for a, _ in cuts]), np.array([b for _, b in cuts])
    d = slopes.shape[1]
    # quadprog wants a definite matrix: a little curvature in the height changes the minimiser by as little
    quadratic = np.diag(np.r_[np.full(d, alpha), 1e-9])
    constraints = np.hstack([-slopes, np.ones((len(cuts), 1))]).T
    return quadprog.solve_qp(quadratic, -np.r_[np.zeros(d), 1.0], constraints, offsets)[0][:d]


def test_bmrm_evaluates_at_the_minimiser_of_the_model():
    target, alpha = np.array([3.0, -1.0, 0.2]), 0.3
    seen, cuts = [], []

    def risk(w):
        residual = w - target
        value, gradient = residual @ residual + np.abs(residual).sum(), 2 * residual + np.sign(residual)
        seen.append(w)
        cuts.append((gradient, value - gradient @ w))
        return value, gradient

    bundle_minimize(risk, alpha, x0=np.zeros(3), tol=1e-3, method="bmrm")
    assert len(seen) > 8
    for t in range(1, 8):
        np.testing.assert_allclose(seen[t], model_minimiser(cuts[:t], alpha), atol=1e-4)


def test_the_line_search_lands_at_the_minimum_on_the_line():
    """On a parabola the line from 0 to the first model minimiser −a/alpha holds the optimum."""
    seen = []

    def risk(w):
        seen.append(w)
        return float((w - 1) @ (w - 1)), 2 * (w - 1)

    result = bundle_minimize(risk, 0.1, x0=np.zeros(2), tol=1e-6, method="bmrm-line-search")
    np.testing.assert_allclose(result.x, 2 / 2.1, rtol=1e-3)
    np.testing.assert_allclose(seen[1], 20.0)  # the far end: −R'(0)/alpha


def test_the_default_needs_a_fraction_of_the_evaluations_of_bmrm():
    objective = SMOOTH["sele in blocks"]
    ours, theirs = (bundle_minimize(objective, 1e-4, tol=1e-3, method=m).nfev for m in METHODS[:2])
    assert 5 * ours < theirs


@pytest.mark.parametrize("minimise", [bundle_minimize, lambda f, alpha, **k: bundle_path(f, [alpha], **k)])
def test_an_unknown_method_is_named(minimise):
    with pytest.raises(ValueError, match=r"^method "):
        minimise(SMOOTH["sele"], 1.0, method="sgd")
