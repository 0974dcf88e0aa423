"""SelectivePredictor: a predictor h, its uncertainty score s and a selection rule c as one estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from facereject.scores import ConfidenceScore, cross_fit
from facereject.scores._reading.predictor import FittedFunction, find_kind
from facereject.selection import BoundedCoverage, Selector
from facereject.selection.start import guaranteed_risk_from
from facereject.selective._checks import (
    adapt_tags,
    check_parts,
    check_target,
    default_folds,
    fit_rejection,
    resolve_loss,
)
from facereject.selective._use import FittedSelection


class SelectivePredictor(FittedSelection):
    """A predictor that says which of its predictions to trust.

    By default the uncertainty is that of ``ConfidenceScore``: it weighs what the predictor says of itself
    (probabilities, the spread of an ensemble) and how near the training examples are. That costs little more
    than the predictor, which is trained twice on half of the examples and once on all (five times on four
    fifths below 500 examples). A regressor that states no spread is compared with ten random trees trained on
    at most 4,000 of the same examples, a fraction of a second. A score with more to learn,
    ``BoostedSELEScore()``, often ranks better and takes longer.

    ``fit`` uses one training set for all three parts, each of them on examples that the part before it has
    not seen:

    1. The examples are cut into folds. A copy of the predictor is trained without each fold and predicts
       there; the losses of these out-of-fold predictions are those of unseen examples.
    2. The score is fitted to all out-of-fold losses, the predictor to all examples: ``uncertainty_score_``,
       ``predictor_``.
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
    predictor : object with ``fit`` and ``predict``
        A classifier or regressor of scikit-learn, a pipeline that ends in one, or any other object; one that
        does not say what it is needs ``loss``. Copied, never changed. With ``prefit`` also a function of X
        that returns predictions.
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
        every example exactly once. By default 5; 2 with the default score and at least 500 examples: it has
        so little to learn that a predictor trained on half of them is enough like the final one.
    prefit : bool
        The predictor is already fitted, on examples other than those given to ``fit``. It is used as it is,
        also by copies of this estimator, and never fitted again.
    random_state : int, RandomState or None
        Shuffles the examples into folds, and decides in ``accept`` at the threshold.

    Attributes
    ----------
    predictor_, uncertainty_score_ : fitted estimators
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

    Notes
    -----
    Inside a Pipeline ``predict``, ``predict_proba``, ``score`` and ``transform`` are reachable on the
    pipeline itself; ``transform`` returns uncertainty, expected error and acceptance as columns::

        pipeline = make_pipeline(StandardScaler(), SelectivePredictor(SVC())).set_output(transform="pandas")
        pipeline.fit(X, y).transform(X_new)["accepted"]

    To have the methods too, make the pipeline the predictor:
    ``SelectivePredictor(make_pipeline(StandardScaler(), SVC()))``.

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
        uncertainty_score: Any = None,
        rejection: Any = None,
        loss: Callable[[Any, Any], Any] | None = None,
        cv: Any = None,
        *,
        prefit: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.predictor = predictor
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
        sample_weight : array-like of shape (n,), optional
            Weights for predictor, score, threshold and expected error.
        groups : array-like of shape (n,), optional
            Examples of one group share a fold: photographs of one person, for instance.

        Raises
        ------
        InfeasibleTargetError
            If no threshold meets the target of ``rejection``.
        """
        check_parts(self)
        validate_data(self, X, y, skip_check_array=True)
        # frames and sparse matrices stay what they are
        X, y = indexable(X, check_target(y))
        kind = find_kind(self.predictor, y, self.loss)
        if kind == "classifier":
            check_classification_targets(y)
        loss = resolve_loss(self, kind)
        score = ConfidenceScore() if self.uncertainty_score is None else self.uncertainty_score
        cv = self.cv
        if cv is None:
            cv = 5 if self.uncertainty_score is not None else default_folds(y, kind, groups)
        fitted = cross_fit(
            self._predictor_to_fit(),
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
        selector = fit_rejection(rejection, fitted.losses, uncertainty, weight)
        calibrator = IsotonicRegression(increasing=True, out_of_bounds="clip")
        self.calibrator_ = calibrator.fit(uncertainty, fitted.losses, **weight)
        self.predictor_, self.uncertainty_score_ = fitted.predictor, fitted.score
        self.selector_ = selector
        self.loss_, self.oof_losses_ = loss, fitted.losses
        self.oof_predictions_, self.oof_uncertainty_ = fitted.predictions, uncertainty
        if hasattr(self.predictor_, "classes_"):
            self.classes_ = self.predictor_.classes_
        # only what the uncertainty of new examples needs: predictors of the folds make large pickles
        self._cross_fit = fitted._replace(fold_predictors=[], material=fitted.material.rows(slice(0)))
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
        keep = ("predictor",) if self.prefit else ()
        parameters = self.get_params(deep=False).items()
        return type(self)(**{k: v if k in keep else clone(v, safe=False) for k, v in parameters})

    def __sklearn_tags__(self) -> Any:
        return adapt_tags(self, super().__sklearn_tags__())

    def _predictor_to_fit(self) -> Any:
        """The predictor as ``cross_fit`` takes it: frozen where it is already fitted."""
        if not self.prefit:
            return self.predictor
        return FrozenEstimator(
            self.predictor if hasattr(self.predictor, "predict") else FittedFunction(self.predictor)
        )
