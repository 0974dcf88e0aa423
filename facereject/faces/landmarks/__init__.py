"""Placing landmarks: what a predictor is, and the predictors known by name."""

from __future__ import annotations

from typing import Any

from facereject.faces.landmarks.base import (
    LandmarkFailureWarning,
    LandmarkModelError,
    Landmarks,
    NoLandmarksError,
    check_predictor,
)
from facereject.faces.plugins import Registry, deferred

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


#: all landmark predictors known by name
LANDMARKS: Registry[Landmarks] = Registry(
    "landmark predictor",
    "facereject.landmarks",
    "facereject.faces.register_landmarks",
    {
        "dlib": deferred("landmarks.dlib_trees", "LandmarkPredictor.restored"),
        "dlib-5": deferred("landmarks.dlib_trees", "LandmarkPredictor.published", n_points=5),
        "mesh": deferred("landmarks.face_mesh", "FaceMesh", points="all"),
        "mesh-68": deferred("landmarks.face_mesh", "FaceMesh", points="fitted"),
        "mesh-68-free": deferred("landmarks.face_mesh", "FaceMesh", points="fixed"),
        "files": deferred("landmarks.from_files", "FilePredictor"),
        "onnx": deferred("landmarks.network", "NetworkLandmarks.restored"),
        "python": deferred("landmarks.python_class", "PythonLandmarks"),
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
