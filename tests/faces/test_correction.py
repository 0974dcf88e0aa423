"""The correction of landmarks: what it learns, where it is used, and how it is stored."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from facereject.faces import FaceRejector, LandmarkPredictor
from facereject.faces.features.recipe import LandmarkCorrection
from facereject.faces.landmarks.point_set import MEAN_SHAPE, POINTS_300W
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.fit_compact import ridge_out_of_fold
from facereject.losses import landmark_nme
from tools.train import fit_correction as fitting

EXTRACTOR = SimpleNamespace(
    points=POINTS_300W,
    hog=SimpleNamespace(n_features=2448),
    predictor=SimpleNamespace(fingerprint="of a predictor"),
)


@pytest.fixture(scope="module")
def table():
    """Tilted faces of different sizes whose HOG values tell, in part, how far the points are off."""
    rng = np.random.default_rng(0)
    n, hidden = 300, rng.normal(size=(300, 3))
    off = 0.01 * (hidden @ rng.normal(size=(3, 136))).reshape(n, 68, 2) + 0.002 * rng.normal(size=(n, 68, 2))
    landmarks = np.empty((n, 68, 2))
    truth = np.empty((n, 68, 2))
    for i in range(n):
        angle, scale = rng.uniform(-0.5, 0.5), rng.uniform(50, 300)
        turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        landmarks[i] = MEAN_SHAPE @ turn.T + rng.uniform(100, 400, size=2)
        truth[i] = landmarks[i] + off[i] @ turn.T
    return FaceTable(
        features=(hidden @ rng.normal(size=(3, 2448)) + rng.normal(size=(n, 2448))).astype(np.float32),
        losses=np.array([float(landmark_nme(t, p)) for t, p in zip(truth, landmarks, strict=True)]),
        detector_scores=np.ones(n),
        sample=np.arange(n),
        variant=np.arange(n) % 2,
        kinds=("clean", "blur") * (n // 2),
        landmarks=landmarks.astype(np.float32),
        truth=truth.astype(np.float32),
        hidden=np.zeros((n, 68), dtype=bool),
        missed=np.zeros(2, dtype=np.int64),
        failed=np.zeros(2, dtype=np.int64),
        problems=(),
    )


def test_errors_that_the_values_show_become_smaller(table):
    seen = table.rows(table.sample < 200)
    correction, better = fitting.fit_correction(seen, EXTRACTOR, seen.sample % 4)
    assert better.losses.mean() < 0.5 * seen.losses.mean()
    others = table.rows(table.sample >= 200)
    assert fitting.corrected(others, correction).losses.mean() < 0.5 * others.losses.mean()
    np.testing.assert_array_equal(better.features, seen.features)


def test_rows_are_corrected_by_what_other_folds_show(table):
    """Values that tell nothing seem to help only those that were learned from."""
    shuffled = replace(table, features=np.random.default_rng(1).permutation(table.features))
    correction, better = fitting.fit_correction(shuffled, EXTRACTOR, table.sample % 4)
    assert better.losses.mean() > 0.98 * table.losses.mean()
    assert fitting.corrected(shuffled, correction).losses.mean() < 0.9 * table.losses.mean()


def test_one_face_and_a_table_are_corrected_alike(table):
    correction, _ = fitting.fit_correction(table, EXTRACTOR, table.sample % 4)
    expected = fitting.corrected(table, correction).landmarks[7]
    got = correction(table.features[7], table.landmarks[7].astype(np.float64))
    np.testing.assert_allclose(got, expected, atol=1e-3)


def test_weighted_ridge_agrees_with_scikit_learn(rng):
    X = rng.normal(size=(80, 10)).astype(np.float32)
    Y = X[:, :2] + rng.normal(size=(80, 2))
    weight = rng.uniform(0, 3, size=80)
    _, weights, offsets = ridge_out_of_fold(X, Y, np.arange(80) % 2, weight, 0.5)
    mean, scale, middle = X.mean(axis=0), X.std(axis=0) + 1e-3, np.average(Y, axis=0, weights=weight)
    Z = (X - mean) / scale
    model = Ridge(alpha=0.5 * 80, fit_intercept=False)
    model.fit(Z, Y - middle, sample_weight=weight / weight.mean())
    np.testing.assert_allclose(X @ weights + offsets, model.predict(Z) + middle, atol=1e-4)


def test_the_shipped_models_correct_dlibs_landmarks_and_no_others(astronaut, astronaut_landmarks):
    rejector = FaceRejector.pretrained()
    (face,) = rejector(astronaut)
    correction = rejector.features.correction
    assert correction is not None
    assert face.placement.endswith("+corrected")
    # by little: half a percent of the width of the face in the mean, where dlib is nearly right
    plain = FaceRejector(**parts(rejector), correction=None)
    (before,) = plain(astronaut)
    off = np.linalg.norm(face.landmarks - before.landmarks, axis=1).mean()
    assert 0 < off < 0.02 * face.box.width
    # the score is that of the same features
    assert face.uncertainty == before.uncertainty
    given = rejector.assess(astronaut, astronaut_landmarks)
    np.testing.assert_array_equal(given.landmarks, astronaut_landmarks)


def test_another_predictor_is_not_corrected(astronaut):
    class Other(LandmarkPredictor):
        fingerprint = "another one"

    with pytest.warns(UserWarning, match="trained for"):
        rejector = FaceRejector.pretrained(predictor=Other())
    assert rejector.features.correction is None
    assert "corrected" not in rejector(astronaut)[0].placement


def test_a_correction_is_stored_with_its_model(tmp_path, astronaut):
    rejector = FaceRejector.pretrained("thorough")
    rejector.save(tmp_path / "model.safetensors")
    again = FaceRejector.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again(astronaut)[0].landmarks, rejector(astronaut)[0].landmarks)


def test_arrays_that_do_not_belong_together_are_refused():
    correction = FaceRejector.pretrained().features.correction
    assert correction is not None
    arrays, definition = correction.arrays(), correction.definition
    other = {**arrays, "correction_offset": arrays["correction_offset"] + 1}
    with pytest.raises(ValueError, match="unknown correction"):
        LandmarkCorrection.from_arrays(other, definition, POINTS_300W)
    short = {**arrays, "correction_offset": arrays["correction_offset"][:-2]}
    with pytest.raises(ValueError, match="68 points"):
        LandmarkCorrection.from_arrays(short, definition, POINTS_300W)


def test_a_predictor_without_a_fingerprint_gets_none(table):
    nameless = SimpleNamespace(**{**vars(EXTRACTOR), "predictor": object()})
    with pytest.raises(ValueError, match="fingerprint"):
        fitting.fit_correction(table, nameless, table.sample % 4)


def parts(rejector):
    """The arguments that make a rejector, but for its correction."""
    names = ("score", "calibration", "target", "hog", "stability", "context", "detector", "predictor")
    return {name: getattr(rejector, name) for name in (*names, "upright_beyond", "info")}
