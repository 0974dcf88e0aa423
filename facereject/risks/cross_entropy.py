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
        top = scores.max(axis=1)
        gradient = np.exp(scores - top[:, None])
        total = gradient.sum(axis=1)
        losses = np.log(total) + (top - scores[self._rows, self.labels])
        gradient *= (self.weights / total)[:, None]
        gradient[self._rows, self.labels] -= self.weights
        return float(self.weights @ losses), gradient
