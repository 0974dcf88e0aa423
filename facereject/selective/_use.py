"""What a fitted selective predictor answers: predictions, their uncertainty, which of them to trust."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from facereject._validation import FloatArray
from facereject.metrics import RiskCoverageCurve, aurc, risk_coverage_curve
from facereject.scores.cross_fitting import compute_losses
from facereject.selective._checks import check_target


def _predictor_has(method: str) -> Callable[[Any], bool]:
    """Whether a SelectivePredictor has the method: as its predictor does."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "predictor_", model.predictor), method)
        return True

    return check


class FittedSelection(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """The methods of ``SelectivePredictor`` that need it fitted.

    They read ``predictor_``, ``selector_``, ``calibrator_``, ``loss_`` and the ``CrossFit`` behind them.
    """

    random_state: Any
    _cross_fit: Any

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions for all examples, also for those that ``accept`` rejects."""
        check_is_fitted(self, "predictor_")
        return np.asarray(self.predictor_.predict(X))

    @available_if(_predictor_has("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of the predictor."""
        check_is_fitted(self, "predictor_")
        return np.asarray(self.predictor_.predict_proba(X))

    @available_if(_predictor_has("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Decision values of the predictor."""
        check_is_fitted(self, "predictor_")
        return np.asarray(self.predictor_.decision_function(X))

    def transform(self, X: Any) -> FloatArray:
        """Uncertainty, expected error and acceptance (1 or 0) of each prediction, shape (n, 3)."""
        uncertainty = self.uncertainty(X)
        accepted = self.selector_.accept(uncertainty, self.random_state)
        return np.column_stack([uncertainty, self._expected_error(uncertainty), accepted])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of ``transform``."""
        return np.array(["uncertainty", "expected_error", "accepted"], dtype=object)

    def uncertainty(self, X: Any) -> FloatArray:
        """Uncertainty of the prediction at each row of X, shape (n,); higher = less certain."""
        check_is_fitted(self, "predictor_")
        return np.asarray(self._cross_fit.uncertainty(X))

    def accept(self, X: Any, random_state: Any = None) -> NDArray[np.bool_]:
        """Which predictions to trust (True), and which to reject (False).

        Parameters
        ----------
        X : array-like of shape (n, d)
        random_state : int or RandomState, optional
            Decides examples exactly at the threshold, where the selection rule is randomised
            (``selector_.acceptance_`` strictly between 0 and 1). By default that of the estimator: the same X
            gets the same answers each time. Examples that come one by one need a RandomState of their own, or
            an int would decide all of them alike.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        uncertainty = self.uncertainty(X)
        chance = self.random_state if random_state is None else random_state
        return np.asarray(self.selector_.accept(uncertainty, chance))

    def expected_error(self, X: Any) -> FloatArray:
        """Expected loss of the prediction at each row of X, shape (n,), in the unit of the loss.

        Isotonic regression of the out-of-fold losses on the out-of-fold uncertainties: never decreasing in
        the uncertainty, and constant beyond the smallest and the largest one seen.
        """
        return self._expected_error(self.uncertainty(X))

    def expected_loss(self, X: Any) -> FloatArray:
        """Deprecated name of ``expected_error``."""
        warnings.warn("expected_loss is now expected_error", DeprecationWarning, stacklevel=2)
        return self.expected_error(X)

    def _expected_error(self, uncertainty: FloatArray) -> FloatArray:
        return np.asarray(self.calibrator_.predict(uncertainty), dtype=np.float64)

    def risk_coverage(self, X: Any, y: Any) -> RiskCoverageCurve:
        """Selective risk at every coverage on the examples X, y; see ``risk_coverage_curve``."""
        return risk_coverage_curve(*self._losses_and_uncertainty(X, y))

    def score(self, X: Any, y: Any) -> float:
        """−AuRC on the examples X, y: higher is better, in the unit of the loss.

        It judges predictor and score together and does not depend on ``rejection``: a target is stated, not
        searched for.
        """
        return -aurc(*self._losses_and_uncertainty(X, y))

    def _losses_and_uncertainty(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        predictions = self.predict(X)
        losses = compute_losses(self.loss_, check_target(y), predictions)
        return losses, self._cross_fit.uncertainty_of(X, predictions)
