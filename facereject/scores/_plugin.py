"""Plug-in conditional risk: the expected loss under the predictor's own class probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from facereject._labels import locate_labels
from facereject._validation import FloatArray
from facereject.scores._base import check_predictions
from facereject.scores._reading.predictor import PredictorScore, check_outputs


class PlugInRisk(PredictorScore):
    """Conditional risk r̂(x) = Σ_y p̂(y|x) ℓ(y, ŷ), for any loss matrix.

    ŷ is the prediction where predictions are given, and otherwise the Bayes decision under p̂, which makes
    r̂(x) = min_ŷ Σ_y p̂(y|x) ℓ(y, ŷ).

    Parameters
    ----------
    loss_matrix : array-like of shape (K, K)
        Loss ≥ 0 of predicting column ŷ when row y is true, classes in the order of the probabilities.
    estimator : fitted classifier with predict_proba, optional
        What is read.

    See Also
    --------
    MaxClassProbability : The plug-in risk of the 0/1 loss.

    References
    ----------
    .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on Information
       Theory 16(1), 1970.

    Examples
    --------
    >>> from facereject.scores import PlugInRisk
    >>> missing_is_worse = [[0, 1], [10, 0]]
    >>> PlugInRisk(missing_is_worse).from_outputs([[0.5, 0.5], [0.99, 0.01]]).round(3)
    array([0.5, 0.1])
    """

    response = "predict_proba"

    def __init__(self, loss_matrix: Any, estimator: Any = None):
        self.loss_matrix = loss_matrix
        self.estimator = estimator

    def from_outputs(self, probabilities: Any, predictions: Any = None, classes: Any = None) -> FloatArray:
        """Conditional risk from class probabilities.

        Parameters
        ----------
        probabilities : array-like of shape (n, K)
            Rows sum to one.
        predictions : array-like of shape (n,), optional
            Predicted classes; by default the Bayes decisions.
        classes : array-like of shape (K,), optional
            Names of the columns; those of the predictor by default, or 0 … K − 1 without one.

        Returns
        -------
        ndarray of shape (n,)
            The expected loss.
        """
        risks = self._risk_of_each_decision(check_probabilities(probabilities))
        if predictions is None:
            return np.asarray(risks.min(axis=1))
        if classes is None:
            classes = getattr(self.estimator, "classes_", np.arange(risks.shape[1]))
        names = np.asarray(classes)
        if len(names) != risks.shape[1] or len(np.unique(names)) != len(names):
            raise ValueError(f"classes must be {risks.shape[1]} different names of the columns, got {names}")
        order = np.argsort(names)
        position = locate_labels(check_predictions(predictions, len(risks)), names[order], "predictions")
        if position.min() < 0:
            unknown = np.asarray(predictions)[position.argmin()]
            raise ValueError(f"predictions hold {str(unknown)!r}, which is not among the classes {names}")
        return np.asarray(risks[np.arange(len(risks)), order[position]])

    def _risk_of_each_decision(self, probabilities: FloatArray) -> FloatArray:
        matrix = np.asarray(self.loss_matrix, dtype=np.float64)
        n_classes = probabilities.shape[1]
        if matrix.shape != (n_classes, n_classes):
            raise ValueError(
                f"loss_matrix must have shape {(n_classes, n_classes)} like the classes, got {matrix.shape}"
            )
        if not (np.isfinite(matrix).all() and matrix.min() >= 0):
            raise ValueError("loss_matrix must be finite and not negative")
        return probabilities @ matrix


class MaxClassProbability(PlugInRisk):
    """Maximum class probability rule: r̂(x) = 1 − max_y p̂(y|x), the plug-in risk of the 0/1 loss.

    With predictions given it is 1 − p̂(ŷ|x), the same thing where ŷ is the most probable class.

    Parameters
    ----------
    estimator : fitted classifier with predict_proba, optional
        What is read.

    See Also
    --------
    PostHocScore : Other scores read from outputs, also from logits.

    References
    ----------
    .. [1] D. Hendrycks, K. Gimpel, "A baseline for detecting misclassified and out-of-distribution examples
       in neural networks", ICLR 2017.

    Examples
    --------
    >>> from facereject.scores import MaxClassProbability
    >>> MaxClassProbability().from_outputs([[0.75, 0.25], [0.5, 0.5]])
    array([0.25, 0.5 ])
    """

    def __init__(self, estimator: Any = None):
        self.estimator = estimator

    def _risk_of_each_decision(self, probabilities: FloatArray) -> FloatArray:
        # 1 − p rounds away differences between predictions that are almost certain; the sum of the other
        # probabilities keeps them
        others = np.empty_like(probabilities)
        for k in range(probabilities.shape[1]):
            others[:, k] = np.delete(probabilities, k, axis=1).sum(axis=1)
        return others


def check_probabilities(probabilities: Any) -> FloatArray:
    """Class probabilities (n, K) whose rows sum to one; (n,) is read as that of the second of two classes."""
    array = check_outputs(probabilities, "probabilities")
    if array.ndim == 1:
        array = np.column_stack([1.0 - array, array])
    if array.min() < 0 or array.max() > 1 + 1e-6 or np.abs(array.sum(axis=1) - 1.0).max() > 1e-3:
        raise ValueError("probabilities must lie in [0, 1] and sum to one in each row")
    return array
