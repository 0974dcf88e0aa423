"""FaceRejector with a score made by hand: decisions, plugin edges, files, threads, odd images."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import PIL.Image
import pytest

from facereject.faces import (
    Box,
    Face,
    FaceDetector,
    FaceRejector,
    ImageError,
    LandmarkHOG,
    LandmarkModelError,
    PredictorMismatchWarning,
    Target,
)
from facereject.faces.features.recipe import LandmarkStability
from facereject.faces.images import to_gray
from facereject.faces.models.calibration import Calibration
from facereject.faces.models.score_models import LinearScoreModel
from facereject.modelfile import ModelFileContentError, ModelFileDamagedError, read_model, write_model


def make(predictor, stability=None, **options):
    rng = np.random.default_rng(0)
    hog = LandmarkHOG()
    n_features = hog.n_features + (68 if stability else 0)
    uncertainty = rng.normal(size=500)
    return FaceRejector(
        LinearScoreModel(rng.normal(size=n_features).astype(np.float32) / 20, 0.0),
        Calibration(losses=np.exp(uncertainty), uncertainty=uncertainty),
        options.pop("target", Target("coverage", 0.5)),
        hog=hog,
        stability=stability,
        predictor=predictor,
        **options,
    )


@pytest.fixture(scope="module")
def rejector(predictor):
    return make(predictor)


def same(a: Face, b: Face) -> bool:
    return a.to_dict() == b.to_dict()


def test_one_face_with_all_its_fields(rejector, astronaut, astronaut_detection, astronaut_landmarks):
    (face,) = rejector(astronaut)
    assert isinstance(face.box, Box)
    assert face.box == astronaut_detection.box
    assert face.detector_score == astronaut_detection.score
    np.testing.assert_array_equal(face.landmarks, astronaut_landmarks)
    features = rejector.hog(to_gray(astronaut), astronaut_landmarks)
    assert face.uncertainty == pytest.approx(features @ rejector.score.coef, abs=1e-4)
    assert face.expected_error == rejector.calibration.expected_error(face.uncertainty)


def test_the_decision_follows_the_threshold(rejector, astronaut):
    (face,) = rejector(astronaut)
    (accepted,) = rejector.with_target(threshold=face.uncertainty)(astronaut)
    (rejected,) = rejector.with_target(threshold=face.uncertainty - 1e-3)(astronaut)
    assert accepted.accepted
    assert accepted.reason == ""
    assert not rejected.accepted
    assert rejected.reason == "uncertain"
    assert "expected error" in rejected.explanation
    assert all(face.accepted for face in rejector.with_target(coverage=1)(astronaut))


def test_with_target_leaves_the_original_alone(rejector):
    before = repr(rejector)
    other = rejector.with_target(max_error=1.0)
    assert other.selector.selective_risk_ == pytest.approx(1.0, abs=0.05)
    assert repr(rejector) == before
    assert "max_error=1" in repr(other)
    for bad in ({}, {"cost": 1, "coverage": 0.5}):
        with pytest.raises(ValueError, match="exactly one"):
            rejector.with_target(**bad)
    with pytest.raises(ValueError, match="coverage"):
        rejector.with_target(coverage=2)


def test_every_image_form_gives_the_same_answer(rejector, astronaut, tmp_path):
    path = tmp_path / "astronaut.png"
    PIL.Image.fromarray(astronaut).save(path)
    (face,) = rejector(astronaut)
    alpha = np.dstack([astronaut, np.full((512, 512), 255, np.uint8)])
    for form in (path, str(path), PIL.Image.fromarray(astronaut), alpha, astronaut / 255.0):
        (other,) = rejector(form)
        assert same(face, other)
    with pytest.raises(ImageError):
        rejector(tmp_path / "none.png")


def test_no_face_is_an_empty_list(rejector):
    assert rejector(np.zeros((100, 100), np.uint8)) == []


def test_landmarks_or_boxes_from_elsewhere(rejector, astronaut, astronaut_detection, astronaut_landmarks):
    (face,) = rejector(astronaut)
    assessed = rejector.assess(astronaut, astronaut_landmarks)
    assert assessed.uncertainty == face.uncertainty
    assert np.isnan(assessed.detector_score)
    assert assessed.box.width == pytest.approx(face.box.width, rel=0.2)
    boxed = rejector.assess_box(astronaut, tuple(astronaut_detection.box))
    assert boxed.uncertainty == face.uncertainty
    moved = rejector.assess(astronaut, astronaut_landmarks + 30, box=(0, 0, 50, 50))
    assert moved.box == Box(0, 0, 50, 50)
    with pytest.raises(ValueError, match="landmarks"):
        rejector.assess(astronaut, np.zeros((5, 2)))
    with pytest.raises(ValueError, match="box"):
        rejector.assess_box(astronaut, (0, 0, 0, 0))


def test_any_callable_is_a_predictor(astronaut, astronaut_landmarks):
    seen = []

    def other(image, box):
        seen.append((image.shape, box))
        return astronaut_landmarks

    (face,) = make(other)(astronaut)
    np.testing.assert_array_equal(face.landmarks, astronaut_landmarks)
    assert seen[0][0] == (512, 512, 3)


@pytest.mark.parametrize("answer", [None, np.full((68, 2), np.nan), np.zeros((5, 2)), np.zeros((68, 2))])
def test_a_predictor_that_fails_is_a_rejection_without_plausible_values(answer, astronaut):
    (face,) = make(lambda image, box: answer)(astronaut)
    assert not face.accepted
    assert face.reason == "no_landmarks"
    assert np.isnan(face.landmarks).all()
    assert face.landmarks.shape == (68, 2)
    assert np.isnan(face.expected_error)
    assert face.uncertainty == np.inf


def test_stability_features_follow_the_box(predictor, astronaut, astronaut_detection, astronaut_landmarks):
    stability = LandmarkStability()
    gray = to_gray(astronaut)
    values = stability(gray, astronaut_detection.box, astronaut_landmarks, predictor)
    assert values.shape == (68,)
    assert values.dtype == np.float32
    moved = [predictor(gray, box) for box in stability.boxes(astronaut_detection.box)]
    eyes = np.linalg.norm(astronaut_landmarks[36] - astronaut_landmarks[45])
    distance = np.mean([np.linalg.norm(points - astronaut_landmarks, axis=1) for points in moved], axis=0)
    np.testing.assert_allclose(values, np.log(1e-3 + distance / eyes), rtol=1e-5)
    # a predictor that ignores the box is perfectly stable
    still = stability(gray, astronaut_detection.box, astronaut_landmarks, lambda *_: astronaut_landmarks)
    np.testing.assert_allclose(still, np.log(1e-3), rtol=1e-5)
    (face,) = make(predictor, stability)(astronaut)
    assert np.isfinite(face.uncertainty)


def test_threads_and_pickles(rejector, astronaut):
    (face,) = rejector(astronaut)
    copied = pickle.loads(pickle.dumps(rejector))  # noqa: S301
    with ThreadPoolExecutor(3) as pool:
        for (other,) in pool.map(copied, [astronaut] * 6):
            assert same(face, other)


@pytest.mark.parametrize("stability", [None, LandmarkStability()])
def test_file_round_trip(predictor, astronaut, tmp_path, stability):
    path = tmp_path / "model.safetensors"
    first = make(predictor, stability, detector=FaceDetector(threshold=-0.2), info={"faces": 3})
    first.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = FaceRejector.load(path)
    assert second.info == {"faces": 3}
    assert second.detector == first.detector
    assert second.target == first.target
    for a, b in zip(first(astronaut), second(astronaut), strict=True):
        np.testing.assert_allclose(
            [a.uncertainty, a.expected_error], [b.uncertainty, b.expected_error], rtol=1e-5, atol=1e-5
        )
        assert a.accepted == b.accepted


def test_another_predictor_warns(rejector, tmp_path, astronaut_landmarks):
    rejector.save(tmp_path / "model")
    with pytest.warns(PredictorMismatchWarning, match="trained for the predictor"):
        FaceRejector.load(tmp_path / "model", predictor=lambda image, box: astronaut_landmarks)


def test_a_predictor_that_cannot_be_restored_is_not_saved(tmp_path, astronaut_landmarks):
    def other(image, box):
        return astronaut_landmarks

    with pytest.raises(ValueError, match=r"other cannot be stored .*register_landmarks\('some-name'"):
        make(other).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_files_of_earlier_versions_may_name_no_predictor(rejector, tmp_path, astronaut_landmarks):
    path = tmp_path / "model"
    rejector.save(path)
    header, arrays = read_model(path, "face-rejector", None)
    options = {key: value for key, value in header["detector"].items() if key != "name"}
    former = {**header, "predictor": None, "detector": options}
    former = {key: value for key, value in former.items() if key not in ("format", "kind", "landmarks")}
    write_model(path, "face-rejector", former, arrays)
    with pytest.warns(PredictorMismatchWarning, match="has no fingerprint"):
        assert FaceRejector.load(path).detector == rejector.detector
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FaceRejector.load(path, predictor=lambda image, box: astronaut_landmarks)


@pytest.mark.parametrize(
    "change",
    [
        {"score": "neural"},
        {"score": ["linear"]},
        {"hog": None},
        {"hog": {"name": "other"}},
        {"stability": {"shift": 1}},
        {"stability": {"name": "LandmarkStability", "version": 1, "shift": 10**400, "scale": 1.08}},
        {"target": {"kind": "max_error", "value": 10**400}},
        {
            "hog": {
                "name": "LandmarkHOG",
                "version": 1,
                "face_size": 512,
                "cell_size": 512,
                "contrast_floor": 1,
            }
        },
        {
            "hog": {
                "name": "LandmarkHOG",
                "version": 1,
                "face_size": True,
                "cell_size": 4,
                "contrast_floor": 1,
            }
        },
        {"detector": {"upsample": 1.5}},
        {"detector": {"threshold": 10**400}},
        {"detector": {"min_face": 1e9}},
        {"detector": {"min_face": "a"}},
        {"stability": {"name": "LandmarkStability", "version": 1, "shift": 0.06, "scale": 1.08}},
        {"target": {"kind": "luck", "value": 1}},
        {"target": 3},
        {"detector": {"upsample": 99}},
        {"detector": {"run": "this"}},
        {"info": "text"},
    ],
    ids=str,
)
def test_files_of_another_shape_are_content_errors(rejector, tmp_path, change):
    path = tmp_path / "model"
    rejector.save(path)
    header, arrays = read_model(path, "face-rejector", None)
    header = {key: value for key, value in header.items() if key not in ("format", "kind")}
    write_model(path, "face-rejector", header | change, arrays)
    with pytest.raises(ModelFileContentError, match=str(path)):
        FaceRejector.load(path)


def test_damaged_and_missing_files(tmp_path):
    (tmp_path / "bad").write_bytes(b"junk")
    with pytest.raises(ModelFileDamagedError):
        FaceRejector.load(tmp_path / "bad")
    with pytest.raises(FileNotFoundError):
        FaceRejector.load(tmp_path / "none")


def test_score_and_features_must_fit(predictor):
    with pytest.raises(ValueError, match="features"):
        FaceRejector(
            LinearScoreModel(np.zeros(5, np.float32), 0.0),
            Calibration(losses=[1.0], uncertainty=[0.0]),
            Target("coverage", 1.0),
            hog=LandmarkHOG(),
            predictor=predictor,
        )


@pytest.mark.parametrize("answer", [None, np.full((68, 2), np.nan), np.zeros((5, 2))])
def test_a_predictor_that_fails_on_a_perturbed_box_is_a_rejection(
    answer, predictor, astronaut, astronaut_detection
):
    def moody(image, box):
        return predictor(image, box) if box == astronaut_detection.box else answer

    (face,) = make(moody, LandmarkStability())(astronaut)
    assert not face.accepted
    assert face.reason == "no_landmarks"
    assert face.uncertainty == np.inf


def test_several_faces_are_assessed_as_one_by_one(rejector, astronaut):
    twice = np.concatenate([astronaut, astronaut[:, ::-1]], axis=1)
    faces = rejector(twice)
    assert len(faces) >= 2
    for face in faces:
        alone = rejector.assess_box(twice, face.box)
        assert same(replace(alone, detector_score=face.detector_score, detector=face.detector), face)


def test_a_missing_landmark_model_is_not_blamed_on_the_file(rejector, tmp_path, monkeypatch):
    rejector.save(tmp_path / "model")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LandmarkModelError, match="no default landmark model"):
        FaceRejector.load(tmp_path / "model")


def test_a_score_that_is_not_finite_is_a_rejection(predictor, astronaut):
    wild = make(predictor, target=Target("coverage", 1.0))
    wild.score = LinearScoreModel(np.full(2448, 3e38, np.float32), 0.0)
    (face,) = wild(astronaut)
    assert not face.accepted
    assert face.reason == "no_score"


def test_decisions_survive_the_file(predictor, tmp_path):
    first = make(predictor)
    first.save(tmp_path / "model")
    second = FaceRejector.load(tmp_path / "model")
    assert second.selector == first.selector
    np.testing.assert_array_equal(second.calibration.uncertainty, first.calibration.uncertainty)


@pytest.mark.parametrize("options", [{"shift": 0}, {"shift": 1}, {"scale": 1}, {"scale": float("nan")}])
def test_stability_options_are_checked(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        LandmarkStability(**options)


def test_numbers_of_numpy_can_be_saved(predictor, tmp_path):
    detector = FaceDetector(upsample=np.int64(0), threshold=np.float32(0.5), min_face=np.float64(90))
    make(predictor, detector=detector).save(tmp_path / "model")
    assert FaceRejector.load(tmp_path / "model").detector == detector
