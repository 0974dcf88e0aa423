"""Support vector ordinal regression with implicit constraints: one direction, ordered thresholds, MAE."""

from __future__ import annotations

from typing import Any

from facereject._validation import FloatArray
from facereject.predictors._base import AlphaSearch, FixedAlpha, LinearPredictor
from facereject.risks import OrdinalHinge, Risk
from facereject.risks._base import LabelArray
from facereject.solver import LinearObjective
from facereject.solver._bundle import METHODS


class _Ordinal(LinearPredictor):
    task = "ordinal"

    def _make_risk(self, codes: LabelArray, weights: FloatArray) -> Risk:
        return OrdinalHinge(codes, self.classes_.size, weights)

    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        super()._read_weights(objective, w)
        self.coef_, self.thresholds_ = self.coef_[0], -self.intercept_

    def threshold_distances(self, X: Any) -> FloatArray:
        """Compute the signed distances ⟨w, x⟩ − b_y to the thresholds, in units of the margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.

        Returns
        -------
        distances : ndarray of shape (n, n_classes − 1)
            Positive above the threshold.
        """
        return self._scores(self._check_features(X))


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
        See `facereject.solver.bundle_minimize`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in the order of ``numpy.sort``, which must be their order of meaning: strings sort by
        alphabet, so write grades as numbers, or as "1 poor", "2 fair", "3 good". An absolute error counts
        steps along ``classes_``.
    coef_ : ndarray of shape (d,)
        The direction w.
    thresholds_ : ndarray of shape (n_classes − 1,)
        b_1 ≤ … ≤ b_{Y−1}.
    intercept_ : ndarray of shape (n_classes − 1,)
        −b_y.
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
    OrdinalSVMCV : Chooses alpha by validation.
    facereject.scores.MarginScore : Uncertainty of its predictions.

    References
    ----------
    W. Chu, S. S. Keerthi: Support vector ordinal regression. Neural Computation 19, 2007.

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
        super().__init__(alpha, tol, max_iter, solver=solver)


class OrdinalSVMCV(_Ordinal, AlphaSearch):
    """`OrdinalSVM` with alpha = c/n chosen by the validation MAE.

    Parameters
    ----------
    cs : sequence of float
        The c to try. Cuts and solutions are shared over the grid.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused if ``fit`` is given a validation set.
    tol, max_iter, solver
        As in `OrdinalSVM`.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
        Mean absolute error on validation examples; with folds, over all examples left out.
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, thresholds_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``; as in `OrdinalSVM`.

    See Also
    --------
    OrdinalSVM : Training at a given alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.predictors import OrdinalSVMCV
    >>> X = np.arange(60.0)[:, None] / 60
    >>> y = np.repeat([1, 2, 3], 20)
    >>> model = OrdinalSVMCV(cs=(0.01, 0.1)).fit(X, y)
    >>> model.alpha_ in model.alphas_, model.score(X, y) > -0.1
    (True, True)
    """

    def __init__(
        self,
        cs: Any = (1, 10, 100, 1000),
        cv: Any = 5,
        tol: float = 0.01,
        max_iter: int = 1000,
        solver: str = METHODS[0],
    ):
        super().__init__(cs, cv, tol, max_iter, solver=solver)
