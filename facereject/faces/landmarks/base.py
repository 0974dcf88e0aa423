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
``by_five``
    True if its method ``place_by_five(image, points)`` is to be called in its place where the detector gives
    five points.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import cv2
import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, check_landmarks
from facereject.faces.images import ImageArray
from facereject.faces.plugins import name_of
from facereject.faces.weights import WeightsError


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


# side of the turned copy over the side of the box: predictors look a little beyond the box
_REACH = 1.6

# pixels; larger faces are reduced to this box, as turning their pixels would cost more than the predictor
_LARGEST_BOX = 300.0


def place_landmarks(
    predictor: Landmarks, image: ImageArray, found: Detection, n_points: int, upright_beyond: float | None
) -> FloatArray:
    """The landmarks of a detected face, by an upright copy if it is tilted.

    Parameters
    ----------
    predictor : callable
    image : ndarray of uint8
        In the colours that the predictor asks for.
    found : Detection
        Its five points, if there are any, say how the face is tilted.
    n_points : int
    upright_beyond : float or None
        Degrees of tilt above which the copy is used; None is never.

    Raises
    ------
    NoLandmarksError
        If the predictor fails.
    """
    where = placement_of(predictor, found, upright_beyond)
    if where == "five":
        place: Any = predictor
        return predict_landmarks(
            lambda shown, _: place.place_by_five(shown, found.points), image, found.box, n_points
        )
    if where == "upright":
        return predict_turned(predictor, image, found.box, -found.roll, n_points)
    return predict_landmarks(predictor, image, found.box, n_points)


def placement_of(predictor: Landmarks, found: Detection, upright_beyond: float | None) -> str:
    """Where a predictor looks: "five" points of the detector, an "upright" copy, or the "image" itself."""
    if found.points is not None and getattr(predictor, "by_five", False):
        return "five"
    tilted = upright_beyond is not None and abs(found.roll) > upright_beyond
    return "upright" if tilted else "image"


def predict_turned(
    predictor: Landmarks,
    image: ImageArray,
    box: Box,
    angle: float,
    n_points: int,
    partners: Sequence[int] | None = None,
) -> FloatArray:
    """Landmarks on a copy of the face that is turned about the centre of its box, in pixels of the image.

    Parameters
    ----------
    predictor : callable
    image : ndarray of uint8
    box : Box
    angle : float
        Degrees, clockwise.
    n_points : int
    partners : sequence of int or None
        Mirror the copy; each point takes the place of its partner.
    """
    scale = min(1.0, _LARGEST_BOX / max(box.width, box.height))
    side = int(np.ceil(_REACH * scale * max(box.width, box.height)))
    cosine, sine = scale * np.cos(np.radians(angle)), scale * np.sin(np.radians(angle))
    linear = np.array([[cosine, -sine], [sine, cosine]])
    if partners is not None:
        linear[:, 0] *= -1
    middle = np.full(2, (side - 1) / 2)
    matrix = np.column_stack([linear, middle - linear @ box.center])
    # beyond the image there is nothing, as for the predictor itself
    turned = np.asarray(cv2.warpAffine(image, matrix, (side, side)), dtype=np.uint8)
    width, height = scale * box.width, scale * box.height
    inner = Box(middle[0] - width / 2, middle[1] - height / 2, width, height)
    found = predict_landmarks(predictor, turned, inner, n_points)
    # the inverse of a similarity, row vectors times the matrix itself
    points: FloatArray = (found - matrix[:, 2]) @ linear / scale**2
    return points if partners is None else points[list(partners)]
