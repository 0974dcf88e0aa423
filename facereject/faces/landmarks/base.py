"""What a landmark predictor is: (image, box) -> (n, 2) points in pixels, and what it may declare.

A plain function will do. What it may declare as attributes, besides those of `facereject.faces.plugins`:

``n_points``
    How many points it places; else the annotation tells in training, and the model file afterwards.
``normalizer``
    The rule by which its errors are normalised (see `facereject.losses.landmark_scale`).
``feature_points``
    Numbers of the points that features are computed at, for dense meshes; all if it says nothing.
``levels``
    True if it turns tilted faces upright itself; others are shown an upright copy where the detector tells
    the tilt.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray, check_landmarks
from facereject.faces.images.load import ImageArray
from facereject.faces.plugins import name_of
from facereject.faces.weights.files import WeightsError


class LandmarkModelError(WeightsError):
    """A landmark model is missing, damaged, or not the one that is needed."""


class NoLandmarksError(ValueError):
    """A predictor failed on a face, or answered with something that is no set of finite points."""


class LandmarkFailureWarning(UserWarning):
    """The landmark predictor raised an error on a face, which is rejected for it."""


@runtime_checkable
class Landmarks(Protocol):
    """Places landmarks: image (H, W, 3) RGB uint8 (or grey, as it declares) and a box in, pixels out.

    See Also
    --------
    LandmarkPredictor : dlib's.
    register_landmarks : Make one of your own known by name.

    Examples
    --------
    >>> from facereject.faces import LandmarkPredictor, Landmarks
    >>> isinstance(LandmarkPredictor(), Landmarks)
    True
    """

    def __call__(self, image: ImageArray, box: Box, /) -> FloatArray: ...


@runtime_checkable
class PlacesByFive(Protocol):
    """Places landmarks by the five points of a detector, where it has them, if ``by_five`` is true."""

    @property
    def by_five(self) -> bool: ...

    def place_by_five(self, image: ImageArray, points: Sequence[tuple[float, float]]) -> FloatArray: ...


def check_predictor(predictor: Any, n_points: int | None = None) -> Landmarks:
    """The predictor itself; TypeError if it is none, LandmarkModelError if it places other points.

    Parameters
    ----------
    predictor : callable
    n_points : int or None
        How many points are needed; None is any number.
    """
    needed = "predictor must be a function or object that takes (image, box) and returns points (n, 2)"
    if inspect.isclass(predictor):
        raise TypeError(f"{needed}; got the class {predictor.__name__}: pass {predictor.__name__}()")
    if not callable(predictor):
        raise TypeError(f"{needed}; got {type(predictor).__name__}")
    declared = getattr(predictor, "n_points", None)
    if n_points is not None and declared is not None and declared != n_points:
        raise LandmarkModelError(
            f"the predictor {name_of(predictor)} places {declared} landmarks, {n_points} are needed: use the "
            "predictor the model was trained for, or train a model for this one"
        )
    checked: Landmarks = predictor
    return checked


def predict_landmarks(
    predictor: Landmarks, image: ImageArray, box: Box, n_points: int | None = None
) -> FloatArray:
    """The points of one face, checked.

    An error of the predictor on one face must not cost the other faces, frames and files: any exception
    becomes a NoLandmarksError, as an unusable answer does.

    Parameters
    ----------
    predictor : callable
    image : ndarray of uint8
        In the colours that the predictor asks for.
    box : Box
    n_points : int or None
        How many points are needed; None is any number.
    """
    try:
        answer = predictor(image, box)
    except Exception as error:
        raise NoLandmarksError(f"the predictor failed: {type(error).__name__}: {error}") from error
    try:
        return check_landmarks(answer, n_points=n_points)
    except ValueError as error:
        raise NoLandmarksError(f"the predictor gave no usable landmarks: {error}") from None


def warn_of_failure(error: NoLandmarksError) -> None:
    """Warn if a predictor raised an error; without a word, its faces would look merely hard."""
    if error.__cause__ is not None:
        warnings.warn(
            f"{error}; faces it fails on are rejected (no_landmarks)", LandmarkFailureWarning, stacklevel=3
        )
