"""Faces and frames as the API gives them, and back from what the page sends."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from facereject.faces import Face
from facereject.faces.face import Box, Pose
from facereject.serve.refusals import unusable
from facereject.tables.rows import frame_accepted, rows_of_frame


def face_answer(face: Face, *, thumbnail: bool = False) -> dict[str, Any]:
    """A face: `Face.to_dict`, its track, the reason as a sentence and what to do about it."""
    answer = {
        **face.to_dict(),
        "track": face.track,
        "explanation": face.explanation,
        "hint": face.hint,
    }
    answer["likely_cause"] = face.likely_cause
    if thumbnail and face.thumbnail:
        answer["thumbnail"] = base64.b64encode(face.thumbnail).decode("ascii")
    return answer


def frame_answer(faces: Sequence[Face], *, thumbnails: bool = False) -> dict[str, Any]:
    """A picture or frame: whether all of its faces are accepted, else the reason, and the faces."""
    rows = rows_of_frame("", faces)
    accepted = frame_accepted(rows)
    return {
        "accepted": accepted,
        "reason": "" if accepted else next(row.reason for row in rows if not row.accepted),
        "faces": [face_answer(face, thumbnail=thumbnails) for face in faces],
    }


def face_of(answer: Any, n_points: int) -> Face:
    """The face of an answer that has come back; a `Refusal` with 422 if it is none."""
    try:
        points = answer["landmarks"]
        landmarks = np.full((n_points, 2), np.nan) if points is None else np.asarray(points, dtype=np.float64)
        if landmarks.shape != (n_points, 2):
            raise ValueError("landmarks")
        errors, visible, pose = (answer.get(name) for name in ("landmark_errors", "visible", "pose"))
        track = answer.get("track")
        box = answer["box"]
        return Face(
            Box(*(float(box[name]) for name in Box._fields)),
            _number(answer.get("detector_score"), float("nan")),
            landmarks,
            _number(answer["uncertainty"], float("inf")),
            _number(answer["expected_error"], float("nan")),
            accepted=answer["accepted"] is True,
            reason=str(answer["reason"])[:200],
            track=None if track is None else int(track),
            landmark_errors=_values(errors, n_points),
            visible=None if visible is None else _values(visible, n_points) == 1.0,
            cause=str(answer.get("cause", ""))[:200],
            likely_cause=str(answer.get("likely_cause", ""))[:200],
            pose=None if pose is None else Pose(*(_number(pose[name], np.nan) for name in Pose._fields)),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise unusable("a face must have the form in which /api/score gives it") from None


def _number(value: Any, missing: float) -> float:
    return missing if value is None else float(value)


def _values(values: Any, n_points: int) -> Any:
    if values is None:
        return None
    array = np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    if array.shape != (n_points,):
        raise ValueError("values")
    return array
