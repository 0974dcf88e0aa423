"""The index of nearest training examples, against all distances one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from facereject.scores import NeighbourIndex
from facereject.scores import neighbours as module


def examples(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, d)) * np.array([1.0, 100.0, 1e-3][:d]) + y[:, None], y


def all_distances(X, queries):
    scale = X.std(axis=0)
    return np.sqrt((((queries[:, None] - X[None]) / scale) ** 2).sum(axis=2))


def test_class_columns_by_definition():
    X, y = examples(200)
    queries, _ = examples(50, seed=1)
    predictions = np.arange(50) % 3
    distances = all_distances(X, queries)
    same = np.where(y == predictions[:, None], distances, np.inf).min(axis=1)
    other = np.where(y != predictions[:, None], distances, np.inf).min(axis=1)
    ratio, nearest = NeighbourIndex(X, y).class_columns(queries, predictions).T
    np.testing.assert_allclose(ratio, np.log(same / other), atol=0.05)
    np.testing.assert_allclose(nearest, np.log(np.minimum(same, other)), atol=0.05)


def test_loss_columns_by_definition():
    X, y = examples(200)
    queries, predicted = examples(50, seed=1)
    losses = np.random.default_rng(2).exponential(size=200)
    nearest = np.argsort(all_distances(X, queries), axis=1)[:, :5]
    index = NeighbourIndex(X, losses=losses, targets=y, n_neighbours=5)
    distance, loss, difference = index.loss_columns(queries, predicted).T
    expected = np.take_along_axis(all_distances(X, queries), nearest, axis=1).mean(axis=1)
    np.testing.assert_allclose(distance, np.log(expected), atol=0.02)
    np.testing.assert_allclose(loss, np.log(losses[nearest].mean(axis=1)), atol=0.02)
    differences = np.abs(y[nearest] - predicted[:, None]).mean(axis=1)
    np.testing.assert_allclose(np.exp(difference), differences, atol=0.01)


def test_the_tree_of_a_large_index_finds_nearly_the_same():
    X, y = examples(3000)
    queries, predictions = examples(400, seed=1)
    exact = NeighbourIndex(X, y).class_columns(queries, predictions)
    tree = NeighbourIndex(X, y, rows=10**6).class_columns(queries, predictions)
    # the tree may miss the nearest, and sees 32 neighbours only: what is farther counts as that far
    assert np.corrcoef(exact[:, 0], tree[:, 0])[0, 1] > 0.8
    assert np.mean((exact[:, 0] > 0) == (tree[:, 0] > 0)) > 0.85
    assert np.corrcoef(exact[:, 1], tree[:, 1])[0, 1] > 0.95


def test_many_columns_are_reduced():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1500, 4))
    X = hidden @ rng.normal(size=(4, 200)) + 1e-6 * rng.normal(size=(1500, 200))
    y = (hidden[:, 0] > 0).astype(int)
    index = NeighbourIndex(X[:1000], y[:1000])
    assert index._points.shape[1] == module._EXACT_DIMENSIONS
    ratio = index.class_columns(X[1000:], y[1000:])[:, 0]
    assert np.mean(ratio < 0) > 0.85


def test_missing_sparse_constant_and_repeated_values():
    X, y = examples(100)
    with_gaps = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.2, np.nan, X)
    tables = (with_gaps, np.column_stack([X, np.ones(100)]), np.ones((100, 2)), np.tile(X[:1], (100, 1)))
    for table in tables:
        assert np.isfinite(NeighbourIndex(table, y).class_columns(table, y)).all()
    sparse = sp.random(100, 50, 0.1, format="csr", random_state=0)
    assert np.isfinite(NeighbourIndex(sparse, y).class_columns(sparse, y)).all()


def test_a_class_without_examples_is_no_evidence():
    X, y = examples(50)
    ratio = NeighbourIndex(X, np.zeros(50, int)).class_columns(X, y)[:, 0]
    np.testing.assert_allclose(ratio, 0.0)


def test_mistakes_are_named():
    X, y = examples(10)
    with pytest.raises(ValueError, match="labels must hold one class per example"):
        NeighbourIndex(X, y[:3])
    with pytest.raises(ValueError, match="losses must hold one value per example"):
        NeighbourIndex(X, losses=np.ones(3))
    with pytest.raises(ValueError, match="labels were not given"):
        NeighbourIndex(X).class_columns(X, y)
    with pytest.raises(ValueError, match="losses were not given"):
        NeighbourIndex(X).loss_columns(X)
    with pytest.raises(ValueError, match="at least one example"):
        NeighbourIndex(X[:0])
