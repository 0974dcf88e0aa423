"""Detectors of others: a plain object works everywhere, what is none is refused at once."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from plugins_of_others import FixedDetector, NamedDetector, PlainDetector, center_box, noise

from facereject.faces import (
    Box,
    Detection,
    FaceDataset,
    FaceDetector,
    FaceRejector,
    FaceSample,
    evaluate_face_rejector,
    register_detector,
    train_face_rejector,
)
from facereject.faces.detectors.base import (
    change_options,
    describe_detector,
    find_faces,
    find_next,
    judging_detector,
)
from facereject.faces.images import Views
from facereject.faces.models.card import model_facts
from facereject.faces.training.degrade import random_degradation
from facereject.faces.training.train import Training
from facereject.modelfile import ModelFileContentError


@pytest.fixture(scope="module")
def faces(astronaut, astronaut_landmarks, tmp_path_factory):
    """The astronaut, degraded in eight ways."""
    import PIL.Image

    folder, samples = tmp_path_factory.mktemp("faces"), []
    for i in range(8):
        image, points, *_ = random_degradation(astronaut, astronaut_landmarks, random_state=i)
        PIL.Image.fromarray(image).save(folder / f"{i}.png", compress_level=0)
        samples.append(FaceSample(folder / f"{i}.png", points, str(i)))
    return FaceDataset(samples)


def test_a_plain_object_finds_the_faces_of_a_photograph(astronaut):
    detector = PlainDetector()
    rejector = FaceRejector.pretrained(detector=detector)
    found = rejector(astronaut)
    expected = FaceRejector.pretrained(detector=FaceDetector(threshold=-1))(astronaut)
    assert [face.box for face in found] == [face.box for face in expected]
    assert [face.uncertainty for face in found] == [face.uncertainty for face in expected]
    # it said nothing about colours, so it is shown all of them, of grey pictures too
    assert detector.shown == [(512, 512, 3)]
    rejector(astronaut[:, :, 0])
    assert detector.shown[1] == (512, 512, 3)


def test_faces_come_best_score_first():
    answer = [Detection(Box(0, 0, 9, 9), score) for score in (0.5, 2.0, -1.0)]
    found = find_faces(FixedDetector(*answer), Views(noise((20, 20))))
    assert [face.score for face in found] == [2.0, 0.5, -1.0]


def test_training_evaluation_and_card(faces, predictor):
    detector = PlainDetector()
    options = {
        "predictor": predictor,
        "training": Training(degradations=1, alphas=(1.0,), folds=2),
        "workers": 1,
    }
    rejector = train_face_rejector(faces, detector=detector, **options)
    assert rejector.detector is detector
    assert len(rejector.calibration.losses) > 8
    result = evaluate_face_rejector(rejector, faces, degradations=0, workers=1)
    assert result.clean.n + result.clean.missed == 8
    assert ("detector", "plugins_of_others.PlainDetector") in model_facts(rejector)
    with pytest.raises(ValueError, match=r"PlainDetector has no option threshold; it has none"):
        train_face_rejector(faces, detector=detector, threshold=0.5, **options)


def test_the_next_frame_of_a_video_is_searched_as_a_whole_unless_the_detector_knows_better(astronaut):
    asked, view = [], Views(astronaut)
    place = Detection(Box(1.0, 2.0, 30.0, 40.0), 0.7)

    class Following(PlainDetector):
        def detect_next(self, image, expected, frame, n_frames):
            asked.append((image.shape, expected, frame, n_frames))
            return [Detection(each.box, 0.5) for each in expected]

    assert find_next(PlainDetector(), view, [place], 3, 5) == find_faces(PlainDetector(), view) != []
    (face,) = find_next(Following(), view, [place], 3, 5)
    assert (face.box, face.score) == (place.box, 0.5)
    assert asked == [(astronaut.shape, [place], 3, 5)]


@pytest.mark.parametrize(
    ("detector", "words"),
    [
        (lambda image: [], "got the function .*<lambda>: make it the method of a class"),
        (PlainDetector, r"got the class PlainDetector: pass PlainDetector\(\)"),
        (object(), "got object"),
        ("dlib", "got str"),
        (dataclasses.make_dataclass("Odd", ["detect"])(3), "got Odd"),
    ],
)
def test_what_is_no_detector_is_refused_at_once(detector, words, faces, predictor):
    with pytest.raises(TypeError, match=f"detector must be an object with a method detect.*{words}"):
        FaceRejector.pretrained(detector=detector)
    with pytest.raises(TypeError, match="detector must be"):
        train_face_rejector(faces, predictor=predictor, detector=detector, training=Training(folds=2))


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        ((Box(0, 0, 9, 9), 1.0), TypeError, "must return facereject.faces.Detection.* got tuple"),
        (Detection(Box(0, 0, 0, 9), 1.0), ValueError, "box of the detector .*FixedDetector"),
        (Detection(Box(0, 0, float("nan"), 9), 1.0), ValueError, "box of the detector"),
        (Detection(Box(0, 0, 9, 9), float("nan")), ValueError, "score of the detector .* give 1.0"),
    ],
)
def test_answers_that_cannot_be_understood(answer, error, words):
    with pytest.raises(error, match=words):
        find_faces(FixedDetector(answer), Views(noise((20, 20))))


def test_an_answer_that_is_no_list():
    class Silent:
        def detect(self, image):
            return None

    with pytest.raises(TypeError, match="must return a list of Detection, got NoneType"):
        find_faces(Silent(), Views(noise((20, 20))))


def test_boxes_may_be_plain_tuples():
    (found,) = find_faces(FixedDetector(Detection((1, 2, 3, 4), 1)), Views(noise((20, 20))))
    assert found == Detection(Box(1.0, 2.0, 3.0, 4.0), 1.0, found_by="plugins_of_others.FixedDetector")
    assert found.box.center == (2.5, 4.0)


def test_options_are_the_detectors_own():
    assert change_options(FaceDetector(), min_face=120) == FaceDetector(min_face=120)
    with pytest.raises(ValueError, match="dlib has no option luck; it has upsample, threshold, min_face"):
        change_options(FaceDetector(), luck=1)
    with pytest.raises(ValueError, match="PlainDetector has no option min_face; it has none"):
        change_options(PlainDetector(), min_face=120)


def test_the_detector_of_the_finished_model():
    loose = FaceDetector(threshold=-1, min_face=100)
    assert judging_detector(loose, None) == (FaceDetector(threshold=0, min_face=100), 0)
    assert judging_detector(loose, -0.5) == (FaceDetector(threshold=-0.5, min_face=100), -0.5)
    assert judging_detector(FaceDetector(threshold=1), 0.5) == (FaceDetector(threshold=1), 1)
    plain = PlainDetector()
    assert judging_detector(plain, None) == (plain, -np.inf)


def test_saving_needs_a_name_and_loading_restores_by_it(astronaut, tmp_path):
    path = tmp_path / "model"
    with pytest.raises(ValueError, match=r"PlainDetector cannot be stored .*register_detector"):
        FaceRejector.pretrained(detector=PlainDetector()).save(path)
    rejector = FaceRejector.pretrained(detector=NamedDetector(least=0.25))
    with pytest.raises(ValueError, match=r"cannot be restored \(no detector is registered as 'named'"):
        rejector.save(path)
    assert not path.exists()
    register_detector("named", NamedDetector)
    rejector.save(path)
    again = FaceRejector.load(path)
    assert isinstance(again.detector, NamedDetector)
    assert again.detector.least == 0.25
    assert again(astronaut)[0].uncertainty == rejector(astronaut)[0].uncertainty
    assert describe_detector(again.detector) == "named, least 0.25"


def test_a_model_whose_detector_is_not_there_says_so(tmp_path, monkeypatch):
    from facereject.faces.detectors import DETECTORS

    register_detector("fleeting", NamedDetector)
    detector = NamedDetector()
    monkeypatch.setattr(NamedDetector, "definition", {"name": "fleeting"})
    FaceRejector.pretrained(detector=detector).save(tmp_path / "model")
    monkeypatch.delitem(DETECTORS._registered, "fleeting")
    with pytest.raises(ModelFileContentError, match="no detector is registered as 'fleeting'"):
        FaceRejector.load(tmp_path / "model")
    assert FaceRejector.load(tmp_path / "model", detector=detector).detector is detector


def test_a_definition_that_makes_another_detector_is_not_saved(tmp_path):
    register_detector("other-named", lambda: NamedDetector(least=7))
    detector = PlainDetector()
    detector.definition = {"name": "other-named"}
    with pytest.raises(ValueError, match=r"made from its definition .* it would be .*'least': 7"):
        FaceRejector.pretrained(detector=detector).save(tmp_path / "model")


def test_a_detector_that_fails_costs_its_photograph(faces, predictor):
    class Moody(PlainDetector):
        def detect(self, image):
            if len(self.shown) == 3:
                self.shown.append("failed")
                raise RuntimeError("out of luck")
            return super().detect(image)

    rejector = FaceRejector.pretrained(detector=Moody())
    result = evaluate_face_rejector(rejector, faces, degradations=0, workers=1)
    assert [problem.reason for problem in result.problems] == ["RuntimeError: out of luck"]
    assert result.clean.n + result.clean.missed == 7


def test_boxes_of_any_detector_are_judged(astronaut):
    (face,) = FaceRejector.pretrained(detector=FixedDetector(Detection(center_box(astronaut), 1.0)))(
        astronaut
    )
    assert face.box == center_box(astronaut)
    assert np.isfinite(face.uncertainty)
