"""The faces that YuNet or dlib's detector finds."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from facereject.faces.detectors.base import Options
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.face import Detection
from facereject.faces.geometry import overlap
from facereject.faces.images import ImageLike, Views

# boxes that overlap more than this are one face
_SAME = 0.3

# From dlib's score to YuNet's: 1 / (1 + exp(-a - b s)), least squares over faces that dlib finds, with 0 for
# those that YuNet misses (tools/train/yunet_box.py)
_A, _B = 1.70, 0.68


@dataclass(frozen=True)
class BothDetectors(Options):
    """YuNet and dlib's detector: every face that one of them finds, once.

    Scores are YuNet's, or dlib's put on the same scale from 0 to 1. Of a face that both find, box, five
    points and score are YuNet's, and ``found_by`` is "yunet+dlib".

    Parameters
    ----------
    threshold : float in [0, 1], default=0.3
        Candidates of YuNet with a score below are dropped.
    min_face : float, default=40
        Side of the smallest face of interest in pixels.
    dlib_threshold : float, default=0.0
        Candidates of dlib's detector with a score below are dropped, on dlib's own scale.
    upsample : int, default=0
        As for `FaceDetector`, which finds faces from 80 pixels, or from 40 after one doubling.
    """

    threshold: float = 0.3
    min_face: float = 40.0
    dlib_threshold: float = 0.0
    upsample: int = 0

    registered_name = "both"

    #: YuNet needs colour
    color = "rgb"

    def __post_init__(self) -> None:
        # both check their options and make them plain numbers
        found = {**self.dlib.options, **self.yunet.options, "dlib_threshold": self.dlib.threshold}
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, found[field.name])

    @property
    def yunet(self) -> YuNetDetector:
        """YuNet with these options."""
        return YuNetDetector(self.threshold, self.min_face)

    @property
    def dlib(self) -> FaceDetector:
        """dlib's detector with these options."""
        return FaceDetector(self.upsample, self.dlib_threshold)

    @property
    def description(self) -> str:
        """A sentence for the card of a model."""
        return f"{self.yunet.description}; {self.dlib.description}"

    def detect(self, image: ImageLike) -> list[Detection]:
        """The faces of an image that one of the detectors finds, best score first."""
        view = Views(image)
        return self._union(self.yunet.detect(view.rgb), self.dlib.detect(view.gray))

    def _union(self, first: list[Detection], second: list[Detection]) -> list[Detection]:
        found = list(first)
        for face in second:
            same = [i for i, other in enumerate(first) if overlap(face.box, other.box) > _SAME]
            for i in same:
                found[i] = dataclasses.replace(found[i], found_by="yunet+dlib")
            if not same and min(face.box.width, face.box.height) >= self.min_face:
                found.append(Detection(face.box, 1 / (1 + math.exp(-_A - _B * face.score)), None, "dlib"))
        return sorted(found, key=lambda face: -face.score)
