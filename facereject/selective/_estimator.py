"""SelectivePredictor: a predictor h, its uncertainty score s and a selection rule c as one estimator."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import ClassifierTags, RegressorTags, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from facereject._validation import FloatArray
from facereject.losses import absolute_error, zero_one_loss
from facereject.metrics import RiskCoverageCurve, aurc, risk_coverage_curve
from facereject.scores import ConfidenceScore, cross_fit
from facereject.scores._base import BaseScore
from facereject.scores._cross_fitting import compute_losses
from facereject.scores._post_hoc import SavedOutputs
from facereject.scores._reading.predictor import (
    FittedFunction,
    PredictorScore,
    find_kind,
    read_predictions,
)
from facereject.selection import BoundedCoverage, Selector
from facereject.selection.start import guaranteed_risk_from

# examples from which two folds are enough for the default score
_MANY = 2000


def _estimator_has(method: str) -> Callable[[Any], bool]:
    """Whether a SelectivePredictor has the method: as its predictor does."""

    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)
        return True

    return check


class SelectivePredictor(MetaEstimatorMixin, TransformerMixin, BaseEstimator):
    """A predictor that says which of its predictions to trust.

    By default the uncertainty is that of ``ConfidenceScore``: it weighs what the predictor says of itself
    (probabilities, the spread of an ensemble), how near the training examples are, and whether other models
    agree, which are trained on at most 4,000 of the same examples in a fraction of a second: for a classifier
    30 random trees, a linear and a kernel model, for a regressor that states no spread ten random trees. The
    predictor is trained twice on half of the examples and once on all (five times on four fifths below 2,000
    examples). A score with more to learn,
    ``BoostedSELEScore()``, often ranks better and takes longer.

    ``fit`` uses one training set for all three parts, each of them on examples that the part before it has
    not seen:

    1. The examples are cut into folds. A copy of the predictor is trained without each fold and predicts
       there; the losses of these out-of-fold predictions are those of unseen examples.
    2. The score is fitted to all out-of-fold losses, the predictor to all examples: ``uncertainty_score_``,
       ``estimator_``.
    3. On the losses it was fitted to, ``uncertainty_score_`` looks better than it is. So the score is fitted
       once more without each fold, with the alpha already chosen, and gives the uncertainties of that fold,
       on the scale of ``uncertainty_score_`` (``CrossFit.out_of_fold_uncertainty``). The selection rule and
       the expected error are those of the pairs (out-of-fold uncertainty, out-of-fold loss).

    Coverage and risk of ``selector_`` are therefore close to those on new examples, but they are estimates.
    The final predictor and score have seen more examples than those of the folds; with few folds the
    estimates are those of a clearly weaker predictor, and err on the safe side. And the predictors behind
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
    estimator : object with ``fit`` and ``predict``
        The predictor: a classifier or regressor of scikit-learn, a pipeline that ends in one, or any other
        object; one that does not say what it is needs ``loss``. Copied, never changed. With ``prefit`` it
        needs no ``fit``, and may be a function of X that returns predictions.
    uncertainty_score : uncertainty score, optional
        One of ``facereject.scores``, learned or read from the predictor, or any object with
        ``fit(X, losses, predictions=None)`` and ``predict(X, predictions=None)``, higher = less certain.
        Predictions are passed for classifiers. Copied, by ``copy.deepcopy`` if it is no scikit-learn
        estimator. By default ``ConfidenceScore()``. A score sees the columns that reach the last step of a
        pipeline; columns of a frame that hold no numbers become indicators. Linear scores need them finite.
    rejection : rejection model, optional
        ``CostBased``, ``BoundedImprovement``, ``BoundedCoverage``, or any object whose
        ``fit(losses=…, uncertainty=…)`` returns a ``Selector``. By default ``BoundedCoverage(0.9)``: at least
        90 %, more where that lowers the risk on the sample.
    loss : callable (y, predictions) -> losses of shape (n,), optional
        Loss ≥ 0 of each example; where targets have several columns, of all of them together. By default
        ``zero_one_loss`` for a classifier and ``absolute_error`` for a regressor.
    cv : int, cross-validation splitter or iterable of (train, test), optional
        Folds. An int means shuffled folds, stratified by class for a classifier; anything else must hold out
        every example exactly once. By default 5; 2 with the default score and at least 2,000 examples: it has
        so little to learn that a predictor trained on half of them is enough like the final one.
    prefit : bool
        The predictor is already fitted, on examples other than those given to ``fit``. It is used as it is,
        also by copies of this estimator, and never fitted again.
    random_state : int, RandomState or None
        Shuffles the examples into folds, and decides in ``accept`` at the threshold.

    Attributes
    ----------
    estimator_, uncertainty_score_ : fitted estimators
    selector_ : Selector
        The selection rule, with the ``coverage_`` and ``selective_risk_`` estimated for it.
    loss_ : callable
    calibrator_ : IsotonicRegression
        From uncertainty to expected error.
    oof_predictions_, oof_losses_, oof_uncertainty_ : ndarrays of length n
        Out-of-fold values of the training examples.
    classes_ : ndarray of shape (K,)
        Of the predictor, if it has them.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        If X is a frame with string column names.

    See Also
    --------
    facereject.scores.cross_fit : Predictor and score alone.
    facereject.guaranteed_risk : The guarantee behind ``calibrate``.

    Notes
    -----
    Inside a Pipeline ``predict``, ``predict_proba``, ``score`` and ``transform`` are reachable on the
    pipeline itself; ``transform`` returns uncertainty, expected error and acceptance as columns::

        pipeline = make_pipeline(StandardScaler(), SelectivePredictor(SVC())).set_output(transform="pandas")
        pipeline.fit(X, y).transform(X_new)["accepted"]

    To have the methods too, make the pipeline the predictor:
    ``SelectivePredictor(make_pipeline(StandardScaler(), SVC()))``.

    References
    ----------
    .. [1] V. Franc, D. Prusa, V. Voracek, "Optimal strategies for reject option classifiers", Journal of
       Machine Learning Research 24, 2023.

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
        estimator: Any,
        uncertainty_score: Any = None,
        rejection: Any = None,
        loss: Callable[[Any, Any], Any] | None = None,
        cv: Any = None,
        *,
        prefit: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.uncertainty_score = uncertainty_score
        self.rejection = rejection
        self.loss = loss
        self.cv = cv
        self.prefit = prefit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> SelectivePredictor:
        """Train predictor and score, choose the threshold.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Passed on to the predictor as it is.
        y : array-like of shape (n,), or what predictor and loss take
            True labels or values.
        sample_weight : array-like of shape (n,), optional
            Weights for predictor, score, threshold and expected error.
        groups : array-like of shape (n,), optional
            Examples of one group share a fold: photos of one person, for instance.

        Returns
        -------
        SelectivePredictor
            The fitted estimator.

        Raises
        ------
        InfeasibleTargetError
            If no threshold meets the target of ``rejection``.
        """
        self._check_parts()
        validate_data(self, X, y, skip_check_array=True)
        # frames and sparse matrices stay what they are
        X, y = indexable(X, _check_target(y))
        kind = find_kind(self.estimator, y, self.loss)
        if kind == "classifier":
            check_classification_targets(y)
        loss = self._resolve_loss(kind, y)
        score = ConfidenceScore() if self.uncertainty_score is None else self.uncertainty_score
        default = self.uncertainty_score is None
        cv = _default_folds(y, kind, groups, default) if self.cv is None else self.cv
        fitted = cross_fit(
            self._estimator_to_fit(),
            score,
            X,
            y,
            loss,
            cv,
            sample_weight=sample_weight,
            groups=groups,
            random_state=self.random_state,
        )
        uncertainty = fitted.out_of_fold_uncertainty(X)
        # a rejection model of the user need not take weights
        weight = {} if fitted.sample_weight is None else {"sample_weight": fitted.sample_weight}
        rejection = BoundedCoverage(0.9) if self.rejection is None else clone(self.rejection, safe=False)
        selector = _fit_rejection(rejection, fitted.losses, uncertainty, weight)
        calibrator = IsotonicRegression(increasing=True, out_of_bounds="clip")
        self.calibrator_ = calibrator.fit(uncertainty, fitted.losses, **weight)
        self.estimator_, self.uncertainty_score_ = fitted.estimator, fitted.score
        self.selector_ = selector
        self.loss_, self.oof_losses_ = loss, fitted.losses
        self.oof_predictions_, self.oof_uncertainty_ = fitted.predictions, uncertainty
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        # only what the uncertainty of new examples needs: predictors of the folds make large pickles
        self._cross_fit = fitted._replace(fold_estimators=[], material=fitted.material.rows(slice(0)))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict all examples, also those that ``accept`` rejects.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.

        Returns
        -------
        ndarray of shape (n, ...)
            The predictions.
        """
        check_is_fitted(self, "estimator_")
        return read_predictions(self.estimator_, X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Class probabilities of the predictor.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.

        Returns
        -------
        ndarray of shape (n, K)
            The probabilities.
        """
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Decision values of the predictor.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            The values.
        """
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.decision_function(X))

    def transform(self, X: Any) -> FloatArray:
        """Uncertainty, expected error and acceptance (1 or 0) of each prediction.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.

        Returns
        -------
        ndarray of shape (n, 3)
            One column each.
        """
        uncertainty = self.uncertainty(X)
        accepted = self.selector_.accept(uncertainty, self.random_state)
        return np.column_stack([uncertainty, self._expected_error(uncertainty), accepted])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """List the columns of ``transform``.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of str
            The names.
        """
        return np.array(["uncertainty", "expected_error", "accepted"], dtype=object)

    def uncertainty(self, X: Any) -> FloatArray:
        """Uncertainty of the prediction at each row of X; higher = less certain.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        check_is_fitted(self, "estimator_")
        return np.asarray(self._cross_fit.uncertainty(X))

    def accept(self, X: Any, random_state: Any = None) -> NDArray[np.bool_]:
        """Which predictions to trust (True), and which to reject (False).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.
        random_state : int or RandomState, optional
            Decides examples exactly at the threshold, where the selection rule is randomised
            (``selector_.acceptance_`` strictly between 0 and 1). By default that of the estimator: the same X
            gets the same answers each time. For examples that come one by one pass the same
            RandomState each time; an int would decide all of them alike.

        Returns
        -------
        ndarray of bool, shape (n,)
            True where the prediction is accepted.
        """
        uncertainty = self.uncertainty(X)
        chance = self.random_state if random_state is None else random_state
        return np.asarray(self.selector_.accept(uncertainty, chance))

    def expected_error(self, X: Any) -> FloatArray:
        """Expected loss of the prediction at each row of X, in the unit of the loss.

        Isotonic regression of the out-of-fold losses on the out-of-fold uncertainties: never decreasing in
        the uncertainty, and constant beyond the smallest and the largest one seen.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.

        Returns
        -------
        ndarray of shape (n,)
            The expected loss.
        """
        return self._expected_error(self.uncertainty(X))

    def _expected_error(self, uncertainty: FloatArray) -> FloatArray:
        return np.asarray(self.calibrator_.predict(uncertainty), dtype=np.float64)

    def risk_coverage(self, X: Any, y: Any) -> RiskCoverageCurve:
        """Selective risk at every coverage on the examples X, y.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.
        y : array-like of shape (n,)
            True labels or values.

        Returns
        -------
        RiskCoverageCurve
            As of ``risk_coverage_curve``.
        """
        return risk_coverage_curve(*self._losses_and_uncertainty(X, y))

    @available_if(_estimator_has("score"))
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the predictor on X, y as scikit-learn defines it, over all predictions, rejected or not.

        The mean accuracy of a classifier, R² of a regressor. To compare models by how well they reject, pass
        ``scoring=neg_aurc`` to ``GridSearchCV`` or ``cross_val_score``.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples as the predictor takes them.
        y : array-like of shape (n,)
            True labels or values.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples.

        Returns
        -------
        float
            Accuracy or R².

        See Also
        --------
        neg_aurc : The negated area under the risk-coverage curve, as a scorer.
        """
        check_is_fitted(self, "estimator_")
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(X, y, **weight))

    def _losses_and_uncertainty(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        predictions = self.predict(X)
        losses = compute_losses(self.loss_, _check_target(y), predictions)
        return losses, self._cross_fit.uncertainty_of(X, predictions)

    @classmethod
    def from_outputs(
        cls,
        outputs: Any,
        y: Any,
        features: Any = None,
        *,
        classes: Any = None,
        uncertainty_score: Any = None,
        rejection: Any = None,
        loss: Callable[[Any, Any], Any] | None = None,
        cv: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        random_state: Any = 0,
    ) -> SelectivePredictor:
        """Learn to reject from saved outputs of a classifier, for instance logits of a network.

        The uncertainty starts from the best score that can be read from the outputs
        (``PostHocScore("auto")``) and is never worse than it beyond chance: what is learned must earn its
        weight (``weight_`` of ``uncertainty_score_``).

        Parameters
        ----------
        outputs : array-like of shape (n, K)
            Logits or probabilities of examples that the classifier was not trained on; of two classes also
            the column of the second alone.
        y : array-like of shape (n,)
            True labels: 0 … K − 1, or those of ``classes``.
        features : array-like of shape (n, d), optional
            What scores may learn from besides, for instance activations of the last layer but one.
        classes : array-like of shape (K,), optional
            Labels of the columns, in ascending order.
        uncertainty_score, rejection, loss, cv : object, optional
            As in the class.
        sample_weight, groups : array-likes of shape (n,), optional
            As in ``fit``.
        random_state : int, RandomState or None
            As in the class.

        Returns
        -------
        SelectivePredictor
            Fitted. New examples have the same columns: a column of outputs per class, then the features if
            there were any (``np.hstack([outputs, features])``).

        See Also
        --------
        facereject.scores.PostHocScore : What is read from outputs without learning.

        Examples
        --------
        >>> import numpy as np
        >>> from facereject.selective import SelectivePredictor
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(3, size=600)
        >>> logits = 2.0 * np.eye(3)[y] + rng.normal(size=(600, 3))
        >>> model = SelectivePredictor.from_outputs(logits[:400], y[:400])
        >>> wrong = model.predict(logits[400:]) != y[400:]
        >>> bool(wrong[model.accept(logits[400:])].mean() < wrong.mean())
        True
        """
        saved = SavedOutputs.of(outputs, y, classes, loss)
        model = cls(saved, uncertainty_score, rejection, loss, cv, prefit=True, random_state=random_state)
        return model.fit(saved.table(outputs, features), y, sample_weight, groups=groups)

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

        Parameters
        ----------
        X : array-like of shape (n, d)
            Examples that ``fit`` has not seen.
        y : array-like of shape (n,)
            Their labels or values.
        max_risk : float
            Largest mean loss of accepted predictions.
        delta : float
            Probability with which the guarantee may fail.
        loss_bound : float
            Losses above it count as it.
        groups : array-like of shape (n,), optional
            Guarantee the risk of each group.
        weights : array-like of shape (n,), optional
            Importance of each example where new ones are distributed differently.
        method : str
            The p-value, as in ``guaranteed_risk``.

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
        check_is_fitted(self, "estimator_")
        losses, uncertainty = self._losses_and_uncertainty(X, y)
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
        selector: Selector = self.selector_
        return selector

    def __sklearn_clone__(self) -> SelectivePredictor:
        keep = ("estimator",) if self.prefit else ()
        parameters = self.get_params(deep=False).items()
        return type(self)(**{k: v if k in keep else clone(v, safe=False) for k, v in parameters})

    def __sklearn_tags__(self) -> Any:
        """Tags of the predictor, as far as score and loss take what it takes."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if not hasattr(self.estimator, "__sklearn_tags__"):
            tags.estimator_type = find_kind(self.estimator, loss=self.loss)
            tags.classifier_tags = ClassifierTags() if tags.estimator_type == "classifier" else None
            tags.regressor_tags = RegressorTags() if tags.estimator_type == "regressor" else None
            return tags
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.target_tags.required = True
        # the losses taken by default are of one number or label per example
        tags.target_tags.multi_output = inner.target_tags.multi_output and self.loss is not None
        # a score that looks at features takes numbers, some with NaN; the others what the predictor takes
        score = self.uncertainty_score
        if score is None or isinstance(score, PredictorScore):
            tags.input_tags = inner.input_tags
        elif isinstance(score, BaseEstimator):
            tags.input_tags.allow_nan = inner.input_tags.allow_nan and get_tags(score).input_tags.allow_nan
            # sparse features are written out for scores of this package
            tags.input_tags.sparse = inner.input_tags.sparse and isinstance(score, BaseScore)
        return tags

    def _check_parts(self) -> None:
        """Raise a TypeError for a part that cannot be used, and name one that can."""
        function = self.prefit and callable(self.estimator) and not isinstance(self.estimator, type)
        methods = ("predict",) if self.prefit else ("fit", "predict")
        for name, part, needed, example in (
            ("estimator", self.estimator, methods, "a classifier or regressor of scikit-learn"),
            ("uncertainty_score", self.uncertainty_score, ("fit", "predict"), "BoostedSELEScore()"),
            ("rejection", self.rejection, ("fit",), "BoundedCoverage(0.9)"),
        ):
            if (part is None and name != "estimator") or (name == "estimator" and function):
                continue
            if isinstance(part, type) or not all(hasattr(part, method) for method in needed):
                hint = "; a function of X that predicts needs prefit=True" if callable(part) else ""
                raise TypeError(
                    f"{name} must be an object with {' and '.join(needed)}, for instance {example}; "
                    f"got {part!r}{hint if name == 'estimator' and not isinstance(part, type) else ''}"
                )
        if self.loss is not None and not callable(self.loss):
            raise TypeError(
                "loss must be a function of (y, predictions) that returns one loss per example, for instance "
                f"facereject.losses.absolute_error; got {self.loss!r}"
            )

    def _resolve_loss(self, kind: str | None, y: NDArray[Any]) -> Callable[[Any, Any], Any]:
        """The loss given, or the usual one of a classifier or regressor."""
        if self.loss is not None:
            return self.loss
        if y.ndim > 1:
            raise ValueError(
                f"y has {y.shape[1]} columns: pass loss, a function of (y, predictions) that returns one "
                "loss per example for all of them together"
            )
        if kind is None:
            raise ValueError(
                f"{type(self.estimator).__name__} is neither a classifier nor a regressor: "
                "pass loss, a function of (y, predictions) that returns one loss per example"
            )
        return zero_one_loss if kind == "classifier" else absolute_error

    def _estimator_to_fit(self) -> Any:
        """The predictor as ``cross_fit`` takes it: frozen if it is already fitted."""
        if not self.prefit:
            return self.estimator
        return FrozenEstimator(
            self.estimator if hasattr(self.estimator, "predict") else FittedFunction(self.estimator)
        )


