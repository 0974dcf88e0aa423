"""Margin scores: how far a decision is from being another one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from facereject._labels import top_and_gap
from facereject._validation import FloatArray
from facereject.scores._reading.predictor import PredictorScore, check_outputs


class MarginScore(PredictorScore):
    """Negated decision value, the baseline of the paper for support vector machines.

    ========================  ==========================================  =======================
    predictor                 what is read                                uncertainty
    ========================  ==========================================  =======================
    two classes               ``decision_function``: f(x), shape (n,)     −|f(x)|
    several classes           ``decision_function``: f_y(x), (n, K)       −max_y f_y(x)
    ordinal (``OrdinalSVM``)  ``threshold_distances``: ⟨w, x⟩ − b_y       −min_y |⟨w, x⟩ − b_y|
    ========================  ==========================================  =======================

    Parameters
    ----------
    estimator : fitted predictor, optional
        Of a pipeline, the last step is read.

    See Also
    --------
    GapScore : Distance of the two best classes.

    Examples
    --------
    >>> from facereject.scores import MarginScore
    >>> MarginScore().from_outputs([-2.0, 0.1, 1.0])
    array([-2. , -0.1, -1. ])
    """

    response = "decision_function"

    def __init__(self, estimator: Any = None):
        self.estimator = estimator

    def from_outputs(self, decision_values: Any, predictions: Any = None) -> FloatArray:
        """Uncertainty from decision values.

        Parameters
        ----------
        decision_values : array-like of shape (n,) or (n, K)
            For two classes, or one column per class.
        predictions : None
            Not used.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        values = check_outputs(decision_values, "decision_values")
        return -(np.abs(values) if values.ndim == 1 else values.max(axis=1))

    def from_threshold_distances(self, distances: Any) -> FloatArray:
        """Uncertainty from distances to the thresholds of an ordinal predictor.

        Parameters
        ----------
        distances : array-like of shape (n, K − 1)
            As ``threshold_distances`` of `OrdinalSVM` gives them.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        values = np.abs(check_outputs(distances, "distances"))
        return -(values if values.ndim == 1 else values.min(axis=1))

    def _outputs(self, X: Any) -> FloatArray:
        piped = isinstance(self.estimator, Pipeline) and len(self.estimator) > 1
        last = self.estimator[-1] if piped else self.estimator
        if hasattr(last, "threshold_distances"):
            distances = last.threshold_distances(self.estimator[:-1].transform(X) if piped else X)
            # one value per example, from which from_outputs makes −min |distance| again
            return -self.from_threshold_distances(distances)
        return super()._outputs(X)


class GapScore(PredictorScore):
    """Negated gap between the two best classes: −(top − runner-up).

    For decision values f(x) of two classes the gap is |f(x)|.

    Parameters
    ----------
    estimator : fitted classifier, optional
        What is read.
    response : {"auto", "predict_proba", "decision_function"}
        What the gap is taken of; "auto" means predict_proba where there is one.

    See Also
    --------
    MarginScore : The largest decision value alone.

    Examples
    --------
    >>> from facereject.scores import GapScore
    >>> GapScore().from_outputs([[0.75, 0.25, 0.0], [0.5, 0.25, 0.25]])
    array([-0.5 , -0.25])
    """

    def __init__(self, estimator: Any = None, response: str = "auto"):
        self.estimator = estimator
        self.response = response

    def from_outputs(self, outputs: Any, predictions: Any = None) -> FloatArray:
        """Uncertainty from probabilities or decision values.

        Parameters
        ----------
        outputs : array-like of shape (n, K), or (n,) for two classes
            Probabilities or decision values.
        predictions : None
            Not used.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        values = check_outputs(outputs, "outputs")
        return -(np.abs(values) if values.ndim == 1 else top_and_gap(values)[1])
