"""Standardised features without a standardised copy: column moments, and rows on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray

# numbers of X converted to float64 at once: half a megabyte fits in the processor's cache
PIECE = 2**16


class Standardized:
    """The matrix Z = (X − mean) / scale, computed for the requested rows only.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64
    mean, scale : ndarrays of shape (d,)
    """

    def __init__(self, X: NDArray[Any], mean: FloatArray, scale: FloatArray):
        self.X, self.mean, self.scale = X, mean, scale
        self.shape: tuple[int, int] = X.shape[0], X.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> FloatArray:
        """Compute some rows, given by a slice or by positions, in float64."""
        Z: FloatArray = self.X[rows] - self.mean
        Z /= self.scale
        return Z


class ColumnMoments(NamedTuple):
    """Weighted moments of the columns of a set of rows; those of several sets can be merged."""

    mass: float  # Σ ω
    mean: FloatArray  # Σ ω x / Σ ω
    spread: FloatArray  # Σ ω (x − mean)²

    @classmethod
    def of(cls, X: NDArray[Any], weight: FloatArray | None = None) -> ColumnMoments:
        """Compute the moments of all rows, piece by piece in float64."""
        return cls.merge((cls._of_piece(X[rows], _part(weight, rows)) for rows in pieces(X)), X.shape[1])

    @classmethod
    def _of_piece(cls, X: NDArray[Any], weight: FloatArray | None) -> ColumnMoments:
        # after a shift by one row a constant column has spread 0 exactly, and a large mean costs no digits
        first = X[0].astype(np.float64)
        shifted = X - first
        if weight is None:
            weight = np.ones(len(X))
        mass = float(weight.sum())
        if mass == 0:
            return cls(0.0, first, np.zeros_like(first))
        mean = weight @ shifted / mass
        shifted -= mean
        return cls(mass, first + mean, weight @ np.square(shifted))

    @classmethod
    def merge(cls, parts: Iterable[ColumnMoments], n_columns: int) -> ColumnMoments:
        """Combine the moments of several parts by the update of Chan, Golub and LeVeque."""
        total = cls(0.0, np.zeros(n_columns), np.zeros(n_columns))
        for part in parts:
            if total.mass == 0:
                total = part
            elif part.mass > 0:
                mass = total.mass + part.mass
                step = part.mean - total.mean
                spread = total.spread + part.spread + np.square(step) * (total.mass * (part.mass / mass))
                total = cls(mass, total.mean + step * (part.mass / mass), spread)
        return total

    def deviation(self) -> FloatArray:
        """Compute the standard deviation (divisor Σ ω) of each column; 1 where it is zero up to rounding."""
        deviation = np.sqrt(self.spread / self.mass)
        noise = 64 * np.finfo(np.float64).eps * np.abs(self.mean)
        return np.where(deviation <= noise, 1.0, deviation)


def pieces(X: NDArray[Any]) -> Iterator[slice]:
    """Cut the rows of a matrix into slices that fit in the cache."""
    return slices(X.shape[0], X.shape[1])


def slices(n_rows: int, n_columns: int, piece: int = PIECE) -> Iterator[slice]:
    """Cut ``n_rows`` rows into slices of about ``piece`` numbers."""
    size = max(1, piece // max(1, n_columns))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def _part(weight: FloatArray | None, rows: slice) -> FloatArray | None:
    return None if weight is None else weight[rows]
