"""Squared error of one score per example: the risk of ridge regression, REG and TCP."""

from __future__ import annotations

from typing import Any

from facereject._validation import FloatArray, check_vector
from facereject.risks._base import check_scores, check_weights


class SquaredError:
    """Mean squared error of one score per example.

    Parameters
    ----------
    targets : array-like of shape (n,)
        What the scores should be.
    sample_weight : array-like of shape (n,), optional
        Weight ≥ 0 of each example; equal by default. Weights are scaled to sum to 1.

    See Also
    --------
    facereject.solver.ridge_path : Minimises it over linear scores in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import SquaredError
    >>> SquaredError([1.0, 3.0])(np.array([1.0, 1.0]))
    (2.0, array([ 0., -2.]))
    """

    def __init__(self, targets: Any, sample_weight: Any = None):
        self.targets = check_vector(targets, "targets")
        self.weights = check_weights(sample_weight, self.targets.size)
        self.score_shape: tuple[int, ...] = (self.targets.size,)

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        error = check_scores(scores, self.score_shape) - self.targets
        weighted = self.weights * error
        return float(weighted @ error), 2.0 * weighted
