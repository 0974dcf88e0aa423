"""Placing landmarks: what a predictor is, and the predictors known by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facereject.faces.landmarks.base import (
    LandmarkFailureWarning,
    LandmarkModelError,
    Landmarks,
    NoLandmarksError,
    check_predictor,
)
from facereject.faces.plugins import Registry

__all__ = [
    "LANDMARKS",
    "LandmarkFailureWarning",
    "LandmarkModelError",
    "Landmarks",
    "NoLandmarksError",
    "check_predictor",
    "make_landmarks",
    "register_landmarks",
]


def _dlib(**options: Any) -> Landmarks:
    from facereject.faces.landmarks.dlib_trees import LandmarkPredictor

    return LandmarkPredictor.restored(**options)


def _dlib_5() -> Landmarks:
    from facereject.faces.landmarks.dlib_trees import LandmarkPredictor

    return LandmarkPredictor.published(5)


def _mesh(points: str) -> Callable[[], Landmarks]:
    def made() -> Landmarks:
        from facereject.faces.landmarks.face_mesh import FaceMesh

        return FaceMesh(points)

    return made


def _files(**options: Any) -> Landmarks:
    from facereject.faces.landmarks.from_files import FilePredictor

    return FilePredictor(**options)


def _onnx(path: str, sha256: str) -> Landmarks:
    from facereject.faces.landmarks.network import NetworkLandmarks

    return NetworkLandmarks.restored(path, sha256)


def _python(**options: Any) -> Landmarks:
    from facereject.faces.landmarks.python_class import PythonLandmarks

    return PythonLandmarks(**options)


#: all landmark predictors known by name
LANDMARKS: Registry[Landmarks] = Registry(
    "landmark predictor",
    "facereject.landmarks",
    "facereject.faces.register_landmarks",
    {
        "dlib": _dlib,
        "dlib-5": _dlib_5,
        "mesh": _mesh("all"),
        "mesh-68": _mesh("fitted"),
        "mesh-68-free": _mesh("fixed"),
        "files": _files,
        "onnx": _onnx,
        "python": _python,
    },
)


def register_landmarks(name: str, factory: Any) -> None:
    """Make a landmark predictor known by name in this process; packages announce theirs as entry points.

    Parameters
    ----------
    name : str
        Name for `make_landmarks` and ``--landmarks``.
    factory : callable
        Its class, or a function that makes one: ``factory(**options) -> predictor``.

    See Also
    --------
    make_landmarks : Make one by its name.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.faces import make_landmarks, register_landmarks
    >>> class Centre:
    ...     n_points = 1
    ...
    ...     def __call__(self, image, box):
    ...         return np.array([[box.x + box.width / 2, box.y + box.height / 2]])
    >>> register_landmarks("centre", Centre)
    >>> make_landmarks("centre").n_points
    1
    """
    LANDMARKS.register(name, factory)


def make_landmarks(name: str, **options: Any) -> Landmarks:
    """Make a landmark predictor by its name.

    Parameters
    ----------
    name : str
        Such as "dlib", or a name of `register_landmarks`.
    **options
        Parameters of the predictor.

    Returns
    -------
    Landmarks

    Raises
    ------
    ValueError
        There is no predictor of this name.

    See Also
    --------
    register_landmarks : Add one.

    Examples
    --------
    >>> from facereject.faces import make_landmarks
    >>> make_landmarks("dlib").n_points
    68
    """
    return check_predictor(LANDMARKS.make(name, **options))
