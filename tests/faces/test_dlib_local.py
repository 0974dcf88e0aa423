"""The search near a place gives the boxes of the search through the whole frame."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import skimage.data

from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.dlib_local import LocalSearch
from facereject.faces.face import Box
from facereject.faces.geometry import overlap
from facereject.faces.images.load import to_gray


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
