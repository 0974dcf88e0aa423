"""Products of a feature matrix with weights, and their adjoints, without copies of the matrix.

With Z = (X − mean) / scale and u = w / scale,

    ⟨w, zᵢ⟩ = ⟨u, xᵢ⟩ − ⟨u, mean⟩          Σ gᵢ zᵢ = (Σ gᵢ xᵢ − mean Σ gᵢ) / scale

so the standardisation can be *folded* into the weights, and BLAS sees X itself. Both differences cancel where
a mean is large beside its scale. Rows are then *centred* one at a time, xᵢ − mean before the product, in
float64. Rows with a block of weights each are read the same way, so that they need not be sorted.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.solver._standardized import PIECE, Standardized, slices

try:  # numba is an optional extra; both modules compute the same products
    from facereject.solver import _rows_numba as kernels
except ImportError:
    from facereject.solver import _rows_numpy as kernels  # type: ignore[no-redef]

# |mean| / scale up to which the standardisation is folded: the digits it may cost
_FOLD = {np.dtype(np.float64): 1e4, np.dtype(np.float32): 8.0}

Blocks = NDArray[np.int32]


def rows_of_blocks(blocks: Blocks, n_blocks: int) -> list[NDArray[np.intp]]:
    """The rows of each block."""
    order = np.argsort(blocks, kind="stable")
    bounds = np.searchsorted(blocks[order], np.arange(n_blocks + 1))
    return [order[i:j] for i, j in pairwise(bounds)]


def make_features(X: Any, blocks: Blocks | None, n_blocks: int) -> Features:
    """Wrap an array, a sparse matrix or a `Standardized` matrix Z with n rows as a linear map.

    ``product`` maps weights (K, d) to ⟨w_k, zᵢ⟩ of shape (K, n), or (n,) where each row has one block k;
    ``adjoint`` a gradient (n, K), or (n,) with blocks, to Σᵢ gᵢₖ zᵢ of shape (K, d); ``grams`` are
    Σᵢ (zᵢ, 1)(zᵢ, 1)ᵀ over the rows of each block, over all rows without blocks; ``precision`` is the unit of
    rounding of these products.
    """
    if sp.issparse(X):
        return SparseFeatures(X) if blocks is None else SparseBlocks(X, blocks, n_blocks)
    if not isinstance(X, Standardized):
        X = Standardized(X, np.zeros(X.shape[1]), np.ones(X.shape[1]))
    if blocks is None and np.abs(X.mean / X.scale).max(initial=0.0) <= _FOLD[X.X.dtype]:
        return FoldedFeatures(X)
    return CentredFeatures(X, blocks, n_blocks)


class FoldedFeatures:
    """All rows at once by BLAS, mean and scale folded into the weights."""

    def __init__(self, Z: Standardized):
        self._Z = Z
        ratio = float(np.abs(Z.mean / Z.scale).max(initial=0.0))
        self.precision = float(np.finfo(Z.X.dtype).eps) * max(1.0, ratio)

    def product(self, weights: FloatArray) -> FloatArray:
        X, mean = self._Z.X, self._Z.mean
        weights = weights / self._Z.scale
        # class by class in memory: maxima and sums over the few classes of an example run along columns
        product = np.asarray(weights.astype(X.dtype, copy=False) @ X.T, dtype=np.float64)
        if mean.any():
            product -= (weights @ mean)[:, None]
        return product

    def adjoint(self, gradient: FloatArray) -> FloatArray:
        X, mean = self._Z.X, self._Z.mean
        columns = _as_columns(gradient)
        out = np.asarray(X.T @ columns.astype(X.dtype, copy=False), dtype=np.float64).T
        if mean.any():
            out = out - np.outer(columns.sum(axis=0), mean)
        return np.asarray(out / self._Z.scale)

    def grams(self) -> list[FloatArray]:
        return [_gram(self._Z, None)]


class CentredFeatures:
    """Row by row in float64, for rows with blocks and for means that are large beside their scale."""

    precision = float(np.finfo(np.float64).eps)

    def __init__(self, Z: Standardized, blocks: Blocks | None, n_blocks: int):
        self._Z, self._n_blocks = Z, n_blocks
        self._given = blocks
        self._blocks = np.zeros(len(Z), np.int32) if blocks is None else blocks

    def product(self, weights: FloatArray) -> FloatArray:
        weights = np.ascontiguousarray(weights / self._Z.scale)
        if self._given is not None:
            return self._product(weights)
        return np.stack([self._product(row[None]) for row in weights])

    def _product(self, weights: FloatArray) -> FloatArray:
        return np.asarray(kernels.products(self._Z.X, self._Z.mean, weights, self._blocks))

    def adjoint(self, gradient: FloatArray) -> FloatArray:
        X, mean = self._Z.X, self._Z.mean
        if self._given is not None:
            out = kernels.sums(X, mean, gradient, self._blocks, self._n_blocks)
        else:
            columns = _as_columns(gradient).T
            out = np.concatenate([kernels.sums(X, mean, column, self._blocks, 1) for column in columns])
        return np.asarray(out / self._Z.scale)

    def grams(self) -> list[FloatArray]:
        if self._given is None:
            return [_gram(self._Z, None)]
        return [_gram(self._Z, rows) for rows in rows_of_blocks(self._given, self._n_blocks)]


class SparseFeatures:
    """A sparse matrix without blocks."""

    def __init__(self, X: Any):
        # products with csr.T scatter; a transposed copy lets both directions gather
        self._X, self._XT = X, sp.csr_matrix(X.T)
        self.precision = float(np.finfo(X.dtype).eps)

    def product(self, weights: FloatArray) -> FloatArray:
        return np.asarray(weights.astype(self._X.dtype, copy=False) @ self._XT, dtype=np.float64)

    def adjoint(self, gradient: FloatArray) -> FloatArray:
        columns = _as_columns(gradient)
        return np.asarray(self._XT @ columns.astype(self._X.dtype, copy=False), dtype=np.float64).T

    def grams(self) -> list[FloatArray]:
        return [_sparse_gram(self._X)]


class SparseBlocks:
    """A sparse matrix with its rows grouped by block."""

    def __init__(self, X: Any, blocks: Blocks, n_blocks: int):
        self._order = np.argsort(blocks, kind="stable")
        self._X = X[self._order]
        bounds = np.searchsorted(blocks[self._order], np.arange(n_blocks + 1))
        self._slices = [slice(i, j) for i, j in pairwise(bounds)]
        self.precision = float(np.finfo(X.dtype).eps)

    def product(self, weights: FloatArray) -> FloatArray:
        weights = weights.astype(self._X.dtype, copy=False)
        out = np.empty(self._X.shape[0])
        for rows, row_weights in zip(self._slices, weights, strict=True):
            out[self._order[rows]] = self._X[rows] @ row_weights
        return out

    def adjoint(self, gradient: FloatArray) -> FloatArray:
        gradient = gradient[self._order].astype(self._X.dtype, copy=False)
        return np.stack([self._X[rows].T @ gradient[rows] for rows in self._slices]).astype(np.float64)

    def grams(self) -> list[FloatArray]:
        return [_sparse_gram(self._X[rows]) for rows in self._slices]


Features = FoldedFeatures | CentredFeatures | SparseFeatures | SparseBlocks


def _as_columns(gradient: FloatArray) -> FloatArray:
    return gradient[:, None] if gradient.ndim == 1 else gradient


def _gram(Z: Standardized, rows: NDArray[np.intp] | None) -> FloatArray:
    d = Z.shape[1]
    gram = np.zeros((d + 1, d + 1))
    # products of thin matrices are slow, hence larger pieces than elsewhere
    for part in slices(len(Z) if rows is None else rows.size, d, 8 * PIECE):
        A = Z[part if rows is None else rows[part]]
        gram[d, :d] += A.sum(axis=0)
        A = A.astype(Z.X.dtype, copy=False)
        gram[:d, :d] += A.T @ A
        gram[d, d] += len(A)
    gram[:d, d] = gram[d, :d]
    return gram


def _sparse_gram(X: Any) -> FloatArray:
    sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
    products = np.asarray((X.T @ X).toarray(), dtype=np.float64)
    return np.block([[products, sums[:, None]], [sums[None, :], np.full((1, 1), float(X.shape[0]))]])
