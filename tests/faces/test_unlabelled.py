"""Training without annotation: an order without a unit, until annotated faces give one."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.faces import FaceRejector, Training, train_face_rejector
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.training.annotation import annotate_by_predictor
from facereject.losses import landmark_nme

QUICK = {"training": Training(degradations=2, folds=2, alphas=(1.0,)), "workers": 1}


@pytest.fixture(scope="module")
def photos(photographs):
    return [sample.image_path for sample in photographs[:14]]


def test_the_predictor_annotates_what_it_is_sure_of(photos, photographs, predictor):
    found = annotate_by_predictor(photos, predictor, FaceDetector(), share=0.5)
    everything = annotate_by_predictor(photos, predictor, FaceDetector(), share=1.0)
    assert len(found) == round(0.5 * len(everything))
    truth = {sample.image_path: sample.landmarks for sample in photographs}
    errors = [
        np.median([landmark_nme(truth[sample.image_path], sample.landmarks) for sample in each])
        for each in (found, everything)
    ]
    assert errors[0] <= errors[1] < 5
    with pytest.raises(ValueError, match="share"):
        annotate_by_predictor(photos, predictor, FaceDetector(), share=0)


@pytest.fixture(scope="module")
def rejector(photos, predictor):
    return train_face_rejector(unlabelled=photos, score="sele", predictor=predictor, **QUICK)


def test_errors_have_no_unit(rejector, astronaut, tmp_path):
    assert rejector.relative
    assert rejector.target.kind == "coverage"
    (face,) = rejector(astronaut)
    assert np.isnan(face.expected_error)
    assert np.isfinite(face.uncertainty)
    assert face.to_dict()["expected_error"] is None
    with pytest.raises(ValueError, match="without annotation"):
        rejector.with_target(max_error=3)
    rejector.save(tmp_path / "model")
    assert FaceRejector.load(tmp_path / "model").relative


def test_annotated_faces_give_a_unit(rejector, astronaut, rng):
    uncertainty = rng.choice(rejector.calibration.uncertainty, size=80)
    losses = 40 * rejector.calibration.expected_error(uncertainty) ** 0.9
    known = rejector.with_unit(losses, uncertainty)
    assert not known.relative
    found = known.calibration.expected_error(uncertainty)
    # the curve is fitted anew to corrected faces, group by group
    assert found.mean() == pytest.approx(losses.mean(), rel=0.03)
    assert np.corrcoef(found, losses)[0, 1] > 0.95
    (face,) = known(astronaut)
    assert np.isfinite(face.expected_error)
    assert rejector.relative
    assert not rejector.with_calibration(losses, uncertainty).relative
    with pytest.raises(ValueError, match="at least 10"):
        rejector.with_unit(losses[:9], uncertainty[:9])


def test_either_annotation_or_none(photographs, photos):
    for wrong in ({}, {"samples": photographs, "unlabelled": photos}):
        with pytest.raises(ValueError, match="either samples or unlabelled"):
            train_face_rejector(**wrong)
    with pytest.raises(ValueError, match="no folder"):
        train_face_rejector(unlabelled=photos[0])
