"""The one table: its columns, its rows and the closed set of reasons, the same for images and videos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from facereject.faces.face import Box, Face, Pose
from facereject.faces.geometry import FloatArray
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.tables.columns import COLUMNS, REASONS, columns, count_points, is_lost, is_own

__all__ = ["COLUMNS", "REASONS", "Chunk", "Row", "columns", "count_points", "failed_row", "frame_accepted"]
__all__ += ["is_lost", "is_own", "rows_of_frame", "unreadable_row"]


@dataclass(frozen=True, eq=False)
class Row:
    """One face of one frame, or one input without any. What does not apply is None, never zero.

    Attributes
    ----------
    source : str
        The input as it was named, in valid UTF-8 (see `display_name`).
    frame : int or None
        Counted from 0; 0 for a still image.
    time_s : float or None
        Seconds since the start of the video; None for still images.
    face : int or None
        Number of the face within its frame, from 0: in images the best detector score first, in videos the
        oldest track.
    track : int or None
        The same face keeps its track through a video; None for still images.
    box : Box or None
    detector_score : float or None
        None also where the box came from tracking, not from the detector.
    uncertainty, expected_error : float or None
        Higher = less certain; expected error in percent, for 68 points of the distance of the outer eye
        corners.
    accepted : bool
    reason : str
        Empty, or a key of `REASONS`, for some followed by a colon and details.
    landmarks : ndarray of shape (n, 2) or None
    pose : Pose or None
    cause : str
        Why the face is uncertain, a key of `facereject.faces.CAUSES`; empty if none is given.
    landmark_errors : ndarray of shape (n,) or None
        Expected error of each point, in percent; None if the model does not tell.
    """

    source: str
    frame: int | None = None
    time_s: float | None = None
    face: int | None = None
    track: int | None = None
    box: Box | None = None
    detector_score: float | None = None
    uncertainty: float | None = None
    expected_error: float | None = None
    accepted: bool = False
    reason: str = ""
    landmarks: FloatArray | None = None
    pose: Pose | None = None
    cause: str = ""
    landmark_errors: FloatArray | None = None

    def values(self, n_points: int = N_LANDMARKS) -> list[Any]:
        """The row as plain Python values in the order of `columns`."""
        box = [None] * 4 if self.box is None else [float(side) for side in self.box]
        head: list[Any] = [self.source, self.frame, self.time_s, self.face, self.track, *box]
        head += [self.detector_score, self.uncertainty, self.expected_error, self.accepted, self.reason]
        head.append(self.cause)
        head += [None] * 3 if self.pose is None else self.pose
        self.check_points(n_points)
        points = [None] * (2 * n_points) if self.landmarks is None else self.landmarks.ravel("F").tolist()
        errors = [None] * n_points if self.landmark_errors is None else self.landmark_errors.tolist()
        return [*head, *points, *errors]

    def check_points(self, n_points: int) -> None:
        """ValueError if the row has landmarks, but another number of them."""
        if self.landmarks is not None and len(self.landmarks) != n_points:
            raise ValueError(f"a face with {len(self.landmarks)} landmarks in a table of {n_points}")
        if self.landmark_errors is not None and len(self.landmark_errors) != n_points:
            raise ValueError(f"{len(self.landmark_errors)} landmark errors in a table of {n_points}")


class Chunk(NamedTuple):
    """Some rows of one input, in order.

    Attributes
    ----------
    rows : list of Row
    frames : int
        Decoded frames these rows cover; 0 for the row of an unreadable input.
    undecodable : int
        Frames that could not be decoded and have no row.
    """

    rows: list[Row]
    frames: int = 0
    undecodable: int = 0


def rows_of_frame(
    source: str,
    faces: Sequence[Face],
    *,
    frame: int = 0,
    time_s: float | None = None,
    tracks: Sequence[int] | None = None,
) -> list[Row]:
    """The rows of one decoded frame: one per face, or a single one that says that there is none."""
    if not faces:
        return [Row(source, frame, time_s, reason="no_face")]
    return [
        Row(
            source,
            frame,
            time_s,
            i,
            face.track if tracks is None else tracks[i],
            face.box,
            _finite(face.detector_score),
            _finite(face.uncertainty),
            _finite(face.expected_error),
            face.accepted,
            face.reason,
            face.landmarks if math.isfinite(face.landmarks[0, 0]) else None,
            face.pose,
            face.cause,
            # thousandths of a percent say nothing, and would double the size of a table
            None if face.landmark_errors is None else np.round(face.landmark_errors, 3),
        )
        for i, face in enumerate(faces)
    ]


def frame_accepted(rows: Sequence[Row], rule: str = "all") -> bool:
    """Whether a frame, given by all its rows, is accepted.

    Parameters
    ----------
    rows : sequence of Row
        The rows of one frame.
    rule : {"all", "any", "largest"}
        Every face, at least one face, or the face with the largest box must be accepted; a frame without a
        face never is.
    """
    faces = [row for row in rows if row.box is not None]
    if not faces:
        return False
    if rule == "largest":
        return max(faces, key=_area).accepted
    if rule not in ("all", "any"):
        raise ValueError(f"rule must be all, any or largest; got {rule!r}")
    return (all if rule == "all" else any)(row.accepted for row in faces)


def unreadable_row(source: str, detail: str) -> Row:
    """The row of an input that could not be decoded."""
    return Row(source, reason=f"unreadable: {_one_line(detail)}")


def failed_row(source: str, detail: str) -> Row:
    """The row of an input on which the work itself failed."""
    return Row(source, reason=f"failed: {_one_line(detail)}")


def _area(row: Row) -> float:
    return row.box.width * row.box.height if row.box else 0.0


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _one_line(text: str) -> str:
    return " ".join(text.split())
