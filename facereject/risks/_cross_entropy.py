"""Cross-entropy of the softmax of K scores: the risk of multinomial logistic regression."""

from __future__ import annotations

import numpy as np

from facereject._validation import FloatArray
from facereject.risks._base import ClassRisk


class CrossEntropy(ClassRisk):
    """Mean negative log-likelihood of the labels under the softmax of K scores.

    R(s) is the mean of log Σ_y exp(s_y) − s_{yᵢ} over examples i.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Class of each example, 0 … n_classes − 1.
    n_classes : int, optional
        By default one more than the largest label.
    sample_weight : array-like of shape (n,), optional
        Weight ≥ 0 of each example; equal by default. Weights are scaled to sum to 1.

    See Also
    --------
    MulticlassHinge : The risk of support vector machines.
    facereject.predictors.LogisticClassifier : Minimises it over linear scores.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import CrossEntropy
    >>> value, gradient = CrossEntropy([0, 1])(np.zeros((2, 2)))
    >>> round(value, 4), gradient.tolist()
    (0.6931, [[-0.25, 0.25], [0.25, -0.25]])
    """

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        lead = self._lead(scores)
        top = lead.max(axis=1)  # ≥ 0: the lead of the label itself is 0
        gradient = np.exp(lead - top[:, None])
        gradient[self._rows, self.labels] = 0.0
        others, own = gradient.sum(axis=1), np.exp(-top)
        # log1p and the sum of the others keep their digits where the label has almost all probability
        losses = np.where(top > 0, top + np.log(own + others), np.log1p(others))
        gradient *= (self.weights / (own + others))[:, None]
        gradient[self._rows, self.labels] = -gradient.sum(axis=1)
        return float(self.weights @ losses), gradient
