"""A rejector that only looks at brightness, so that many inputs take no time, and pictures for it."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import PIL.Image

from facereject.faces import Face, FaceRejector
from facereject.faces.face import Box

#: grey level of a picture without a face, and of one that makes the rejector fail
NO_FACE, POISON = 0, 13


@dataclass(frozen=True)
class BrightFaces:
    """One face per picture, accepted if the picture is brighter than the limit."""

    limit: float = 128.0
    n_points = 68
    # the rule is the real one
    decide = FaceRejector.decide

    @property
    def calibration(self) -> Any:
        """Expected errors by uncertainty."""
        return SimpleNamespace(expected_error=lambda uncertainty: -1 / uncertainty)

    @property
    def selector(self) -> Any:
        """The threshold."""
        return SimpleNamespace(threshold_=math.nextafter(-self.limit, -math.inf))

    def __call__(self, image: Any) -> list[Face]:
        time.sleep(float(os.environ.get("STUB_DELAY", "0")))
        level = float(image.mean())
        if level == NO_FACE:
            return []
        if level == POISON:
            raise RuntimeError("this picture hurts")
        points = np.full((68, 2), level / 3)
        return [Face(Box(1.0, 2.0, 3.0, 4.0), 0.5, points, -level, 1 / level, level > self.limit, "")]


def gray_photo(path: Any, level: int) -> None:
    """A small picture of one grey level."""
    PIL.Image.new("L", (8, 8), level).save(path)
