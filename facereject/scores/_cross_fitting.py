"""Cross-fitting: one training set serves both the predictor and its uncertainty score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import has_fit_parameter

from facereject._labels import locate_labels
from facereject._validation import FloatArray, check_vector
from facereject.scores._base import BaseScore, assign_folds, check_sample_weight
from facereject.scores._reading.predictor import (
    PredictorScore,
    check_predictor,
    find_kind,
    find_response,
    fit_predictor,
    predict_from,
    read_predictions,
)
from facereject.scores._reading.tables import FeatureView
from facereject.scores._reading.training_part import Material, Required, TrainingPart, outputs_of_all_classes


class CrossFit(NamedTuple):
    """A predictor and its score, both trained on all examples, and what the training rested on.

    Attributes
    ----------
    estimator, score : fitted estimators
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
    fold_estimators : list
        The predictor fitted without each fold.
    material : Material
        What the score was given besides features.
    view : FeatureView
        Turns X into the features that the score sees.
    part : TrainingPart or None
        The training examples of ``estimator``, searched for neighbours; None when the score does not ask.
    classes : ndarray of shape (K,) or None
        Of a classifier.
    sample_weight : ndarray of shape (n,) or None

    See Also
    --------
    cross_fit : Makes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from facereject.losses import zero_one_loss
    >>> from facereject.scores import ConfidenceScore, SELEScore, cross_fit
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = cross_fit(GaussianNB(), ConfidenceScore(), X, y, zero_one_loss)
    >>> other = fitted.with_score(SELEScore(), X)  # the predictor is not trained again
    >>> other.estimator is fitted.estimator
    True
    """

    estimator: Any
    score: Any
    losses: FloatArray
    predictions: NDArray[Any]
    outputs: FloatArray | None
    target: FloatArray
    fold: NDArray[np.intp]
    fold_estimators: list[Any]
    material: Material
    view: FeatureView
    part: TrainingPart | None
    classes: NDArray[Any] | None
    sample_weight: FloatArray | None

    def out_of_fold_uncertainty(self, X: Any) -> FloatArray:
        """Uncertainty of each training example by a score that has not seen its loss.

        Together with ``losses`` this is what a threshold for ``score`` may be tuned on; ``score`` itself
        would look too good there, since it was fitted to these very losses. A score of ``facereject.scores``
        has these uncertainties since it was compared with the base score. Any other is fitted once more per
        fold, and its uncertainties are shifted and scaled to have the mean and standard deviation of
        ``score`` on the examples both were fitted to.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The examples given to ``cross_fit``.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        known: FloatArray | None = getattr(self.score, "_held_out", None)
        if known is not None:
            return known
        uncertainty = np.empty(len(self.losses))
        features = self.view(X, self.score)
        for k, predictor in enumerate(self.fold_estimators):
            held_out = self.fold == k
            rows, rest = np.flatnonzero(held_out), np.flatnonzero(~held_out)
            if isinstance(self.score, PredictorScore):
                uncertainty[rows] = self._read_uncertainty(predictor, _safe_indexing(X, rows), rows)
                continue
            seen = _safe_indexing(features, rest)
            score = self._fit(_repeated(self.score), seen, rest)
            arguments = self._arguments(rest)
            own, final = (np.asarray(s.predict(seen, **arguments)) for s in (score, self.score))
            scale = final.std() / own.std() if own.std() > 0 else 1.0
            uncertainty[rows] = score.predict(_safe_indexing(features, rows), **self._arguments(rows))
            uncertainty[rows] = final.mean() + scale * (uncertainty[rows] - own.mean())
        return uncertainty

    def uncertainty(self, X: Any) -> FloatArray:
        """Uncertainty of the predictions of ``estimator`` at new examples.

        Parameters
        ----------
        X : array-like of shape (n, d)
            New examples.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        return self.uncertainty_of(X, read_predictions(self.estimator, X))

    def uncertainty_of(self, X: Any, predictions: NDArray[Any]) -> FloatArray:
        """Uncertainty where the predictions have been computed already.

        Parameters
        ----------
        X : array-like of shape (n, d)
            New examples.
        predictions : ndarray of shape (n, ...)
            What ``estimator`` predicts for them.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        given = predictions if self.classes is not None else None
        if isinstance(self.score, PredictorScore):
            return np.asarray(self.score.predict(X, **({} if given is None else {"predictions": given})))
        required, outputs, auxiliary, base_score = Required.by(self.score), None, None, None
        if self.material.outputs is not None and required.response is not None:
            outputs = outputs_of_all_classes(self.estimator, X, required.response, self.classes)
        if self.part is not None and required.auxiliary:
            auxiliary, base_score = self.part.auxiliary(X, predictions, outputs)
        arguments = Material(given, outputs, auxiliary, base_score).arguments(required)
        return np.asarray(self.score.predict(self.view(X, self.score), **arguments))

    def with_score(self, score: Any, X: Any) -> CrossFit:
        """Another score for the same predictor, fitted to the same losses; nothing else is trained.

        Parameters
        ----------
        score : learned score, or score read from a predictor
            A learned one must not read more from the predictor than the score that ``cross_fit`` was called
            with, and be fitted to losses.
        X : array-like of shape (n, d)
            The examples given to ``cross_fit``.

        Returns
        -------
        CrossFit
            With the same predictor, and the other score.
        """
        if isinstance(score, PredictorScore):
            return self._replace(score=score.bind(self.estimator), target=self.losses)
        copy = clone(score, safe=False)
        other = self._replace(score=copy, target=self.losses)
        return other._replace(score=other._fit(copy, self.view(X, copy), slice(None)))

    def _fit(self, score: Any, features: Any, rows: Any) -> Any:
        arguments = self._arguments(rows)
        if getattr(score, "target", "losses") != "losses":
            arguments["losses"] = self.losses[rows]
        if self.sample_weight is not None:
            arguments["sample_weight"] = self.sample_weight[rows]
        # each fold has its own predictor: what the score learns must hold for another one
        if has_fit_parameter(score, "groups") and len(np.unique(self.fold[rows])) > 1:
            arguments["groups"] = self.fold[rows]
        if isinstance(score, BaseScore):
            score._keeps_held_out = True
        score.fit(features, self.target[rows], **arguments)
        return score

    def _arguments(self, rows: Any) -> dict[str, Any]:
        return self.material.rows(rows).arguments(Required.by(self.score))

    def _read_uncertainty(self, predictor: Any, X: Any, rows: Any) -> FloatArray:
        """Uncertainty read from the predictor of a fold at its examples."""
        predictions = {} if self.classes is None else {"predictions": self.predictions[rows]}
        response = self.score.response
        classes: Any = getattr(self.estimator, "classes_", ())
        lacks_a_class = not np.array_equal(getattr(predictor, "classes_", ()), classes)
        if lacks_a_class and find_response(predictor, response) == "predict_proba":
            # a class without a column would not fit to a loss matrix of all classes
            outputs = outputs_of_all_classes(predictor, X, response, classes)
            return np.asarray(self.score.from_outputs(outputs, **predictions))
        return np.asarray(self.score.bind(predictor).predict(X, **predictions))


