"""Hinge risks of support vector machines: binary, and multi-class after Crammer and Singer."""

from __future__ import annotations

from typing import Any

import numpy as np

from facereject._validation import FloatArray, check_vector
from facereject.risks._base import ClassRisk, check_scores, check_weights


class BinaryHinge:
    """Mean hinge loss of one score per example, for two classes.

    R(s) is the mean of max(0, 1 − yᵢ sᵢ) with yᵢ = ±1.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Two classes, 0 and 1 or −1 and +1; the larger is the positive one.
    sample_weight : array-like of shape (n,), optional
        Weight ≥ 0 of each example; equal by default. Weights are scaled to sum to 1.

    See Also
    --------
    MulticlassHinge : For more than two classes.
    facereject.predictors.SVMClassifier : Minimises it over linear scores.

    References
    ----------
    C. Cortes, V. Vapnik: Support-vector networks. Machine Learning 20, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import BinaryHinge
    >>> BinaryHinge([0, 1])(np.array([-2.0, 0.5]))
    (0.25, array([ 0. , -0.5]))
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
    """Mean multi-class hinge loss after Crammer and Singer.

    R(s) is the mean of max_y ([y ≠ yᵢ] + s_y − s_{yᵢ}) over examples i.

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
    BinaryHinge : For two classes.
    facereject.predictors.SVMClassifier : Minimises it over linear scores.

    References
    ----------
    K. Crammer, Y. Singer: On the algorithmic implementation of multiclass kernel-based vector machines.
    Journal of Machine Learning Research 2, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.risks import MulticlassHinge
    >>> value, gradient = MulticlassHinge([0, 2])(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.5]]))
    >>> value, gradient.tolist()
    (0.25, [[0.0, 0.0, 0.0], [0.25, 0.25, -0.5]])
    """

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        slack, top = self._slack(scores)
        # equal maximisers share the weight: at w = 0, where every run starts, all wrong classes are equal
        worst = slack == top[:, None]
        gradient = worst * (self.weights / worst.sum(axis=1))[:, None]
        gradient[self._rows, self.labels] -= self.weights
        return float(self.weights @ top), gradient

    def smoothed(self, scores: FloatArray, tau: float) -> tuple[float, FloatArray, float]:
        """Compute a smooth upper bound of the risk.

        The maximum over classes is a maximum over distributions q on them of ⟨q, slack⟩. Adding
        tau·entropy(q) gives a smooth function above it; the maximising q = softmax(slack/tau) also gives a
        linear function below the exact risk, ⟨q, slack⟩. A solver can take smooth steps and keep exact cuts.

        Parameters
        ----------
        scores : ndarray of shape (n, n_classes)
            Where to compute it.
        tau : float
            Temperature > 0; the bound falls to the risk as tau goes to 0.

        Returns
        -------
        value : float
            The smooth upper bound.
        gradient : ndarray of shape (n, n_classes)
            Its gradient.
        cut : float
            Value of the linear function with this gradient that is nowhere above the risk.
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
        """Compute [y ≠ yᵢ] + s_y − s_{yᵢ} for every class, and its maximum."""
        slack = self._lead(scores) + 1.0
        slack[self._rows, self.labels] = 0.0
        return slack, slack.max(axis=1)
