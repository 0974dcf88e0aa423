"""Linear support vector machine: binary hinge for two classes, multi-class hinge for more."""

from __future__ import annotations

from typing import Any

from facereject._validation import FloatArray
from facereject.predictors._base import AlphaSearch, FixedAlpha
from facereject.predictors._classes import ClassScores
from facereject.risks import BinaryHinge, MulticlassHinge, Risk
from facereject.risks._base import LabelArray
from facereject.solver import METHODS, LinearObjective


class _SVM(ClassScores):
    def _objective(self, X: Any, codes: LabelArray, weights: FloatArray) -> LinearObjective:
        n_classes = self.classes_.size
        risk: Risk
        if n_classes == 2:
            risk = BinaryHinge(codes, weights)
        else:
            risk = MulticlassHinge(codes, n_classes, weights)
        return LinearObjective(X, risk, fit_intercept=self.fit_intercept)


class SVMClassifier(_SVM, FixedAlpha):
    """Linear support vector machine, trained with a certificate of optimality.

    Two classes: minimises alpha/2 (‖w‖² + b²) + mean max(0, 1 − yᵢ (⟨w, xᵢ⟩ + b)), yᵢ = ±1.

    More classes: minimises alpha/2 Σ_y (‖w_y‖² + b_y²) + mean max_y ([y ≠ yᵢ] + s_y − s_{yᵢ}) with the scores
    s_y = ⟨w_y, xᵢ⟩ + b_y, the hinge of Crammer and Singer. The intercepts are regularised like the weights.

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
    scikit-learn's ``LinearSVC`` minimises the same with C = 1/(n alpha): loss="hinge" for two classes,
    multi_class="crammer_singer" for more.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from facereject.predictors import SVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMClassifier(alpha=1e-3).fit(X, y)
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


class SVMClassifierCV(_SVM, AlphaSearch):
    """``SVMClassifier`` with alpha = c/n chosen by the validation error.

    Parameters
    ----------
    cs : sequence of float
        The c to try. One run serves the grid: cuts and starting points are shared.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused when ``fit`` is given a validation set.
    tol, max_iter, fit_intercept, solver
        As in ``SVMClassifier``.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
        Share of validation examples with a wrong label; with folds, over all examples left out.
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, intercept_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``; as in ``SVMClassifier``.
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
