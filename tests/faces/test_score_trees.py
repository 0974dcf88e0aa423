"""The trees of a compact score: what clean faces count, both kinds of trees, the score for clean faces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from facereject.faces.models.score_models import TreeScore
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.fit_compact import clean_weights, grow_trees, linear_on_clean
from facereject.faces.training.fit_score import fit_score


def test_clean_faces_count_as_a_third_or_so():
    clean = np.arange(100) < 10
    weights = clean_weights(clean)
    assert weights[clean].sum() == pytest.approx(30)
    assert weights[~clean].sum() == pytest.approx(70)


@pytest.mark.parametrize("clean", [np.ones(5, bool), np.zeros(5, bool), np.arange(5) < 3])
def test_many_clean_faces_or_none_count_as_they_are(clean):
    np.testing.assert_array_equal(clean_weights(clean), 1)


def test_both_kinds_rank_and_are_as_many(rng):
    columns = rng.normal(size=(800, 5)).astype(np.float32)
    losses = np.exp(columns[:, 0] + 0.3 * rng.normal(size=800))
    trees, number = grow_trees(columns, losses, 5.0, np.ones(800), n_trees=20)
    assert number == 20 == len(trees.by_sele.roots) == len(trees.by_squares.roots)
    for part in trees:
        assert spearmanr(part(columns), columns[:, 0])[0] > 0.9
    # the logarithm of the loss in percent, with half a percent added
    fitted = np.exp(trees.by_squares(columns)) - 0.5
    assert np.median(fitted) == pytest.approx(np.median(losses), rel=0.2)


def test_without_anything_to_split_by_there_is_a_constant():
    columns = np.zeros((50, 3), dtype=np.float32)
    trees, number = grow_trees(columns, np.arange(50.0), None, np.ones(50), n_trees=5)
    assert number == 1
    assert [part(columns[:2]).tolist() for part in trees] == [[0.0, 0.0]] * 2


def test_joined_trees_are_the_weighted_sum(rng):
    columns = rng.normal(size=(300, 4)).astype(np.float32)
    trees, _ = grow_trees(columns, np.abs(columns[:, 1]).astype(float), None, np.ones(300), n_trees=6)
    joined = TreeScore.joined([(trees.by_sele, 2.0), (trees.by_squares, 0.25)])
    expected = 2 * trees.by_sele(columns) + 0.25 * trees.by_squares(columns)
    np.testing.assert_allclose(joined(columns), expected, atol=1e-12)
    assert len(joined.roots) == 12


@pytest.fixture
def table(rng):
    """Six clean faces in ten; what makes clean ones wrong is another value than for degraded ones."""
    n = 400
    features = rng.normal(size=(n, 6)).astype(np.float32)
    variant = (np.arange(n) % 10 > 5).astype(int)
    losses = np.exp(np.where(variant == 0, features[:, 0], features[:, 1]))
    return FaceTable(
        features=features,
        losses=losses,
        detector_scores=np.zeros(n),
        sample=np.arange(n),
        variant=variant,
        kinds=("clean",) * n,
        landmarks=np.zeros((n, 1, 2), np.float32),
        truth=np.zeros((n, 1, 2), np.float32),
        hidden=np.zeros((n, 1), bool),
        missed=np.zeros(2, int),
        failed=np.zeros(2, int),
        problems=(),
    )


def test_a_score_for_clean_faces_learns_from_them_alone(table):
    fold = np.arange(len(table)) % 4
    found = linear_on_clean(table, fold, 1.0, 10.0)
    assert found is not None
    assert abs(found.model.coef[0]) > 5 * abs(found.model.coef[1])
    # out of fold, for degraded rows as well
    for k in range(4):
        by_hand = fit_score(table, "sele", 1.0, 10.0, rows=table.clean & (fold != k))
        np.testing.assert_array_equal(found.uncertainty[fold == k], by_hand(table.features[fold == k]))


def test_without_errors_on_clean_faces_there_is_no_such_score(table):
    fold = np.arange(len(table)) % 4
    assert linear_on_clean(replace(table, losses=table.losses * (table.variant > 0)), fold, 1.0, None) is None
    assert linear_on_clean(replace(table, variant=table.variant + 1), fold, 1.0, None) is None
