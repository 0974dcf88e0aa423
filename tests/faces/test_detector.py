"""The detector finds faces, agrees with dlib, and works from several threads and after pickling."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import cv2
import dlib
import numpy as np
import pytest

from facereject.faces import ImageError
from facereject.faces.datasets import match_face
from facereject.faces.detectors import dlib_hog
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.images import to_gray


def test_same_answer_as_dlib(astronaut):
    boxes, scores, kinds = dlib.get_frontal_face_detector().run(to_gray(astronaut), 0, -0.5)
    found = FaceDetector(threshold=-0.5).detect(astronaut)
    assert [face.score for face in found] == sorted(scores, reverse=True)
    best = int(np.argmax(scores))
    assert found[0].box == (boxes[best].left(), boxes[best].top(), boxes[best].width(), boxes[best].height())
    assert found[0].sub_detector == kinds[best]


def test_threshold_orders_the_candidates(astronaut):
    strict, loose = FaceDetector().detect(astronaut), FaceDetector(threshold=-1).detect(astronaut)
    assert len(strict) == 1
    assert len(loose) > 1
    assert loose[0] == strict[0]
    assert sorted(loose, key=lambda face: -face.score) == loose


def test_no_face_gives_an_empty_list():
    assert FaceDetector(threshold=-1).detect(np.full((120, 160), 128, np.uint8)) == []
    assert FaceDetector().detect(np.zeros((3, 3, 3), np.uint8)) == []


def test_small_faces_need_upsampling(astronaut):
    small = cv2.resize(astronaut, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    assert FaceDetector().detect(small) == []
    (face,) = FaceDetector(upsample=1).detect(small)
    assert 30 < face.box.width < 70


def test_min_face_shrinks_large_images_and_drops_small_faces(astronaut, astronaut_detection):
    large = cv2.resize(astronaut, None, fx=3, fy=3, interpolation=cv2.INTER_LINEAR)
    (face,) = FaceDetector(min_face=200).detect(large)
    assert face.box.center == pytest.approx(np.multiply(astronaut_detection.box.center, 3), abs=40)
    assert FaceDetector(min_face=200).detect(astronaut) == []


@pytest.mark.parametrize("upsample", [0, 1])
def test_so_many_pixels_are_searched_at_most(astronaut, astronaut_detection, monkeypatch, upsample):
    real, searched = dlib.get_frontal_face_detector(), []

    class Spy:
        def run(self, image, times, threshold):
            searched.append(image.size * 4**times)
            return real.run(image, times, threshold)

    monkeypatch.setattr(dlib_hog, "frontal_detector", Spy)
    monkeypatch.setattr(dlib_hog, "_MAX_SEARCHED", astronaut[..., 0].size)
    large = cv2.resize(astronaut, None, fx=3, fy=3, interpolation=cv2.INTER_LINEAR)
    face = FaceDetector(upsample=upsample, threshold=-0.5).detect(large)[0]
    assert face.box.center == pytest.approx(np.multiply(astronaut_detection.box.center, 3), abs=40)
    assert 0.95 < searched[0] / astronaut[..., 0].size < 1.01


@pytest.mark.parametrize(
    "bad",
    [
        {"upsample": -1},
        {"upsample": 1.5},
        {"upsample": True},
        {"threshold": np.nan},
        {"threshold": 10**400},
        {"min_face": 0},
        {"min_face": np.inf},
        {"min_face": "80"},
    ],
)
def test_bad_options(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        FaceDetector(**bad)


@pytest.mark.parametrize("shape", [(1, 1), (1, 1000), (1000, 1)])
def test_images_without_room_are_refused(shape):
    with pytest.raises(ImageError, match="at least 2 pixels"):
        FaceDetector().detect(np.zeros(shape, np.uint8))


def test_a_face_larger_than_the_image_is_not_searched(astronaut):
    assert FaceDetector(min_face=10_000).detect(astronaut[:100, :100]) == []


def test_threads_share_a_detector_object(astronaut):
    detector = pickle.loads(pickle.dumps(FaceDetector(threshold=-0.5)))  # noqa: S301
    expected = detector.detect(astronaut)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(detector.detect, [astronaut] * 12)) == [expected] * 12


def test_nearly_all_real_faces_are_found(photographs):
    detector = FaceDetector(threshold=-1)
    missed = [s.photo for s in photographs if match_face(detector.detect(s.load()), s.landmarks) is None]
    assert len(missed) <= 1
