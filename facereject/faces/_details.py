"""What a score says of a face, and the face with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from facereject._lazy import Lazy
from facereject.faces.face import CAUSES, Face, changed
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
    # the caller may change the array of the face before lazy values are computed from it
    points_then, box = landmarks.copy(), face.box

    def errors() -> FloatArray | None:
        return None if relative or found.point_errors is None else found.point_errors[points.nearest_used]

    def visible() -> NDArray[np.bool_] | None:
        if found.hidden is None:
            return None
        outside = ((points_then < -0.5) | (points_then > np.array(size) - 0.5)).any(axis=1)
        return np.asarray(~(found.hidden[points.nearest_used] | outside))

    def cause() -> str:
        if found.causes is None:
            return ""
        chances = found.causes.copy()
        if _distance_to_border(points_then, size) > _APART * max(box.width, box.height):
            chances[_CUT_OFF] = -np.inf
        return _CAUSES[int(chances.argmax())]

    return changed(
        face,
        landmarks=landmarks,
        landmark_errors=Lazy(errors),
        visible=Lazy(visible),
        likely_cause=Lazy(cause),
        typicality=Lazy(lambda: found.typicality),
        description=Lazy(lambda: found.description),
    )


def _distance_to_border(landmarks: FloatArray, size: tuple[int, int]) -> float:
    """Pixels from the outermost point to the nearest border of the image; negative outside."""
    return float(min(landmarks.min(), (np.array(size) - 1 - landmarks).min()))
