"""Linear scores: owns the features X and turns a risk of scores into a function of weights."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from facereject._settings import check_integer
from facereject._validation import FloatArray
from facereject.risks import Risk, ShapedRisk
from facereject.solver.preconditioner import gram_preconditioner
from facereject.solver.protocols import Preconditioner


class LinearObjective:
    """R(w) = risk(scores(w)), where the scores are linear in the weights.

    The scores come in four layouts; b is the intercept:

    ================  =====================================  ==================================
    scores            meaning                                weights ``w``, in this order
    ================  =====================================  ==================================
    (n,)              ⟨w, xᵢ⟩ + b                            w (d), b
    (n,), blocks      ⟨w_kᵢ, xᵢ⟩ + b_kᵢ, kᵢ = ``blocks[i]``   w_1 (d), …, w_K (d), b_1 … b_K
    (n, K)            ⟨w_k, xᵢ⟩ + b_k                        w_1 (d), …, w_K (d), b_1 … b_K
    (n, K), shared    ⟨w, xᵢ⟩ − b_k                          w (d), b_1 … b_K
    ================  =====================================  ==================================

    Without ``fit_intercept`` the b are absent; shared weights need them.

    Parameters
    ----------
    X : array-like or scipy.sparse matrix, shape (n, d)
        float32 stays float32, which halves memory and the time of a product; its products are then
        rounded to float32.
    risk : Risk
        ``risk(scores) -> (value, gradient)``. One that declares its ``score_shape`` is checked against X.
    blocks : array-like of int, shape (n,), optional
        Which weight block scores example i, for instance its predicted class. Rows are grouped by block
        once; a matrix with K·d columns is never built.
    n_blocks : int, optional
        Number of blocks K; by default one more than the largest in ``blocks``.
    fit_intercept : bool
    n_scores : int, optional
        Scores per example, K. By default what the risk declares (``ShapedRisk``), else one, of shape (n,).
    shared_weights : bool
        The K scores of an example differ by thresholds only, ⟨w, x⟩ − b_k: ordinal regression.
    """

    def __init__(
        self,
        X: Any,
        risk: Risk,
        blocks: Any = None,
        n_blocks: int | None = None,
        fit_intercept: bool = True,
        *,
        n_scores: int | None = None,
        shared_weights: bool = False,
    ):
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        n, self.n_features = X.shape
        self.score_shape = _score_shape(risk, n, n_scores)
        self.risk = risk
        self.fit_intercept = fit_intercept
        self.shared_weights = shared_weights
        if shared_weights and len(self.score_shape) == 1:
            raise ValueError("shared_weights needs several scores per example: pass n_scores")
        if shared_weights and not fit_intercept:
            raise ValueError("fit_intercept must be True for thresholds over shared weights")
        self._slices: list[slice] | None = None
        if blocks is not None:
            if len(self.score_shape) != 1:
                raise ValueError(f"blocks need a risk of one score per example, not {self.score_shape}")
            self._blocks, self.n_blocks = _check_blocks(blocks, n, n_blocks)
            self._order = np.argsort(self._blocks, kind="stable")
            self._row_of_example = np.argsort(self._order)
            X = X[self._order]
            bounds = np.searchsorted(self._blocks[self._order], np.arange(self.n_blocks + 1))
            self._slices = [slice(i, j) for i, j in pairwise(bounds)]
        elif n_blocks is not None:
            raise ValueError("n_blocks is given without blocks")
        else:
            self.n_blocks = 1 if len(self.score_shape) == 1 or shared_weights else self.score_shape[1]
        # csr @ vector is fast, csr.T @ vector a scatter: a transposed copy of its own keeps both gathers
        self.X = X
        self._XT = sp.csr_matrix(X.T) if sp.issparse(X) and self._slices is None else X.T
        self._n_intercepts = self.score_shape[1] if shared_weights else self.n_blocks if fit_intercept else 0

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return int(self.n_blocks * self.n_features + self._n_intercepts)

    @property
    def precision(self) -> float:
        """Unit of rounding of products with X."""
        return float(np.finfo(self.X.dtype).eps)

    def preconditioner(self) -> Preconditioner | None:
        """Inverse of curvature · XᵀX/n + alpha; None above 600 features, where it would not pay."""
        return gram_preconditioner(self)

    def grams(self) -> list[FloatArray]:
        """1/n Σᵢ xᵢ xᵢᵀ over the examples of each block, or one over all examples without blocks.

        Where intercepts belong to blocks of weights, x has a last entry 1 for them.
        """
        grams = []
        for rows in [slice(None)] if self._slices is None else self._slices:
            X = self.X[rows]
            gram = X.T @ X
            gram = np.asarray(gram.toarray() if sp.issparse(gram) else gram, dtype=np.float64)
            if self.fit_intercept and not self.shared_weights:
                sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
                gram = np.block([[gram, sums[:, None]], [sums[None, :], np.full((1, 1), float(X.shape[0]))]])
            grams.append(gram / self.X.shape[0])
        return grams

    def examples_of_blocks(self) -> list[NDArray[np.intp]]:
        """Numbers of the examples that each block of weights scores; all of them without blocks."""
        if self._slices is None:
            return [np.arange(self.score_shape[0])]
        return [self._order[rows] for rows in self._slices]

    def features(self, examples: NDArray[np.intp]) -> FloatArray:
        """What the weights of some examples are multiplied with, as a dense float64 array."""
        rows = self.X[examples if self._slices is None else self._row_of_example[examples]]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)

    def split(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights as (K, d) and intercepts as (K,), or (0,) without them; views into ``w``."""
        if w.shape != (self.n_weights,):
            raise ValueError(f"w must have shape ({self.n_weights},), got {w.shape}")
        n_coefficients = self.n_blocks * self.n_features
        return w[:n_coefficients].reshape(self.n_blocks, self.n_features), w[n_coefficients:]

    def scores(self, w: FloatArray) -> FloatArray:
        """The scores of all examples; linear in ``w``."""
        coefficients, intercepts = self.split(w)
        coefficients = coefficients.astype(self.X.dtype, copy=False)
        if self._slices is not None:
            sorted_scores = np.empty(self.score_shape)
            for rows, row_weights in zip(self._slices, coefficients, strict=True):
                sorted_scores[rows] = self.X[rows] @ row_weights
            scores = np.empty_like(sorted_scores)
            scores[self._order] = sorted_scores
            return scores + intercepts[self._blocks] if self.fit_intercept else scores
        # class by class in memory: maxima and sums over the few classes of an example then run along columns
        product = np.asarray(coefficients @ self._XT, dtype=np.float64)
        if self.shared_weights:
            product = product - intercepts[:, None]
        elif self.fit_intercept:
            product = product + intercepts[:, None]
        return product[0] if len(self.score_shape) == 1 else np.ascontiguousarray(product).T

    def pull_back(self, gradient: FloatArray) -> FloatArray:
        """The gradient in the weights that belongs to a gradient in the scores: the adjoint of ``scores``."""
        w = np.empty(self.n_weights)
        coefficients, intercepts = self.split(w)
        if self._slices is not None:
            sorted_gradient = gradient[self._order].astype(self.X.dtype, copy=False)
            for k, rows in enumerate(self._slices):
                coefficients[k] = self.X[rows].T @ sorted_gradient[rows]
            if self.fit_intercept:
                intercepts[:] = np.bincount(self._blocks, gradient, minlength=self.n_blocks)
            return w
        if self.shared_weights:
            coefficients[0] = self._XT @ gradient.sum(axis=1).astype(self.X.dtype, copy=False)
            intercepts[:] = -gradient.sum(axis=0)
            return w
        columns = gradient.reshape(gradient.shape[0], -1)
        coefficients[:] = np.asarray(self._XT @ columns.astype(self.X.dtype, copy=False)).T
        if self.fit_intercept:
            intercepts[:] = columns.sum(axis=0)
        return w

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Risk and subgradient at the weights ``w``."""
        value, gradient = self.risk(self.scores(w))
        gradient = np.asarray(gradient, dtype=np.float64)
        if gradient.shape != self.score_shape:
            raise ValueError(f"the subgradient must have shape {self.score_shape}, got {gradient.shape}")
        return value, self.pull_back(gradient)


def _score_shape(risk: Risk, n: int, n_scores: int | None) -> tuple[int, ...]:
    """(n,) or (n, K): what the risk declares, or what ``n_scores`` says."""
    if not isinstance(risk, Risk) or isinstance(risk, type):
        what = f"the class {risk.__name__}" if isinstance(risk, type) else type(risk).__name__
        raise TypeError(f"risk must be callable: scores -> (value, gradient); got {what}")
    if isinstance(risk, ShapedRisk):
        shape = risk.score_shape
        if shape[0] != n:
            raise ValueError(f"X has {n} rows, but the risk was built from {shape[0]} examples")
        if n_scores is not None and shape[1:] != (n_scores,):
            raise ValueError(f"n_scores is {n_scores}, but the risk takes scores of shape {shape}")
        return shape
    return (n,) if n_scores is None else (n, check_integer(n_scores, "n_scores", minimum=1))


def _check_blocks(blocks: Any, n: int, n_blocks: int | None) -> tuple[Any, int]:
    array = np.asarray(blocks)
    if array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"blocks must hold one integer per row of X ({n}), got {array.dtype} {array.shape}")
    array = array.astype(np.intp)
    count = int(array.max()) + 1 if n_blocks is None else n_blocks
    if array.min() < 0 or array.max() >= count:
        raise ValueError(f"blocks must lie in 0 … {count - 1}, got {array.min()} to {array.max()}")
    return array, count
