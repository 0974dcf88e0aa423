"""Products with centred rows, compiled by numba; the same functions as in ``_rows_numpy``.

Memory-bound, like BLAS, on one core; nothing but the result is allocated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from facereject.solver._standardized import pieces


def products(X: Any, centre: Any, weights: Any, blocks: Any) -> Any:
    out = np.empty(len(X))
    for rows in _contiguous(X):
        _products(np.ascontiguousarray(X[rows]), centre, weights, blocks[rows], out[rows])
    return out


def sums(X: Any, centre: Any, gradient: Any, blocks: Any, n_blocks: int) -> Any:
    out = np.zeros((n_blocks, X.shape[1]))
    for rows in _contiguous(X):
        _sums(np.ascontiguousarray(X[rows]), centre, gradient[rows], blocks[rows], out)
    return out


def _contiguous(X: Any) -> Any:
    """Return all rows if X is contiguous, else pieces that are cheap to copy."""
    return (slice(None),) if X.flags.c_contiguous else pieces(X)


# fastmath lets the sum use several registers; only the order of its terms changes
@njit(cache=True, fastmath={"reassoc", "contract"})  # type: ignore[untyped-decorator, unused-ignore]
def _products(X: Any, centre: Any, weights: Any, blocks: Any, out: Any) -> None:
    for i in range(X.shape[0]):
        row = weights[blocks[i]]
        total = 0.0
        for j in range(X.shape[1]):
            total += (X[i, j] - centre[j]) * row[j]
        out[i] = total


@njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _sums(X: Any, centre: Any, gradient: Any, blocks: Any, out: Any) -> None:
    for i in range(X.shape[0]):
        row = out[blocks[i]]
        factor = gradient[i]
        for j in range(X.shape[1]):
            row[j] += factor * (X[i, j] - centre[j])
