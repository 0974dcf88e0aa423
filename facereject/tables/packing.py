"""Frames with faces as rows of the table, and back.

A packed row is a tuple of plain values: those of `HEAD`, then the columns of the landmarks as the bytes of
little-endian doubles, NaN where a value is missing; None where all are. Rows go from the store to a file
without becoming faces in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame, Pose
from facereject.faces.geometry import FloatArray
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.tables.columns import HEAD

#: the values of `HEAD` and the bytes of the landmarks
PackedRow: TypeAlias = "tuple[Any, ...]"

_DOUBLES = np.dtype("<f8")
_NOTHING = (None,) * (len(HEAD) - 3)
_FACE, _X, _ACCEPTED, _REASON = (HEAD.index(name) for name in ("face", "x", "accepted", "reason"))


def rows_of(frame: FaceFrame) -> list[PackedRow]:
    """The rows of a frame: one per face, or one that says why there is none."""
    where = (valid_text(frame.source), None if frame.index < 0 else int(frame.index), number(frame.time_s))
    if not frame.faces:
        nobody = (*where, *_NOTHING)
        reason = valid_text(" ".join(frame.problem.split())) or "no_face"
        return [(*nobody[:_ACCEPTED], False, reason, "", None, None, None, "", None, None, None, None)]
    return [
        (
            *where,
            i,
            None if face.track is None else int(face.track),
            *(round(float(side), 3) for side in face.box),
            number(face.detector_score),
            number(face.uncertainty),
            number(face.expected_error),
            bool(face.accepted),
            valid_text(face.reason),
            face.cause,
            *((None,) * 3 if (pose := face.pose) is None else map(number, pose)),
            face.detector,
            *map(_rounded, (face.typicality, *face.error_interval)),
            _packed(face),
        )
        for i, face in enumerate(frame.faces)
    ]


def frames_of(rows: Iterable[PackedRow], n_points: int = N_LANDMARKS) -> Iterator[FaceFrame]:
    """The frames of consecutive rows; pixels, thumbnails and visibility are not in a table."""
    current: FaceFrame | None = None
    for row in rows:
        source, index, time_s, number_in_frame = row[: _FACE + 1]
        faces = [] if row[_X] is None else [_face(row, n_points)]
        index = -1 if index is None else index
        same = current is not None and current.faces and (current.source, current.index) == (source, index)
        if current is not None and same and faces and number_in_frame != 0:
            current.faces.extend(faces)
            continue
        if current is not None:
            yield current
        problem = "" if faces or row[_REASON] in ("", "no_face") else row[_REASON]
        current = FaceFrame(index, math.nan if time_s is None else time_s, NO_IMAGE, faces, source, problem)
    if current is not None:
        yield current


def points_of(row: PackedRow) -> FloatArray | None:
    """The columns of the landmarks as numbers: all x, all y, all expected errors; None if all are missing."""
    packed = row[len(HEAD)]
    return None if packed is None else np.frombuffer(packed, dtype=_DOUBLES)


def number(value: float | None) -> float | None:
    """A number for the table; None if it is not finite, which no cell can hold."""
    # SQLite knows no negative zero
    return None if value is None or not math.isfinite(value) else float(value) + 0.0


def _rounded(value: float) -> float | None:
    # as the errors of landmarks: more digits say nothing
    return number(round(value, 4))


def valid_text(text: str) -> str:
    """Text that every format can hold: what is not valid Unicode becomes an escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def packed_numbers(numbers: Iterable[float]) -> bytes | None:
    """The bytes of the landmark columns; None if all are missing (NaN)."""
    values = np.fromiter(numbers, dtype=_DOUBLES)
    return None if np.isnan(values).all() else values.tobytes()


def _packed(face: Face) -> bytes | None:
    points, errors = face.landmarks, face.landmark_errors
    numbers = np.full(3 * len(points), np.nan, dtype=_DOUBLES)
    if math.isfinite(points[0, 0]):
        numbers[: points.size] = points.ravel("F")
    if errors is not None:
        numbers[points.size :] = errors
    # below thousandths of a pixel or a percent there is only noise, which would double the size of a table
    numbers = np.round(numbers, 3)
    finite = np.isfinite(numbers)
    if finite.all():
        return numbers.tobytes()
    numbers[~finite] = np.nan
    return numbers.tobytes() if finite.any() else None


def _face(row: PackedRow, n_points: int) -> Face:
    _, _, _, _, track, x, y, width, height, score, uncertainty, expected, accepted, reason, cause = row[:15]
    *angles, detector, typicality, low, high = row[15:22]
    numbers = points_of(row)
    if numbers is None:
        points, errors = np.full((n_points, 2), np.nan), None
    else:
        n_points = len(numbers) // 3
        points = numbers[: 2 * n_points].reshape(2, n_points).T.copy()
        errors = None if np.isnan(numbers[-1]) else numbers[2 * n_points :].copy()
    return Face(
        Box(x, y, width, height),
        math.nan if score is None else score,
        points,
        math.inf if uncertainty is None else uncertainty,
        math.nan if expected is None else expected,
        bool(accepted),
        reason,
        track=track,
        landmark_errors=errors,
        cause=cause,
        pose=None if None in angles else Pose(*angles),
        detector=detector,
        typicality=math.nan if typicality is None else typicality,
        error_interval=(math.nan, math.nan) if low is None or high is None else (low, high),
    )
