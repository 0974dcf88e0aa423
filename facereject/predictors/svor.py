"""Support vector ordinal regression with implicit constraints: one direction, ordered thresholds, MAE."""

from __future__ import annotations

from typing import Any

import numpy as np

from facereject._validation import FloatArray
from facereject.losses import absolute_error
from facereject.predictors._base import AlphaSearch, FixedAlpha
from facereject.predictors._classes import LinearClassifier, locate_ordered
from facereject.risks import OrdinalHinge
from facereject.risks._base import LabelArray
from facereject.solver import METHODS, LinearObjective


class _Ordinal(LinearClassifier):
    _loss = staticmethod(absolute_error)

    def _objective(self, X: Any, codes: LabelArray, weights: FloatArray) -> LinearObjective:
        return LinearObjective(X, OrdinalHinge(codes, self.classes_.size, weights), shared_weights=True)

    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        coefficients, thresholds = objective.split(w)
        self.coef_ = coefficients[0].copy()
        # Short of the optimum two thresholds may come out in the wrong order. Sorting never raises the
        # objective: if φ_y(b) is the part of the risk that belongs to b_y, φ_{y+1} − φ_y does not grow in b.
        self.thresholds_ = np.sort(thresholds)

    def threshold_distances(self, X: Any) -> FloatArray:
        """Signed distances ⟨w, x⟩ − b_y to the thresholds, positive above, in units of the margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        distances : ndarray of shape (n, n_classes − 1)
        """
        return self._distances(self._check_features(X))

    def _distances(self, X: Any) -> FloatArray:
        return np.asarray(X @ self.coef_, dtype=np.float64)[:, None] - self.thresholds_

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n, n_classes), or (n,) for two classes
            The score of class k is Σ_{y < k} (⟨w, x⟩ − b_y), so that passing a threshold makes the next class
            the best: the largest score is that of the predicted class. For two classes ⟨w, x⟩ − b_1.
        """
        distances = self.threshold_distances(X)
        if distances.shape[1] == 1:
            return distances[:, 0]
        return np.pad(distances.cumsum(axis=1), ((0, 0), (1, 0)))

    def _predict_codes(self, X: Any) -> LabelArray:
        # h(x) = 1 + Σ_y [⟨w, x⟩ > b_y], counted from 0 here
        return np.asarray((self._distances(X) > 0).sum(axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean absolute error between positions in ``classes_``; at most 0, higher is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels, all of them known from ``fit``.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
        """
        predicted = self._predict_codes(self._check_features(X))
        return -float(np.average(self._loss(self._check_target(y), predicted), weights=sample_weight))

    def _check_target(self, y: Any) -> LabelArray:
        return locate_ordered(y, self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # classes that do not follow each other along a line cannot be told apart by parallel hyperplanes
        tags.classifier_tags.poor_score = True
        return tags


class OrdinalSVM(_Ordinal, FixedAlpha):
    """Support vector ordinal regression with implicit constraints (SVOR-IMC), trained with a certificate.

    Minimises alpha/2 (‖w‖² + Σ_y b_y²) plus the mean over examples of

        Σ_{y < yᵢ} max(0, 1 − ⟨w, xᵢ⟩ + b_y) + Σ_{y ≥ yᵢ} max(0, 1 + ⟨w, xᵢ⟩ − b_y),   y = 1 … Y − 1,

    an upper bound of the mean absolute error. Predicts the class number 1 + Σ_y [⟨w, x⟩ > b_y].

    Parameters
    ----------
    alpha : float, optional
        Regularisation; None means 1/n.
    tol : float
        Stop when the objective is within this share of its optimum; certified, see ``gap_``.
    max_iter : int
        Iterations after which to give up with a ``ConvergenceWarning``.
    solver : {"certified-quasi-newton", "bmrm", "bmrm-line-search"}
        See ``facereject.solver.bundle_minimize``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in the order that ``numpy.sort`` gives them. This is taken to be their meaning: strings
        sort by alphabet, so write grades as numbers, or as "1 poor", "2 fair", "3 good". An absolute error
        counts steps along ``classes_``.
    coef_ : ndarray of shape (d,)
        The direction w.
    thresholds_ : ndarray of shape (n_classes − 1,)
        b_1 ≤ … ≤ b_{Y−1}.
    alpha_ : float
        The regularisation used.
    n_iter_ : int
    gap_ : float
        (objective − lower bound) / objective at the stop.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only when X had column names.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.predictors import OrdinalSVM
    >>> X = np.arange(12.0)[:, None] / 12
    >>> y = np.repeat([1, 2, 3], 4)
    >>> model = OrdinalSVM(alpha=1e-3).fit(X, y)
    >>> model.predict(X)
    array([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3])
    """

    def __init__(
        self, alpha: float | None = None, tol: float = 0.01, max_iter: int = 1000, solver: str = METHODS[0]
    ):
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver


class OrdinalSVMCV(_Ordinal, AlphaSearch):
    """``OrdinalSVM`` with alpha = c/n chosen by the validation MAE.

    Parameters
    ----------
    cs : sequence of float
        The c to try. One run serves the grid: cuts and starting points are shared.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused when ``fit`` is given a validation set.
    tol, max_iter, solver
        As in ``OrdinalSVM``.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
        Mean absolute error on validation examples; with folds, over all examples left out.
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, thresholds_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``; as in ``OrdinalSVM``.
    """

    def __init__(
        self,
        cs: Any = (1, 10, 100, 1000),
        cv: Any = 5,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = METHODS[0],
    ):
        self.cs = cs
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