def cross_fit(
    estimator: Any,
    score: Any,
    X: Any,
    y: Any,
    loss: Callable[[Any, Any], Any],
    cv: Any = 5,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = 0,
) -> CrossFit:
    """Train a predictor and its uncertainty score on the same examples.

    A score must learn from losses on examples that the predictor has not seen. Instead of setting examples
    aside for it, a copy of the predictor is trained without each fold and its losses are taken there: all n
    losses are honest, and the predictor that is returned is trained on all n examples. The score is then
    used for a predictor that is slightly better than the ones it learned from.

    Parameters
    ----------
    estimator : object with ``fit`` and ``predict``
        The predictor: a classifier or regressor of scikit-learn, or any other. Copied, never changed. One
        that is already trained, on other examples, goes in as ``sklearn.frozen.FrozenEstimator(predictor)``.
    score : learned score, or score read from a predictor
        Or any other object with ``fit(X, losses, predictions=None)`` and ``predict(X, predictions=None)``.
        Copied, never changed. Predictions are passed on for classifiers. A score that declares ``response``
        gets predict_proba or decision_function as ``outputs``, where the predictor has it; one that declares
        ``reads_auxiliary`` gets ``auxiliary`` and ``base_score``:

        =============  ==================================================================================
        classifier     log ratio of the distances to the nearest example of the predicted class and of
                       another one, log distance to the nearest, both again with the mean distance to
                       five; for a score with ``reference_models``, log-odds against the predicted class by
                       30 random trees, margins of a linear and a kernel model trained on the same examples
                       and, with "many", log-odds by boosted trees; unless 0/1 loss, also the log expected
                       loss by each of them, and the base score is the log plug-in risk
        any other      the prediction, log mean distance to the nearest examples, log of their mean loss and
                       of the mean difference between their targets and the prediction; for a score with
                       ``reference_models`` "few", as ``ConfidenceScore``, log distance to the prediction of
                       ten random trees trained on the same examples, how sure they are and the mean loss
                       in their leaves, unless the predictor states a standard deviation; with "many", as
                       boosted scores, of 50 such trees, and in any case log distance to the prediction of
                       boosted trees; base score: log standard deviation, of an ensemble's members or as the
                       predictor says
        =============  ==================================================================================

        Nearest means among the examples that the predictor was trained on: for the losses of a fold, those
        of the other folds.
    X : array-like of shape (n, d)
        The score sees it behind the transformers, where the predictor is a pipeline.
    y : array-like of shape (n, ...)
        True labels or values.
    loss : callable (y, predictions) -> losses of shape (n,)
        For instance ``facereject.losses.zero_one_loss``.
    cv : int, cross-validation splitter or iterable of (train, test)
        Folds. An int means shuffled folds, stratified by class for a classifier; anything else must hold out
        every example exactly once.
    sample_weight : array-like of shape (n,), optional
        Weights of the examples, for predictor and score.
    groups : array-like of shape (n,), optional
        Examples of one group share a fold.
    random_state : int, RandomState or None
        Shuffles the examples into folds.

    Returns
    -------
    CrossFit
        The fitted predictor and score.

    See Also
    --------
    facereject.selective.SelectivePredictor : Adds a selection rule, as one estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from facereject.losses import zero_one_loss
    >>> from facereject.scores import SELEScore, cross_fit
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = cross_fit(LogisticRegression(C=0.01), SELEScore(), X, y, zero_one_loss)
    >>> fitted.estimator.predict(X[:2]), fitted.uncertainty(X[:2]).shape
    (array([0, 0]), (2,))
    """
    frozen = isinstance(estimator, FrozenEstimator)
    # without the wrapper, which would hide from a score what kind of predictor it reads
    predictor = estimator.estimator if frozen else estimator
    if not frozen:
        check_predictor(predictor)
    X, y = indexable(X, np.asarray(y))
    weight = None if sample_weight is None else check_sample_weight(sample_weight, y)
    is_class = find_kind(predictor, y, loss) == "classifier"
    fold = assign_folds(is_class, X, y, cv, groups, random_state)

    def train(rows: NDArray[np.intp], where: str) -> Any:
        if frozen:
            return predictor
        part = None if weight is None else weight[rows]
        with _naming(f"{type(predictor).__name__}.fit", where, rows):
            return fit_predictor(clone(predictor, safe=False), _safe_indexing(X, rows), y[rows], part)

    classes = None
    if is_class:
        classes = np.unique(y)
        if frozen:
            # outputs have the columns of the classes it was fitted to, whichever of them occur in y
            classes = getattr(predictor, "classes_", classes)
    needs_probabilities = getattr(score, "target", "losses") == "true_class_probability"
    required = Required(None, False, None) if isinstance(score, PredictorScore) else Required.by(score)
    response = "predict_proba" if needs_probabilities else required.response
    folds = range(int(fold.max()) + 1)
    fold_estimators, predictions, outputs = [], [], []
    for k in folds:
        where, rows = f"fold {k + 1} of {len(folds)}", np.flatnonzero(fold == k)
        fold_estimators.append(train(np.flatnonzero(fold != k), f"without {where}"))
        held_out, given = _safe_indexing(X, rows), None
        with _naming(f"{type(predictor).__name__}, asked for predictions,", f"in {where}", rows):
            if is_class and response is not None and find_response(fold_estimators[-1], response):
                given = outputs_of_all_classes(fold_estimators[-1], held_out, response, classes)
                outputs.append(given)
            predictions.append(predict_from(fold_estimators[-1], held_out, given, classes))
    order = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    all_predictions = np.concatenate(predictions)[order]
    all_outputs = np.concatenate(outputs)[order] if outputs else None
    losses = _losses_of_folds(loss, y, all_predictions, fold)
    target = losses
    if needs_probabilities:
        target = _true_class_probability(score, predictor, y, all_outputs, classes)
    auxiliary = base_score = part = None
    if required.auxiliary:

        def training_part(owner: Any, rows: NDArray[np.intp]) -> TrainingPart:
            examples = _safe_indexing(X, rows)
            return TrainingPart(
                owner, examples, y[rows], losses[rows], classes, loss, len(y), others=required.others
            )

        found = []
        for k, owner in zip(folds, fold_estimators, strict=True):
            rows = np.flatnonzero(fold == k)
            given = None if all_outputs is None else all_outputs[rows]
            neighbours = training_part(owner, np.flatnonzero(fold != k))
            found.append(neighbours.auxiliary(_safe_indexing(X, rows), all_predictions[rows], given))
        auxiliary, base_score = (_stack(parts, order) for parts in zip(*found, strict=True))
    final = train(np.arange(len(y)), "to all examples")
    if required.auxiliary:
        part = training_part(final, np.arange(len(y)))
    material = Material(all_predictions if is_class else None, all_outputs, auxiliary, base_score)
    view = FeatureView(final, X)
    result = CrossFit(
        estimator=final,
        score=score,
        losses=losses,
        predictions=all_predictions,
        outputs=all_outputs if required.response is not None else None,
        target=target,
        fold=fold,
        fold_estimators=fold_estimators,
        material=material,
        view=view,
        part=part,
        classes=classes,
        sample_weight=weight,
    )
    if isinstance(score, PredictorScore):
        return result._replace(score=score.bind(final))
    return result._replace(score=result._fit(clone(score, safe=False), view(X, score), slice(None)))