def neg_aurc(model: SelectivePredictor, X: Any, y: Any) -> float:
    """Negated area under the risk-coverage curve of a selective predictor, as a scorer: higher is better.

    It compares predictor and score together, in the unit of the loss, and does not depend on ``rejection``:
    a target is stated, not searched for.

    Parameters
    ----------
    model : SelectivePredictor
        The fitted model.
    X : array-like of shape (n, d)
        Examples as the predictor takes them.
    y : array-like of shape (n,)
        True labels or values.

    Returns
    -------
    float
        −AuRC.

    See Also
    --------
    facereject.metrics.aurc : The area itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from facereject.scores import SELEScore
    >>> from facereject.selective import SelectivePredictor, neg_aurc
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SelectivePredictor(GaussianNB(), SELEScore(), cv=3)
    >>> search = GridSearchCV(model, {"uncertainty_score__alpha": [1e-3, 1.0]}, scoring=neg_aurc, cv=3)
    >>> bool(search.fit(X, y).best_score_ <= 0)
    True
    """
    return -aurc(*model._losses_and_uncertainty(X, y))


def _default_folds(y: NDArray[Any], kind: str | None, groups: Any, default: bool) -> int:
    """5 folds, or fewer for small samples; 2 for the default score and many examples."""
    if default and len(y) >= _MANY:
        return 2
    parts = [len(y) if groups is None else len(np.unique(np.asarray(groups)))]
    if kind == "classifier" and y.ndim == 1:
        # stratified folds need a class with an example in each of them
        parts.append(int(np.unique(y, return_counts=True)[1].max()))
    return max(2, min(5, *parts))


def _fit_rejection(
    rejection: Any, losses: FloatArray, uncertainty: FloatArray, weight: dict[str, FloatArray]
) -> Any:
    """The selector of a rejection model, called by keywords: the order of arguments could be mistaken."""
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


def _check_target(y: Any) -> NDArray[Any]:
    """Targets as an array; a single column becomes a vector, with scikit-learn's warning."""
    array = np.asarray(y)
    return column_or_1d(array, warn=True) if array.ndim == 2 and array.shape[1] == 1 else array
