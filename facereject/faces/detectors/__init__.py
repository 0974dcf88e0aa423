"""Finding faces: what a detector is, and the detectors known by name."""

from __future__ import annotations

from typing import Any

from facereject.faces.detectors.base import (
    AdjustableDetector,
    Detector,
    TrainingDetector,
    VideoDetector,
    check_detector,
)
from facereject.faces.plugins import Registry

__all__ = [
    "DETECTORS",
    "AdjustableDetector",
    "Detector",
    "TrainingDetector",
    "VideoDetector",
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


def _files() -> Detector:
    from facereject.faces.detectors.from_files import FileDetector

    return FileDetector()


#: all detectors known by name
DETECTORS: Registry[Detector] = Registry(
    "detector",
    "facereject.detectors",
    "facereject.faces.register_detector",
    {"dlib": _dlib, "yunet": _yunet, "both": _both, "files": _files},
)


def register_detector(name: str, factory: Any) -> None:
    """Make a detector known by name in this process.

    Packages declare theirs as entry points of the group ``facereject.detectors``.

    Parameters
    ----------
    name : str
        As in ``--detector NAME`` and in model files.
    factory : callable
        Its class, or a function that makes one: ``factory(**options) -> Detector``.

    See Also
    --------
    make_detector : Makes a detector by name.

    Examples
    --------
    >>> from facereject.faces import FaceDetector, make_detector, register_detector
    >>> register_detector("large-faces", lambda: FaceDetector(min_face=200))
    >>> make_detector("large-faces").min_face
    200.0
    """
    DETECTORS.register(name, factory)


def make_detector(name: str, **options: Any) -> Detector:
    """Make a detector by name.

    Parameters
    ----------
    name : str
        "yunet", "dlib", "both", or a registered name.
    **options
        Of the detector.

    Returns
    -------
    Detector

    Raises
    ------
    ValueError
        There is no detector of this name.

    See Also
    --------
    register_detector : Makes a detector known by name.

    Examples
    --------
    >>> from facereject.faces import make_detector
    >>> make_detector("dlib", min_face=120)
    FaceDetector(upsample=0, threshold=0.0, min_face=120.0)
    """
    return check_detector(DETECTORS.make(name, **options), f"what the detector {name!r} makes")
