"""SelectivePredictor: a predictor h, its uncertainty score s and a selection rule c as one estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from facereject._validation import FloatArray
from facereject.losses import absolute_error, zero_one_loss
from facereject.metrics import RiskCoverageCurve, aurc, risk_coverage_curve
from facereject.scores import SELEScoreCV, cross_fit
from facereject.scores._predictor import PredictorScore, check_predictor
from facereject.scores.cross_fitting import compute_losses
from facereject.selection import BoundedCoverage, Selector
from facereject.selection.start import guaranteed_risk_from

__all__ = ["SelectivePredictor"]


class _MethodAndParameter:
    """A method that shares its name with a constructor parameter.

    "score" is the word of the theory for s and that of scikit-learn for the quality of a model. Reading the
    attribute gives the method, which GridSearchCV and Pipeline call; assigning stores the parameter, which
    ``get_params`` returns.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__name__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.function if instance is None else MethodType(self.function, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value


class SelectivePredictor(MetaEstimatorMixin, BaseEstimator):
    """A predictor that says which of its predictions to trust.

    ``fit`` uses one training set for all three parts, each of them on examples that the part before it has
    not seen:

    1. The examples are cut into folds. A copy of the predictor is trained without each fold and predicts
       there; the losses of these out-of-fold predictions are those of unseen examples.
    2. The score is fitted to all out-of-fold losses, the predictor to all examples: ``score_``,
       ``predictor_``.
    3. On the losses it was fitted to, ``score_`` looks better than it is. So the score is fitted once more
       without each fold, with the alpha already chosen, and gives the uncertainties of that fold, on the
       scale of ``score_`` (``CrossFit.out_of_fold_uncertainty``). The selection rule and the expected loss
       are those of the pairs (out-of-fold uncertainty, out-of-fold loss).

    Coverage and risk of ``selector_`` are therefore close to those on new examples, but they are estimates.
    The final predictor and score have seen more examples than those of the folds. And the predictors behind
    the other losses have seen each fold, which a score without regularisation can exploit: with coin tosses
    for labels, 300 examples, 60 features and alpha = 0 the error of the more certain half is put at 42 %
    instead of 50 %, with alpha = 0.1 at 49 %, and with ``prefit`` at 50 % for either.

    Two things make the coverage on new examples exceed the one asked for. ``BoundedCoverage``, the default,
    takes it for a minimum and accepts more where that lowers the risk on the sample. And a score read from
    the predictor is taken as it is, although the predictors of the folds, each overfitting in its own way to
    fewer examples, are less sure at the same quality. With ``LogisticRegression(C=1e4)`` and
    ``MaxClassProbability`` on 100 examples with 40 features, BoundedCoverage(0.7) accepts 74 % of the
    out-of-fold examples for the first reason and 80 % of new ones for the second. For a promise, choose the
    threshold on examples set aside (last example below).

    Parameters
    ----------
    predictor : scikit-learn classifier or regressor
        Or any other scikit-learn estimator with ``fit`` and ``predict``, which then needs ``loss``. Cloned,
        never changed.
    score : uncertainty score, optional
        One of ``facereject.scores``, learned or read from the predictor, or any object with
        ``fit(X, losses, predictions=None)`` and ``predict(X, predictions=None)``, higher = less certain.
        Predictions are passed for classifiers. Copied, by ``copy.deepcopy`` if it is no scikit-learn
        estimator. By default ``SELEScoreCV()``. Learned scores need X to be a table of
        finite numbers (the boosted ones allow NaN); put what makes it one before this estimator.
    rejection : rejection model, optional
        ``CostBased``, ``BoundedImprovement``, ``BoundedCoverage``, or any object whose
        ``fit(losses=…, uncertainty=…)`` returns a ``Selector``. By default ``BoundedCoverage(0.9)``: at least
        90 %, more where that lowers the risk on the sample.
    loss : callable (y, predictions) -> losses of shape (n,), optional
        Loss ≥ 0 of each example; where targets have several columns, of all of them together. By default
        ``zero_one_loss`` for a classifier and ``absolute_error`` for a regressor.
    cv : int, cross-validation splitter or iterable of (train, test)
        Folds. An int means shuffled folds, stratified by class for a classifier; anything else must hold out
        every example exactly once.
    prefit : bool
        The predictor is already fitted, on examples other than those given to ``fit``. It is used as it is,
        also by copies of this estimator, and never fitted again.
    random_state : int, RandomState or None
        Shuffles the examples into folds, and decides in ``accept`` at the threshold.

    Attributes
    ----------
    predictor_, score_ : fitted estimators
    selector_ : Selector
        The selection rule, with the ``coverage_`` and ``selective_risk_`` estimated for it.
    loss_ : callable
    calibrator_ : IsotonicRegression
        From uncertainty to expected loss.
    oof_predictions_, oof_losses_, oof_uncertainty_ : ndarrays of length n
        Out-of-fold values of the training examples.
    classes_ : ndarray of shape (K,)
        Of the predictor, if it has them.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X is a frame with string column names.

    Notes
    -----
    ``model.score`` is the method; the parameter of that name is ``model.get_params()["score"]``.

    Inside a Pipeline only ``predict`` and ``score`` are reachable on the pipeline itself. To have them all,
    make the pipeline the predictor: ``SelectivePredictor(make_pipeline(StandardScaler(), SVC()))``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.model_selection import train_test_split
    >>> from facereject.selective import SelectivePredictor
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> model = SelectivePredictor(RandomForestClassifier(random_state=0)).fit(X_train, y_train)
    >>> predicted, accepted = model.predict(X_test), model.accept(X_test)
    >>> error, selective_error = (predicted != y_test).mean(), (predicted != y_test)[accepted].mean()
    >>> bool(selective_error < error)
    True

    What to return for a rejected example is up to you:

    >>> import numpy as np
    >>> answers = np.where(accepted, predicted, -1)

    A threshold that promises, with probability 0.95, an error of at most 5 % among the accepted. It needs
    examples that ``fit`` has not seen:

    >>> X_cal, X_new, y_cal, y_new = train_test_split(X_test, y_test, random_state=0)
    >>> selector = model.calibrate(X_cal, y_cal, max_risk=0.05)
    >>> accepted = model.accept(X_new)
    """

    def __init__(
        self,
        predictor: Any,
        score: Any = None,
        rejection: Any = None,
        loss: Callable[[Any, Any], Any] | None = None,
        cv: Any = 5,
        *,
        prefit: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.predictor = predictor
        self.score = score
        self.rejection = rejection
        self.loss = loss
        self.cv = cv
        self.prefit = prefit
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SelectivePredictor:
        """Train predictor and score, choose the threshold.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Passed on to predictor and score as it is.
        y : array-like of shape (n,), or what predictor and loss take

        Raises
        ------
        InfeasibleTargetError
            If no threshold meets the target of ``rejection``.
        """
        self._check_parameters()
        validate_data(self, X, y, skip_check_array=True)
        # frames and sparse matrices stay what they are
        X, y = indexable(X, _check_target(y))
        if is_classifier(self.predictor):
            check_classification_targets(y)
        loss = self._resolve_loss()
        predictor, score = self.predictor, vars(self)["score"]
        score = SELEScoreCV() if score is None else score
        to_fit = FrozenEstimator(predictor) if self.prefit else predictor
        fitted = cross_fit(to_fit, score, X, y, loss, self.cv, random_state=self.random_state)
        if self.prefit:
            # without the wrapper, which would hide from a score what kind of predictor it reads
            fitted = fitted._replace(
                predictor=predictor, fold_predictors=[predictor] * len(fitted.fold_predictors)
            )
            if isinstance(score, PredictorScore):
                fitted = fitted._replace(score=score.bind(predictor))
        uncertainty = fitted.out_of_fold_uncertainty(X)
        rejection = BoundedCoverage(0.9) if self.rejection is None else clone(self.rejection, safe=False)
        selector = _fit_rejection(rejection, fitted.losses, uncertainty)
        calibrator = IsotonicRegression(increasing=True, out_of_bounds="clip")
        self.calibrator_ = calibrator.fit(uncertainty, fitted.losses)
        self.predictor_, self.score_, self.selector_ = fitted.predictor, fitted.score, selector
        self.loss_, self.oof_losses_ = loss, fitted.losses
        self.oof_predictions_, self.oof_uncertainty_ = fitted.predictions, uncertainty
        if hasattr(self.predictor_, "classes_"):
            self.classes_ = self.predictor_.classes_
        # only what the uncertainty of new examples needs: predictors of the folds make large pickles
        self._cross_fit = fitted._replace(
            fold_predictors=[], outputs=None if fitted.outputs is None else fitted.outputs[:0]
        )
        return self

    def calibrate(
        self,
        X: Any,
        y: Any,
        max_risk: float,
        delta: float = 0.05,
        *,
        loss_bound: float = 1.0,
        groups: Any = None,
        weights: Any = None,
        method: str = "auto",
    ) -> Selector:
        """Replace the selection rule by one with a guarantee, on examples that ``fit`` has not seen.

        With probability at least 1 - delta over the examples X, y, the mean of min(loss, loss_bound) of
        accepted predictions is at most ``max_risk``; `facereject.guaranteed_risk` says what is not promised,
        and what the other parameters mean. Its ``start`` is chosen by the out-of-fold losses of ``fit``,
        which leaves most of delta to it; the rest insures against a bad choice.

        Returns
        -------
        Selector
            Also kept as ``selector_``, which ``accept`` uses from now on. ``guarantee_.statement`` says what
            is promised.

        Raises
        ------
        NoValidThresholdError
            If no threshold can be certified; ``selector_`` is unchanged.
        """
        check_is_fitted(self, "predictor_")
        losses, uncertainty = self._losses(X, y), self.uncertainty(X)
        target = {"max_risk": max_risk, "delta": delta, "loss_bound": loss_bound, "method": method}
        self.selector_ = guaranteed_risk_from(
            self.oof_losses_,
            self.oof_uncertainty_,
            losses,
            uncertainty,
            groups=groups,
            weights=weights,
            **target,
        )
        return self.selector_

    def predict(self, X: Any) -> NDArray[Any]:
        """Predictions for all examples, also for those that ``accept`` rejects."""
        check_is_fitted(self, "predictor_")
        return np.asarray(self.predictor_.predict(X))

    def uncertainty(self, X: Any) -> FloatArray:
        """Uncertainty of the prediction at each row of X, shape (n,); higher = less certain."""
        check_is_fitted(self, "predictor_")
        return self._cross_fit.uncertainty(X)

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
        return self.selector_.accept(uncertainty, self.random_state if random_state is None else random_state)

    def expected_loss(self, X: Any) -> FloatArray:
        """Expected loss of the prediction at each row of X, shape (n,), in the unit of the loss.

        Isotonic regression of the out-of-fold losses on the out-of-fold uncertainties: never decreasing in
        the uncertainty, and constant beyond the smallest and the largest one seen.
        """
        uncertainty = self.uncertainty(X)
        return np.asarray(self.calibrator_.predict(uncertainty), dtype=np.float64)

    def risk_coverage(self, X: Any, y: Any) -> RiskCoverageCurve:
        """Selective risk at every coverage on the examples X, y; see ``risk_coverage_curve``."""
        return risk_coverage_curve(self._losses(X, y), self.uncertainty(X))

    @_MethodAndParameter
    def score(self, X: Any, y: Any) -> float:
        """−AuRC on the examples X, y: higher is better, in the unit of the loss.

        It judges predictor and score together and does not depend on ``rejection``: a target is stated, not
        searched for.
        """
        return -aurc(self._losses(X, y), self.uncertainty(X))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, those of the parts as ``predictor__…``, ``score__…`` and ``rejection__…``."""
        parameters = super().get_params(deep)
        score = parameters["score"] = vars(self)["score"]
        if deep and hasattr(score, "get_params") and not isinstance(score, type):
            parameters.update((f"score__{name}", value) for name, value in score.get_params().items())
        return parameters

    def __sklearn_clone__(self) -> SelectivePredictor:
        keep = ("predictor",) if self.prefit else ()
        parameters = self.get_params(deep=False).items()
        return type(self)(**{k: v if k in keep else clone(v, safe=False) for k, v in parameters})

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.predictor)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        if tags.regressor_tags is not None:
            # scikit-learn's checks read ``score`` of a regressor as R²
            tags.regressor_tags.poor_score = True
        tags.target_tags = inner.target_tags
        tags.target_tags.required = True
        # the losses taken by default are of one number or label per example
        tags.target_tags.multi_output = inner.target_tags.multi_output and self.loss is not None
        # learned scores take a table of numbers, some with NaN; the others take what the predictor takes
        score = vars(self)["score"]
        if isinstance(score, PredictorScore):
            tags.input_tags = inner.input_tags
        elif isinstance(score, BaseEstimator):
            tags.input_tags.allow_nan = inner.input_tags.allow_nan and get_tags(score).input_tags.allow_nan
        return tags

    def _check_parameters(self) -> None:
        score = vars(self)["score"]
        for name, part, methods, example in (
            ("predictor", self.predictor, ("fit", "predict"), "a classifier or regressor of scikit-learn"),
            ("score", score, ("fit", "predict"), "SELEScoreCV()"),
            ("rejection", self.rejection, ("fit",), "BoundedCoverage(0.9)"),
        ):
            if part is None and name != "predictor":
                continue
            if isinstance(part, type) or not all(hasattr(part, method) for method in methods):
                raise TypeError(
                    f"{name} must be an object with {' and '.join(methods)}, for instance {example}; "
                    f"got {part!r}"
                )
        check_predictor(self.predictor)
        if self.loss is not None and not callable(self.loss):
            raise TypeError(
                "loss must be a function of (y, predictions) that returns one loss per example, for instance "
                f"facereject.losses.absolute_error; got {self.loss!r}"
            )

    def _resolve_loss(self) -> Callable[[Any, Any], Any]:
        if self.loss is not None:
            return self.loss
        if is_classifier(self.predictor):
            return zero_one_loss
        if is_regressor(self.predictor):
            return absolute_error
        raise ValueError(
            f"{type(self.predictor).__name__} is neither a classifier nor a regressor: "
            "pass loss, a function of (y, predictions) that returns one loss per example"
        )

    def _losses(self, X: Any, y: Any) -> FloatArray:
        return compute_losses(self.loss_, _check_target(y), self.predict(X))


def _fit_rejection(rejection: Any, losses: FloatArray, uncertainty: FloatArray) -> Any:
    """The selector of a rejection model, called by keywords: an order of arguments could be mistaken."""
    try:
        inspect.signature(rejection.fit).bind(losses=losses, uncertainty=uncertainty)
    except TypeError as error:
        raise TypeError(
            f"rejection.fit must take the keywords losses and uncertainty ({error}); got {rejection!r}"
        ) from None
    selector = rejection.fit(losses=losses, uncertainty=uncertainty)
    if not hasattr(selector, "accept"):
        raise TypeError(f"rejection.fit must return a Selector, got {selector!r}")
    return selector


def _check_target(y: Any) -> NDArray[Any]:
    """Targets as an array; a single column becomes a vector, with scikit-learn's warning."""
    array = np.asarray(y)
    return column_or_1d(array, warn=True) if array.ndim == 2 and array.shape[1] == 1 else array
