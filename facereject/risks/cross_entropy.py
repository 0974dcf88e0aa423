"""Cross-entropy of the softmax of K scores: the risk of multinomial logistic regression."""

from __future__ import annotations

import numpy as np

from facereject._validation import FloatArray
from facereject.risks._base import ClassRisk


class CrossEntropy(ClassRisk):
    """Mean of log Σ_y exp(s_y) − s_{yᵢ}: the negative log-likelihood of the labels.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Class of each example, 0 … n_classes − 1.
    n_classes : int, optional
        By default one more than the largest label.
    sample_weight : array-like of shape (n,), optional
    """

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        lead = self._lead(scores)
        top = lead.max(axis=1)  # ≥ 0, as the label itself is 0 ahead
        gradient = np.exp(lead - top[:, None])
        gradient[self._rows, self.labels] = 0.0
        others, own = gradient.sum(axis=1), np.exp(-top)
        # log1p and the sum of the others keep their digits where the label has almost all probability
        losses = np.where(top > 0, top + np.log(own + others), np.log1p(others))
        gradient *= (self.weights / (own + others))[:, None]
        gradient[self._rows, self.labels] = -gradient.sum(axis=1)
        return float(self.weights @ losses), gradient
