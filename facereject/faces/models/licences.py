"""The licences of a model, part by part: detector, landmarks, map, score."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from facereject.faces.detectors.base import Detector
from facereject.faces.landmarks import Landmarks
from facereject.faces.plugins import name_of
from facereject.faces.weights import WEIGHTS

if TYPE_CHECKING:
    from facereject.faces.rejector import FaceRejector


class PartLicence(NamedTuple):
    """What is known about one part of a model; ``commercial`` is None where nothing is."""

    part: str
    licence: str
    commercial: bool | None


_DLIB_DETECTOR = PartLicence("face detector of dlib", "BSL-1.0", True)
_UNKNOWN = "not known here"

# what the fixed correspondences and the fitted map from the mesh to 68 points rest on
_MAPS = {
    "mesh-68": PartLicence("map to 68 points", "fitted to iBUG 300-W: research only", False),
    "mesh-68-free": PartLicence("map to 68 points", "BSD-3-Clause, points of a CC BY 4.0 data set", True),
}


def licence_chain(rejector: FaceRejector) -> list[PartLicence]:
    """The licences of all parts of a model; commercial use needs every one of them to allow it."""
    chain = [*_of_detector(rejector.detector), *_of_landmarks(rejector.predictor)]
    trained = rejector.info.get("licence")
    if isinstance(trained, str):
        return [*chain, PartLicence("score", trained, "no commercial use" not in trained)]
    return [*chain, PartLicence("score", "that of the photos it was trained on", None)]


def _of_detector(detector: Detector) -> list[PartLicence]:
    name = name_of(detector)
    known = {"dlib": ["dlib"], "yunet": ["yunet"], "both": ["dlib", "yunet"]}.get(name)
    if known is None:
        return [PartLicence(f"detector {name}", _UNKNOWN, None)]
    return [_DLIB_DETECTOR if each == "dlib" else _of_weights(each) for each in known]


def _of_landmarks(predictor: Landmarks) -> list[PartLicence]:
    name = name_of(predictor)
    if name in ("dlib", "dlib-5") and "path" not in (getattr(predictor, "definition", None) or {}):
        return [_of_weights(name)]
    if name == "mesh" or name in _MAPS:
        return [_of_weights("mesh"), *([_MAPS[name]] if name in _MAPS else [])]
    return [PartLicence(f"landmarks {name}", _UNKNOWN, None)]


def _of_weights(name: str) -> PartLicence:
    weights = WEIGHTS[name]
    return PartLicence(weights.purpose, weights.licence, weights.commercial)
