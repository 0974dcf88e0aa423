"""Finding faces: dlib's detector first, and YuNet on images where it finds none."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.face import Box, Detection
from facereject.faces.images.load import ImageLike
from facereject.faces.views import Views


@dataclass(frozen=True)
class BothDetectors:
    """dlib's detector, and YuNet where it finds nothing.

    The faces of an image come from one of them: scores of dlib lie between -1 and 4, those of YuNet between 0
    and 1. Boxes are alike. Needs ``facereject models get yunet``.

    Parameters
    ----------
    upsample, threshold, min_face
        As for `FaceDetector`; ``min_face`` counts for both.
    second_threshold : float in [0, 1], default=0.3
        Candidates of YuNet with a score below are dropped.
    """

    upsample: int = 0
    threshold: float = 0.0
    min_face: float | None = None
    second_threshold: float = 0.3

    #: YuNet looks at colour
    color = "rgb"

    def __post_init__(self) -> None:
        first = FaceDetector(self.upsample, self.threshold, self.min_face)
        second = YuNetDetector(self.second_threshold, min_face=self.min_face)
        # plain numbers, as a model file needs them
        for name, value in {**first.options, "second_threshold": second.threshold}.items():
            object.__setattr__(self, name, value)

    @property
    def first(self) -> FaceDetector:
        """dlib's detector."""
        return FaceDetector(self.upsample, self.threshold, self.min_face)

    @property
    def second(self) -> YuNetDetector:
        """YuNet."""
        return YuNetDetector(self.second_threshold, min_face=self.min_face)

    @property
    def options(self) -> dict[str, Any]:
        """The parameters by name."""
        return dataclasses.asdict(self)

    def with_options(self, **changes: Any) -> BothDetectors:
        """A detector with some parameters changed."""
        return dataclasses.replace(self, **changes)

    def for_judging(self) -> BothDetectors:
        """The detector of a model trained on the faces of this one."""
        return dataclasses.replace(self, threshold=self.first.for_judging().threshold)

    @property
    def definition(self) -> dict[str, Any]:
        """What a model file keeps, as plain JSON."""
        return {"name": "both", **self.options}

    @property
    def description(self) -> str:
        """In words, for the card of a model."""
        return f"{self.first.description}; where it finds no face, {self.second.description}"

    def detect(self, image: ImageLike) -> list[Detection]:
        """The faces of an image, by the first detector that finds any."""
        view = Views(image)
        return self.first.detect(view.gray) or self.second.detect(view.rgb)

    def near(self, image: ImageLike, box: Box) -> list[Detection]:
        """The faces around a box, by the first detector that finds any."""
        view = Views(image)
        return self.first.near(view.gray, box) or self.second.near(view.rgb, box)
