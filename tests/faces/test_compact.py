"""Compact columns against plain definitions: alignment, corrections, ridge, mirrored runs, image quality."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from facereject.faces import Box, Detection, LandmarkHOG, PointSet, RefinedRuns
from facereject.faces.features.context import QUALITY, FaceContext, image_quality
from facereject.faces.features.recipe import FaceFeatures, MirroredRuns
from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.images import Views, to_gray
from facereject.faces.landmarks.point_set import MEAN_SHAPE, POINTS_300W, mirror_partners
from facereject.faces.models.compact import CompactColumns, align, point_groups
from facereject.faces.training import fit_compact as fitting
from facereject.faces.training.degrade import degrade
from facereject.faces.training.extract import FaceTable

SOME = PointSet(MEAN_SHAPE, "outer_eyes", (0, 8, 16, 30, 36, 45, 48, 54))


def table_of(landmarks, truth, features=None, losses=None):
    n = len(landmarks)
    return FaceTable(
        features=np.zeros((n, 1), np.float32) if features is None else features,
        losses=np.ones(n) if losses is None else losses,
        detector_scores=np.zeros(n),
        sample=np.arange(n),
        variant=np.zeros(n, int),
        kinds=("clean",) * n,
        landmarks=np.asarray(landmarks, np.float32),
        truth=np.asarray(truth, np.float32),
        hidden=np.zeros(np.shape(landmarks)[:2], bool),
        missed=np.zeros(2, int),
        failed=np.zeros(2, int),
        problems=(),
    )


def moved(points, shift, scale, degrees):
    turn = np.radians(degrees)
    matrix = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return points @ matrix.T + shift


def test_alignment_is_the_least_squares_similarity(rng):
    faces = [moved(MEAN_SHAPE + rng.normal(0, 0.02, (68, 2)), (300, 200), 80.0, a) for a in (-30, 0, 50)]
    aligned, place = align(np.array(faces).reshape(3, -1), POINTS_300W)
    for face, found, where in zip(faces, aligned, place, strict=True):
        expected = transform_points(fit_similarity(face, MEAN_SHAPE), face)
        np.testing.assert_allclose(found.reshape(-1, 2), expected, atol=1e-9)
        np.testing.assert_allclose(where[:2], face.mean(axis=0))
    np.testing.assert_allclose(np.degrees(place[:, 3]), [-30, 0, 50], atol=2)
    np.testing.assert_allclose(np.exp(place[:, 2]), 80, rtol=0.05)


def test_corrections_are_measured_in_the_frame_of_the_face():
    found = moved(MEAN_SHAPE, (400, 300), 100.0, 20)
    # to the right of the tilted face by a tenth of its width, larger by 5 %, turned by 3 degrees
    right = moved(np.array([[0.1, 0.0]]), (0, 0), 100.0, 20)[0]
    middle = found.mean(axis=0)
    truth = moved(found - middle, middle + right, 1.05, 3)
    values = fitting.corrections(table_of([found], [truth]), POINTS_300W)[0]
    np.testing.assert_allclose(values, [0.1, 0.0, np.log(1.05), np.radians(3)], atol=1e-4)


@pytest.mark.parametrize("rows", [60, 15])
def test_ridge_out_of_fold_agrees_with_scikit_learn(rng, rows):
    """More rows than values and fewer: two sets of equations, one answer."""
    X = rng.normal(size=(rows, 20)).astype(np.float32)
    Y = X[:, :2] + rng.normal(size=(rows, 2))
    fold = np.arange(rows) % 3
    predictions, weights, offsets = fitting.ridge_out_of_fold(X, Y, fold)
    mean, scale, middle = X.mean(axis=0), X.std(axis=0) + 1e-3, Y.mean(axis=0)
    Z = (X - mean) / scale
    for k in range(3):
        rest = fold != k
        model = Ridge(alpha=fitting._RIDGE * rest.sum(), fit_intercept=False).fit(Z[rest], Y[rest] - middle)
        np.testing.assert_allclose(predictions[~rest], model.predict(Z[~rest]) + middle, atol=1e-4)
    whole = Ridge(alpha=fitting._RIDGE * rows, fit_intercept=False).fit(Z, Y - middle)
    np.testing.assert_allclose(X @ weights + offsets, whole.predict(Z) + middle, atol=1e-4)


def test_partners_in_the_mirror():
    partners = mirror_partners(POINTS_300W)
    assert [partners[i] for i in (0, 8, 17, 36, 48, 60)] == [16, 8, 26, 45, 54, 64]
    assert all(partners[partners[i]] == i for i in range(68))
    lopsided = PointSet(np.array([(-0.5, 0.0), (0.5, 0.2), (0.1, 0.4)]), "box")
    assert mirror_partners(lopsided) is None


def test_runs_that_agree_and_runs_that_do_not(gray_photo, predictor, photo_landmarks):
    """Drawn symmetrically, the mean shape is its own mirror image; what is seen decides for a predictor."""

    def blind(image, box):
        return MEAN_SHAPE * box.width / 1.05 + (box.center[0], box.center[1] + 0.1 * box.width / 1.05)

    box = Box(200, 100, 90, 90)
    runs = MirroredRuns(angles=(0.0,))(gray_photo, blind(None, box), blind)
    np.testing.assert_allclose(runs.landmarks, blind(None, box), atol=1.0)
    seeing = MirroredRuns()(gray_photo, photo_landmarks, predictor)
    assert np.abs(seeing.landmarks - photo_landmarks).max() < 8
    guessing = MirroredRuns()(np.zeros_like(gray_photo), photo_landmarks, predictor)
    assert guessing.values.mean() > seeing.values.mean() + 0.5
    assert seeing.values.shape == (136,) == (MirroredRuns().n_features,)


def test_refined_runs_distrust_a_first_run_that_is_off(gray_photo, predictor, photo_landmarks):
    near = RefinedRuns()(gray_photo, photo_landmarks, predictor)
    assert np.abs(near.landmarks - photo_landmarks).max() < 8
    size = np.linalg.norm(photo_landmarks[45] - photo_landmarks[36])
    off = photo_landmarks + (0.25 * size, 0)
    again = RefinedRuns()(gray_photo, off, predictor).landmarks
    # the plain mean would be half as far off as the first run
    assert np.linalg.norm(again - photo_landmarks, axis=1).mean() < 0.1 * size
    assert MirroredRuns((0.0,))(gray_photo, off, predictor).landmarks[30, 0] > again[30, 0] + 0.05 * size
    several = RefinedRuns((0.0, 8.0, -8.0))(gray_photo, photo_landmarks, predictor)
    assert np.abs(several.landmarks - photo_landmarks).max() < 8
    assert np.isfinite(several.values).all()


@pytest.mark.parametrize("kind", [MirroredRuns, RefinedRuns])
def test_runs_are_restored_from_their_definition(kind):
    features = FaceFeatures(LandmarkHOG(), kind((3.0, -4.0)), FaceContext())
    assert FaceFeatures.from_definition(features.definition, POINTS_300W) == features


@pytest.mark.parametrize("angles", [(), (90.0,), (float("nan"),), (1.0,) * 9])
def test_angles_are_checked(angles):
    with pytest.raises(ValueError, match="angles"):
        MirroredRuns(angles)


@pytest.fixture(scope="module")
def gray_photo(astronaut):
    return to_gray(astronaut)


@pytest.fixture(scope="module")
def photo_landmarks(astronaut_landmarks):
    return astronaut_landmarks


def quality(image, landmarks):
    return dict(zip(QUALITY, image_quality(LandmarkHOG().chip(image, landmarks)[0]), strict=True))


def test_quality_tells_what_was_done(gray_photo, photo_landmarks):
    def after(kind, severity=0.7):
        image = degrade(gray_photo, photo_landmarks, kind, severity, random_state=0).image
        return quality(image, photo_landmarks)

    clean = quality(gray_photo, photo_landmarks)
    assert after("dark")["brightness"] < clean["brightness"] < after("bright")["brightness"]
    assert after("bright")["clipped_bright"] > clean["clipped_bright"] + 0.05
    assert after("blur")["sharpness_1"] < clean["sharpness_1"] - 0.5
    assert after("noise")["noise"] > clean["noise"] + 0.5
    assert after("motion")["blur_direction"] > clean["blur_direction"] + 0.2
    assert after("haze")["contrast"] < clean["contrast"] / 2
    assert all(np.isfinite(image_quality(np.full((150, 150), v, np.uint8))).all() for v in (0, 255))


def test_context_says_where_the_face_is(gray_photo, photo_landmarks):
    context, box = FaceContext(), Box(150, 60, 120, 120)
    chip = LandmarkHOG().chip(gray_photo, photo_landmarks)[0]
    values = context((512, 512), Detection(box, 1.0), photo_landmarks, chip)
    assert len(values) == context.n_features
    placed = values[:136].reshape(68, 2) * 120 + box.center
    np.testing.assert_allclose(placed, photo_landmarks, atol=1e-3)
    assert values[136] == pytest.approx(np.log2(120))
    left, _, right, _, outside = values[137:142]
    assert left == pytest.approx(min(photo_landmarks[:, 0].min() / 120, 1), abs=1e-5)
    assert (right, outside) == (1.0, 0.0)
    cut = context((200, 512), Detection(box, 1.0), photo_landmarks, chip)
    assert cut[139] < 0
    assert cut[141] == pytest.approx((photo_landmarks[:, 0] > 199.5).mean())


@pytest.mark.parametrize("points", [POINTS_300W, SOME], ids=["all", "some"])
def test_columns_are_finite_stored_and_the_same_row_by_row(rng, points):
    groups = point_groups(points)
    assert sorted(i for group in groups for i in group) == list(range(points.n_used))
    n_linear, u = 1 + len(groups) + 4, points.n_used
    columns = CompactColumns(
        points,
        2 * u,
        FaceContext(points).n_features,
        rng.normal(size=(36 * u, n_linear)).astype(np.float32),
        rng.normal(size=n_linear).astype(np.float32),
        np.linalg.qr(rng.normal(size=(2 * u, 3)))[0].astype(np.float32),
        np.ones(3, np.float32),
    )
    features = rng.normal(size=(4, columns.n_features)).astype(np.float32)
    found = columns(features)
    assert found.shape == (4, columns.n_columns)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(
        np.vstack([columns(row[None]) for row in features]), found, rtol=1e-4, atol=1e-3
    )
    again = CompactColumns.from_arrays(
        columns.arrays(),
        FaceFeatures(LandmarkHOG(points=points), MirroredRuns(points=points), FaceContext(points)),
    )
    np.testing.assert_array_equal(again(features), found)
    with pytest.raises(ValueError, match="compact"):
        replace(columns, n_runs=u)


def test_features_of_landmarks_from_elsewhere_stay_where_they_are(astronaut, predictor, photo_landmarks):
    features = FaceFeatures(LandmarkHOG(), MirroredRuns(), FaceContext())
    view, found = Views(astronaut), Detection(POINTS_300W.box_of(photo_landmarks), 1.0)
    kept = features(view, found, photo_landmarks, predictor, keep=True)
    mean = features(view, found, photo_landmarks, predictor)
    np.testing.assert_array_equal(kept.landmarks, photo_landmarks)
    assert not np.array_equal(mean.landmarks, photo_landmarks)
    assert len(mean.values) == features.n_features == 2448 + 136 + 157
    assert FaceFeatures.from_definition(features.definition, POINTS_300W) == features
    turned = cv2.rotate(to_gray(astronaut), cv2.ROTATE_180)
    assert np.isfinite(features(Views(turned), found, photo_landmarks, predictor).values).all()
