"""Products with centred rows in plain NumPy: the reference, used where numba is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from facereject.solver._standardized import pieces


def products(X: Any, centre: Any, weights: Any, blocks: Any) -> Any:
    """Compute ⟨weights[blocks[i]], X[i] − centre⟩ for every row i, in float64."""
    out = np.empty(len(X))
    for rows in pieces(X):
        out[rows] = np.einsum("ij,ij->i", X[rows] - centre, weights[blocks[rows]])
    return out


def sums(X: Any, centre: Any, gradient: Any, blocks: Any, n_blocks: int) -> Any:
    """Compute Σ gradient[i] (X[i] − centre) over the rows i of each block, in float64."""
    out = np.zeros((n_blocks, X.shape[1]))
    for rows in pieces(X):
        part = gradient[rows]
        by_block = sp.csr_matrix((part, blocks[rows], np.arange(part.size + 1)), shape=(part.size, n_blocks))
        out += by_block.T @ (X[rows] - centre)
    return out
