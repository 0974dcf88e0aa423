"""SELE: the convex proxy ψ of the area under the risk-coverage curve, over all pairs of examples."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from facereject._validation import FloatArray, check_vector
from facereject.risks._base import check_scores, check_weights
from facereject.risks._pairs import pair_sum


class SELE:
    """Convex proxy of the area under the risk-coverage curve (AuRC).

    ψ(s) = 1/n² Σᵢ Σⱼ ℓᵢ log(1 + exp(sⱼ − sᵢ)), pairs i = j included. By default the sum runs over all n²
    pairs, exactly, in time O(n) (``facereject.risks._pairs``).

    Parameters
    ----------
    losses : array-like of shape (n,)
        Loss ≥ 0 of the predictor on each example.
    sample_weight : array-like of shape (n,), optional
        A pair counts with the product of its two weights, and n² becomes the square of their sum: an
        integer weight equals repeating the example.
    chunk_size : int, optional
        Use the paper's approximation: split the examples at random into round(n / chunk_size) chunks and
        average ψ over them (weighted by their share of ``sample_weight``), without pairs across chunks. It is
        slower than the exact sum, and there for comparison.
    random_state : int, RandomState or None
        Draws the chunks; unused without ``chunk_size``.

    See Also
    --------
    facereject.scores.SELEScore : Minimises it over linear uncertainty scores.
    facereject.scores.BoostedSELEScore : Minimises it over boosted trees.
    facereject.metrics.aurc : The area it approximates.

    References
    ----------
    V. Franc, D. Průša, V. Voráček: Optimal strategies for reject option classifiers. Journal of Machine
    Learning Research 24, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import SELE
    >>> risk = SELE([0.0, 0.0, 1.0])
    >>> good, bad = risk(np.array([-1.0, -1.0, 2.0])), risk(np.array([1.0, 1.0, -2.0]))
    >>> round(good[0], 3), round(bad[0], 3)
    (0.088, 0.754)
    """

    def __init__(
        self,
        losses: Any,
        sample_weight: Any = None,
        *,
        chunk_size: int | None = None,
        random_state: Any = None,
    ):
        self.losses = check_vector(losses, "losses", non_negative=True).copy()
        self.weights = check_weights(sample_weight, self.losses.size)
        self.score_shape: tuple[int, ...] = (self.losses.size,)
        self.chunk_size = chunk_size
        self._chunks: list[NDArray[np.intp]] | None = None
        if chunk_size is not None:
            if not isinstance(chunk_size, numbers.Integral) or chunk_size < 1:
                raise ValueError(f"chunk_size must be an integer of at least 1, got {chunk_size}")
            order = check_random_state(random_state).permutation(self.losses.size)
            self._chunks = np.array_split(order, max(1, round(self.losses.size / chunk_size)))

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        scores = self._check(scores)
        if self._chunks is not None:
            return self._chunked(scores, self._chunks)
        total = pair_sum(scores, self.losses, self.weights)
        return total.value, total.gradient

    def with_curvature(self, scores: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Compute value, gradient and the second derivative in each score.

        The curvature Σᵢ ℓᵢ σ'(s_k − sᵢ) + ℓ_k Σⱼ σ'(sⱼ − s_k), over n², counts the pair of an example with
        itself. That adds ℓ_k/(2n²) to the diagonal of the Hessian and keeps it positive where ℓ_k is.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Where to compute them.

        Returns
        -------
        value : float
            ψ.
        gradient, curvature : ndarray of shape (n,)
            First and second derivatives.
        """
        if self._chunks is not None:
            raise ValueError("with_curvature needs all pairs: leave chunk_size out")
        total = pair_sum(self._check(scores), self.losses, self.weights, curvature=True)
        assert total.curvature is not None
        return total.value, total.gradient, total.curvature

    def _check(self, scores: FloatArray) -> FloatArray:
        scores = check_scores(scores, self.score_shape)
        if not np.isfinite(scores).all():
            raise ValueError("scores must be finite")
        return scores

    def _chunked(self, scores: FloatArray, chunks: list[NDArray[np.intp]]) -> tuple[float, FloatArray]:
        value, gradient = 0.0, np.zeros_like(scores)
        for chunk in chunks:
            weights = self.weights[chunk]
            mass = float(weights.sum())
            if mass > 0:
                chunk_value, slope = _pairs_directly(scores[chunk], self.losses[chunk], weights / mass)
                value += mass * chunk_value
                gradient[chunk] = mass * slope
        return value, gradient


def _pairs_directly(scores: FloatArray, losses: FloatArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """Compute ψ by its definition, all pairs at once; memory grows with the square of the number."""
    difference = scores[None, :] - scores[:, None]
    shrink = np.exp(-np.abs(difference))
    softplus = np.log1p(shrink) + np.maximum(difference, 0.0)
    sigmoid = np.where(difference >= 0, 1.0, shrink) / (1.0 + shrink)
    weighted = weights * losses
    return float(weighted @ softplus @ weights), weights * (weighted @ sigmoid) - weighted * (
        sigmoid @ weights
    )
