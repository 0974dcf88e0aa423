"""Recipes of trees on made-up rows: judged by trees that have not seen them, in the shares of the card."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from facereject.faces import FaceRejector
from facereject.faces.features.context import QUALITY
from facereject.faces.models.ranking import gap_closed
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.fit_compact import TreeOptions
from tools.train import select_trees

FOLDS, FACES, VERSIONS = 3, 120, 4


@pytest.fixture
def tool():
    return select_trees


@pytest.fixture
def made_up(tool, rng):
    """Faces clean and in three degraded versions, the last with a moved box; one column tells the error."""
    n = FACES * VERSIONS
    losses = rng.gamma(3, 1.5, n)
    version = np.tile(np.arange(VERSIONS), FACES)
    kinds = ("clean", "blur", "noise", "blur+box")
    table = FaceTable(
        features=np.zeros((n, 1), np.float32),
        losses=losses,
        detector_scores=rng.normal(size=n),
        sample=np.repeat(np.arange(FACES), VERSIONS),
        variant=version,
        kinds=tuple(kinds[v] for v in version),
        landmarks=np.zeros((n, 68, 2), np.float32),
        truth=np.zeros((n, 68, 2), np.float32),
        hidden=np.zeros((n, 68), bool),
        missed=np.zeros(2, int),
        failed=np.zeros(2, int),
        problems=(),
    )
    photo = np.char.mod("photo %d", table.sample)
    seen = np.column_stack([rng.normal(size=n), losses + rng.normal(0, 1, n), rng.normal(size=n)])
    part = tool.Part("made up", table, None, photo)
    return part, tool.Columns(table.sample % FOLDS, None, seen.astype(np.float32))


def test_shares_are_those_of_the_card_fold_by_fold(tool, made_up):
    part, columns = made_up
    table = part.table
    judged = columns.seen.astype(np.float64)
    found = tool.gaps(table, columns.fold, judged, np.arange(len(table)))
    groups = (table.variant == 0, np.isin(table.variant, (1, 2)))
    for shares, group in zip(found, groups, strict=True):
        for column, share in zip(judged.T, shares, strict=True):
            by_fold = [
                gap_closed(table.losses[rows], table.detector_scores[rows], column[rows])
                for rows in (group & (columns.fold == k) for k in range(FOLDS))
            ]
            assert share == pytest.approx(np.mean(by_fold))


def test_trees_have_not_seen_whom_they_judge(tool, made_up):
    part, columns = made_up
    recipe = tool.Recipe(TreeOptions(5))
    before = tool.out_of_fold(part.table, columns, recipe)
    first = columns.fold == 0
    other = np.where(first, part.table.losses[::-1], part.table.losses)
    after = tool.out_of_fold(dataclasses.replace(part.table, losses=other), columns, recipe)
    np.testing.assert_array_equal(before[first], after[first])
    assert not np.array_equal(before[~first], after[~first])


def test_versions_that_are_left_out_teach_nothing(tool, made_up):
    part, columns = made_up
    recipe = tool.Recipe(TreeOptions(5), versions=1)
    before = tool.out_of_fold(part.table, columns, recipe)
    other = np.where(part.table.variant > 1, 50.0, part.table.losses)
    after = tool.out_of_fold(dataclasses.replace(part.table, losses=other), columns, recipe)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["default", "thorough"])
def test_left_out_columns_are_those_named(tool, name):
    compact = FaceRejector.pretrained(name).score.columns
    features = np.zeros((1, compact.n_features), np.float32)
    plain = compact(features)
    features[:, -len(QUALITY) :] = 5
    np.testing.assert_array_equal(
        np.flatnonzero(compact(features) != plain), tool.positions(compact, "quality")
    )
    other = dataclasses.replace(compact, offsets=compact.offsets + np.eye(len(compact.offsets))[-1])
    assert np.flatnonzero(other(features * 0) != plain).tolist() == tool.positions(compact, "clean score")


def test_a_recipe_that_learns_nothing_is_told_apart(tool, made_up):
    part, columns = made_up
    recipes = {tool.SHIPPED: tool.Recipe(TreeOptions(30)), "one leaf": tool.Recipe(TreeOptions(1, 1e-6))}
    found = tool.compare(part, columns, recipes, 40)
    assert list(found) == ["linear score alone", *recipes]
    shipped, poor = (found[label] for label in recipes)
    assert (shipped.change, shipped.low, shipped.high) == (0, 0, 0)
    assert poor.low < poor.change < poor.high < 0
    assert poor.change == pytest.approx(
        (poor.clean + poor.degraded - shipped.clean - shipped.degraded) / 2, abs=1e-12
    )
