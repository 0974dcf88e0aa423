"""Faces unlike the calibration faces: a factor by brute force, larger expected errors, wider intervals."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.faces import FaceRejector
from facereject.faces.domain_monitor import compared, why_not_compared
from facereject.faces.models.domain import DomainCheck
from facereject.faces.models.unlike import UnlikeFactor

UNLIKE = DomainCheck(60, 0.97, 0.0, factor=1.25)


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


def test_the_factor_is_the_mean_of_the_faces_weighted_by_their_expected_errors():
    unlike = UnlikeFactor(np.array([0.1, -0.2, 0.05, 1.0], dtype=np.float32), 0.1)
    described, expected = np.array([[1.0, 0.5], [2.0, -1.0], [0.0, 1.0]]), np.array([2.0, 8.0, 3.0])
    total = 0.0
    for (first, second), error in zip(described, expected, strict=True):
        total += error * (0.1 * first - 0.2 * second + 0.05 * np.log(error) + 1.0)
    assert unlike(described, expected) == pytest.approx(total / 13, rel=1e-6)
    # expected errors are never lowered, and never more than what was seen
    assert unlike(-20 * described, expected) == 1.0
    assert unlike(20 * described, expected) == 1.6


@pytest.mark.parametrize("weights", [np.ones(3), np.full(4, np.nan)])
def test_weights_that_do_not_fit_are_refused(weights):
    arrays = {"unlike_weights": weights.astype(np.float32), "unlike_spread": np.array([0.1])}
    with pytest.raises(ValueError, match=r"unlike_weights must have 4|must be finite"):
        UnlikeFactor.from_arrays(arrays, 2)


def test_only_faces_that_are_unlike_have_a_factor(rejector):
    alike = rejector.domain.rows[:100]
    others = np.clip(alike.astype(int) + 30, -120, 120).astype(np.int8)
    uncertainty = rejector.calibration.uncertainty[:100]
    assert compared(rejector, alike, uncertainty).factor == 1.0
    check = compared(rejector, others, uncertainty)
    assert check.unlike
    expected = rejector.calibration.expected_error(uncertainty)
    assert check.factor == rejector.unlike(others / 20, expected)
    assert check.to_dict()["factor"] == check.factor


def test_errors_are_larger_and_intervals_wider(rejector, tmp_path):
    other = rejector.for_unlike_faces(UNLIKE)
    u = np.linspace(1, 40, 30)
    expected = rejector.calibration.expected_error(u)
    np.testing.assert_allclose(other.calibration.expected_error(u), 1.25 * expected)
    (low, high), (lower, higher) = (each.calibration.error_interval(u) for each in (rejector, other))
    assert (higher > 1.25 * high).all()
    assert (lower < 1.25 * low).all()
    other.save(tmp_path / "model.safetensors")
    again = FaceRejector.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.calibration.error_interval(u), (lower, higher))
    # once is enough
    assert "already" in why_not_compared(again, 100)


def test_a_unit_from_annotated_faces_takes_the_place_of_the_factor(rejector):
    other = rejector.for_unlike_faces(UNLIKE)
    own = other.with_unit(np.full(20, 4.0), other.calibration.uncertainty[:20])
    assert "fitted to 20 annotated faces" in why_not_compared(own, 100)
    assert "unlike_faces" not in own.info


def test_faces_like_those_of_the_calibration_change_nothing(rejector):
    assert rejector.for_unlike_faces(DomainCheck(60, 0.5, 1.0)) is rejector
    plain = FaceRejector.pretrained("dlib")
    assert plain.for_unlike_faces(UNLIKE) is plain


def test_the_sentence_names_the_factor():
    assert "the true ones are estimated to be 1.2 times as large" in UNLIKE._replace(factor=1.2).sentence
    assert "times" not in UNLIKE._replace(factor=1.02).sentence
