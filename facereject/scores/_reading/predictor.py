"""Scores that are read from a predictor and learn nothing themselves: what they share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, has_fit_parameter

from facereject._validation import FloatArray
from facereject.losses import absolute_error, zero_one_loss


class PredictorScore(BaseEstimator):
    """Base of the scores computed from the outputs of a fitted predictor; higher = less certain.

    ``from_outputs`` is the formula; ``predict`` applies it to the outputs of ``estimator`` at X. Cloning
    keeps the fitted predictor: it is what the score reads, not something the score trains.
    """

    response: str = "auto"
    estimator: Any

    def bind(self, predictor: Any) -> Any:
        """A copy of this score that reads from a predictor.

        Parameters
        ----------
        predictor : fitted predictor
            What is to be read.

        Returns
        -------
        score
            The copy.
        """
        return type(self)(**{**self.get_params(deep=False), "estimator": predictor})

    def fit(
        self, X: Any = None, losses: Any = None, predictions: Any = None, sample_weight: Any = None
    ) -> Any:
        """Learn nothing; present so that the score can stand where a learned one does.

        Parameters
        ----------
        X, losses, predictions, sample_weight : array-likes, optional
            Not used.

        Returns
        -------
        self
            The score as it is.
        """
        return self

    def predict(self, X: Any, predictions: Any = None) -> FloatArray:
        """Uncertainty of the predictor at each row of X; higher = less certain.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.
        predictions : array-like of shape (n,), optional
            What it predicts for them.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        if self.estimator is None:
            raise ValueError(
                f"{type(self).__name__} has no predictor to read from: pass estimator= or use bind(predictor)"
            )
        return self.from_outputs(self._outputs(X), predictions)

    def from_outputs(self, outputs: Any, predictions: Any = None) -> FloatArray:
        """Uncertainty from outputs of a predictor."""
        raise NotImplementedError

    def _outputs(self, X: Any) -> FloatArray:
        """What the score reads from ``estimator`` at X."""
        outputs = read_outputs(self.estimator, X, self.response)
        check_one_value_per_class(self.estimator, outputs)
        return outputs

    def __sklearn_clone__(self) -> Any:
        return self.bind(self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        return self.estimator is not None


def check_predictor(predictor: Any) -> None:
    """Refuse what cannot be trained and asked for predictions."""
    if isinstance(predictor, type):
        raise TypeError(f"estimator must be an object, got the class {predictor.__name__}: add parentheses")
    if not (hasattr(predictor, "fit") and hasattr(predictor, "predict")):
        raise TypeError(
            "estimator must be an object with fit and predict, for instance a classifier or regressor of "
            f"scikit-learn; got {predictor!r}"
        )


def find_kind(predictor: Any, y: Any = None, loss: Any = None) -> str | None:
    """ "classifier" or "regressor"; None where neither the predictor nor its targets and loss tell."""
    if hasattr(predictor, "__sklearn_tags__"):
        kind = get_tags(predictor).estimator_type
    else:
        kind = getattr(predictor, "_estimator_type", None)
    if kind in ("classifier", "regressor"):
        return str(kind)
    labels = y is not None and np.asarray(y).dtype.kind in "OSUb"
    if labels or loss is zero_one_loss or hasattr(predictor, "predict_proba"):
        return "classifier"
    return "regressor" if loss is absolute_error else None


class FittedFunction:
    """A function of X that predicts, as a predictor that is already fitted."""

    def __init__(self, function: Any):
        self.function = function

    def fit(self, X: Any, y: Any) -> FittedFunction:
        """Nothing to learn."""
        return self

    def predict(self, X: Any) -> Any:
        """What the function returns for X."""
        return np.asarray(self.function(X))


def fit_predictor(predictor: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """The predictor fitted to the examples, with weights where they are given."""
    options = {}
    if sample_weight is not None:
        name = "sample_weight"
        if isinstance(predictor, Pipeline):
            name = f"{predictor.steps[-1][0]}__sample_weight"
        elif not has_fit_parameter(predictor, "sample_weight"):
            raise TypeError(f"sample_weight is given, but {type(predictor).__name__}.fit does not take it")
        options[name] = sample_weight
    predictor.fit(X, y, **options)
    return predictor


def read_outputs(predictor: Any, X: Any, response: str) -> FloatArray:
    """predict_proba or decision_function of the predictor at X; "auto" takes the first that there is."""
    name = find_response(predictor, response)
    if name is None:
        required = "predict_proba or decision_function" if response == "auto" else response
        raise TypeError(f"{type(predictor).__name__} has no {required}, which this score reads")
    return _check_rows(np.asarray(getattr(predictor, name)(X), dtype=np.float64), predictor, name, X)


def check_one_value_per_class(predictor: Any, outputs: FloatArray) -> None:
    """Refuse one-versus-one decision values, whose maximum says nothing about the prediction."""
    classes = getattr(predictor, "classes_", None)
    if classes is not None and outputs.ndim == 2 and outputs.shape[1] not in (1, len(classes)):
        raise ValueError(
            f"{type(predictor).__name__} gives {outputs.shape[1]} decision values for {len(classes)} "
            "classes: ask it for one per class, for instance decision_function_shape='ovr'"
        )


def read_predictions(predictor: Any, X: Any) -> NDArray[Any]:
    """Predictions at X, one per row."""
    return _check_rows(np.asarray(predictor.predict(X)), predictor, "predict", X)


def _check_rows(values: NDArray[Any], predictor: Any, method: str, X: Any) -> NDArray[Any]:
    if values.ndim == 0 or len(values) != _num_samples(X):
        raise ValueError(
            f"{type(predictor).__name__}.{method} must return one row per row of X ({_num_samples(X)}), "
            f"got shape {values.shape}"
        )
    return values


# methods ``predict`` that compute predict_proba and take the class of its largest value
_MOST_PROBABLE = {
    ("sklearn", "ForestClassifier.predict"),
    ("sklearn", "HistGradientBoostingClassifier.predict"),
    ("lightgbm", "LGBMClassifier.predict"),
}


def predict_from(predictor: Any, X: Any, outputs: FloatArray | None, classes: NDArray[Any] | None) -> Any:
    """Predictions at X, without a second pass where the probabilities of ``classes`` imply them."""
    last = predictor[-1] if isinstance(predictor, Pipeline) else predictor
    method = getattr(type(last), "predict", None)
    name = getattr(method, "__module__", "").split(".")[0], getattr(method, "__qualname__", "")
    if outputs is None or classes is None or name not in _MOST_PROBABLE:
        return read_predictions(predictor, X)
    return np.asarray(classes)[outputs.argmax(axis=1)]


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
