"""The parts of a selective predictor: what each must offer, and what follows from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags, get_tags
from sklearn.utils.validation import column_or_1d

from facereject._validation import FloatArray
from facereject.losses import absolute_error, zero_one_loss
from facereject.scores._reading.predictor import PredictorScore, find_kind

# examples from which two folds are enough for the default score
_MANY = 500


def check_parts(model: Any) -> None:
    """Refuse a predictor, score, rejection model or loss that cannot be used, and name one that can."""
    function = model.prefit and callable(model.predictor) and not isinstance(model.predictor, type)
    methods = ("predict",) if model.prefit else ("fit", "predict")
    for name, part, needed, example in (
        ("predictor", model.predictor, methods, "a classifier or regressor of scikit-learn"),
        ("uncertainty_score", model.uncertainty_score, ("fit", "predict"), "BoostedSELEScore()"),
        ("rejection", model.rejection, ("fit",), "BoundedCoverage(0.9)"),
    ):
        if (part is None and name != "predictor") or (name == "predictor" and function):
            continue
        if isinstance(part, type) or not all(hasattr(part, method) for method in needed):
            hint = "; a function of X that predicts needs prefit=True" if callable(part) else ""
            raise TypeError(
                f"{name} must be an object with {' and '.join(needed)}, for instance {example}; "
                f"got {part!r}{hint if name == 'predictor' and not isinstance(part, type) else ''}"
            )
    if model.loss is not None and not callable(model.loss):
        raise TypeError(
            "loss must be a function of (y, predictions) that returns one loss per example, for instance "
            f"facereject.losses.absolute_error; got {model.loss!r}"
        )


def resolve_loss(model: Any, kind: str | None) -> Callable[[Any, Any], Any]:
    """The loss given, or the one usual for a classifier or a regressor."""
    loss: Callable[[Any, Any], Any] | None = model.loss
    if loss is not None:
        return loss
    if kind is None:
        raise ValueError(
            f"{type(model.predictor).__name__} is neither a classifier nor a regressor: "
            "pass loss, a function of (y, predictions) that returns one loss per example"
        )
    return zero_one_loss if kind == "classifier" else absolute_error


def default_folds(y: NDArray[Any], kind: str | None, groups: Any) -> int:
    """Folds for the default score: 2, but 5 for few examples, half of which make another predictor."""
    if len(y) >= _MANY:
        return 2
    parts = [len(y) if groups is None else len(np.unique(np.asarray(groups)))]
    if kind == "classifier" and y.ndim == 1:
        # an example of every class in every fold
        parts.append(int(np.unique(y, return_counts=True)[1].min()))
    return max(2, min(5, *parts))


def fit_rejection(
    rejection: Any, losses: FloatArray, uncertainty: FloatArray, weight: dict[str, FloatArray]
) -> Any:
    """The selector of a rejection model, called by keywords: an order of arguments could be mistaken."""
    given = {"losses": losses, "uncertainty": uncertainty, **weight}
    try:
        inspect.signature(rejection.fit).bind(**given)
    except TypeError as error:
        raise TypeError(
            f"rejection.fit must take the keywords {', '.join(given)} ({error}); got {rejection!r}"
        ) from None
    selector = rejection.fit(**given)
    if not hasattr(selector, "accept"):
        raise TypeError(f"rejection.fit must return a Selector, got {selector!r}")
    return selector


def check_target(y: Any) -> NDArray[Any]:
    """Targets as an array; a single column becomes a vector, with scikit-learn's warning."""
    array = np.asarray(y)
    return column_or_1d(array, warn=True) if array.ndim == 2 and array.shape[1] == 1 else array


def adapt_tags(model: Any, tags: Any) -> Any:
    """Tags of a selective predictor: those of its predictor, as far as score and loss take what it takes."""
    tags.target_tags.required = True
    score = model.uncertainty_score
    if not hasattr(model.predictor, "__sklearn_tags__"):
        tags.estimator_type = find_kind(model.predictor, loss=model.loss)
        tags.classifier_tags = ClassifierTags() if tags.estimator_type == "classifier" else None
        tags.regressor_tags = RegressorTags() if tags.estimator_type == "regressor" else None
        return tags
    inner = get_tags(model.predictor)
    tags.estimator_type = inner.estimator_type
    tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
    if tags.regressor_tags is not None:
        # scikit-learn's checks read ``score`` of a regressor as R²
        tags.regressor_tags.poor_score = True
    tags.target_tags = inner.target_tags
    tags.target_tags.required = True
    # the losses taken by default are of one number or label per example
    tags.target_tags.multi_output = inner.target_tags.multi_output and model.loss is not None
    # a score that looks at features takes numbers, some with NaN; the others what the predictor takes
    if score is None or isinstance(score, PredictorScore):
        tags.input_tags = inner.input_tags
    elif isinstance(score, BaseEstimator):
        tags.input_tags.allow_nan = inner.input_tags.allow_nan and get_tags(score).input_tags.allow_nan
    return tags
