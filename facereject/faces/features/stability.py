"""Stability of a prediction: how far each landmark moves when the box moves a little.

A predictor that finds the same points from neighbouring boxes usually sees them; one that guesses follows the
box. The price is one more prediction per perturbed box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import Box
from facereject.faces.features.definition import DefinedFeatures
from facereject.faces.geometry import FloatArray
from facereject.faces.images.load import ImageArray
from facereject.faces.landmarks.base import Landmarks, predict_landmarks
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet

# keeps the logarithm finite where nothing moves: 0.1 % of the face's scale, far below one pixel
_FLOOR = 1e-3


@dataclass(frozen=True)
class LandmarkStability(DefinedFeatures):
    """Log mean displacement of each landmark under six perturbed boxes.

    value_i = log(0.001 + mean_k ||p_i(box_k) - p_i(box)|| / d), with d the length that normalises errors,
    measured on the prediction: for 68 points the distance of the outer eye corners. The boxes are shifted by
    ``shift`` of their size left, right, up and down, and scaled by ``scale`` and 1 / ``scale``.

    Parameters
    ----------
    shift : float, default=0.06
        Between 0 and 1.
    scale : float, default=1.08
        Between 1 and 2.
    points : PointSet, default=the 68 points of 300-W
    """

    shift: float = 0.06
    scale: float = 1.08
    points: PointSet = POINTS_300W

    def __post_init__(self) -> None:
        # NaN fails both comparisons
        if not 0 < self.shift < 1:
            raise ValueError(f"shift must lie between 0 and 1, got {self.shift}")
        if not 1 < self.scale < 2:
            raise ValueError(f"scale must lie between 1 and 2, got {self.scale}")

    @property
    def n_features(self) -> int:
        """Length of the vector: one value per landmark that is used."""
        return self.points.n_used

    def boxes(self, box: Box) -> list[Box]:
        """The six perturbed boxes."""
        x, y = box.center
        moves = [(-self.shift, 0.0), (self.shift, 0.0), (0.0, -self.shift), (0.0, self.shift)]
        changes = [(dx, dy, 1.0) for dx, dy in moves] + [(0.0, 0.0, self.scale), (0.0, 0.0, 1 / self.scale)]
        return [
            Box(
                x + dx * box.width - zoom * box.width / 2,
                y + dy * box.height - zoom * box.height / 2,
                zoom * box.width,
                zoom * box.height,
            )
            for dx, dy, zoom in changes
        ]

    def __call__(
        self, image: ImageArray, box: Box, landmarks: FloatArray, predictor: Landmarks
    ) -> NDArray[np.float32]:
        """The values for ``landmarks = predictor(image, box)``.

        Raises NoLandmarksError if the predictor fails on a perturbed box.
        """
        n, chosen = self.points.n, self.points.chosen
        moved = [chosen(predict_landmarks(predictor, image, other, n)) for other in self.boxes(box)]
        distance = np.linalg.norm(np.array(moved) - chosen(landmarks), axis=2).mean(axis=0)
        # a collapsed prediction has no size; one pixel keeps the ratio large and finite
        size = max(self.points.scale(landmarks), 1.0)
        return np.asarray(np.log(_FLOOR + distance / size), dtype=np.float32)
