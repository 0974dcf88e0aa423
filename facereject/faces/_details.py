"""What a score says of a face, and the face with it."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import CAUSES, Face
from facereject.faces.geometry import FloatArray
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.score_models import DetailedScore, Details, ScoreModel
from facereject.faces.plugins import offers

_CAUSES = tuple(CAUSES)
_CUT_OFF = _CAUSES.index("cut_off")

# sides of the box; the frame did not cut off a face all of whose points are farther from its border
_APART = 0.1


def details_of(score: ScoreModel, row: NDArray[np.float32]) -> Details:
    """All that a score has to say about one face, given as one row of features."""
    if offers(score, DetailedScore):
        return score.details(row)
    return Details(float(score(row)[0]), None, None, None)


def with_details(
    face: Face, landmarks: FloatArray, found: Details, size: tuple[int, int], points: PointSet, relative: bool
) -> Face:
    """The face with its landmarks and what is known of each of them.

    Parameters
    ----------
    face : Face
    landmarks : ndarray of shape (n, 2)
    found : Details
    size : (int, int)
        Width and height of the image in pixels.
    points : PointSet
    relative : bool
        Whether errors are known up to a factor only, so that none are given.
    """
    errors, visible, cause = None, None, ""
    if found.point_errors is not None and found.hidden is not None:
        nearest = points.nearest_used
        errors = None if relative else found.point_errors[nearest]
        outside = ((landmarks < -0.5) | (landmarks > np.array(size) - 0.5)).any(axis=1)
        visible = ~(found.hidden[nearest] | outside)
    if found.causes is not None:
        chances = found.causes.copy()
        if _distance_to_border(landmarks, size) > _APART * max(face.box.width, face.box.height):
            chances[_CUT_OFF] = -np.inf
        cause = _CAUSES[int(chances.argmax())]
    return dataclasses.replace(
        face, landmarks=landmarks, landmark_errors=errors, visible=visible, likely_cause=cause
    )


def _distance_to_border(landmarks: FloatArray, size: tuple[int, int]) -> float:
    """Pixels from the outermost point to the nearest border of the image; negative outside."""
    return float(min(landmarks.min(), (np.array(size) - 1 - landmarks).min()))
