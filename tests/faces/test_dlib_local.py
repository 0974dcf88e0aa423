"""The search near a place gives the boxes of the search through the whole frame."""

from __future__ import annotations

import dataclasses

import cv2
import dlib
import numpy as np
import pytest
import skimage.data

from facereject.faces.detectors._pyramid import LevelPart, level_sizes, parts_of_levels
from facereject.faces.detectors.base import find_again, find_candidates
from facereject.faces.detectors.dlib_hog import DlibDetection, FaceDetector
from facereject.faces.detectors.dlib_local import LocalSearch, _level_of, _part
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


@pytest.mark.parametrize(("zoom", "moved"), [(0.9, 3), (1.3, 5), (1.9, 0)])
def test_a_face_is_found_again_in_its_own_size_alone(photo, zoom, moved):
    gray = cv2.resize(photo, None, fx=zoom, fy=zoom)
    detector = FaceDetector()
    before = find_candidates(detector, Views(gray), detector.detect(gray)[0].box).faces[0]
    now = np.roll(gray, (moved, 2 * moved), axis=(0, 1))
    # that no other size comes near is known
    (again,) = detector.again(now, before.box, dataclasses.replace(before, lead=1.0))
    (whole,) = detector.detect(now)
    assert again.box == whole.box
    assert again.score == pytest.approx(whole.score, abs=0.02)
    assert 0.3 <= again.lead < 1


def test_the_lead_of_a_face_is_that_over_other_sizes(photo):
    lower = FaceDetector(threshold=-1.0)
    (whole,) = FaceDetector().detect(photo)
    (near,) = lower.near(photo, whole.box)
    # each of the other sizes by itself
    levels = [_level_of(Box(0, 0, side, side)) for side in (whole.box.width / 1.2, whole.box.width * 1.2)]
    search = LocalSearch(lower)
    alone = [face.score for level in levels for face, _ in search._on_levels(photo, whole.box, [level])]
    assert near.lead == pytest.approx(near.score - max(alone, default=-1.0))
    assert near.lead > 0.3


@pytest.mark.parametrize("zoom", [0.9, 1.07, 1.3])
def test_other_sizes_are_looked_at_where_they_may_be_the_better_ones(photo, zoom):
    detector = FaceDetector()
    (before,) = detector.detect(photo)
    # of a search of the whole frame
    assert before.lead == 0
    now = cv2.resize(photo, None, fx=zoom, fy=zoom)
    place = Box(*(zoom * value for value in before.box))
    again, whole = detector.again(now, place, before)[0], detector.detect(now)[0]
    assert again.box == whole.box
    assert again.lead > 0


def test_a_face_that_is_gone_or_hardly_one_is_told_by_the_same_look(photo):
    (whole,) = FaceDetector().detect(photo)
    known = dataclasses.replace(whole, lead=2.0)
    assert FaceDetector().again(photo, Box(380, 380, *whole.box[2:]), known) == []
    for missed in (0.2, 0.5):
        strict = FaceDetector(threshold=whole.score + missed)
        faces, nearly = find_again(strict, Views(photo), whole.box, known)
        assert faces == []
        # half a margin below the threshold nothing is expected to become a face
        assert nearly == ([(whole.box, pytest.approx(0.2 / strict.margin, abs=0.05))] if missed < 0.3 else [])


def test_of_two_faces_side_by_side_none_hides_the_other(photo, monkeypatch):
    class TwoFaces:
        def run(self, image, upsample, threshold):
            return [dlib.rectangle(x, 30, x + 72, 102) for x in (4, 70)], [1.0, 0.5], [0, 0]

    monkeypatch.setattr("facereject.faces.detectors.dlib_local.one_level_detector", TwoFaces)
    detector, place = FaceDetector(), Box(200, 200, 73, 73)
    faces = detector.again(photo, place, DlibDetection(place, 1.0, 0, lead=2.0))
    assert [face.score for face in faces[:2]] == [1.0, 0.5]
    assert overlap(faces[0].box, faces[1].box) < 0.3


@pytest.mark.parametrize("middle", [(320, 240), (30, 30), (630, 470), (0, 0), (560, 10)])
@pytest.mark.parametrize("level", [0, 3, 7])
def test_parts_are_on_cells_in_the_frame_and_as_wide_as_dlib_is_fast(middle, level):
    size = level_sizes(640, 480, level)[-1]
    part = _part(middle, level, size)
    assert part.x0 % 8 == part.y0 % 8 == 0
    assert 0 <= part.x0 < part.x1 <= size[0]
    assert 0 <= part.y0 < part.y1 <= size[1]
    if size[0] >= 160:
        assert part.x1 - part.x0 == 144
        assert part.x0 <= middle[0] / 1.2**level <= part.x1


def test_a_search_near_a_place_keeps_to_the_limit_of_pixels(photo, monkeypatch):
    monkeypatch.setattr("facereject.faces.detectors.dlib_hog._MAX_SEARCHED", photo.size)
    detector = FaceDetector(upsample=1)
    search = LocalSearch(detector)
    searched, zoom = search._scaled(photo)
    assert zoom == pytest.approx(1)
    assert searched.size <= photo.size
    (whole,) = detector.detect(photo)
    assert overlap(search(photo, whole.box)[0].box, whole.box) > 0.65
