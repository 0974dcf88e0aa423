"""Scores as plain arrays: the trees of LightGBM are copied exactly, and hostile tables are refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from facereject.faces.models.score_models import LinearScoreModel, TreeScore

TREE = {
    "roots": np.array([0], np.int32),
    "feature": np.array([1, -1, -1], np.int32),
    "threshold": np.array([0.5, -3.0, 7.0]),
    "left": np.array([1, 0, 0], np.int32),
    "right": np.array([2, 0, 0], np.int32),
}


def test_linear(rng):
    features = rng.normal(size=(5, 3)).astype(np.float32)
    score = LinearScoreModel(np.array([1, 2, 3], np.float32), 0.5)
    np.testing.assert_allclose(score(features), features @ [1, 2, 3] + 0.5, rtol=1e-5)
    again = LinearScoreModel.from_arrays(score.arrays(), SimpleNamespace(n_features=3))
    np.testing.assert_array_equal(again(features), score(features))
    with pytest.raises(ValueError, match="3 values"):
        LinearScoreModel.from_arrays(score.arrays(), SimpleNamespace(n_features=4))


def test_one_tree_by_hand():
    score = TreeScore.from_tables(TREE, 2)
    assert score(np.array([[9, 0.5], [9, 0.6]], np.float32)).tolist() == [-3.0, 7.0]


@pytest.mark.parametrize("leaves", [2, 8, 9, 16, 17])
def test_every_way_to_the_leaves_is_the_walk_by_hand(rng, leaves):
    """Up to 8 and 16 leaves the bits of a word tell the leaf, beyond that the nodes are walked."""
    import lightgbm

    X = rng.normal(size=(600, 4)).astype(np.float32)
    options = {"num_leaves": leaves, "min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
    score = TreeScore.from_lightgbm(lightgbm.train(options, lightgbm.Dataset(X, X[:, 0] * X[:, 1]), 12))

    def walk(row, node):
        while score.feature[node] >= 0:
            below = row[score.feature[node]] <= score.threshold[node]
            node = score.left[node] if below else score.right[node]
        return score.threshold[node]

    rows = np.concatenate([rng.normal(size=(300, 4)), X[:20]]).astype(np.float32)
    # on a threshold, as far as a number of the features can be
    rows[:100, 0] = rng.choice(score.threshold[score.feature == 0], size=100)
    rows[5, 1] = np.nan
    expected = [sum(walk(row, root) for root in score.roots) for row in rows]
    np.testing.assert_allclose(score(rows), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal([score(row[None])[0] for row in rows], score(rows))
    assert score(rows[:0]).shape == (0,)


def test_trees_equal_lightgbm(rng):
    import lightgbm

    X = rng.normal(size=(400, 6)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + rng.normal(size=400)
    booster = lightgbm.train(
        {"num_leaves": 7, "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, y), num_boost_round=20
    )
    score = TreeScore.from_lightgbm(booster)
    np.testing.assert_allclose(score(X), booster.predict(X), atol=1e-9)
    again = TreeScore.from_tables(score.arrays(), 6)
    np.testing.assert_array_equal(again(X), score(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left", [0, 0, 0]),  # its own parent: an endless walk
        ("left", [3, 0, 0]),
        ("right", [-1, 0, 0]),
        ("roots", [3]),
        ("roots", [-1]),
        ("roots", []),
        ("feature", [2, -1, -1]),
        ("right", [2, 0]),
    ],
)
def test_hostile_tables(name, value):
    with pytest.raises(ValueError, match="tables"):
        TreeScore.from_tables(TREE | {name: np.array(value, np.int32)}, 2)


@pytest.mark.parametrize("nodes", [200, 2_000_000])
def test_endless_and_huge_trees_are_refused(nodes):
    """A chain of nodes: every prediction would walk all of them."""
    chain = np.arange(1, nodes + 1, dtype=np.int32)
    feature = np.zeros(nodes + 1, dtype=np.int32)
    feature[-1] = -1
    tables = {
        "roots": np.zeros(1, dtype=np.int32),
        "feature": feature,
        "threshold": np.zeros(nodes + 1),
        "left": np.append(chain, 0).astype(np.int32),
        "right": np.append(chain, 0).astype(np.int32),
    }
    with pytest.raises(ValueError, match="deeper than 64 levels"):
        TreeScore.from_tables(tables, 3)
