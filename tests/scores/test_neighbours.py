"""The index of nearest training examples, against all distances one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from facereject.scores import _neighbours as module
from facereject.scores._neighbours import NeighbourIndex


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
    own = np.sort(all_distances(X, X), axis=1)[:, 1]
    # of a sample of the examples: here of all of them
    smoothing = module._SMOOTHING * np.median(own)
    sides = [
        np.sort(np.where(mask, distances, np.inf), axis=1)[:, :5]
        for mask in (y == predictions[:, None], y != predictions[:, None])
    ]
    expected = []
    for same, other in ([side[:, 0] for side in sides], [side.mean(axis=1) for side in sides]):
        expected.append(np.log((same + smoothing) / (other + smoothing)))
        expected.append(np.log(np.minimum(same, other) + smoothing))
    columns = NeighbourIndex(X, y).class_columns(queries, predictions)
    np.testing.assert_allclose(columns, np.column_stack(expected), atol=1e-6)


def test_a_copy_is_no_extreme():
    X, y = examples(200)
    queries, _ = examples(100, seed=1)
    # an example that another one repeats up to rounding
    ratio = NeighbourIndex(X, y).class_columns(np.vstack([queries, X[:1] + 1e-12]), np.repeat(y[:1], 101))[
        :, 0
    ]
    assert ratio[-1] > ratio[:-1].min() - np.ptp(ratio[:-1])


def test_a_class_of_few_examples_has_the_mean_of_those():
    X, y = examples(60)
    y = np.where(np.arange(60) < 2, 7, 0)
    ratio = NeighbourIndex(X, y).class_columns(X[10:12], [7, 7])[:, 2]
    distances = all_distances(X, X[10:12])
    smoothing = module._SMOOTHING * np.median(np.sort(all_distances(X, X), axis=1)[:, 1])
    same = distances[:, :2].mean(axis=1)
    other = np.sort(distances[:, 2:], axis=1)[:, :5].mean(axis=1)
    np.testing.assert_allclose(ratio, np.log((same + smoothing) / (other + smoothing)), atol=1e-4)


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
    X, queries = np.split(np.random.default_rng(0).normal(size=(3400, 3)), [3000])
    y, predictions = X[:, 0] + X[:, 1] ** 2 > 1, queries[:, 0] + queries[:, 1] ** 2 > 1
    exact = NeighbourIndex(X, y).class_columns(queries, predictions)
    tree = NeighbourIndex(X, y, rows=10**6).class_columns(queries, predictions)
    # the tree may miss the nearest, and sees 32 neighbours only: what is farther counts as that far
    near = np.abs(exact[:, 0]) < 1.0
    for ratio, nearest in ((0, 1), (2, 3)):
        assert np.corrcoef(exact[near, ratio], tree[near, ratio])[0, 1] > 0.8
        assert np.mean((exact[:, ratio] > 0) == (tree[:, ratio] > 0)) > 0.95
        assert np.corrcoef(exact[:, nearest], tree[:, nearest])[0, 1] > 0.95


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


@pytest.mark.parametrize("sentinel", [1e30, 1e200, -np.finfo(float).max])
@pytest.mark.parametrize("d", [3, 100])
def test_a_number_that_stands_for_no_data_leaves_the_rest_alone(sentinel, d):
    """As in rasters; whether it is among the examples or among the queries."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, d)), rng.integers(3, size=300)
    spoilt = X.copy()
    spoilt[7, 1] = sentinel
    clean = NeighbourIndex(X, y, losses=np.ones(300))
    for index in (clean, NeighbourIndex(spoilt, y, losses=np.ones(300))):
        assert np.isfinite(index.class_columns(spoilt, y)).all()
        assert np.isfinite(index.loss_columns(spoilt)).all()
    others = np.arange(300) != 7
    found, expected = (clean.class_columns(table, y)[others] for table in (spoilt, X))
    np.testing.assert_allclose(found, expected)


def test_a_class_without_examples_tells_nothing():
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
