"""Scores that are read from a predictor and learn nothing themselves: what they share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from facereject._validation import FloatArray


class PredictorScore(BaseEstimator):
    """Base of the scores computed from the outputs of a fitted predictor; higher = less certain.

    ``from_outputs`` is the formula; ``predict`` applies it to the outputs of ``predictor`` at X. Cloning
    keeps the fitted predictor: it is what the score reads, not something the score trains.
    """

    response: str = "auto"
    predictor: Any

    def bind(self, predictor: Any) -> Any:
        """A copy of this score that reads from ``predictor``."""
        return type(self)(**{**self.get_params(deep=False), "predictor": predictor})

    def fit(
        self, X: Any = None, losses: Any = None, predictions: Any = None, sample_weight: Any = None
    ) -> Any:
        """Nothing to learn; present so that the score can stand where a learned one does."""
        return self

    def predict(self, X: Any, predictions: Any = None) -> FloatArray:
        """Uncertainty of the predictor at each row of X."""
        if self.predictor is None:
            raise ValueError(
                f"{type(self).__name__} has no predictor to read from: pass predictor= or use bind(predictor)"
            )
        return self.from_outputs(self._outputs(X), predictions)

    def from_outputs(self, outputs: Any, predictions: Any = None) -> FloatArray:
        """Uncertainty from outputs of a predictor."""
        raise NotImplementedError

    def _outputs(self, X: Any) -> FloatArray:
        """What the score reads from ``predictor`` at X."""
        return read_outputs(self.predictor, X, self.response)

    def __sklearn_clone__(self) -> Any:
        return self.bind(self.predictor)

    def __sklearn_is_fitted__(self) -> bool:
        return self.predictor is not None


def check_predictor(predictor: Any) -> None:
    """Refuse what scikit-learn can neither copy nor tell a classifier from a regressor."""
    missing = [name for name in ("get_params", "__sklearn_tags__") if not hasattr(predictor, name)]
    if isinstance(predictor, type) or missing:
        what = "the class" if isinstance(predictor, type) else "an object of type"
        name = predictor.__name__ if isinstance(predictor, type) else type(predictor).__name__
        raise TypeError(
            f"predictor must be a scikit-learn estimator, got {what} {name}: derive it from "
            "sklearn.base.BaseEstimator, after ClassifierMixin or RegressorMixin"
        )


def read_outputs(predictor: Any, X: Any, response: str) -> FloatArray:
    """predict_proba or decision_function of the predictor at X; "auto" takes the first that there is."""
    name = find_response(predictor, response)
    if name is None:
        wanted = "predict_proba or decision_function" if response == "auto" else response
        raise TypeError(f"{type(predictor).__name__} has no {wanted}, which this score reads")
    return np.asarray(getattr(predictor, name)(X), dtype=np.float64)


def find_response(predictor: Any, response: str) -> str | None:
    """Name of the method that is read: ``response``, or for "auto" the first that there is; None if none."""
    names = ("predict_proba", "decision_function") if response == "auto" else (response,)
    return next((name for name in names if hasattr(predictor, name)), None)


def check_outputs(outputs: Any, name: str) -> FloatArray:
    """Finite outputs as (n,) or (n, K)."""
    array = np.asarray(outputs, dtype=np.float64)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(f"{name} must have shape (n,) or (n, K), got {array.shape}")
    if not np.isfinite(array).all():
        position = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise ValueError(f"{name} must be finite, but {name}{position} is not")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
