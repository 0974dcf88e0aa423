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
from facereject.faces.plugins import Registry, deferred

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


#: all detectors known by name
DETECTORS: Registry[Detector] = Registry(
    "detector",
    "facereject.detectors",
    "facereject.faces.register_detector",
    {
        "dlib": deferred("detectors.dlib_hog", "FaceDetector"),
        "yunet": deferred("detectors.yunet", "YuNetDetector"),
        "both": deferred("detectors.both", "BothDetectors"),
        "files": deferred("detectors.from_files", "FileDetector"),
    },
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
