"""Linear support vector machine: binary hinge for two classes, multi-class hinge for more."""

from __future__ import annotations

from facereject._validation import FloatArray
from facereject.predictors._base import AlphaSearch, FixedAlpha, LinearPredictor
from facereject.risks import BinaryHinge, MulticlassHinge, Risk
from facereject.risks._base import LabelArray


class _SVM(LinearPredictor):
    task = "classification"

    def _make_risk(self, codes: LabelArray, weights: FloatArray) -> Risk:
        if self.classes_.size == 2:
            return BinaryHinge(codes, weights)
        return MulticlassHinge(codes, self.classes_.size, weights)


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
        See `facereject.solver.bundle_minimize`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (n_classes, d), or (1, d) for two classes
        Weights w_y.
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
        Intercepts b_y.
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
    SVMClassifierCV : Chooses alpha by validation.
    facereject.scores.MarginScore : Uncertainty of its predictions.
    sklearn.svm.LinearSVC : The same with C = 1/(n alpha).

    Notes
    -----
    The settings of ``LinearSVC`` with the same objective are loss="hinge" for two classes and
    multi_class="crammer_singer" for more.

    References
    ----------
    K. Crammer, Y. Singer: On the algorithmic implementation of multiclass kernel-based vector machines.
    Journal of Machine Learning Research 2, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from facereject.predictors import SVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMClassifier(alpha=1e-3).fit(X, y)
    >>> model.predict(X[:2]), model.gap_ <= 0.01
    (array([0, 0]), True)
    """


class SVMClassifierCV(_SVM, AlphaSearch):
    """`SVMClassifier` with alpha = c/n chosen by the validation error.

    Parameters
    ----------
    cs : sequence of float
        The c to try. Cuts and solutions are shared over the grid.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused if ``fit`` is given a validation set.
    tol, max_iter, fit_intercept, solver
        As in `SVMClassifier`.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
        Share of validation examples with a wrong label; with folds, over all examples left out.
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, intercept_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``; as in `SVMClassifier`.

    See Also
    --------
    SVMClassifier : Training at a given alpha.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from facereject.predictors import SVMClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVMClassifierCV(cs=(0.1, 1, 10)).fit(X, y)
    >>> model.alpha_ in model.alphas_, model.score(X, y) > 0.9
    (True, True)
    """
