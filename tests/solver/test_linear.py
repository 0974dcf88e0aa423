"""LinearObjective: scores are linear in the weights, and pull_back is their adjoint."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from facereject.risks import SELE, BinaryHinge, CrossEntropy, OrdinalHinge, SquaredError
from facereject.solver import LinearObjective

N, D, K = 40, 5, 3
_rng = np.random.default_rng(0)
X = _rng.normal(size=(N, D)) * (_rng.random((N, D)) < 0.7)
LABELS = np.arange(N) % K
BLOCKS = _rng.integers(0, K, N)
LOSSES = _rng.exponential(size=N)

OBJECTIVES = {
    "one score": lambda X: LinearObjective(X, SELE(LOSSES)),
    "one score, no intercept": lambda X: LinearObjective(X, BinaryHinge(LABELS == 0), fit_intercept=False),
    "score per class": lambda X: LinearObjective(X, CrossEntropy(LABELS, K)),
    "score per class, no intercept": lambda X: LinearObjective(
        X, CrossEntropy(LABELS, K), fit_intercept=False
    ),
    "thresholds": lambda X: LinearObjective(X, OrdinalHinge(LABELS, K), shared_weights=True),
    "blocks": lambda X: LinearObjective(X, SELE(LOSSES), blocks=BLOCKS),
    "an empty block": lambda X: LinearObjective(X, SELE(LOSSES), blocks=BLOCKS, n_blocks=K + 1),
    "blocks, no intercept": lambda X: LinearObjective(X, SELE(LOSSES), blocks=BLOCKS, fit_intercept=False),
}
every_objective = pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES)


@every_objective
def test_scores_are_linear_and_pull_back_is_their_adjoint(make):
    objective = make(X)
    rng = np.random.default_rng(1)
    u, v = rng.normal(size=(2, objective.n_weights))
    np.testing.assert_allclose(
        objective.scores(2 * u - v), 2 * objective.scores(u) - objective.scores(v), atol=1e-12
    )
    gradient = rng.normal(size=objective.risk.score_shape)
    assert np.vdot(gradient, objective.scores(u)) == pytest.approx(
        objective.pull_back(gradient) @ u, rel=1e-12
    )


@every_objective
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_equals_dense(make, form):
    dense, sparse = make(X), make(form(X))
    w = np.random.default_rng(2).normal(size=dense.n_weights)
    value, gradient = dense(w)
    sparse_value, sparse_gradient = sparse(w)
    assert sparse_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(sparse_gradient, gradient, atol=1e-12)


@every_objective
def test_float32_stays_float32_and_agrees_to_its_precision(make):
    single, double = make(X.astype(np.float32)), make(X)
    assert single.X.dtype == np.float32
    w = np.random.default_rng(3).normal(size=double.n_weights)
    value, gradient = single(w)
    assert value == pytest.approx(double(w)[0], rel=1e-5)
    np.testing.assert_allclose(gradient, double(w)[1], atol=1e-5)
    assert gradient.dtype == np.float64


def test_layout_of_the_weights():
    per_class = LinearObjective(X, CrossEntropy(LABELS, K))
    w = np.random.default_rng(4).normal(size=per_class.n_weights)
    coefficients, intercepts = per_class.split(w)
    np.testing.assert_allclose(per_class.scores(w), X @ coefficients.T + intercepts)

    thresholds = LinearObjective(X, OrdinalHinge(LABELS, K), shared_weights=True)
    w = np.arange(thresholds.n_weights, dtype=float)
    np.testing.assert_allclose(thresholds.scores(w), (X @ w[:D])[:, None] - w[D:])

    single = LinearObjective(X, SELE(LOSSES))
    w = np.arange(single.n_weights, dtype=float)
    np.testing.assert_allclose(single.scores(w), X @ w[:D] + w[D])


def test_blocks_equal_the_wide_matrix_they_avoid():
    wide = np.zeros((N, K * (D + 1)))
    for i, k in enumerate(BLOCKS):
        wide[i, k * D : (k + 1) * D] = X[i]
        wide[i, K * D + k] = 1.0
    narrow = LinearObjective(X, SELE(LOSSES), blocks=BLOCKS)
    reference = LinearObjective(wide, SELE(LOSSES), fit_intercept=False)
    w = np.random.default_rng(5).normal(size=narrow.n_weights)
    assert narrow(w)[0] == pytest.approx(reference(w)[0], rel=1e-13)
    np.testing.assert_allclose(narrow(w)[1], reference(w)[1], atol=1e-14)


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match=r"^X "):
        LinearObjective(X[1:], SELE(LOSSES))
    with pytest.raises(TypeError, match=r"^risk "):
        LinearObjective(X, [1.0])
    with pytest.raises(TypeError, match=r"^risk "):
        LinearObjective(X, SELE)
    with pytest.raises(ValueError, match=r"^n_scores "):
        LinearObjective(X, CrossEntropy(LABELS, K), n_scores=4)
    with pytest.raises(ValueError, match=r"^n_scores "):
        LinearObjective(X, lambda scores: (0.0, scores), n_scores=0)
    with pytest.raises(ValueError, match=r"^shared_weights "):
        LinearObjective(X, SELE(LOSSES), shared_weights=True)
    with pytest.raises(ValueError, match=r"^blocks "):
        LinearObjective(X, SELE(LOSSES), blocks=BLOCKS[1:])
    with pytest.raises(ValueError, match=r"^blocks "):
        LinearObjective(X, SELE(LOSSES), blocks=BLOCKS + 0.5)
    with pytest.raises(ValueError, match=r"^blocks "):
        LinearObjective(X, SELE(LOSSES), blocks=BLOCKS, n_blocks=2)
    with pytest.raises(ValueError, match=r"^blocks "):
        LinearObjective(X, CrossEntropy(LABELS, K), blocks=BLOCKS)
    with pytest.raises(ValueError, match=r"^n_blocks "):
        LinearObjective(X, SELE(LOSSES), n_blocks=3)
    with pytest.raises(ValueError, match=r"^fit_intercept "):
        LinearObjective(X, OrdinalHinge(LABELS, K), fit_intercept=False, shared_weights=True)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        LinearObjective(np.where(X == 0, np.nan, X), SELE(LOSSES))
    with pytest.raises(ValueError, match=r"^w "):
        LinearObjective(X, SquaredError(LOSSES)).scores(np.zeros(D))
