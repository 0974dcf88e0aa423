"""The linear objective: owns the features X and turns a risk of scores into a function of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from facereject._validation import FloatArray, check_integer
from facereject.risks import Risk
from facereject.risks._base import ShapedRisk, check_answer
from facereject.solver._features import Blocks, make_features, rows_of_blocks
from facereject.solver._preconditioner import gram_preconditioner
from facereject.solver._protocols import Preconditioner
from facereject.solver._standardized import Standardized


class LinearObjective:
    """A risk of linear scores as a function of the weights: R(w) = risk(scores(w)).

    The scores have one of four layouts; b is the intercept:

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
    X : array-like, scipy.sparse matrix or Standardized, shape (n, d)
        Features. float32 stays float32, which halves memory and the time of a product; products are then
        rounded to float32. ``Standardized(X, mean, scale)`` stands for (X − mean) / scale, which is never
        computed as a whole.
    risk : Risk
        ``risk(scores) -> (value, gradient)``. If it has a ``score_shape``, that is checked against X.
    blocks : array-like of int, shape (n,), optional
        The block of weights that scores example i, for instance its predicted class. A matrix with K·d
        columns is never built.
    n_blocks : int, optional
        Number of blocks K; by default one more than the largest in ``blocks``.
    fit_intercept : bool
        Whether the scores have intercepts.
    n_scores : int, optional
        Scores per example, K. By default as the risk's ``score_shape`` says, else scores have shape (n,).
    shared_weights : bool
        The K scores of an example differ by thresholds only, ⟨w, x⟩ − b_k: ordinal regression.

    See Also
    --------
    bundle_minimize : Minimises it with regularisation.
    facereject.risks.Risk : What a risk is.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import SquaredError
    >>> from facereject.solver import LinearObjective
    >>> objective = LinearObjective(np.array([[0.0], [1.0]]), SquaredError([1.0, 3.0]))
    >>> objective(np.array([1.0, 1.0]))  # slope and intercept
    (0.5, array([-1., -1.]))
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
        features = X
        if isinstance(X, Standardized):
            X = X.X
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
        self._blocks: Blocks | None = None
        if blocks is not None:
            if len(self.score_shape) != 1:
                raise ValueError(f"blocks need a risk of one score per example, not {self.score_shape}")
            self._blocks, self.n_blocks = _check_blocks(blocks, n, n_blocks)
        elif n_blocks is not None:
            raise ValueError("n_blocks is given without blocks")
        else:
            self.n_blocks = 1 if len(self.score_shape) == 1 or shared_weights else self.score_shape[1]
        self.X = features if isinstance(features, Standardized) else X
        self._features = make_features(self.X, self._blocks, self.n_blocks)
        self._n_intercepts = self.score_shape[1] if shared_weights else self.n_blocks if fit_intercept else 0

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return int(self.n_blocks * self.n_features + self._n_intercepts)

    @property
    def precision(self) -> float:
        """Unit of rounding of the scores and of ``pull_back``."""
        return self._features.precision

    def preconditioner(self) -> Preconditioner | None:
        """Make an approximate inverse of the Hessian, (curvature · XᵀX/n + alpha)⁻¹.

        Returns
        -------
        solve : callable (v, curvature, alpha) -> array, or None
            None above 600 features, where it would cost more than it saves.
        """
        return gram_preconditioner(self)

    def grams(self) -> list[FloatArray]:
        """Compute 1/n Σᵢ xᵢ xᵢᵀ over the examples of each block.

        Returns
        -------
        grams : list of ndarray of shape (d, d) or (d + 1, d + 1)
            One over all examples without blocks. Where each block has an intercept, x ends with a 1.
        """
        size = self.n_features + (self.fit_intercept and not self.shared_weights)
        return [gram[:size, :size] / self.score_shape[0] for gram in self._features.grams()]

    def examples_of_blocks(self) -> list[NDArray[np.intp]]:
        """List the examples that each block of weights scores.

        Returns
        -------
        examples : list of ndarray of int
            Row numbers; one array of all rows without blocks.
        """
        if self._blocks is None:
            return [np.arange(self.score_shape[0])]
        return rows_of_blocks(self._blocks, self.n_blocks)

    def features(self, examples: NDArray[np.intp]) -> FloatArray:
        """Copy the features of some examples to a dense array.

        Parameters
        ----------
        examples : ndarray of int
            Row numbers.

        Returns
        -------
        rows : ndarray of shape (number of examples, d)
            Standardised, if X is.
        """
        rows: Any = self.X[examples]
        return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)

    def split(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Split the weight vector into coefficients and intercepts.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            All weights.

        Returns
        -------
        coefficients : ndarray of shape (K, d)
            A view into ``w``.
        intercepts : ndarray of shape (K,) or (0,)
            A view into ``w``.
        """
        if w.shape != (self.n_weights,):
            raise ValueError(f"w must have shape ({self.n_weights},), got {w.shape}")
        n_coefficients = self.n_blocks * self.n_features
        return w[:n_coefficients].reshape(self.n_blocks, self.n_features), w[n_coefficients:]

    def scores(self, w: FloatArray) -> FloatArray:
        """Compute the scores of all examples.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            All weights.

        Returns
        -------
        scores : ndarray of shape ``score_shape``
            Linear in ``w``.
        """
        coefficients, intercepts = self.split(w)
        product = self._features.product(coefficients)
        if self._blocks is not None:
            if self.fit_intercept:
                product += intercepts[self._blocks]
            return product
        if self.shared_weights:
            product = product - intercepts[:, None]
        elif self.fit_intercept:
            product += intercepts[:, None]
        return product[0] if len(self.score_shape) == 1 else np.ascontiguousarray(product).T

    def pull_back(self, gradient: FloatArray) -> FloatArray:
        """Turn a gradient in the scores into one in the weights: the adjoint of ``scores``.

        Parameters
        ----------
        gradient : ndarray of shape ``score_shape``
            Gradient in the scores.

        Returns
        -------
        gradient : ndarray of shape (n_weights,)
            Gradient in the weights.
        """
        w = np.empty(self.n_weights)
        coefficients, intercepts = self.split(w)
        summed = gradient.sum(axis=1) if self.shared_weights else gradient
        coefficients[:] = self._features.adjoint(summed)
        if self.shared_weights:
            intercepts[:] = -gradient.sum(axis=0)
        elif self._blocks is not None and self.fit_intercept:
            intercepts[:] = np.bincount(self._blocks, gradient, minlength=self.n_blocks)
        elif self.fit_intercept:
            intercepts[:] = gradient.sum(axis=0)
        return w

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Compute risk and subgradient at the weights ``w``."""
        value, gradient = check_answer(self.risk(self.scores(w)), self.score_shape)
        return value, self.pull_back(gradient)


def _score_shape(risk: Risk, n: int, n_scores: int | None) -> tuple[int, ...]:
    """Return (n,) or (n, K), as the risk or ``n_scores`` says."""
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


def _check_blocks(blocks: Any, n: int, n_blocks: int | None) -> tuple[Blocks, int]:
    array = np.asarray(blocks)
    if array.shape != (n,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"blocks must hold one integer per row of X ({n}), got {array.dtype} {array.shape}")
    count = int(array.max()) + 1 if n_blocks is None else n_blocks
    if array.min() < 0 or array.max() >= count:
        raise ValueError(f"blocks must lie in 0 … {count - 1}, got {array.min()} to {array.max()}")
    return array.astype(np.int32, copy=False), count
