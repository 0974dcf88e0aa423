"""Landmarks on a turned copy of the face: predictors are best on upright faces."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, transform_points
from facereject.faces.images.load import ImageArray
from facereject.faces.landmarks.base import Landmarks, PlacesByFive, predict_landmarks
from facereject.faces.plugins import offers

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
    where, five = placement_of(predictor, found, upright_beyond), found.points
    if where == "five" and five is not None and offers(predictor, PlacesByFive):
        by_five = predictor.place_by_five
        return predict_landmarks(lambda shown, _: by_five(shown, five), image, found.box, n_points)
    if where == "upright":
        return predict_turned(predictor, image, found.box, -found.roll, n_points)
    return predict_landmarks(predictor, image, found.box, n_points)


def placement_of(predictor: Landmarks, found: Detection, upright_beyond: float | None) -> str:
    """Where a predictor looks: "five" points of the detector, an "upright" copy, or the "image" itself."""
    if found.points is not None and offers(predictor, PlacesByFive) and predictor.by_five:
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
    back = np.linalg.inv(linear)
    points = transform_points(np.column_stack([back, -back @ matrix[:, 2]]), found)
    return points if partners is None else points[list(partners)]
