"""Hinge risks of support vector machines: binary, and multi-class after Crammer and Singer."""

from __future__ import annotations

from typing import Any

import numpy as np

from facereject._validation import FloatArray, check_vector
from facereject.risks._base import ClassRisk, check_scores, check_weights


class BinaryHinge:
    """Mean of max(0, 1 − yᵢ sᵢ) with yᵢ = ±1.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Two classes, written 0 and 1 or −1 and +1; the larger is the positive one.
    sample_weight : array-like of shape (n,), optional
    """

    def __init__(self, labels: Any, sample_weight: Any = None):
        values = check_vector(labels, "labels")
        found = set(np.unique(values).tolist())
        if not (found <= {0.0, 1.0} or found <= {-1.0, 1.0}):
            raise ValueError(f"labels must be 0 and 1 or −1 and +1, got {sorted(found)[:5]}")
        self.signs = np.where(values > 0, 1.0, -1.0)
        self.weights = check_weights(sample_weight, self.signs.size)
        self.score_shape: tuple[int, ...] = (self.signs.size,)

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        slack = 1.0 - self.signs * check_scores(scores, self.score_shape)
        active = self.weights * (slack > 0)
        return float(active @ slack), -active * self.signs


class MulticlassHinge(ClassRisk):
    """Mean of max over y of [y ≠ yᵢ] + s_y − s_{yᵢ}.

    Parameters
    ----------
    labels : array-like of int, shape (n,)
        Class of each example, 0 … n_classes − 1.
    n_classes : int, optional
        By default one more than the largest label.
    sample_weight : array-like of shape (n,), optional
    """

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        slack, top = self._slack(scores)
        # equal maximisers share the weight: at w = 0, where every run starts, all wrong classes are equal
        worst = slack == top[:, None]
        gradient = worst * (self.weights / worst.sum(axis=1))[:, None]
        gradient[self._rows, self.labels] -= self.weights
        return float(self.weights @ top), gradient

    def smoothed(self, scores: FloatArray, tau: float) -> tuple[float, FloatArray, float]:
        """The risk smoothed at temperature ``tau``, its gradient, and the exact risk's cut with that slope.

        The maximum over classes is a maximum over distributions q on them of ⟨q, slack⟩. Adding
        tau·entropy(q) makes it smooth and lies above; the maximising q = softmax(slack/tau) still gives a
        linear function below the exact risk, ⟨q, slack⟩. A solver may take smooth steps and keep exact cuts.
        """
        slack, top = self._slack(scores)
        gradient = np.exp((slack - top[:, None]) / tau)
        total = gradient.sum(axis=1)
        upper = top + tau * np.log(total)
        gradient *= (self.weights / total)[:, None]
        lower = float(np.vdot(gradient.T, slack.T))
        gradient[self._rows, self.labels] -= self.weights
        return float(self.weights @ upper), gradient, lower

    def _slack(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """[y ≠ yᵢ] + s_y − s_{yᵢ} for every class, and its maximum."""
        slack = self._lead(scores) + 1.0
        slack[self._rows, self.labels] = 0.0
        return slack, slack.max(axis=1)
