"""Standardisation on the fly equals standardised features, whatever the layout, and copies nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from facereject.risks import SELE, CrossEntropy, OrdinalHinge
from facereject.scores import RegressionScore, SELEScore
from facereject.solver import LinearObjective, _features, _rows_numba, _rows_numpy
from facereject.solver._standardized import ColumnMoments, Standardized

N, D, K = 300, 7, 3
_rng = np.random.default_rng(0)
MEAN, SCALE = 3.0 * _rng.normal(size=D), _rng.uniform(0.5, 40.0, D)
Z = _rng.normal(size=(N, D))
BLOCKS, LOSSES = _rng.integers(0, K, N), _rng.exponential(size=N)

SHAPES = {
    "one score": lambda X: LinearObjective(X, SELE(LOSSES)),
    "one score, no intercept": lambda X: LinearObjective(X, SELE(LOSSES), fit_intercept=False),
    "blocks": lambda X: LinearObjective(X, SELE(LOSSES), BLOCKS),
    "an empty block": lambda X: LinearObjective(X, SELE(LOSSES), BLOCKS, K + 1),
    "score per class": lambda X: LinearObjective(X, CrossEntropy(BLOCKS, K)),
    "thresholds": lambda X: LinearObjective(X, OrdinalHinge(BLOCKS, K)),
}


@pytest.fixture(params=[_rows_numpy, _rows_numba], ids=["numpy", "numba"])
def kernels(request, monkeypatch):
    monkeypatch.setattr(_features, "kernels", request.param)


def standardised(X):
    """The copy that is avoided, and the view that avoids it."""
    X = X.astype(np.float64)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    return (X - mean) / scale, mean, scale


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("offset", [0.0, 1e6], ids=["folded", "centred"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("make", SHAPES.values(), ids=SHAPES)
def test_equals_the_standardised_copy(make, order, offset):
    X = np.array(Z * SCALE + MEAN + offset * SCALE, order=order)
    copy, mean, scale = standardised(X)
    lazy, reference = make(Standardized(X, mean, scale)), make(copy)
    w = np.random.default_rng(1).normal(size=reference.n_weights)
    np.testing.assert_allclose(lazy.scores(w), reference.scores(w), rtol=1e-9, atol=1e-9)
    gradient = np.random.default_rng(2).normal(size=reference.risk.score_shape)
    np.testing.assert_allclose(lazy.pull_back(gradient), reference.pull_back(gradient), rtol=1e-9, atol=1e-8)
    for gram, expected in zip(lazy.grams(), reference.grams(), strict=True):
        np.testing.assert_allclose(gram, expected, atol=1e-9)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("make", [SHAPES["one score"], SHAPES["blocks"]], ids=["one score", "blocks"])
@pytest.mark.parametrize("ratio", [0.0, 5.0, 1e2, 1e5])
def test_float32_keeps_its_digits_under_a_large_mean(make, ratio):
    X = ((Z + ratio) * SCALE).astype(np.float32)
    copy, mean, scale = standardised(X)
    lazy, reference = make(Standardized(X, mean, scale)), make(copy)
    w = np.random.default_rng(1).normal(size=reference.n_weights)
    # the reference is made from the same float32 numbers: what is compared is the arithmetic
    assert np.abs(lazy.scores(w) - reference.scores(w)).max() < 5e-6
    gradient = np.random.default_rng(2).normal(size=N)
    assert np.abs(lazy.pull_back(gradient) - reference.pull_back(gradient)).max() < 2e-4


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_columns(weighted):
    X = np.column_stack([Z, np.full(N, 0.1), 1e9 + 1e-3 * Z[:, 0], np.full(N, -1e300)])
    X = np.tile(X, (70, 1))  # several pieces
    weight = np.random.default_rng(3).integers(0, 3, len(X)).astype(float) if weighted else None
    found = ColumnMoments.of(X, weight)
    repeated = X if weight is None else np.repeat(X, weight.astype(int), axis=0)
    np.testing.assert_allclose(found.mean, repeated.mean(axis=0, dtype=np.longdouble).astype(float))
    expected = repeated[:, :D].std(axis=0)
    np.testing.assert_allclose(found.deviation()[:D], expected)
    assert found.deviation()[D] == 1.0
    assert found.deviation()[D + 1] == pytest.approx(1e-3 * expected[0], rel=1e-3)
    assert found.deviation()[D + 2] == 1.0


def test_moments_of_parts_are_those_of_the_whole():
    X = 1e4 + Z * SCALE
    weight = np.random.default_rng(4).uniform(size=N)
    weight[200:] = 0.0
    whole = ColumnMoments.of(X, weight)
    parts = [ColumnMoments.of(X[i:j], weight[i:j]) for i, j in ((0, 1), (1, 150), (150, 210), (210, N))]
    merged = ColumnMoments.merge(parts, D)
    assert merged.mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-14)
    np.testing.assert_allclose(merged.deviation(), whole.deviation(), rtol=1e-11)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("make", [SELEScore, RegressionScore])
def test_training_and_scoring_hold_no_copy_of_the_features(make, classes):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30_000, 120)).astype(np.float32)
    losses, predictions = rng.exponential(size=len(X)), rng.integers(4, size=len(X)) if classes else None
    make().fit(X[:1000], losses[:1000], None if predictions is None else predictions[:1000])
    tracemalloc.start()
    try:
        make().fit(X, losses, predictions).predict(X, predictions)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 480 bytes per row are one copy; vectors of one number per row and a few pieces of X remain
    assert peak < 100 * len(X) + 6e6
