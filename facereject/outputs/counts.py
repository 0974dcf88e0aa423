"""Counting frames and faces of one input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from facereject.faces.face import FaceFrame


class Counts(NamedTuple):
    """What one input gave.

    Attributes
    ----------
    frames, undecodable : int
        Decoded frames, and frames that could not be decoded.
    faces, accepted_faces : int
    no_face, accepted_frames : int
        Frames without a face, and frames accepted by the rule of `FaceFrame.accepted`.
    failure : str
        Why the input is unreadable or failed; empty if it is not.
    """

    frames: int = 0
    undecodable: int = 0
    faces: int = 0
    accepted_faces: int = 0
    no_face: int = 0
    accepted_frames: int = 0
    failure: str = ""

    @classmethod
    def of(cls, frames: Iterable[FaceFrame], rule: str = "all") -> Counts:
        """Count frames of one input."""
        n_frames = faces = accepted_faces = no_face = accepted_frames = 0
        failure = ""
        for frame in frames:
            # a video that fails midway has a last frame that says so, without an image
            failure = frame.problem or failure
            if frame.index >= 0:
                n_frames += 1
                no_face += not frame.faces
            faces += len(frame.faces)
            accepted_faces += sum(face.accepted for face in frame.faces)
            accepted_frames += frame.accepted(rule)
        return cls(n_frames, 0, faces, accepted_faces, no_face, accepted_frames, failure)

    def plus(self, other: Counts) -> Counts:
        """Add counts; of two failures the later one is kept."""
        return self._combined(other, 1)._replace(failure=other.failure or self.failure)

    def minus(self, other: Counts) -> Counts:
        """Take away the counts of an input that was added before."""
        return self._combined(other, -1)

    def _combined(self, other: Counts, sign: int) -> Counts:
        numbers = (mine + sign * theirs for mine, theirs in zip(self[:-1], other[:-1], strict=True))
        return Counts._make((*numbers, self.failure))
