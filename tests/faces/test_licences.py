"""The licences of a model: every part counts, and what is not known is not claimed."""

from __future__ import annotations

import copy

import pytest

from facereject.faces import FaceRejector
from facereject.faces.detectors.both import BothDetectors
from facereject.faces.models.licences import licence_chain
from facereject.faces.weights import WEIGHTS


def may_be_sold(rejector):
    """False if a part forbids it, None if one is not known to allow it."""
    allowed = [part.commercial for part in licence_chain(rejector)]
    return False if False in allowed else None if None in allowed else True


def with_licence(rejector, text):
    other = copy.copy(rejector)
    other.info = {**rejector.info, "licence": text}
    return other


@pytest.mark.parametrize(
    ("name", "allowed"), [("default", False), ("thorough", False), ("mesh", False), ("mesh-free", True)]
)
def test_models_that_come_along(mesh_weights, name, allowed):
    rejector = FaceRejector.pretrained(name)
    assert may_be_sold(rejector) is allowed
    # the two networks of the free stack, or the two parts of dlib
    assert len(licence_chain(rejector)) >= 3


def test_one_part_is_enough_to_forbid_it(mesh_weights):
    free = FaceRejector.pretrained("mesh-free")
    assert may_be_sold(with_licence(free, "mine")) is True
    assert may_be_sold(with_licence(free, "trained on X: no commercial use")) is False
    fitted = FaceRejector.pretrained("mesh")
    assert may_be_sold(with_licence(fitted, "mine")) is False


def test_what_is_not_known_is_not_claimed(mesh_weights):
    rejector = FaceRejector.pretrained("mesh-free")
    unknown = copy.copy(rejector)
    unknown.info = {key: value for key, value in rejector.info.items() if key != "licence"}
    assert may_be_sold(unknown) is None

    class Mine:
        def detect(self, image):
            return []

    strange = copy.copy(rejector)
    strange.detector = Mine()
    assert may_be_sold(strange) is None


def test_files_of_others_are_not_taken_for_the_published_one():
    class Trained:
        definition = {"name": "dlib", "path": "/somewhere/mine.dat", "sha256": "0"}  # noqa: RUF012

        def __call__(self, image, box):
            raise AssertionError

    rejector = copy.copy(FaceRejector.pretrained())
    assert WEIGHTS["dlib"].licence in [part.licence for part in licence_chain(rejector)]
    rejector.predictor = Trained()
    assert WEIGHTS["dlib"].licence not in [part.licence for part in licence_chain(rejector)]


def test_both_detectors_are_named(mesh_weights):
    rejector = FaceRejector.pretrained(detector=BothDetectors())
    assert [part.licence for part in licence_chain(rejector)][:2] == ["BSL-1.0", "MIT"]
