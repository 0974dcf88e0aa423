"""A correction of predicted landmarks, linear in the HOG values around them: one more step of a cascade.

A predictor makes errors that its surroundings show: a jaw line beside the edge it should follow, eyebrows off
by a pixel. A ridge regression from the HOG values to the true displacement removes a part of them, for the
cost of two small matrix products. It is learned for one predictor and used with no other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from facereject.faces.geometry import FloatArray, fit_similarity
from facereject.faces.landmarks.point_set import PointSet
from facereject.modelfile import ArraySpec


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class LandmarkCorrection:
    """Moves landmarks by (x W) A + b in the frame of the mean shape, where x are their HOG values.

    Parameters
    ----------
    points : PointSet
    predictor : str
        Fingerprint of the predictor whose landmarks it corrects.
    weights : ndarray of shape (h, r), float32
        W, from the HOG values to r coefficients.
    axes : ndarray of shape (r, 2 n), float32
        A, the displacement of all points, x and y one after the other, for every coefficient.
    offset : ndarray of shape (2 n,), float32
        b.
    """

    points: PointSet
    predictor: str
    weights: NDArray[np.float32]
    axes: NDArray[np.float32]
    offset: NDArray[np.float32]

    specs: ClassVar[dict[str, ArraySpec]] = {
        "correction_weights": ("float32", (None, None)),
        "correction_axes": ("float32", (None, None)),
        "correction_offset": ("float32", (None,)),
    }

    def __post_init__(self) -> None:
        coordinates = 2 * self.points.n
        if self.axes.shape != (self.weights.shape[1], coordinates) or self.offset.shape != (coordinates,):
            shapes = [array.shape for array in (self.weights, self.axes, self.offset)]
            raise ValueError(f"the correction is not one of {self.points.n} points: shapes {shapes}")

    @property
    def n_features(self) -> int:
        """How many HOG values it takes."""
        return len(self.weights)

    @property
    def definition(self) -> dict[str, Any]:
        """What it is, as plain JSON: for the model file, and to tell cached features apart."""
        digest = hashlib.sha256()
        for array in self.arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
        return {"version": 1, "predictor": self.predictor, "digest": digest.hexdigest()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file stores."""
        return {name: getattr(self, name.removeprefix("correction_")) for name in self.specs}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], definition: dict[str, Any], points: PointSet
    ) -> LandmarkCorrection:
        """The inverse of `arrays` and `definition`."""
        tables = {name.removeprefix("correction_"): arrays[name] for name in cls.specs}
        correction = cls(points, str(definition["predictor"]), **tables)
        if correction.definition != definition:
            raise ValueError(f"unknown correction {definition!r}")
        return correction

    def __call__(self, hog: NDArray[np.float32], landmarks: FloatArray) -> FloatArray:
        """The corrected landmarks of a face.

        Parameters
        ----------
        hog : ndarray of shape (h,)
            HOG values at ``landmarks``.
        landmarks : ndarray of shape (n, 2)
        """
        return moved(landmarks, (hog @ self.weights) @ self.axes + self.offset, self.points)


def moved(landmarks: FloatArray, displacement: NDArray[np.floating[Any]], points: PointSet) -> FloatArray:
    """Landmarks moved by a displacement (2 n,) that is given in the frame of the mean shape."""
    frame = fit_similarity(points.mean_shape, landmarks)[:, :2]
    return np.asarray(landmarks + displacement.reshape(-1, 2) @ frame.T, dtype=np.float64)
