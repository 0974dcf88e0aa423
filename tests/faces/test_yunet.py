"""YuNet, and YuNet behind dlib's detector: where faces are, in boxes that any predictor understands."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
import threading

import cv2
import numpy as np
import pytest

from facereject.faces import FaceRejector, make_detector
from facereject.faces.datasets import match_face
from facereject.faces.detectors.base import describe_detector
from facereject.faces.detectors.both import BothDetectors
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.yunet import YuNetDetector, _Search
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import overlap
from facereject.faces.weights import WeightsError


@pytest.fixture
def detector(mesh_weights):
    return YuNetDetector()


def test_boxes_are_those_of_dlib(detector, photographs):
    overlaps = []
    for sample in photographs[::2]:
        image = sample.load()
        ours, theirs = (
            match_face(each.detect(image), sample.landmarks)
            for each in (detector, FaceDetector(threshold=-1))
        )
        assert ours is not None, sample.image_path
        if theirs is not None:
            overlaps.append(overlap(ours.box, theirs.box))
    assert len(overlaps) > 12
    # two boxes of dlib itself, one step of its pyramid apart, overlap by 0.69
    assert np.median(overlaps) > 0.75


def test_five_points_lie_on_the_face(detector, astronaut, astronaut_landmarks):
    (found,) = detector.detect(astronaut)
    eyes = [astronaut_landmarks[36:42].mean(axis=0), astronaut_landmarks[42:48].mean(axis=0)]
    truth = np.array([*eyes, *astronaut_landmarks[[30, 48, 54]]])
    distance = np.linalg.norm(np.array(found.points) - truth, axis=1)
    assert distance.max() < 0.2 * np.linalg.norm(truth[1] - truth[0])
    assert 0.8 < found.score <= 1


def test_small_faces_of_large_images_are_found_with_points_as_good(detector, astronaut, rng):
    """A face of 50 pixels in a corner of 12 megapixels; the same face alone, enlarged, tells where it is."""
    small = cv2.resize(astronaut[:256, 80:370], None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
    (expected,) = YuNetDetector().detect(cv2.resize(small, None, fx=3, fy=3, interpolation=cv2.INTER_CUBIC))
    large = np.full((3000, 4000, 3), 120, np.uint8)
    large[2700 : 2700 + len(small), 3700 : 3700 + small.shape[1]] = small
    (found,) = detector.detect(large)
    assert 40 < found.box.width < 80
    truth = np.array(expected.points) / 3 + (3700, 2700)
    eyes = np.linalg.norm(truth[1] - truth[0])
    assert np.linalg.norm(np.array(found.points) - truth, axis=1).mean() < 0.12 * eyes
    assert detector.with_options(min_face=80).detect(large) == []
    assert detector.with_options(max_side=320).detect(large) == []


@pytest.mark.parametrize(
    ("width", "height"), [(640, 480), (1920, 1080), (4000, 3000), (12_000, 9_000), (60_000, 50)]
)
def test_what_is_searched_is_bounded(detector, width, height):
    zooms = detector._zooms(width, height)
    assert zooms == sorted(zooms)
    assert all(0 < zoom <= 1 for zoom in zooms)
    assert sum(zoom**2 for zoom in zooms) * width * height <= 20_000_000
    assert all(b / a <= 4.001 for a, b in itertools.pairwise(zooms))
    # one copy will do for a camera
    assert (len(zooms) == 1) == (max(width, height) * 16 / 40 <= 640)


@pytest.mark.parametrize("degrees", [-30.0, 0.0, 20.0])
def test_roll_is_the_tilt_of_the_eyes(degrees):
    turn = np.radians(degrees)
    right = (100 + 40 * np.cos(turn), 100 + 40 * np.sin(turn))
    points = ((100.0, 100.0), right, (120.0, 120.0), (105.0, 140.0), (135.0, 140.0))
    assert Detection(Box(80, 80, 80, 80), 0.9, points).roll == pytest.approx(degrees)
    assert Detection(Box(80, 80, 80, 80), 0.9).roll == 0.0


def test_large_images_are_searched_at_the_size_that_is_set(detector, astronaut):
    larger = cv2.resize(astronaut, None, fx=4, fy=4)
    (expected,) = detector.detect(astronaut)
    (found,) = detector.detect(larger)
    assert overlap(Box(*(value / 4 for value in found.box)), expected.box) > 0.7
    assert detector.with_options(max_side=32).detect(astronaut) == []
    assert detector.with_options(min_face=expected.box.width + 1).detect(astronaut) == []


def test_a_second_search_finds_faces_in_haze_and_noise(detector, astronaut, rng):
    (expected,) = detector.detect(astronaut)
    hazy = np.rint(180 + (astronaut.astype(float) - 180) * 0.06).astype(np.uint8)
    noisy = np.clip(astronaut + rng.normal(0, 90, astronaut.shape), 0, 255).astype(np.uint8)
    for image in (hazy, noisy):
        search = _Search(image, detector.threshold)
        (tile,) = search.tiles(1.0, 1280, 128)
        assert search.tile(tile) == [], "the first search finds it, so this tests nothing"
        (found,) = detector.detect(image)
        assert overlap(found.box, expected.box) > 0.6


def test_nothing_is_found_in_nothing(detector, rng):
    for image in (
        np.zeros((200, 300, 3), np.uint8),
        np.full((33, 47, 3), 255, np.uint8),
        rng.integers(0, 256, (240, 320, 3), dtype=np.uint8),
        np.zeros((16, 2000, 3), np.uint8),
    ):
        assert detector.detect(image) == []
        assert detector.detect_next(image, [Detection(Box(5, 5, 10, 10), 0.9)], 0, 5) == []


@pytest.mark.parametrize(("dx", "dy", "growth"), [(0, 0, 1.0), (15, -10, 1.0), (-20, 12, 1.2), (5, 5, 0.8)])
def test_a_face_is_located_equally_from_nearby_places(detector, astronaut, dx, dy, growth):
    (expected,) = detector.detect_next(astronaut, [], 0, 1)
    (x, y), side = expected.box.center, growth * expected.box.width
    moved = dataclasses.replace(expected, box=Box(x + dx - side / 2, y + dy - side / 2, side, side))
    for frame in range(5):
        assert detector.detect_next(astronaut, [moved], frame, 5) == [expected]


def test_faces_at_the_border_are_located(detector, astronaut):
    (whole,) = detector.detect(astronaut)
    x, y = int(whole.box.x), int(whole.box.y)
    cut = np.ascontiguousarray(astronaut[y - 5 :, x - 5 :])
    (found,) = detector.detect_next(cut, [], 0, 1)
    assert overlap(found.box, whole.box._replace(x=whole.box.x - x + 5, y=whole.box.y - y + 5)) > 0.7
    assert detector.detect_next(cut, [found], 1, 5) == [found]


def test_boxes_without_a_face_are_dropped_and_faces_are_found_instead(detector, astronaut):
    expected = detector.detect_next(astronaut, [], 0, 1)
    for nowhere in (
        Box(0, 400, 60, 60),
        Box(-500, -500, 60, 60),
        Box(5000, 10, 60, 60),
        Box(0, 0, 1e-3, 1e-3),
    ):
        # a frame in which it is not the turn of a search
        assert detector.detect_next(astronaut, [Detection(nowhere, 0.9)], 3, 5) == expected
    # two expected places of one face give one face
    (face,) = expected
    beside = dataclasses.replace(face, box=face.box._replace(x=face.box.x + 9))
    assert detector.detect_next(astronaut, [face, beside], 3, 5) == expected


def test_a_video_is_searched_in_turns(detector, astronaut):
    """In 1080p a face of 70 pixels within five frames, one of 45 within a second."""
    (face,) = detector.detect(frame_with(astronaut, 1.0, 100, 100))
    for size, most in ((70, 5), (45, 60)):
        image = frame_with(astronaut, 1.0, 100, 100)
        zoom = size / face.box.width
        small = cv2.resize(astronaut[:256, 80:370], None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA)
        image[850 : 850 + len(small), 1500 : 1500 + small.shape[1]] = small
        counts = [len(detector.detect_next(image, [face], frame, 5)) for frame in range(1, most + 1)]
        assert set(counts) == {1, 2}


def frame_with(astronaut, zoom, x, y):
    part = cv2.resize(astronaut[:256, 80:370], None, fx=zoom, fy=zoom)
    image = np.full((1080, 1920, 3), 120, np.uint8)
    image[y : y + len(part), x : x + part.shape[1]] = part
    return image


def test_doubtful_faces_count_only_if_a_search_confirms_them(detector, astronaut, monkeypatch):
    (face,) = detector.detect(astronaut)
    weak = dataclasses.replace(face, score=0.5)
    monkeypatch.setattr("facereject.faces.detectors.yunet._Search.locate", lambda *_: weak)
    (found,) = detector.detect_next(astronaut, [face], 3, 5)
    assert found.score > 0.8, "the search is surer than the crop"
    assert overlap(found.box, face.box) > 0.6
    assert detector.detect_next(np.zeros_like(astronaut), [face], 3, 5) == []


def test_a_head_that_tilts_is_followed_by_few_looks(detector, astronaut, monkeypatch):
    """A photo tries every turn; a video goes on from the last one, and tries the rest in turns."""
    looks = []
    run = _Search._run
    monkeypatch.setattr(_Search, "_run", lambda *args: looks.append(args) or run(*args))
    (face,) = detector.detect(astronaut)
    found = face
    for frame in range(1, 19):
        image = turned_about(astronaut, face.box.center, 2.5 * frame)
        looks.clear()
        (found,) = detector.detect_next(image, [found], frame, 6)
        assert len(looks) <= 8
        assert overlap(found.box, face.box) > 0.5
    (photo,) = detector.detect(image)
    assert found.roll == pytest.approx(photo.roll, abs=1)
    assert abs(found.roll) > 35


def turned_about(image, center, degrees):
    turn = cv2.getRotationMatrix2D(center, degrees, 1.0)
    return cv2.warpAffine(image, turn, (image.shape[1], image.shape[0]))


@pytest.mark.parametrize(
    ("moved", "score", "taken"),
    [(0.02, 0.91, True), (0.2, 0.91, False), (0.2, 0.94, True), (0.5, 0.94, False)],
    ids=["agrees", "elsewhere and less sure", "elsewhere and surer", "another face"],
)
def test_a_crop_that_contradicts_the_search_needs_the_better_score(monkeypatch, moved, score, taken):
    points = ((30.0, 40.0), (70.0, 40.0), (50.0, 60.0), (35.0, 80.0), (65.0, 80.0))
    face = Detection(Box(0, 0, 100, 100), 0.93, points)
    there = Detection(face.box, score, tuple((x + 100 * moved, y) for x, y in points))
    monkeypatch.setattr(_Search, "locate", lambda search, box: there)
    search = object.__new__(_Search)
    assert (search.settled(face) is there) == taken


def eyes_of(landmarks):
    return np.array([landmarks[36:42].mean(axis=0), landmarks[42:48].mean(axis=0)])


@pytest.mark.parametrize("degrees", [-40, 40])
def test_the_tilt_of_a_face_is_found(detector, photographs, degrees):
    """On the image itself the network gives a small part of the tilt."""
    errors = []
    for sample in photographs[::2]:
        image = sample.load()
        height, width = image.shape[:2]
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
        truth = sample.landmarks @ turn[:, :2].T + turn[:, 2]
        face = match_face(detector.detect(cv2.warpAffine(image, turn, (width, height))), truth)
        if face is not None:
            across, down = np.subtract(*eyes_of(truth)[::-1])
            errors.append(abs(face.roll - np.degrees(np.arctan2(down, across))))
    assert len(errors) > 10
    assert np.median(errors) < 12


@pytest.mark.parametrize("known", [False, True], ids=["searched for", "expected near"])
def test_frames_of_a_video_get_the_boxes_of_photos(detector, photographs, known):
    """A face between two crops may be shown by either; most faces get the same box to the bit."""
    overlaps = []
    for sample in photographs[::2]:
        image = sample.load()
        photo = match_face(detector.detect(image), sample.landmarks)
        if photo is not None:
            x, y, side = photo.box[:3]
            near = Box(x + 0.08 * side, y - 0.05 * side, 0.95 * side, 0.95 * side)
            expected = [dataclasses.replace(photo, box=near)] if known else []
            faces = detector.detect_next(image, expected, 3 if known else 0, 5)
            overlaps.append(max((overlap(photo.box, face.box) for face in faces), default=0.0))
    assert len(overlaps) > 10
    assert np.mean(np.array(overlaps) > 0.8) > 0.9
    assert np.mean(np.array(overlaps) > 0.9999) > (0.75 if known else 0.5)


def test_the_box_of_a_face_does_not_depend_on_what_surrounds_it(detector, astronaut):
    """On a larger canvas the search is another one."""
    (expected,) = detector.detect(astronaut)
    for top, left, size in ((0, 0, (600, 800)), (256, 512, (900, 1600)), (128, 256, (1080, 1920))):
        canvas = np.zeros((*size, 3), np.uint8)
        canvas[top : top + 512, left : left + 512] = astronaut[: size[0] - top, : size[1] - left]
        (found,) = detector.detect(canvas)
        assert found.box == pytest.approx(
            expected.box._replace(x=expected.box.x + left, y=expected.box.y + top)
        )


def test_a_box_inside_another_is_the_same_face(detector):
    large, small = Detection(Box(0, 0, 100, 100), 0.9), Detection(Box(20, 20, 50, 50), 0.8)
    beside = Detection(Box(80, 0, 60, 60), 0.7)
    assert detector._kept([small, beside, large]) == [large, beside]


def test_unlikely_faces_count_where_there_are_no_others(detector):
    likely, unlikely = Detection(Box(0, 0, 100, 100), 0.7), Detection(Box(200, 0, 100, 100), 0.5)
    assert detector._kept([unlikely, likely]) == [likely]
    assert detector._kept([unlikely]) == [unlikely]


def test_grey_images_will_do(detector, astronaut):
    (expected,) = detector.detect(astronaut)
    (found,) = detector.detect(cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY))
    assert overlap(found.box, expected.box) > 0.8


def test_threads_and_pickles_give_the_same(detector, astronaut):
    expected = detector.detect(astronaut)
    again = pickle.loads(pickle.dumps(detector))  # noqa: S301
    results = []
    threads = [threading.Thread(target=lambda: results.append(again.detect(astronaut))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("threshold", 2),
        ("threshold", "x"),
        ("threshold", True),
        ("max_side", 3),
        ("min_face", -1),
        ("min_face", "x"),
    ],
)
def test_wrong_options_are_named(mesh_weights, option, value):
    with pytest.raises(ValueError, match=option):
        YuNetDetector(**{option: value})


@pytest.mark.parametrize("name", ["yunet", "both"])
def test_definitions_restore_the_detector(mesh_weights, name):
    made = make_detector(name, min_face=np.float32(30))
    definition = made.definition
    assert definition["name"] == name
    assert make_detector(**definition) == made
    assert describe_detector(made) == made.description


@pytest.mark.parametrize("name", ["yunet", "both"])
def test_without_weights_the_command_is_told(name, tmp_path, monkeypatch):
    monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path))
    monkeypatch.setenv("FACEREJECT_OFFLINE", "1")
    with pytest.raises(WeightsError, match="facereject models get yunet"):
        make_detector(name)


class TestBoth:
    """YuNet and dlib's detector together."""

    def test_a_face_that_both_find_is_one(self, mesh_weights, astronaut):
        (found,) = BothDetectors().detect(astronaut)
        (expected,) = YuNetDetector().detect(astronaut)
        assert found == dataclasses.replace(expected, found_by="yunet+dlib")

    def test_faces_that_one_finds_are_there(self, mesh_weights, astronaut, monkeypatch):
        part = np.s_[:256, 80:370]
        beside = np.hstack([astronaut[part], _turned(astronaut)[part]])
        (straight,) = FaceDetector().detect(beside)
        found = BothDetectors().detect(beside)
        assert sorted(face.found_by for face in found) == ["yunet", "yunet+dlib"]
        monkeypatch.setattr(YuNetDetector, "detect", lambda *_: [])
        (alone,) = BothDetectors().detect(beside)
        assert (alone.box, alone.found_by, alone.points) == (straight.box, "dlib", None)

    def test_scores_have_one_scale_in_which_better_is_higher(self, mesh_weights, astronaut, monkeypatch):
        monkeypatch.setattr(YuNetDetector, "detect", lambda *_: [])
        boxes = [Box(0, 0, 90, 90), Box(200, 0, 90, 90), Box(0, 200, 90, 90)]
        given = [Detection(box, score) for box, score in zip(boxes, (-1.0, 0.5, 3.0), strict=True)]
        monkeypatch.setattr(FaceDetector, "detect", lambda *_: given)
        scores = [face.score for face in BothDetectors().detect(astronaut)]
        assert 0 < scores[2] < scores[1] < scores[0] < 1
        assert [face.box for face in BothDetectors(min_face=100).detect(astronaut)] == []

    def test_it_serves_the_default_model(self, mesh_weights, astronaut, tmp_path):
        rejector = FaceRejector.pretrained(detector=BothDetectors())
        (face,) = rejector(astronaut)
        assert face.accepted
        assert face.detector == "yunet+dlib"
        rejector.save(tmp_path / "model.safetensors")
        assert FaceRejector.load(tmp_path / "model.safetensors").detector == BothDetectors()


def _turned(image):
    matrix = cv2.getRotationMatrix2D((224, 110), 60, 1)
    return cv2.warpAffine(image, matrix, image.shape[1::-1], borderMode=cv2.BORDER_REPLICATE)