@contextmanager
def _naming(part: str, where: str, rows: NDArray[np.intp]) -> Iterator[None]:
    """Name the part, fold and rows in an error raised inside, which is chained."""
    try:
        yield
    except Exception as error:
        shown = ", ".join(str(row) for row in rows[:5])
        more = f", … ({len(rows)} rows)" if len(rows) > 5 else ""
        context = f"{part} failed {where}, rows {shown}{more}"
        try:
            named = type(error)(f"{context}: {error}")
        except Exception:
            # an exception of a user may take other arguments
            named = RuntimeError(f"{context}: {type(error).__name__}: {error}")
        raise named from error


def _losses_of_folds(
    loss: Callable[[Any, Any], Any], y: NDArray[Any], predictions: NDArray[Any], fold: NDArray[np.intp]
) -> FloatArray:
    """Losses of all examples; if they cannot be computed, the error names the fold that is to blame."""
    name = f"the loss {getattr(loss, '__name__', type(loss).__name__)}"
    n_folds = int(fold.max()) + 1
    try:
        return compute_losses(loss, y, predictions)
    except Exception:
        for k in range(n_folds):
            rows = np.flatnonzero(fold == k)
            with _naming(name, f"in fold {k + 1} of {n_folds}", rows):
                compute_losses(loss, y[rows], predictions[rows])
        with _naming(name, "on all examples", np.arange(len(y))):
            raise


