"""Finding faces: what a detector is, and the detectors known by name."""

from __future__ import annotations

from typing import Any

from facereject.faces.detectors.base import (
    AdjustableDetector,
    Detector,
    LocalDetector,
    TrainingDetector,
    check_detector,
)
from facereject.faces.plugins import Registry

__all__ = [
    "DETECTORS",
    "AdjustableDetector",
    "Detector",
    "LocalDetector",
    "TrainingDetector",
    "check_detector",
    "make_detector",
    "register_detector",
]


def _dlib(**options: Any) -> Detector:
    from facereject.faces.detectors.dlib_hog import FaceDetector

    return FaceDetector(**options)


def _yunet(**options: Any) -> Detector:
    from facereject.faces.detectors.yunet import YuNetDetector

    return YuNetDetector(**options)


def _both(**options: Any) -> Detector:
    from facereject.faces.detectors.both import BothDetectors

    return BothDetectors(**options)


#: all detectors known by name
DETECTORS: Registry[Detector] = Registry(
    "detector",
    "facereject.detectors",
    "facereject.faces.register_detector",
    {"dlib": _dlib, "yunet": _yunet, "both": _both},
)


def register_detector(name: str, factory: Any) -> None:
    """Make a detector known by name in this process; packages announce theirs as entry points.

    Parameters
    ----------
    name : str
    factory : callable
        Its class, or a function that makes one: ``factory(**options) -> Detector``.
    """
    DETECTORS.register(name, factory)


def make_detector(name: str, **options: Any) -> Detector:
    """The detector of a name, with its options; ValueError if there is none."""
    return check_detector(DETECTORS.make(name, **options), f"what the detector {name!r} makes")
