"""Tilted faces: landmarks on an upright copy, and what the detector's points say beside the landmarks."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from facereject.faces import Box, Detection, FaceRejector, LandmarkHOG
from facereject.faces.features.context import DETECTOR, UNKNOWN_DETECTOR, FaceContext, agreement, five_of
from facereject.faces.geometry import transform_points
from facereject.faces.images import to_gray
from facereject.faces.landmarks.base import place_landmarks
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet
from facereject.faces.models.ranking import usable_share
from facereject.losses import landmark_nme
from tools.train.unseen import for_unseen_faces, unseen_ratio


@pytest.fixture(scope="module")
def gray(astronaut):
    return to_gray(astronaut)


@pytest.fixture(scope="module")
def found(astronaut_detection, astronaut_landmarks):
    points = tuple((float(x), float(y)) for x, y in five_of(astronaut_landmarks))
    return Detection(astronaut_detection.box, 0.9, points)


def tilted(image, found, degrees):
    """The image turned about the box, clockwise, and what a detector would have found there."""
    matrix = cv2.getRotationMatrix2D(found.box.center, -degrees, 1.0)
    turned = cv2.warpAffine(image, matrix, image.shape[::-1], borderMode=cv2.BORDER_REPLICATE)
    points = transform_points(matrix, np.array(found.points))
    return turned, matrix, Detection(found.box, found.score, tuple(map(tuple, points.tolist())))


@pytest.mark.parametrize("degrees", [-40, 35])
def test_an_upright_copy_gives_better_landmarks_of_tilted_faces(
    gray, found, predictor, astronaut_landmarks, degrees
):
    turned, matrix, there = tilted(gray, found, degrees)
    truth = transform_points(matrix, astronaut_landmarks)
    upright, plain = (
        landmark_nme(truth, place_landmarks(predictor, turned, there, 68, beyond)) for beyond in (8.0, None)
    )
    assert upright < 4 < plain


def test_straight_faces_are_shown_as_they_are(gray, found, predictor, astronaut_detection):
    expected = predictor(gray, astronaut_detection.box)
    np.testing.assert_array_equal(place_landmarks(predictor, gray, found, 68, 8.0), expected)
    bare = Detection(found.box, 0.9)
    np.testing.assert_array_equal(place_landmarks(predictor, gray, bare, 68, 0.0), expected)


def test_a_face_says_how_its_landmarks_were_placed(gray, found, astronaut, astronaut_landmarks):
    rejector = FaceRejector.pretrained()
    turned, _, there = tilted(gray, found, 30)
    assert rejector.assess_detections(gray, [found])[0].placement == "image+1+corrected"
    assert rejector.assess_detections(turned, [there])[0].placement == "upright+1+corrected"
    assert rejector.assess(gray, astronaut_landmarks).placement == "given"
    (face,) = FaceRejector.pretrained("dlib")(astronaut)
    assert (face.placement, face.to_dict()["placement"]) == ("image", "image")


def test_agreement_with_the_five_points(found, astronaut_landmarks):
    values = dict(zip(DETECTOR, agreement(found, astronaut_landmarks), strict=True))
    assert (values["five_points"], values["score"]) == (1.0, 0.9)
    assert values["nose"] == pytest.approx(np.log(0.02))
    assert (values["larger"], values["tilted"]) == pytest.approx((0, 0), abs=1e-9)
    # landmarks half a distance of the eye corners to the right of where the detector sees the face
    unit = np.linalg.norm(astronaut_landmarks[45] - astronaut_landmarks[36])
    moved = dict(zip(DETECTOR, agreement(found, astronaut_landmarks + (unit / 2, 0)), strict=True))
    assert moved["mouth_left"] == pytest.approx(np.log(0.52))
    smaller = dict(zip(DETECTOR, agreement(found, 0.5 * astronaut_landmarks), strict=True))
    assert smaller["larger"] == pytest.approx(np.log(2))
    assert agreement(Detection(found.box, 3.0), astronaut_landmarks).tolist() == list(UNKNOWN_DETECTOR)


def test_the_values_of_the_detector_come_last(gray, found, astronaut_landmarks):
    with_detector, plain = FaceContext(detector=True), FaceContext()
    chip = LandmarkHOG().chip(gray, astronaut_landmarks)[0]
    values = with_detector((512, 512), found, astronaut_landmarks, chip)
    np.testing.assert_array_equal(
        values[: -len(DETECTOR)], plain((512, 512), found, astronaut_landmarks, chip)
    )
    np.testing.assert_allclose(values[-len(DETECTOR) :], agreement(found, astronaut_landmarks), rtol=1e-6)
    for context in (with_detector, plain):
        assert FaceContext.from_definition(context.definition, POINTS_300W) == context
    with pytest.raises(ValueError, match="68 points"):
        FaceContext(PointSet(np.array([(-0.5, 0.0), (0.5, 0.2), (0.1, 0.4)]), "box"), detector=True)


def test_usable_share_against_trying_every_number(rng):
    losses, order = rng.gamma(2, 1, 60), rng.normal(size=60)
    ranked = losses[np.argsort(order)]
    for target in (0.5, 1.5, 2.0, 9.0):
        best = max((n for n in range(1, 61) if ranked[:n].mean() <= target), default=0)
        assert usable_share(losses, order, target, n_missed=20) == pytest.approx(best / 80)
    assert usable_share([], [], 1.0) == 0.0


def test_unseen_errors_become_the_unit(rng):
    rejector = FaceRejector.pretrained()
    order = rng.normal(size=2_000)
    seen, unseen = np.exp(order), np.exp(order) * np.where(order < 0, 1.6, 1.2)
    ratio = unseen_ratio((seen, order), (unseen, order))
    np.testing.assert_allclose(ratio([-1.0, 1.0]), [1.6, 1.2], rtol=0.02)
    other = for_unseen_faces(rejector, ratio)
    factor = ratio(rejector.calibration.uncertainty)
    np.testing.assert_allclose(other.calibration.losses, factor * rejector.calibration.losses)
    assert other.info["unseen_ratio"]["ratio"] == ratio.values.tolist()
    assert "unseen_ratio" not in FaceRejector.pretrained("dlib").info


def test_a_face_says_who_found_it(astronaut):
    class Elsewhere:
        definition = {"name": "elsewhere"}  # noqa: RUF012

        def detect(self, image):
            return [Detection(Box(179, 83, 88, 88), 1.0)]

    (face,) = FaceRejector.pretrained("dlib", detector=Elsewhere())(astronaut)
    assert face.detector == "elsewhere"
    assert FaceRejector.pretrained("dlib").assess_box(astronaut, face.box).detector == ""
