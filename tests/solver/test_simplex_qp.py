"""The QP over the simplex against an independent solver and its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
import quadprog
from hypothesis import given, settings
from hypothesis import strategies as st

from facereject.solver._simplex_qp import solve_simplex_qp


def objective(Q, q, alpha):
    return 0.5 * alpha @ Q @ alpha - q @ alpha


def random_programme(k, rank, rng):
    slopes = rng.normal(size=(k, rank))
    return slopes @ slopes.T, rng.normal(size=k)


@pytest.mark.parametrize("k", [1, 2, 5, 40, 200])
def test_equals_quadprog(k):
    Q, q = random_programme(k, k + 5, np.random.default_rng(k))
    alpha = solve_simplex_qp(Q, q)
    constraints = np.vstack([np.ones(k), np.eye(k)]).T
    expected = quadprog.solve_qp(Q, q, constraints, np.r_[1.0, np.zeros(k)], 1)[0]
    assert objective(Q, q, alpha) == pytest.approx(objective(Q, q, expected), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(alpha, expected, atol=1e-7)


@settings(max_examples=150, deadline=None)
@given(
    k=st.integers(1, 40),
    rank=st.integers(1, 45),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
    seed=st.integers(0, 10**6),
    copies=st.booleans(),
)
def test_is_feasible_and_optimal_even_with_dependent_cuts(k, rank, scale, seed, copies):
    rng = np.random.default_rng(seed)
    Q, q = random_programme(k, rank, rng)
    if copies:  # the same cut several times
        index = rng.integers(0, k, k)
        Q, q = Q[np.ix_(index, index)], q[index]
    Q, q = scale * Q, scale * q
    alpha = solve_simplex_qp(Q, q)
    assert alpha.min() >= 0
    assert alpha.sum() == pytest.approx(1.0, abs=1e-12)
    # no vertex lies lower to first order: the duality gap of the programme
    slope = Q @ alpha - q
    assert alpha @ slope - slope.min() <= 1e-6 * scale * (1 + np.abs(Q / scale).max())


def test_a_warm_start_changes_nothing_but_the_work(rng):
    Q, q = random_programme(30, 20, rng)
    cold = solve_simplex_qp(Q, q)
    warm = solve_simplex_qp(Q, q, np.full(30, 1 / 30))
    assert objective(Q, q, warm) == pytest.approx(objective(Q, q, cold), rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(solve_simplex_qp(Q, q, cold, max_iter=1), cold, atol=1e-9)


def test_linear_programme():
    np.testing.assert_array_equal(
        solve_simplex_qp(np.zeros((3, 3)), np.array([1.0, 3.0, 2.0])), [0.0, 1.0, 0.0]
    )


def test_every_stop_is_feasible(rng):
    Q, q = random_programme(60, 60, rng)
    alpha = solve_simplex_qp(Q, q, np.full(60, 1 / 60), max_iter=3)
    assert alpha.min() >= 0
    assert alpha.sum() == pytest.approx(1.0)
