"""Hinge risk of ordinal regression: SVOR with implicit constraints, which bounds the absolute error."""

from __future__ import annotations

from typing import Any

import numpy as np

from facereject._validation import FloatArray
from facereject.risks._base import check_labels, check_scores, check_weights


class OrdinalHinge:
    """Mean hinge loss of ordinal regression, an upper bound of the mean absolute error.

    R(s) is the mean over examples of Σ_{y < yᵢ} max(0, 1 − s_y) + Σ_{y ≥ yᵢ} max(0, 1 + s_y). The scores are
    sᵢ_y = ⟨w, xᵢ⟩ − b_y for the Y − 1 thresholds b (``shared_weights`` of ``LinearObjective``): an example
    should lie above every threshold below its label and below the others, each by a margin of one.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Ordered class of each example, 0 … n_classes − 1.
    n_classes : int, optional
        By default one more than the largest label.
    sample_weight : array-like of shape (n,), optional
        Weight ≥ 0 of each example; equal by default. Weights are scaled to sum to 1.

    See Also
    --------
    facereject.predictors.OrdinalSVM : Minimises it over linear scores.

    References
    ----------
    W. Chu, S. S. Keerthi: Support vector ordinal regression. Neural Computation 19, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import OrdinalHinge
    >>> value, gradient = OrdinalHinge([0, 2])(np.array([[-1.0, -2.0], [1.0, 0.5]]))
    >>> value, gradient.sum(axis=0).tolist()
    (0.25, [0.0, -0.5])
    """

    def __init__(self, labels: Any, n_classes: int | None = None, sample_weight: Any = None):
        self.labels, n_classes = check_labels(labels, n_classes)
        self.weights = check_weights(sample_weight, self.labels.size)
        self.score_shape: tuple[int, ...] = (self.labels.size, n_classes - 1)
        # one threshold after the other in memory, like the scores of LinearObjective
        self._signs = np.where(np.arange(n_classes - 1)[:, None] < self.labels, 1.0, -1.0).T

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        slack = 1.0 - self._signs * check_scores(scores, self.score_shape)
        active = (slack > 0) * self.weights[:, None]
        return float(np.vdot(active.T, slack.T)), -active * self._signs
