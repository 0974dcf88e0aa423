"""Fitting expected errors and covered points, on made-up faces."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.faces import FaceRejector
from facereject.faces.training.details import fit_point_errors, some_rows
from facereject.faces.training.extract import FaceTable

FACES = 90


@pytest.fixture(scope="module")
def compact():
    return FaceRejector.pretrained().score.columns


@pytest.fixture(scope="module")
def fit(compact):
    """A third of the faces has ten covered points, whose HOG values are nearly nothing."""
    rng = np.random.default_rng(0)
    features = rng.normal(0.2, 0.1, (FACES, compact.n_features)).astype(np.float32)
    hidden = np.zeros((FACES, 68), bool)
    hidden[::3, 20:30] = True
    features[:, : compact.n_hog] *= np.where(np.repeat(hidden, 36, axis=1), 0.1, 1.0)
    errors = rng.gamma(3, 1, (FACES, 68)) * np.where(hidden, 4, 1)
    table = FaceTable(
        features=features,
        losses=errors.mean(axis=1),
        detector_scores=np.zeros(FACES),
        sample=np.arange(FACES),
        variant=np.where(hidden.any(axis=1), 1, 0),
        kinds=tuple("occlusion" if each else "clean" for each in hidden.any(axis=1)),
        landmarks=np.zeros((FACES, 68, 2), np.float32),
        truth=np.zeros((FACES, 68, 2), np.float32),
        hidden=hidden,
        missed=np.zeros(2, int),
        failed=np.zeros(2, int),
        problems=(),
    )

    def fitted(**options):
        fold = np.arange(FACES) // 3 % 2
        return table, fit_point_errors(table, errors, compact, compact(features), fold, 0, **options)

    return fitted


def test_covered_points_are_found_out_of_fold(fit):
    table, found = fit()
    flagged = found.hidden > found.model.limit
    assert flagged[table.hidden].mean() > 0.9
    assert flagged[~table.hidden & table.clean[:, None]].mean() <= 0.021
    assert found.errors[table.hidden].mean() > 2 * found.errors[~table.hidden].mean()


def test_emphasis_is_about_covered_points_alone(fit):
    """Faces with covered points count more: so the odds rise. Errors are learned from all alike."""
    (table, once), (_, more) = (fit(emphasis=each, covered_weight=0.0) for each in (1.0, 20.0))
    np.testing.assert_array_equal(once.said, more.said)
    assert np.median(more.hidden - once.hidden) > 0.5
    assert (more.hidden > more.model.limit)[table.hidden].mean() > 0.9


def test_fewer_faces_are_clean_ones_first_and_more_contain_them(fit):
    table, found = fit(most=70)
    clean = np.flatnonzero(table.clean)
    assert len(found.rows) == 70
    assert np.isin(clean, found.rows).all()
    assert np.isin(some_rows(table, 0, None, 65), found.rows).all()
    np.testing.assert_array_equal(some_rows(table, 0, None, 10), clean)
