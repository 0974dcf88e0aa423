"""The most likely cause of a large error: a linear model on compact columns and their squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import CAUSES
from facereject.modelfile import ArraySpec

FloatArray = NDArray[np.float64]

# standard deviations beyond which a column says no more
_FAR = 3.0


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class CauseModel:
    """Log-odds of every cause of `CAUSES`, in that order: linear in standardised columns and their squares.

    Parameters
    ----------
    mean, scale : ndarray of shape (c,), float32
        Of the columns.
    weights : ndarray of shape (2 c + 1, k), float32
        The last row is the constant.
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: NDArray[np.float32]

    specs: ClassVar[dict[str, ArraySpec]] = {
        "cause_mean": ("float32", (None,)),
        "cause_scale": ("float32", (None,)),
        "cause_weights": ("float32", (None, len(CAUSES))),
    }

    def __call__(self, columns: NDArray[np.float32]) -> FloatArray:
        """Log-odds, shape (n, k)."""
        terms = cause_terms((columns - self.mean) / self.scale)
        return np.asarray(terms @ self.weights, dtype=np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name.removeprefix("cause_")) for name in self.specs}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_columns: int) -> CauseModel:
        model = cls(**{name.removeprefix("cause_"): arrays[name] for name in cls.specs})
        widths = (len(model.mean), len(model.scale), len(model.weights))
        if widths != (n_columns, n_columns, 2 * n_columns + 1) or not (model.scale > 0).all():
            raise ValueError(f"the causes are for {len(model.mean)} columns, there are {n_columns}")
        return model


def cause_terms(standard: NDArray[np.float32]) -> NDArray[np.float32]:
    """Standardised columns within three standard deviations, their squares, and one."""
    near = np.clip(standard, -_FAR, _FAR)
    return np.concatenate([near, near * near, np.ones((len(near), 1))], axis=1, dtype=np.float32)
