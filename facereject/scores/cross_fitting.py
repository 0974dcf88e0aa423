"""Cross-fitting: one training set serves both the predictor and its uncertainty score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, indexable

from facereject._labels import locate_labels
from facereject._validation import FloatArray, check_vector
from facereject.scores._base import make_folds
from facereject.scores._linear import LinearScoreCV
from facereject.scores._predictor import PredictorScore, check_predictor, find_response, read_outputs
from facereject.scores.margin import check_one_value_per_class
from facereject.scores.tcp import TrueClassProbabilityScoreCV


class CrossFit(NamedTuple):
    """A predictor and its score, both trained on all examples, and what the training rested on.

    Attributes
    ----------
    predictor, score : fitted estimators
    losses : ndarray of shape (n,)
        Losses of out-of-fold predictions.
    predictions : ndarray of shape (n, ...)
        Out-of-fold predictions.
    outputs : ndarray of shape (n,) or (n, K), or None
        Out-of-fold predict_proba or decision_function; None when the score reads neither.
    target : ndarray of shape (n,)
        What the score was fitted to: ``losses``, or out-of-fold probabilities of the true classes.
    fold : ndarray of shape (n,)
        Fold in which each example was held out.
    fold_predictors : list
        The predictor fitted without each fold.
    """

    predictor: Any
    score: Any
    losses: FloatArray
    predictions: NDArray[Any]
    outputs: FloatArray | None
    target: FloatArray
    fold: NDArray[np.intp]
    fold_predictors: list[Any]

    def out_of_fold_uncertainty(self, X: Any) -> FloatArray:
        """Uncertainty of each training example by a score that has not seen its loss.

        Fits the score once per fold. Together with ``losses`` this is what a threshold for ``score`` may be
        tuned on; ``score`` itself would look too good there, since it was fitted to these very losses.

        A learned score orders examples but need not have a unit, so those of the folds are made comparable:
        they take over the alpha of ``score``, and their uncertainties are shifted and scaled to have the mean
        and standard deviation of ``score`` on the examples both were fitted to.
        """
        uncertainty = np.empty(len(self.losses))
        for k, predictor in enumerate(self.fold_predictors):
            held_out = self.fold == k
            rows, rest = np.flatnonzero(held_out), np.flatnonzero(~held_out)
            X_rows = _safe_indexing(X, rows)
            if isinstance(self.score, PredictorScore):
                uncertainty[rows] = self._read_uncertainty(predictor, X_rows, rows)
                continue
            X_rest, arguments = _safe_indexing(X, rest), self._arguments(rest)
            score = _fit_score(
                _with_choices_of(self.score), X_rest, self.target[rest], self.losses[rest], arguments
            )
            own, final = (np.asarray(s.predict(X_rest, **arguments)) for s in (score, self.score))
            scale = final.std() / own.std() if own.std() > 0 else 1.0
            uncertainty[rows] = score.predict(X_rows, **self._arguments(rows))
            uncertainty[rows] = final.mean() + scale * (uncertainty[rows] - own.mean())
        return uncertainty

    def _read_uncertainty(self, predictor: Any, X: Any, rows: Any) -> FloatArray:
        """Uncertainty read from the predictor of a fold at its examples."""
        predictions = {"predictions": self.predictions[rows]} if is_classifier(predictor) else {}
        response = self.score.response
        classes: Any = getattr(self.predictor, "classes_", ())
        lacks_a_class = not np.array_equal(getattr(predictor, "classes_", ()), classes)
        if lacks_a_class and find_response(predictor, response) == "predict_proba":
            # a class without a column would not fit to a loss matrix of all classes
            outputs = _outputs_of_all_classes(predictor, X, response, classes)
            return np.asarray(self.score.from_outputs(outputs, **predictions))
        return np.asarray(self.score.bind(predictor).predict(X, **predictions))

    def uncertainty(self, X: Any) -> FloatArray:
        """Uncertainty of the predictions of ``predictor`` at new examples."""
        arguments: dict[str, Any] = {}
        if is_classifier(self.predictor):
            arguments["predictions"] = self.predictor.predict(X)
        if self.outputs is not None and not isinstance(self.score, PredictorScore):
            arguments["outputs"] = read_outputs(self.predictor, X, self.score.response)
        return np.asarray(self.score.predict(X, **arguments))

    def _arguments(self, rows: Any) -> dict[str, Any]:
        return _score_arguments(self.predictor, self.predictions, self.outputs, rows)


def cross_fit(
    predictor: Any,
    score: Any,
    X: Any,
    y: Any,
    loss: Callable[[Any, Any], Any],
    cv: Any = 5,
    *,
    random_state: Any = 0,
) -> CrossFit:
    """Train a predictor and its uncertainty score on the same examples.

    A score must learn from losses on examples that the predictor has not seen. Instead of setting examples
    aside for it, a copy of the predictor is trained without each fold and its losses are taken there: all n
    losses are honest, and the predictor that is returned is trained on all n examples. The score then judges
    a predictor that is slightly better than the ones it learned from.

    Parameters
    ----------
    predictor : scikit-learn classifier or regressor
        Or any other scikit-learn estimator with ``fit`` and ``predict``. Cloned, never changed. One that is
        already trained, on other examples, goes in as ``sklearn.frozen.FrozenEstimator(predictor)``.
    score : learned score, or score read from a predictor
        Or any other object with ``fit(X, losses, predictions=None)`` and ``predict(X, predictions=None)``.
        Copied, never changed. Predictions are passed on for classifiers; predict_proba or decision_function
        for a score whose ``response`` asks for it, where the predictor has it.
    X : array-like of shape (n, d)
    y : array-like of shape (n, ...)
    loss : callable (y, predictions) -> losses of shape (n,)
        For instance ``facereject.losses.zero_one_loss``.
    cv : int, cross-validation splitter or iterable of (train, test)
        Folds. An int means shuffled folds, stratified by class for a classifier; anything else must hold out
        every example exactly once.
    random_state : int, RandomState or None
        Shuffles the examples into folds.

    Returns
    -------
    CrossFit

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from facereject.losses import zero_one_loss
    >>> from facereject.scores import SELEScore, cross_fit
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = cross_fit(LogisticRegression(C=0.01), SELEScore(), X, y, zero_one_loss)
    >>> fitted.predictor.predict(X[:2]), fitted.uncertainty(X[:2]).shape
    (array([0, 0]), (2,))
    """
    check_predictor(predictor)
    X, y = indexable(X, np.asarray(y))
    response = getattr(score, "response", None)
    needs_probabilities = getattr(score, "target", "losses") == "true_class_probability"
    if needs_probabilities:
        response = "predict_proba"
    elif isinstance(score, PredictorScore):
        response = None
    fold = _assign_folds(predictor, X, y, cv, random_state)
    classes = np.unique(y) if is_classifier(predictor) else None
    if classes is not None and isinstance(predictor, FrozenEstimator):
        # outputs have the columns of the classes it was fitted to, whichever of them occur in y
        classes = getattr(predictor, "classes_", classes)
    fold_predictors, predictions, outputs = [], [], []
    for k in range(fold.max() + 1):
        fitted = clone(predictor).fit(_safe_indexing(X, np.flatnonzero(fold != k)), y[fold != k])
        held_out = _safe_indexing(X, np.flatnonzero(fold == k))
        fold_predictors.append(fitted)
        predictions.append(np.asarray(fitted.predict(held_out)))
        if response is not None and find_response(fitted, response):
            outputs.append(_outputs_of_all_classes(fitted, held_out, response, classes))
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    all_predictions = np.concatenate(predictions)[order]
    all_outputs = np.concatenate(outputs)[order] if outputs else None
    losses = compute_losses(loss, y, all_predictions)
    target = losses
    if needs_probabilities:
        if all_outputs is None or classes is None:
            raise TypeError(
                f"{type(score).__name__} needs predict_proba, which {type(predictor).__name__} lacks"
            )
        column = locate_labels(y, classes, "y")
        # a class the predictor does not know has no chance with it
        target = np.where(column >= 0, all_outputs[np.arange(len(y)), column], 0.0)
        all_outputs = None
    final = clone(predictor).fit(X, y)
    arguments = _score_arguments(final, all_predictions, all_outputs, slice(None))
    if isinstance(score, PredictorScore):
        trained = score.bind(final)
    else:
        trained = _fit_score(clone(score, safe=False), X, target, losses, arguments)
    return CrossFit(final, trained, losses, all_predictions, all_outputs, target, fold, fold_predictors)


def compute_losses(loss: Callable[[Any, Any], Any], y: NDArray[Any], predictions: NDArray[Any]) -> FloatArray:
    """Checked values of a loss function."""
    losses = loss(y, predictions)
    if np.shape(losses) != (len(y),):
        raise ValueError(
            f"loss must return one value per example, shape ({len(y)},), got shape {np.shape(losses)}"
        )
    return check_vector(losses, "losses", non_negative=True)


def _assign_folds(predictor: Any, X: Any, y: NDArray[Any], cv: Any, random_state: Any) -> NDArray[np.intp]:
    """Fold in which each example is held out."""
    folds = make_folds(cv, random_state, stratified=is_classifier(predictor))
    fold = np.full(len(y), -1, dtype=np.intp)
    times = np.zeros(len(y), dtype=np.intp)
    for k, (_, held_out) in enumerate(folds.split(X, y)):
        fold[held_out] = k
        times[held_out] += 1
    if not (times == 1).all():
        raise ValueError("cv must hold out every example exactly once")
    return fold


def _outputs_of_all_classes(
    predictor: Any, X: Any, response: str, classes: NDArray[Any] | None
) -> FloatArray:
    """Outputs with a column for every class of the whole sample, also for one that this fold lacked."""
    values = read_outputs(predictor, X, response)
    if classes is None or np.array_equal(predictor.classes_, classes):
        return values
    if values.ndim == 1:
        # two classes are left, and one decision value for both: positive for the second
        values = np.column_stack([-values, values])
    check_one_value_per_class(predictor, values)
    # what a predictor never saw it would never predict: probability 0, or the lowest decision value
    probabilities = find_response(predictor, response) == "predict_proba"
    lowest = np.zeros(len(values)) if probabilities else values.min(axis=1)
    full = np.repeat(lowest[:, None], len(classes), axis=1)
    full[:, np.searchsorted(classes, predictor.classes_)] = values
    return full


def _score_arguments(
    predictor: Any, predictions: NDArray[Any], outputs: FloatArray | None, rows: Any
) -> dict[str, Any]:
    """What a score is given besides X and its target."""
    arguments: dict[str, Any] = {}
    if is_classifier(predictor):
        arguments["predictions"] = predictions[rows]
    if outputs is not None:
        arguments["outputs"] = outputs[rows]
    return arguments


def _fit_score(score: Any, X: Any, target: FloatArray, losses: FloatArray, arguments: dict[str, Any]) -> Any:
    if isinstance(score, TrueClassProbabilityScoreCV):
        arguments = {**arguments, "losses": losses}
    score.fit(X, target, **arguments)
    return score


def _with_choices_of(score: Any) -> Any:
    """An unfitted copy that repeats what the fitted score has chosen instead of choosing again.

    Scores of different alpha differ in scale by orders of magnitude.
    """
    # a score that is no scikit-learn estimator is copied as it is; its fit starts anew
    copy = clone(score, safe=False)
    # with one value to try the folds decide nothing: as few as possible
    return copy.set_params(alphas=[score.alpha_], cv=2) if isinstance(score, LinearScoreCV) else copy
