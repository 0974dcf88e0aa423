"""A linear predictor for a risk of your own: any convex function of the scores and the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.predictors._base import AlphaSearch, FixedAlpha, LinearPredictor, has_classes
from facereject.risks import Risk
from facereject.risks._base import LabelArray, RiskFactory, ShapedRisk, check_weights
from facereject.solver import LinearObjective
from facereject.solver._bundle import METHODS

_TASKS = ("classification", "ordinal", "regression")


class _OwnRisk(LinearPredictor):
    risk: RiskFactory

    def _learn_target(self, y: NDArray[Any]) -> NDArray[Any]:
        if not callable(self.risk):
            raise TypeError(
                "risk must be a function of (labels, sample_weight) that returns a function of the scores, "
                f"for instance facereject.risks.CrossEntropy; got {self.risk!r}"
            )
        if self.task not in _TASKS:
            raise ValueError(f"task must be one of {', '.join(_TASKS)}; got {self.task!r}")
        return super()._learn_target(y)

    def _make_risk(self, target: NDArray[Any], weights: FloatArray) -> Risk:
        return self.risk(target, sample_weight=check_weights(weights, len(target)))

    def _predict_codes(self, X: Any) -> LabelArray:
        return np.asarray(self._trained_codes[super()._predict_codes(X)])

    def _objective(self, X: Any, target: NDArray[Any], weights: FloatArray) -> LinearObjective:
        ordinal, n_scores = self.task == "ordinal", None
        if has_classes(self):
            # a fold may lack a rare class: the risk sees those it has, numbered without gaps
            self._trained_codes, target = np.unique(target, return_inverse=True)
            n_classes = self._trained_codes.size
            if n_classes < 2:
                raise ValueError("a training fold has one class only: use fewer folds, or stratified ones")
            n_scores = n_classes - 1 if ordinal else n_classes if n_classes > 2 else None
        risk = self._make_risk(target, weights)
        if isinstance(risk, ShapedRisk):
            self._check_shape(risk.score_shape, n_scores)
            n_scores = None
        objective = LinearObjective(
            X, risk, fit_intercept=self.fit_intercept, n_scores=n_scores, shared_weights=ordinal
        )
        self._one_score = len(objective.score_shape) == 1
        return objective

    def _check_shape(self, shape: tuple[int, ...], n_scores: int | None) -> None:
        """Raise if the scores of the risk do not fit the task."""
        both = self.task == "classification" and n_scores is None and shape[1:] == (2,)
        if shape[1:] != (() if n_scores is None else (n_scores,)) and not both:
            found = "one score" if len(shape) == 1 else f"{shape[1]} scores"
            wanted = "one" if n_scores is None else n_scores
            raise ValueError(f"the risk takes {found} per example, but {self.task} of this y needs {wanted}")

    def _total_loss(self, X: Any, target: NDArray[Any], weights: FloatArray) -> float:
        if has_classes(self):
            return super()._total_loss(X, target, weights)
        mass = float(weights.sum())
        return mass * self._make_risk(target, weights)(self._scores(X))[0] if mass else 0.0


class LinearRiskPredictor(_OwnRisk, FixedAlpha):
    """Linear predictor that minimises a convex risk of your own.

        alpha/2 ‖θ‖² + risk(scores of all examples),     s_k(x) = ⟨w_k, x⟩ + b_k

    Parameters
    ----------
    risk : callable (y, sample_weight) -> risk
        A function or class that takes the labels of the examples and their weights (arrays of shape (n,);
        the weights sum to 1 and are passed as ``sample_weight``). It returns a convex function of the scores,
        ``scores -> (value, gradient)``, with a gradient of the shape of the scores. The classes of
        `facereject.risks` are such callables. The predictor can be pickled if this callable can: a lambda
        cannot.
    task : {"classification", "ordinal", "regression"}
        What the scores mean, and their shape.

        ================  =========================  =====================================================
        task              y given to ``risk``        scores
        ================  =========================  =====================================================
        classification    0 … K − 1, the positions   (n, K), the largest wins. For two classes (n,),
                          in ``classes_``            positive for the second, unless the risk has a
                                                     ``score_shape`` of (n, 2).
        ordinal           the same                   (n, K − 1): ⟨w, x⟩ − b_k, one w for all; the label is
                                                     the number of positive scores
        regression        numbers                    (n,): the prediction itself
        ================  =========================  =====================================================
    alpha : float, optional
        Regularisation; None means 1/n.
    tol : float
        Stop when the objective is within this share of its optimum; certified, see ``gap_``.
    max_iter : int
        Iterations after which to give up with a ``ConvergenceWarning``.
    fit_intercept : bool
        Without it all b_k are zero; ordinal labels need it.
    solver : {"certified-quasi-newton", "bmrm", "bmrm-line-search"}
        See `facereject.solver.bundle_minimize`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted; not for regression.
    coef_ : ndarray of shape (number of weight vectors, d)
        Weights w_k.
    intercept_ : ndarray of shape (number of scores,)
        Intercepts b_k; for ordinal labels the −b_k, in descending order.
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
    LinearRiskPredictorCV : Chooses alpha by validation.
    facereject.scores.LinearRiskScore : The same for uncertainty scores.

    Examples
    --------
    Quantile regression:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from facereject.predictors import LinearRiskPredictor
    >>> def quantile(y, sample_weight):
    ...     def risk(scores):
    ...         slope = np.where(y > scores, 0.9, -0.1)
    ...         return sample_weight @ (slope * (y - scores)), -sample_weight * slope
    ...     return risk
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRiskPredictor(quantile, "regression", alpha=1e-6).fit(X, y)
    >>> bool(0.87 < np.mean(y <= model.predict(X)) < 0.93), model.gap_ <= 0.01
    (True, True)
    """

    def __init__(
        self,
        risk: RiskFactory,
        task: str = "classification",
        *,
        alpha: float | None = None,
        tol: float = 0.01,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        solver: str = METHODS[0],
    ):
        self.risk = risk
        self.task = task
        super().__init__(alpha, tol, max_iter, fit_intercept, solver)


class LinearRiskPredictorCV(_OwnRisk, AlphaSearch):
    """`LinearRiskPredictor` with alpha = c/n chosen on left-out examples.

    The criterion is the share of wrong labels, the mean absolute error of ordinal labels (steps along
    ``classes_``), or for regression the risk itself.

    Parameters
    ----------
    risk, task
        As in `LinearRiskPredictor`.
    cs : sequence of float
        The c to try. Cuts and solutions are shared over the grid.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused if ``fit`` is given a validation set.
    tol, max_iter, fit_intercept, solver
        As in `LinearRiskPredictor`.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
        The criterion for each c.
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, intercept_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``.

    See Also
    --------
    LinearRiskPredictor : Training at a given alpha.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from facereject.predictors import LinearRiskPredictorCV
    >>> from facereject.risks import MulticlassHinge
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearRiskPredictorCV(MulticlassHinge, cs=(0.1, 1, 10)).fit(X, y)
    >>> model.alpha_ in model.alphas_, model.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        risk: RiskFactory,
        task: str = "classification",
        *,
        cs: Any = (1, 10, 100, 1000),
        cv: Any = 5,
        tol: float = 0.01,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        solver: str = METHODS[0],
    ):
        self.risk = risk
        self.task = task
        super().__init__(cs, cv, tol, max_iter, fit_intercept, solver)
