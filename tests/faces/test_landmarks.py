"""The landmark predictor: where the file is found, what it predicts, and errors that help."""

from __future__ import annotations

import hashlib
import pickle
import sys

import numpy as np
import pytest

from facereject.faces import FaceRejector
from facereject.faces.datasets import FaceDataset, match_face
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.face import Box
from facereject.faces.images import to_gray
from facereject.faces.landmarks.dlib_training import train_landmark_predictor
from facereject.faces.landmarks.dlib_trees import LandmarkModelError, LandmarkPredictor, default_model_path
from facereject.losses import landmark_nme


def test_default_file_is_found_without_importing_its_package():
    assert default_model_path().name == "shape_predictor_68_face_landmarks.dat"
    assert "face_recognition_models" not in sys.modules


def test_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LandmarkModelError, match="pip install face_recognition_models"):
        default_model_path()


def test_missing_and_damaged_files_are_named(tmp_path):
    with pytest.raises(LandmarkModelError, match=r"none\.dat: no such"):
        LandmarkPredictor(tmp_path / "none.dat")
    good = default_model_path().read_bytes()
    for number, content in enumerate([b"", b"nonsense", good[:100_000]]):
        path = tmp_path / f"bad{number}.dat"
        path.write_bytes(content)
        with pytest.raises(LandmarkModelError, match=rf"bad{number}\.dat: damaged"):
            LandmarkPredictor(path)


def test_any_number_of_landmarks(astronaut, astronaut_detection, astronaut_landmarks):
    five = LandmarkPredictor(default_model_path().with_name("shape_predictor_5_face_landmarks.dat"))
    assert (five.n_points, five.definition) == (5, {"name": "dlib-5"})
    points = five(astronaut, astronaut_detection.box)
    assert points.shape == (5, 2)
    # outer and inner corners of the eyes, and the nose: the same places by the other model
    same = astronaut_landmarks[[45, 42, 36, 39, 33]]
    assert landmark_nme(same, points, "points:0,2") < 10
    with pytest.raises(LandmarkModelError, match="places 5 landmarks, 68 are needed"):
        FaceRejector.pretrained(predictor=five)


def test_landmarks_lie_on_the_face(astronaut, astronaut_detection, predictor, astronaut_landmarks):
    assert astronaut_landmarks.shape == (68, 2)
    assert astronaut_landmarks.dtype == np.float64
    x, y, width, height = astronaut_detection.box
    middle = astronaut_landmarks.mean(axis=0)
    assert x < middle[0] < x + width
    assert y < middle[1] < y + height
    # colour and grey give the same answer: grey is what is used
    np.testing.assert_array_equal(predictor(astronaut, astronaut_detection.box), astronaut_landmarks)


def test_boxes_outside_the_image_do_not_crash(astronaut, predictor):
    for box in [Box(-500, -500, 100, 100), Box(500, 500, 400, 400), Box(10, 10, 1, 1)]:
        assert np.isfinite(predictor(to_gray(astronaut), box)).all()


def test_boxes_are_any_four_numbers(astronaut, astronaut_detection, predictor, astronaut_landmarks):
    np.testing.assert_array_equal(predictor(astronaut, tuple(astronaut_detection.box)), astronaut_landmarks)
    with pytest.raises(ValueError, match="box"):
        predictor(astronaut, (0, 0, 1e300, 1e300))
    with pytest.raises(ValueError, match="uint8"):
        predictor(astronaut / 255.0, astronaut_detection.box)


def test_pickles_as_a_path(predictor, astronaut, astronaut_detection, astronaut_landmarks):
    data = pickle.dumps(predictor)
    assert len(data) < 1000
    again = pickle.loads(data)  # noqa: S301
    np.testing.assert_array_equal(again(astronaut, astronaut_detection.box), astronaut_landmarks)


def test_fingerprint_is_the_sha256_of_the_file(predictor):
    assert predictor.fingerprint == hashlib.sha256(predictor.path.read_bytes()).hexdigest()


def test_published_model_is_accurate_on_real_faces(photographs, predictor):
    detector = FaceDetector(threshold=-1)
    true, predicted = [], []
    for sample in photographs:
        gray = to_gray(sample.load())
        found = match_face(detector.detect(gray), sample.landmarks)
        if found is not None:
            true.append(sample.landmarks)
            predicted.append(predictor(gray, found.box))
    assert np.median(landmark_nme(np.array(true), np.array(predicted))) < 5


def test_training_a_small_predictor(photographs, tmp_path):
    options = {"oversampling": 2, "depth": 2, "cascades": 3, "trees": 20, "workers": 1}
    few = FaceDataset(list(photographs)[:8])
    trained = train_landmark_predictor(few, tmp_path / "small.dat", **options)
    again = train_landmark_predictor(few, tmp_path / "new" / "again.dat", **options)
    assert trained.fingerprint == again.fingerprint
    sample = few[0]
    box = match_face(FaceDetector(threshold=-1).detect(sample.load()), sample.landmarks).box
    error = landmark_nme(sample.landmarks[None], trained(sample.load(), box)[None])
    assert error[0] < 20
    with pytest.raises(ValueError, match="two detectable faces"):
        train_landmark_predictor(few[:1], tmp_path / "none.dat")
