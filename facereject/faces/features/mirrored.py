"""Stability of a prediction against mirroring and turning the face, and the mean of all runs.

A predictor that sees a landmark places it alike in a mirrored and turned copy; one that guesses does not. The
copy is levelled by the landmarks of an earlier run, and its box fits them: a tilted face or a poor box is
seen better the second time. The mean of the runs is a better estimate than the first one. The price is one
more prediction per angle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces.features.definition import DefinedFeatures
from facereject.faces.geometry import FloatArray, fit_similarity
from facereject.faces.images.load import ImageArray
from facereject.faces.landmarks.base import Landmarks
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet, mirror_partners
from facereject.faces.landmarks.turned import predict_turned

#: the further runs of the model `thorough`, in degrees
THOROUGH_ANGLES = (0.0, 8.0, -8.0, -8.0, 8.0)

# keeps the logarithm finite where the runs agree: 0.1 % of the face's scale, far below one pixel
_FLOOR = 1e-3

# distance of the first run from the others, in the length that normalises errors, at which it counts half
_FIRST_OFF = 0.05


class Runs(NamedTuple):
    """The mean of all predictions, and what their differences say: values of `MirroredRuns`."""

    landmarks: FloatArray
    values: NDArray[np.float32]


@dataclass(frozen=True)
class MirroredRuns(DefinedFeatures):
    """More predictions on mirrored and turned images: log distances between them, and their mean.

    With p_0 the prediction itself, p_1 ... p_K those on images that are mirrored, levelled by p_0, turned
    by ``angles``, and brought back, and d the length that normalises errors:

        values = log(0.001 + ||mean_k>0 p_k - p_0|| / d),  log(0.001 + mean_k>0 ||p_k - mean_k>0 p_k|| / d)

    for every point that is used. Where the mean shape of the points is not symmetric, the images are only
    turned. Images are turned at their own resolution, as far as the box is at most 300 pixels large.

    Parameters
    ----------
    angles : tuple of float, default=(10, -15)
        In degrees, between -45 and 45; one run each, at most eight.
    points : PointSet, default=the 68 points of 300-W
    """

    angles: tuple[float, ...] = (10.0, -15.0)
    points: PointSet = POINTS_300W

    def __post_init__(self) -> None:
        angles = tuple(float(angle) for angle in self.angles)
        # NaN fails the comparison
        if not 1 <= len(angles) <= 8 or not all(-45 <= angle <= 45 for angle in angles):
            raise ValueError(f"angles must be one to eight numbers between -45 and 45, got {self.angles!r}")
        object.__setattr__(self, "angles", angles)

    @property
    def n_features(self) -> int:
        """Length of the vector: two values per landmark that is used."""
        return 2 * self.points.n_used

    def __call__(self, image: ImageArray, landmarks: FloatArray, predictor: Landmarks) -> Runs:
        """The runs for the landmarks of a face in ``image``, in the colours that the predictor asks for.

        Raises NoLandmarksError if the predictor fails on a turned image.
        """
        more = np.array([self._run(predictor, image, landmarks, angle, True) for angle in self.angles])
        together = (landmarks + more.sum(axis=0)) / (len(more) + 1)
        return Runs(together, self._values(landmarks, more))

    def _run(
        self, predictor: Landmarks, image: ImageArray, near: FloatArray, angle: float, mirrored: bool
    ) -> FloatArray:
        """A prediction on a copy that is levelled by some landmarks and turned by an angle."""
        partners = mirror_partners(self.points) if mirrored else None
        frame = fit_similarity(self.points.mean_shape, near)
        tilt = float(np.degrees(np.arctan2(frame[1, 0], frame[0, 0])))
        # what levels an image turns its mirror image the other way
        level = -tilt if partners is None else tilt
        box, n = self.points.box_of(near), self.points.n
        return predict_turned(predictor, image, box, level + angle, n, partners)

    def _values(self, landmarks: FloatArray, more: FloatArray) -> NDArray[np.float32]:
        mean = more.mean(axis=0)
        chosen = self.points.chosen
        # a collapsed prediction has no size; one pixel keeps the ratio large and finite
        size = max(self.points.scale(landmarks), 1.0)
        moved = np.linalg.norm(chosen(mean - landmarks), axis=1)
        spread = np.linalg.norm(more - mean, axis=2).mean(axis=0)
        spread = spread if self.points.used is None else spread[list(self.points.used)]
        values = np.log(_FLOOR + np.concatenate([moved, spread]) / size)
        return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True)
class RefinedRuns(MirroredRuns):
    """More predictions on copies levelled by better landmarks: log distances between them, a robust mean.

    The second run is on a mirrored copy, levelled by the first prediction p_0; the others are on copies
    levelled by the mean of these two, every other one mirrored. The mean weights every run by 1, the first by

        w = 1 / (1 + (d / 0.05)^2),  d = mean distance of p_0 and the mean of the others,

    in the length that normalises errors: its box came from the detector, those of the others from landmarks,
    so that the others are right where they differ. The values are those of `MirroredRuns`.

    Parameters
    ----------
    angles : tuple of float, default=(0,)
        In degrees, between -45 and 45; one run each, at most eight.
    points : PointSet, default=the 68 points of 300-W

    Examples
    --------
    >>> from facereject.faces import RefinedRuns
    >>> RefinedRuns().definition
    {'name': 'RefinedRuns', 'version': 1, 'angles': [0.0]}
    """

    angles: tuple[float, ...] = (0.0,)

    def __call__(self, image: ImageArray, landmarks: FloatArray, predictor: Landmarks) -> Runs:
        """The runs for the landmarks of a face in ``image``, in the colours that the predictor asks for.

        Raises NoLandmarksError if the predictor fails on a copy.
        """
        together, runs = landmarks, []
        for number, angle in enumerate(self.angles):
            runs.append(self._run(predictor, image, together, angle, number % 2 == 0))
            # the copies of all further runs are levelled by the first two
            if number in (0, len(self.angles) - 1):
                together = self._mean(landmarks, np.array(runs))
        return Runs(together, self._values(landmarks, np.array(runs)))

    def _mean(self, landmarks: FloatArray, more: FloatArray) -> FloatArray:
        """The mean of all runs, in which the first counts less the further it is off the others."""
        size = max(self.points.scale(landmarks), 1.0)
        off = float(np.linalg.norm(more.mean(axis=0) - landmarks, axis=1).mean()) / size
        weight = 1 / (1 + (off / _FIRST_OFF) ** 2)
        return np.asarray((weight * landmarks + more.sum(axis=0)) / (weight + len(more)))
