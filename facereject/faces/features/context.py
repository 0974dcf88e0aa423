"""What else is known of a face: where its points lie in its box and in the frame, and the image quality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import Box
from facereject.faces.features.quality import QUALITY, image_quality
from facereject.faces.geometry import FloatArray
from facereject.faces.images.load import ImageArray
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet

#: names of the values that say where the face lies in the frame
FRAME = ("face_pixels", "margin_left", "margin_top", "margin_right", "margin_bottom", "outside")

# face sizes; beyond, the frame is far away
_FAR = 1.0


@dataclass(frozen=True)
class FaceContext:
    """Points in the frame of the box, place in the image, and image quality.

    The values are, in this order:

    - x and y of every point that is used, less the middle of the box, over the root of the box's area
    - `FRAME`: log2 of that root in pixels; least distance of a point to each side of the image, in face
      sizes, at most 1 and at least -1; share of the points outside the image
    - `QUALITY`: see `facereject.faces.features.quality`

    Parameters
    ----------
    points : PointSet, default=the 68 points of 300-W
    """

    points: PointSet = POINTS_300W

    @property
    def n_features(self) -> int:
        """Length of the vector."""
        return 2 * self.points.n_used + len(FRAME) + len(QUALITY)

    @property
    def definition(self) -> dict[str, Any]:
        """What the values mean besides the points, as plain JSON, for the model file."""
        return {"name": "FaceContext", "version": 1}

    @classmethod
    def from_definition(cls, definition: dict[str, Any], points: PointSet = POINTS_300W) -> FaceContext:
        """The inverse of `definition`; raises ValueError for features this version does not know."""
        context = cls(points)
        if definition != context.definition:
            raise ValueError(f"unknown features {definition!r}")
        return context

    def __call__(
        self, size: tuple[int, int], box: Box, landmarks: FloatArray, chip: ImageArray
    ) -> NDArray[np.float32]:
        """The values of one face.

        Parameters
        ----------
        size : (int, int)
            Width and height of the image in pixels.
        box : Box
        landmarks : ndarray of shape (n, 2)
        chip : ndarray of uint8
            The grey chip of `LandmarkHOG.chip`.
        """
        used = self.points.chosen(landmarks)
        n = used.size
        values = np.empty(n + len(FRAME) + len(QUALITY), dtype=np.float32)
        side = max(math.sqrt(box.width * box.height), 1.0)
        away = used - box.center
        away /= side
        values[:n] = away.ravel()
        left, top = np.minimum.reduce(used).tolist()
        right, bottom = np.maximum.reduce(used).tolist()
        width, height = size
        margins = left, top, width - 1 - right, height - 1 - bottom
        outside = 0.0
        if left < -0.5 or top < -0.5 or right > width - 0.5 or bottom > height - 0.5:
            outside = float(((used < -0.5) | (used > np.array(size) - 0.5)).any(axis=1).mean())
        near = [min(max(margin / side, -_FAR), _FAR) for margin in margins]
        values[n : n + len(FRAME)] = [math.log2(side), *near, outside]
        values[n + len(FRAME) :] = image_quality(chip)
        return values
