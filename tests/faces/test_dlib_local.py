"""The search near a place gives the boxes of the search through the whole frame."""

from __future__ import annotations

import cv2
import dlib
import numpy as np
import pytest
import skimage.data

from facereject.faces.detectors._pyramid import LevelPart, level_sizes, parts_of_levels
from facereject.faces.detectors.base import find_candidates
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.dlib_local import LocalSearch
from facereject.faces.face import Box
from facereject.faces.geometry import overlap
from facereject.faces.images.load import to_gray
from facereject.faces.views import Views


@pytest.fixture(scope="module")
def photo():
    return to_gray(skimage.data.astronaut())


@pytest.mark.parametrize("zoom", [0.95, 1.3, 1.9])
def test_same_box_as_in_the_whole_frame_at_every_size(photo, zoom):
    gray = cv2.resize(photo, None, fx=zoom, fy=zoom)
    detector = FaceDetector()
    (whole,) = detector.detect(gray)
    shifted = Box(whole.box.x + 0.05 * whole.box.width, whole.box.y - 7, *whole.box[2:])
    found = LocalSearch(detector)(gray, shifted)
    assert overlap(found[0].box, whole.box) > 0.95
    assert found[0].score == pytest.approx(whole.score, abs=0.25)


@pytest.mark.parametrize(
    ("detector", "zoom"), [(FaceDetector(min_face=120), 1.6), (FaceDetector(upsample=1), 0.6)]
)
def test_options_of_the_detector_hold(photo, detector, zoom):
    gray = cv2.resize(photo, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA)
    (whole,) = detector.detect(gray)
    (found,) = LocalSearch(detector)(gray, whole.box)
    # it may settle for the neighbouring level of the pyramid, a sixth smaller
    assert overlap(found.box, whole.box) > 0.65


def test_nothing_is_found_where_nothing_is(photo):
    search = LocalSearch(FaceDetector())
    assert search(photo, Box(380, 380, 90, 90)) == []
    assert search(np.zeros((40, 40), dtype=np.uint8), Box(5, 5, 30, 30)) == []
    assert search(photo, Box(900, 900, 90, 90)) == []


def test_faces_below_the_smallest_wanted_size_are_dropped(photo):
    (whole,) = FaceDetector().detect(photo)
    assert LocalSearch(FaceDetector(min_face=200))(photo, whole.box) == []


@pytest.mark.parametrize("zoom", [0.9, 1.3, 1.9])
@pytest.mark.parametrize("moved", [0, 5, 20])
def test_box_and_score_are_those_of_the_whole_frame(photo, zoom, moved):
    gray = cv2.resize(photo, None, fx=zoom, fy=zoom)
    detector = FaceDetector()
    whole = detector.detect(gray)[0]
    found = detector.near(gray, whole.box._replace(x=whole.box.x + moved, y=whole.box.y - moved))
    assert found[0].box == whole.box
    assert found[0].score == pytest.approx(whole.score, abs=0.02)


def test_parts_of_levels_are_those_of_dlibs_pyramid(photo):
    shrink, image = dlib.pyramid_down(6), photo
    for level in range(5):
        image = shrink(image) if level else image
        (width, height) = level_sizes(photo.shape[1], photo.shape[0], level)[-1]
        assert image.shape == (height, width)
        for part in (
            LevelPart(16, 24, 80, 96),
            LevelPart(0, 0, width, height),
            LevelPart(width - 60, 8, width, 70),
        ):
            found = parts_of_levels(photo, {level: part})[level]
            expected = image[part.y0 : part.y1, part.x0 : part.x1]
            # dlib rounds the last few columns of each level down
            difference = np.abs(found.astype(int) - expected)[:, :-12]
            assert difference.max() <= 1
            assert (difference > 0).mean() < 0.01


def test_candidates_are_the_faces_and_what_nearly_is_one(photo):
    gray = cv2.resize(photo, None, fx=1.3, fy=1.3)
    (face,) = FaceDetector().detect(gray)
    strict = FaceDetector(threshold=face.score + 0.3)
    assert strict.detect(gray) == []
    for box in (None, face.box):
        found, nearly = find_candidates(strict, Views(gray), box)
        assert found == []
        assert nearly[0][0] == face.box
        assert nearly[0][1] == pytest.approx(0.3 / strict.margin, abs=0.05)
        assert find_candidates(FaceDetector(), Views(gray), box).faces[0].box == face.box
