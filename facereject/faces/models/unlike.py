"""How much larger than expected the errors of faces unlike the calibration faces are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject._validation import FloatArray
from facereject.modelfile import ArraySpec

# bounds of the factor: expected errors are never lowered unasked, and no larger factor was seen
_LEAST, _MOST = 1.0, 1.6

_MIN_ERROR = 1e-3


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class UnlikeFactor:
    """True over expected error of a batch that was called unlike the calibration faces.

    With d_j the described columns of a face in standard deviations and e its expected error, the factor of
    the face is a + sum(b_j d_j) + c log e. That of the batch is the mean over its faces, weighted by e, and
    at least 1. It was learned from images of many kinds; how far it is off for a kind left out is ``spread``.
    It is meant for batches that the two-sample test calls unlike: for others expected errors are right.

    Parameters
    ----------
    weights : ndarray of shape (k + 2,), float32
        b for the k described columns, then c and a.
    spread : float
        Standard error of the logarithm of the factor.
    """

    weights: NDArray[np.float32]
    spread: float

    specs: ClassVar[dict[str, ArraySpec]] = {
        "unlike_weights": ("float32", (None,)),
        "unlike_spread": ("float64", (1,)),
    }

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weights).all() and 0 <= self.spread < np.inf):
            raise ValueError("weights and spread of the factor of unlike faces must be finite")

    def __call__(self, described: ArrayLike, expected: ArrayLike) -> float:
        """The factor of a batch.

        Parameters
        ----------
        described : array-like of shape (m, k)
            In standard deviations.
        expected : array-like of shape (m,)
            Expected errors in percent.
        """
        expected = np.maximum(np.asarray(expected, dtype=np.float64), _MIN_ERROR)
        of_faces = regressors(described, expected) @ self.weights.astype(np.float64)
        return float(np.clip(np.average(of_faces, weights=expected), _LEAST, _MOST))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file stores."""
        return {"unlike_weights": self.weights, "unlike_spread": np.array([self.spread])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_described: int) -> UnlikeFactor:
        """The inverse of `arrays`."""
        weights = arrays["unlike_weights"]
        if len(weights) != n_described + 2:
            raise ValueError(f"unlike_weights must have {n_described + 2} values, got {len(weights)}")
        return cls(weights, float(arrays["unlike_spread"][0]))


def regressors(described: ArrayLike, expected: ArrayLike) -> FloatArray:
    """What the factor of a face is linear in: shape (m, k + 2)."""
    described = np.asarray(described, dtype=np.float64)
    logarithm = np.log(np.maximum(np.asarray(expected, dtype=np.float64), _MIN_ERROR))
    return np.column_stack([described, logarithm, np.ones(len(described))])
