"""Multinomial logistic regression: p̂(y|x) ∝ exp(⟨w_y, x⟩ + b_y)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from facereject._validation import FloatArray
from facereject.predictors._base import AlphaSearch, FixedAlpha, LinearPredictor
from facereject.risks import CrossEntropy, Risk
from facereject.risks._base import LabelArray, check_scores, check_weights
from facereject.solver import LinearObjective


class _TwoClassCrossEntropy:
    """Cross-entropy of two classes from one score s: mean of log(1 + exp(∓√2 s)), − for class 1.

    At the optimum of the two-class problem w_1 = −w_0. With u = √2 w_1 the difference of the two scores is
    √2 ⟨u, x⟩ and ‖w_0‖² + ‖w_1‖² = ‖u‖²: the same objective with half the products.
    """

    def __init__(self, codes: LabelArray, weights: FloatArray):
        self.slopes = np.where(codes > 0, -math.sqrt(2.0), math.sqrt(2.0))
        self.weights = check_weights(weights, codes.size)
        self.score_shape: tuple[int, ...] = (codes.size,)

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        margins = self.slopes * check_scores(scores, self.score_shape)
        shrink = np.exp(-np.abs(margins))
        losses = np.log1p(shrink) + np.maximum(margins, 0.0)
        sigmoid = np.where(margins >= 0, 1.0, shrink) / (1.0 + shrink)
        return float(self.weights @ losses), self.weights * self.slopes * sigmoid


class _Logistic(LinearPredictor):
    task = "classification"

    def _make_risk(self, codes: LabelArray, weights: FloatArray) -> Risk:
        if self.classes_.size == 2:
            return _TwoClassCrossEntropy(codes, weights)
        return CrossEntropy(codes, self.classes_.size, weights)

    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        # two classes: the solver saw u, and the difference of the class scores is √2 ⟨u, x⟩
        super()._read_weights(objective, w * math.sqrt(2.0) if self.classes_.size == 2 else w)

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute the probability of each class, exp(⟨w_y, x⟩ + b_y) / Σ_k exp(⟨w_k, x⟩ + b_k).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
            Columns in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(expit(np.column_stack([-scores, scores])))
        return np.asarray(softmax(scores, axis=1))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Compute the logarithm of `predict_proba`, finite even where the probability rounds to zero.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.

        Returns
        -------
        log_probabilities : ndarray of shape (n, n_classes)
            Columns in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(log_expit(np.column_stack([-scores, scores])))
        return np.asarray(log_softmax(scores, axis=1))


class LogisticClassifier(_Logistic, FixedAlpha):
    """Multinomial logistic regression, trained with a certificate of optimality.

    Minimises alpha/2 Σ_y (‖w_y‖² + b_y²) − mean log p̂(yᵢ|xᵢ) with p̂(y|x) ∝ exp(⟨w_y, x⟩ + b_y), one weight
    vector per class. The intercepts are regularised like the weights.

    Parameters
    ----------
    alpha : float, optional
        Regularisation; None means 1/n.
    tol : float
        Stop when the objective is within this share of its optimum; certified, see ``gap_``.
    max_iter : int
        Iterations after which to give up with a ``ConvergenceWarning``.
    fit_intercept : bool
        Without it all b_y are zero.
    solver : {"certified-quasi-newton", "bmrm", "bmrm-line-search"}
        See `facereject.solver.bundle_minimize`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_classes, d), or (1, d) for two classes
        Weights w_y; for two classes w_1 − w_0.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Intercepts b_y; for two classes b_1 − b_0.
    alpha_ : float
        The regularisation used.
    n_iter_ : int
        Iterations of the solver.
    gap_ : float
        (objective − lower bound) / objective at the stop.
    n_features_in_ : int
        Number of features d.
    feature_names_in_ : ndarray of shape (d,)
        Only if X had column names.

    See Also
    --------
    LogisticClassifierCV : Chooses alpha by validation.
    facereject.scores.MaxClassProbability : Uncertainty of its predictions.
    sklearn.linear_model.LogisticRegression : The same objective, without a certificate.

    Notes
    -----
    For two classes ``LogisticRegression`` has one vector, w_1 − w_0, and penalises that; its C is 1/(n alpha)
    for three classes and more, 2/(n alpha) for two.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from facereject.predictors import LogisticClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticClassifier(alpha=1e-3).fit(X, y)
    >>> model.predict(X[:2]), model.gap_ <= 0.01
    (array([0, 0]), True)
    """


class LogisticClassifierCV(_Logistic, AlphaSearch):
    """`LogisticClassifier` with alpha = c/n chosen by the validation error.

    Parameters
    ----------
    cs : sequence of float
        The c to try. Cuts and solutions are shared over the grid.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused if ``fit`` is given a validation set.
    tol, max_iter, fit_intercept, solver
        As in `LogisticClassifier`.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
        Share of validation examples with a wrong label; with folds, over all examples left out.
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, intercept_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``; as in `LogisticClassifier`.

    See Also
    --------
    LogisticClassifier : Training at a given alpha.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from facereject.predictors import LogisticClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticClassifierCV(cs=(0.1, 1, 10)).fit(X, y)
    >>> model.alpha_ in model.alphas_, model.score(X, y) > 0.9
    (True, True)
    """
