"""The models that come with the package: small, calibrated, and better than the detector's score."""

from __future__ import annotations

import warnings
from importlib import resources

import numpy as np
import pytest

from facereject.faces import FaceDataset, FaceDetector, FaceRejector
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.evaluation.results import evaluate_rows
from facereject.faces.training.degrade import degrade
from facereject.faces.training.extract import Extractor, extract
from facereject.faces.training.options import ALPHAS
from facereject.modelfile import read_model, write_model

NAMES = ["default", "dlib", "thorough"]


@pytest.fixture(scope="module", params=NAMES)
def rejector(request):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return FaceRejector.pretrained(request.param)


def test_names():
    with pytest.raises(ValueError, match="default, thorough, dlib"):
        FaceRejector.pretrained("best")


@pytest.mark.parametrize("name", NAMES)
def test_files_are_small(name):
    size = (resources.files("facereject") / "pretrained" / f"{name}.safetensors").stat().st_size
    assert size <= 1_000_000


def test_what_it_is(rejector):
    assert rejector.hog.n_features == 2448
    assert rejector.score.kind in ("linear", "compact")
    assert (rejector.context is None) == (rejector.score.kind == "linear")
    stack = rejector.score.kind == "linear"
    assert rejector.detector == (FaceDetector() if stack else YuNetDetector())
    assert (rejector.upright_beyond is None) == stack
    info = rejector.info
    assert info["alpha"] in ALPHAS
    assert info["degradations"] >= 8


def test_expected_errors_are_plausible(rejector):
    assert 1 < rejector.calibration.values[0] < 4
    assert 8 < rejector.calibration.values[-1] < 80


def test_the_astronaut(rejector, astronaut, astronaut_landmarks):
    (clean,) = rejector(astronaut)
    assert clean.accepted
    assert clean.reason == ""
    for kind, severity, seed in [("motion", 1.0, 4), ("blur", 1.0, 0), ("occlusion", 0.9, 6)]:
        degraded = degrade(astronaut, astronaut_landmarks, kind, severity, random_state=seed).image
        faces = rejector(degraded)
        assert not any(face.accepted for face in faces), kind
        for face in faces:
            assert face.expected_error > clean.expected_error


def test_uncertainty_grows_with_degradation(rejector, astronaut, astronaut_landmarks, astronaut_detection):
    for kind in ("blur", "low_resolution", "motion"):
        images = [
            degrade(astronaut, astronaut_landmarks, kind, s, random_state=0).image for s in (0.0, 0.5, 1.0)
        ]
        values = [rejector.assess_box(image, astronaut_detection.box).uncertainty for image in images]
        assert values[0] < values[1] < values[2], kind


def test_misplaced_landmarks_are_more_uncertain(
    rejector, astronaut, astronaut_landmarks, astronaut_detection
):
    """With the box of the detector, and with one that is as far off as they are."""
    for box in (astronaut_detection.box, None):
        good = rejector.assess(astronaut, astronaut_landmarks, box)
        for offset in ([8, 0], [0, -8], [-12, 12]):
            misplaced = rejector.assess(astronaut, astronaut_landmarks + offset, box)
            assert misplaced.uncertainty > good.uncertainty


def test_better_than_the_detector_score_on_photographs_set_aside(faces_dir):
    _, test = FaceDataset.load(faces_dir / "300w").split(0.8, 0.2, random_state=0)
    chosen = np.linspace(0, len(test) - 1, 50).astype(int)
    some = [test[int(i)] for i in chosen]
    gaps = {}
    for name in ("default", "thorough"):
        rejector = FaceRejector.pretrained(name)
        extractor = Extractor(
            rejector.predictor,
            rejector.detector,
            rejector.hog,
            rejector.stability,
            degradations=2,
            random_state=77,
            context=rejector.context,
            upright_beyond=rejector.upright_beyond,
            correction=rejector.features.correction,
        )
        table = extract(some, extractor, workers=1)
        uncertainty = rejector.score(table.features)
        clean, degraded = (
            evaluate_rows(rejector, table, uncertainty, r, 0) for r in (table.clean, ~table.clean)
        )
        # below the figures of the card, as 50 photographs are few
        assert clean.gap_closed > 0.3
        assert degraded.gap_closed > 0.6
        assert clean.coverage > 0.6
        assert degraded.coverage < clean.coverage
        # the predictor was trained on these photographs; what is expected are errors on others
        assert 0.9 < clean.expected_error / clean.mean_error < 2
        gaps[name] = degraded.gap_closed
        if name == "default":
            linear = FaceRejector.pretrained("dlib")
            hog = np.ascontiguousarray(table.features[:, : linear.score.n_features])
            gaps["dlib"] = evaluate_rows(linear, table, linear.score(hog), ~table.clean, 0).gap_closed
    assert gaps["dlib"] < gaps["default"]


@pytest.mark.parametrize("name", NAMES)
def test_shipped_models_carry_a_checksum_and_are_saved_as_they_are(name, tmp_path):
    with resources.as_file(resources.files("facereject") / "pretrained" / f"{name}.safetensors") as path:
        before = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            header, arrays = read_model(path, "face-rejector", None)
    own = {key: value for key, value in header.items() if key not in ("format", "kind")}
    write_model(tmp_path / "again", "face-rejector", own, arrays)
    assert (tmp_path / "again").read_bytes() == before
