"""Regression score: a linear estimate of the loss itself, by ridge regression in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.scores._base import Standardizer
from facereject.scores._linear import LinearScore, LinearScoreCV, Solution
from facereject.scores.confidence import START_ALPHA, Confidence, LinearStart

# rows turned to float64 at once when a Gram matrix is summed
_ROWS = 4096


class RidgePath(LinearScore):
    """Minimises alpha/2 ‖θ‖² + mean (t − s(x))² exactly; all alphas from one factorisation per block."""

    def _path(
        self,
        Z: NDArray[Any],
        target: FloatArray,
        blocks: NDArray[np.intp] | None,
        n_blocks: int,
        sample_weight: FloatArray | None,
        alphas: Sequence[float],
        start: FloatArray | None = None,
    ) -> list[Solution]:
        target = target if start is None else target - start
        weight = np.ones(len(Z)) if sample_weight is None else sample_weight
        weight = weight / weight.sum()
        theta = np.empty((len(alphas), n_blocks, Z.shape[1] + 1))
        for k in range(n_blocks):
            rows = np.arange(len(Z)) if blocks is None else np.flatnonzero(blocks == k)
            theta[:, k] = ridge(Z[rows], target[rows], weight[rows], alphas)
        return [Solution(t[:, :-1].copy(), t[:, -1].copy()) for t in theta]

    def _fit_start(
        self, confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None
    ) -> LinearStart:
        return ridge_start(confidence, target, sample_weight)


def ridge_start(confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None) -> LinearStart:
    """Least squares on the columns about the predictor."""
    weight = np.ones(len(target)) if sample_weight is None else sample_weight
    standardizer = Standardizer.of(confidence.columns, sample_weight)
    theta = ridge(standardizer(confidence.columns), target, weight / weight.sum(), [START_ALPHA])[0]
    return LinearStart.of(confidence.columns, standardizer, theta[:-1], intercept=float(theta[-1]))


def ridge(Z: NDArray[Any], target: FloatArray, weight: FloatArray, alphas: Sequence[float]) -> FloatArray:
    """(w, b) of one block for each alpha: (alpha/2 I + AᵀA) θ = Aᵀ √ω t with A = √ω (Z, 1).

    From the eigenvectors of AᵀA, or of AAᵀ where there are fewer rows than columns. At alpha = 0 directions
    without data get weight zero, which is the limit of alpha → 0.
    """
    n, d = Z.shape
    root = np.sqrt(weight)
    if n <= d:
        A = np.column_stack([Z.astype(np.float64), np.ones(n)]) * root[:, None]
        eigenvalues, vectors = np.linalg.eigh(A @ A.T)
        projected, back = vectors.T @ (root * target), A.T @ vectors
    else:
        gram, right = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
        for start in range(0, n, _ROWS):
            part = slice(start, start + _ROWS)
            A = np.column_stack([Z[part].astype(np.float64), np.ones(len(Z[part]))]) * root[part, None]
            gram += A.T @ A
            right += A.T @ (root[part] * target[part])
        eigenvalues, back = np.linalg.eigh(gram)
        projected = back.T @ right
    floor = max(n, d) * np.finfo(np.float64).eps * max(eigenvalues[-1], 0.0)
    inside = eigenvalues > floor
    denominators = np.maximum(eigenvalues, 0.0) + 0.5 * np.asarray(alphas, np.float64)[:, None]
    shrunk = np.divide(projected, denominators, out=np.zeros(denominators.shape), where=inside)
    return shrunk @ back.T


class RegressionScore(RidgePath):
    """Linear score that estimates the loss: ridge regression (REG in the paper).

        alpha/2 ‖θ‖² + 1/n Σᵢ (ℓᵢ − s(xᵢ))²
        s(x) = ⟨w_k, x⟩ + b_k,  k the predicted class (one block for all without predictions)

    The score has the unit of the losses, and scales with it: alpha is the paper's C whatever the unit.

    Parameters
    ----------
    alpha : float
        Regularisation ≥ 0, of weights and biases alike, on standardised features.
    use_outputs : bool
        As in ``SELEScore``.

    Attributes
    ----------
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_
        See ``LinearScore``.
    """

    def __init__(self, alpha: float = 1e-3, *, use_outputs: bool = True):
        self.alpha = alpha
        self.use_outputs = use_outputs

    def fit(
        self,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        evidence: Any = None,
        offset: Any = None,
    ) -> RegressionScore:
        """Learn the score; parameters as in ``SELEScore.fit``."""
        data = self._check_fit(X, losses, predictions, sample_weight)
        data = self._with_start(data, outputs, evidence, offset)
        self._adopt(self._models(data, [self.alpha])[0])
        return self


class RegressionScoreCV(RidgePath, LinearScoreCV):
    """``RegressionScore`` with alpha picked by validation AuRC, from one factorisation per fold and block.

    Parameters
    ----------
    alphas, cv, random_state, use_outputs
        As in ``SELEScoreCV``.

    Attributes
    ----------
    alpha_, alphas_, validation_aurc_
        As in ``SELEScoreCV``.
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_
        As in ``RegressionScore``.
    """

    def fit(
        self,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        evidence: Any = None,
        offset: Any = None,
        validation: Any = None,
    ) -> RegressionScoreCV:
        """Learn the score and its regularisation; parameters as in ``SELEScoreCV.fit``."""
        data = self._check_fit(X, losses, predictions, sample_weight)
        data = self._with_start(data, outputs, evidence, offset)
        self._select(data, data.target, validation)
        return self
