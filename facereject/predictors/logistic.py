"""Multinomial logistic regression: p̂(y|x) ∝ exp(⟨w_y, x⟩ + b_y)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from facereject._validation import FloatArray
from facereject.predictors._base import AlphaSearch, FixedAlpha
from facereject.predictors._classes import ClassScores
from facereject.risks import CrossEntropy
from facereject.risks._base import LabelArray, check_scores, check_weights
from facereject.solver import METHODS, LinearObjective


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


class _Logistic(ClassScores):
    def _objective(self, X: Any, codes: LabelArray, weights: FloatArray) -> LinearObjective:
        n_classes = self.classes_.size
        if n_classes == 2:
            return LinearObjective(X, _TwoClassCrossEntropy(codes, weights), fit_intercept=self.fit_intercept)
        return LinearObjective(X, CrossEntropy(codes, n_classes, weights), fit_intercept=self.fit_intercept)

    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        # two classes: the solver saw u, the difference of the class scores is √2 ⟨u, x⟩
        super()._read_weights(objective, w * math.sqrt(2.0) if self.classes_.size == 2 else w)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class, exp(⟨w_y, x⟩ + b_y) / Σ_k exp(⟨w_k, x⟩ + b_k).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

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
        """Logarithm of ``predict_proba``, finite also where the probability rounds to zero.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        log_probabilities : ndarray of shape (n, n_classes)
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
        See ``facereject.solver.bundle_minimize``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_classes, d), or (1, d) for two classes
        Weights w_y; for two classes w_1 − w_0.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
    alpha_ : float
        The regularisation used.
    n_iter_ : int
    gap_ : float
        (objective − lower bound) / objective at the stop.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only when X had column names.

    Notes
    -----
    scikit-learn's ``LogisticRegression`` keeps one vector for two classes, w_1 − w_0, and penalises that;
    its C is 1/(n alpha) for three classes and more, 2/(n alpha) for two.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from facereject.predictors import LogisticClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticClassifier(alpha=1e-3).fit(X, y)
    >>> model.predict(X[:2]), model.gap_ <= 0.01
    (array([0, 0]), True)
    """

    def __init__(
        self,
        alpha: float | None = None,
        tol: float = 0.01,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        solver: str = METHODS[0],
    ):
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.solver = solver


class LogisticClassifierCV(_Logistic, AlphaSearch):
    """``LogisticClassifier`` with alpha = c/n chosen by the validation error.

    Parameters
    ----------
    cs : sequence of float
        The c to try. One run serves the grid: cuts and starting points are shared.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused when ``fit`` is given a validation set.
    tol, max_iter, fit_intercept, solver
        As in ``LogisticClassifier``.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
        Share of validation examples with a wrong label; with folds, over all examples left out.
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, intercept_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``; as in ``LogisticClassifier``.
    """

    def __init__(
        self,
        cs: Any = (1, 10, 100, 1000),
        cv: Any = 5,
        tol: float = 0.01,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        solver: str = METHODS[0],
    ):
        self.cs = cs
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.solver = solver