def compute_losses(loss: Callable[[Any, Any], Any], y: NDArray[Any], predictions: NDArray[Any]) -> FloatArray:
    """Checked values of a loss function."""
    losses = loss(y, predictions)
    if np.shape(losses) != (len(y),):
        raise ValueError(
            f"loss must return one value per example, shape ({len(y)},), got shape {np.shape(losses)}"
        )
    return check_vector(losses, "losses", non_negative=True)


def _stack(parts: tuple[FloatArray | None, ...], order: NDArray[np.intp]) -> FloatArray | None:
    """Values of the folds in the order of the examples; None unless all folds have them."""
    present = [part for part in parts if part is not None]
    return np.concatenate(present)[order] if len(present) == len(parts) else None


def _true_class_probability(
    score: Any, predictor: Any, y: NDArray[Any], outputs: FloatArray | None, classes: NDArray[Any] | None
) -> FloatArray:
    if outputs is None or classes is None:
        raise TypeError(f"{type(score).__name__} needs predict_proba, which {type(predictor).__name__} lacks")
    column = locate_labels(y, classes, "y")
    # a class the predictor does not know has no chance with it
    return np.where(column >= 0, outputs[np.arange(len(y)), column], 0.0)


def _repeated(score: Any) -> Any:
    """An unfitted copy that repeats what the fitted score has chosen."""
    # a score that is no scikit-learn estimator is copied as it is; its fit starts anew
    return score._repeated() if isinstance(score, BaseScore) else clone(score, safe=False)
