"""What a run knows of its faces as a whole: the expected error of the accepted, a sample to compare."""

from __future__ import annotations

import math

import numpy as np

from facereject.faces.face import Face, FaceFrame
from facereject.outputs.base import Media, Output

# faces kept for the comparison with the calibration faces
_KEPT = 1000


class FacesSeen(Output):
    """Adds up expected errors, and keeps a random sample of faces, of a track the first.

    Attributes
    ----------
    kept : list of Face
    """

    def __init__(self) -> None:
        self.kept: list[Face] = []
        self._rng = np.random.default_rng(0)
        self._n_seen = self._n_accepted = 0
        self._total_error = 0.0
        self._tracks: set[int] = set()

    def begin(self, media: Media) -> None:
        """Tracks are numbered anew in every input."""
        self._tracks.clear()

    def write(self, frame: FaceFrame) -> None:
        """Take the faces of a frame."""
        for face in frame.faces:
            if face.accepted and math.isfinite(face.expected_error):
                self._n_accepted += 1
                self._total_error += face.expected_error
            if face.track is None or face.track not in self._tracks:
                self._keep(face)
            if face.track is not None:
                self._tracks.add(face.track)

    @property
    def expected_error(self) -> float:
        """Mean expected error of the accepted faces in percent; NaN if there is none."""
        return self._total_error / self._n_accepted if self._n_accepted else math.nan

    def _keep(self, face: Face) -> None:
        self._n_seen += 1
        if len(self.kept) < _KEPT:
            self.kept.append(face)
        elif (place := int(self._rng.integers(self._n_seen))) < _KEPT:
            self.kept[place] = face
