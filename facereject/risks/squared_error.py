"""Squared error of one score per example: the risk of ridge regression, REG and TCP."""

from __future__ import annotations

from typing import Any

from facereject._validation import FloatArray, check_vector
from facereject.risks._base import check_scores, check_weights


class SquaredError:
    """Mean of (tᵢ − sᵢ)².

    Parameters
    ----------
    targets : array-like of shape (n,)
    sample_weight : array-like of shape (n,), optional
    """

    def __init__(self, targets: Any, sample_weight: Any = None):
        self.targets = check_vector(targets, "targets")
        self.weights = check_weights(sample_weight, self.targets.size)
        self.score_shape: tuple[int, ...] = (self.targets.size,)

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        error = check_scores(scores, self.score_shape) - self.targets
        weighted = self.weights * error
        return float(weighted @ error), 2.0 * weighted
