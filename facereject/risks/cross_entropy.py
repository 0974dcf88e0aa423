"""Cross-entropy of the softmax of K scores: the risk of multinomial logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from facereject._validation import FloatArray
from facereject.risks._base import check_labels, check_scores, check_weights


class CrossEntropy:
    """Mean of log Σ_y exp(s_y) − s_{yᵢ}: the negative log-likelihood of the labels.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Class of each example, 0 … n_classes − 1.
    n_classes : int
    sample_weight : array-like of shape (n,), optional
    """

    shares_weights = False

    def __init__(self, labels: Any, n_classes: int, sample_weight: Any = None):
        self.labels = check_labels(labels, n_classes)
        self.weights = check_weights(sample_weight, self.labels.size)
        self.score_shape: tuple[int, ...] = (self.labels.size, n_classes)
        self._rows = np.arange(self.labels.size)

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        scores = check_scores(scores, self.score_shape)
        ahead = scores - scores[self._rows, self.labels][:, None]
        top = ahead.max(axis=1)  # ≥ 0, as the label itself is 0 ahead
        gradient = np.exp(ahead - top[:, None])
        gradient[self._rows, self.labels] = 0.0
        others, own = gradient.sum(axis=1), np.exp(-top)
        # log1p and the sum of the others keep their digits where the label has almost all probability
        losses = np.where(top > 0, top + np.log(own + others), np.log1p(others))
        gradient *= (self.weights / (own + others))[:, None]
        gradient[self._rows, self.labels] = -gradient.sum(axis=1)
        return float(self.weights @ losses), gradient
