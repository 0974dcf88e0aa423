"""What a run knows of its faces as a whole: the expected error of the accepted, a sample to compare."""

from __future__ import annotations

import math

from facereject.faces.domain_monitor import FaceReservoir
from facereject.faces.face import Face, FaceFrame
from facereject.outputs.base import Media, Output


class AcceptedErrors(Output):
    """Adds up the expected errors of the accepted faces."""

    def __init__(self) -> None:
        self._n_accepted = 0
        self._total_error = 0.0

    def write(self, frame: FaceFrame) -> None:
        """Take the faces of a frame."""
        for face in frame.faces:
            if face.accepted and math.isfinite(face.expected_error):
                self._n_accepted += 1
                self._total_error += face.expected_error

    @property
    def mean(self) -> float:
        """Mean expected error of the accepted faces in percent; NaN if there is none."""
        return self._total_error / self._n_accepted if self._n_accepted else math.nan


class SampledFaces(Output):
    """Keeps a random sample of the faces, of a track the first.

    It needs the faces as they were scored: those read back from a table have no description.
    """

    def __init__(self) -> None:
        self._sample = FaceReservoir()

    def begin(self, media: Media) -> None:
        """Tracks are numbered anew in every input."""
        self._sample.new_input()

    def write(self, frame: FaceFrame) -> None:
        """Take the faces of a frame."""
        for face in frame.faces:
            self._sample.add(face)

    @property
    def kept(self) -> list[Face]:
        """Faces to compare with the calibration faces."""
        return self._sample.kept
