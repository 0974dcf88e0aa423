"""Point sets: the Procrustes mean, the frame of the detector's boxes, units, and what is refused."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from plugins_of_others import FIVE

from facereject.faces import Box, Detection, FaceDetector, LandmarkHOG
from facereject.faces.datasets import match_face
from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.images import to_gray
from facereject.faces.landmarks.point_set import MEAN_SHAPE, POINTS_300W, PointSet, procrustes_mean
from facereject.faces.training.annotation import learn_points


def turned(shape, angle, scale=1.0, shift=(0, 0)):
    c, s = scale * np.cos(angle), scale * np.sin(angle)
    return shape @ np.array([[c, s], [-s, c]]) + shift


def test_the_mean_of_moved_copies_is_the_shape_itself(rng):
    shape = rng.normal(size=(7, 2))
    angles = rng.uniform(-0.5, 0.5, size=40)
    copies = [turned(shape, a, rng.uniform(1, 90), rng.uniform(0, 500, 2)) for a in angles - angles.mean()]
    mean = procrustes_mean(np.array(copies))
    matrix = fit_similarity(mean, shape)
    np.testing.assert_allclose(transform_points(matrix, mean), shape, atol=1e-9)
    # as upright as the copies are on average
    assert abs(np.arctan2(matrix[1, 0], matrix[0, 0])) < 0.1


def test_the_mean_is_a_stationary_point_of_the_procrustes_distance(rng):
    faces = rng.normal(size=(5, 2)) + 0.1 * rng.normal(size=(30, 5, 2))

    def distance(mean):
        total = 0.0
        for face in faces:
            centred = face - face.mean(axis=0)
            centred /= np.linalg.norm(centred)
            u, _, v = np.linalg.svd(centred.T @ mean)
            rotation = u @ np.diag([1, np.sign(np.linalg.det(u @ v))]) @ v
            total += np.sum((centred @ rotation - mean) ** 2)
        return total

    mean = procrustes_mean(faces)
    for _ in range(20):
        other = mean + 1e-3 * rng.normal(size=mean.shape)
        other -= other.mean(axis=0)
        assert distance(other / np.linalg.norm(other)) >= distance(mean)


def test_boxes_come_back(rng):
    shape = MEAN_SHAPE[list(FIVE)]
    faces, boxes = [], []
    for _ in range(20):
        size, angle, shift = rng.uniform(50, 300), rng.uniform(-0.2, 0.2), rng.uniform(100, 900, 2)
        faces.append(turned(shape, angle, size, shift))
        center, side = turned(np.array([[0.03, 0.2]]), angle, size, shift)[0], 1.4 * size
        boxes.append(Box(*(center - side / 2), side, side))
    points = PointSet.learned(faces, [None, *boxes[1:]], normalizer="points:0,2")
    for face, box in zip(faces, boxes, strict=True):
        np.testing.assert_allclose(points.box_of(face), box, rtol=1e-6)
    # without boxes, the face is as large as its points
    assert np.ptp(PointSet.learned(faces).mean_shape, axis=0).max() == pytest.approx(1.0)


def test_the_68_points_are_learned_as_they_are_known(photographs):
    samples = list(photographs)
    learned = learn_points(samples, lambda *_: None, FaceDetector.for_training(), normalizer="box")
    assert learned.normalizer == "box"
    np.testing.assert_allclose(learned.mean_shape, MEAN_SHAPE, atol=0.08)
    assert learn_points(samples, lambda *_: None, FaceDetector()) == POINTS_300W


def test_points_in_the_middle_of_a_face_are_matched_by_the_box_they_belong_to(astronaut_landmarks):
    five = astronaut_landmarks[list(FIVE)]
    points = PointSet(MEAN_SHAPE[list(FIVE)], "points:0,2")
    right = Detection(points.box_of(five), 0.1)
    wrong = Detection(right.box._replace(x=right.box.x + right.box.width), 3.0)
    huge = Detection(Box(-500, -500, 2000, 2000), 5.0)
    assert match_face([wrong, huge, right], five, points=points) is right
    assert match_face([wrong, huge], five, points=points) is None
    # as long as the box is not known: the smallest that holds the points
    assert match_face([wrong, huge, right], five) is right


def test_units_and_scales(astronaut_landmarks):
    eyes = np.linalg.norm(astronaut_landmarks[36] - astronaut_landmarks[45])
    assert POINTS_300W.scale(astronaut_landmarks) == pytest.approx(eyes)
    assert PointSet(MEAN_SHAPE, "points:36,45").scale(astronaut_landmarks) == pytest.approx(eyes)
    width, height = np.ptp(astronaut_landmarks, axis=0)
    box = PointSet(MEAN_SHAPE, "box")
    assert box.scale(astronaut_landmarks) == pytest.approx(np.sqrt(width * height))
    assert "outer eye corners" in POINTS_300W.unit
    assert "box" in box.unit
    assert PointSet(MEAN_SHAPE, "points:3,12").unit == "the distance of the points 3 and 12"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mean_shape": np.zeros((5, 2))}, "mean_shape"),
        ({"mean_shape": np.eye(3)}, "mean_shape"),
        ({"normalizer": "eyes"}, "normalizer"),
        ({"normalizer": "points:0,68"}, "two different points of 68"),
        ({"normalizer": "points:4,4"}, "two different points"),
        ({"normalizer": 3}, "normalizer"),
        ({"used": (0, 0)}, "feature points"),
        ({"used": (1,)}, "feature points"),
        ({"used": (0, 68)}, "from 0 to 67"),
        ({"used": (0, 1.5)}, "whole numbers"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        PointSet(**{"mean_shape": MEAN_SHAPE, **options})


def test_equal_sets_are_equal():
    same = PointSet(MEAN_SHAPE.copy(), "outer_eyes")
    assert same == POINTS_300W
    assert hash(same) == hash(POINTS_300W)
    assert LandmarkHOG(points=same) == LandmarkHOG()
    assert same != PointSet(MEAN_SHAPE, "outer_eyes", (1, 2))
    assert same != "points"


def test_features_of_some_points_are_those_of_a_predictor_of_these_points(astronaut, astronaut_landmarks):
    gray, used = to_gray(astronaut), (36, 39, 42, 45, 33, 48, 54)
    some = LandmarkHOG(points=PointSet(MEAN_SHAPE, "outer_eyes", used))
    assert some.n_features == 7 * 36
    alone = LandmarkHOG(points=PointSet(MEAN_SHAPE[list(used)], "box"))
    values = some(gray, astronaut_landmarks)
    np.testing.assert_array_equal(values, alone(gray, astronaut_landmarks[list(used)]))


def test_chips_of_large_photographs_are_whole_for_points_in_the_middle(astronaut, astronaut_landmarks):
    """Reduced before it is warped, a part of the photograph must still cover all of the chip."""
    gray, five = to_gray(astronaut), astronaut_landmarks[list(FIVE)]
    hog = LandmarkHOG(points=PointSet(MEAN_SHAPE[list(FIVE)], "points:0,2"))
    large = cv2.resize(gray, None, fx=6, fy=6, interpolation=cv2.INTER_LINEAR)
    small, _ = hog.chip(gray, five)
    chip, _ = hog.chip(large, five * 6 + 2.5)
    assert np.abs(chip.astype(float) - small).mean() < 4
    # a part that ended too early would repeat its border in the corners
    for corner in (np.s_[:25, :25], np.s_[:25, -25:], np.s_[-25:, :25], np.s_[-25:, -25:]):
        assert np.abs(chip[corner].astype(float) - small[corner]).mean() < 8
