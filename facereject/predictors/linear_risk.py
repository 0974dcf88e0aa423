"""A linear predictor for a risk of your own: any convex function of the scores and the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import ClassifierTags, RegressorTags, column_or_1d
from sklearn.utils.metaestimators import available_if

from facereject._labels import locate_labels
from facereject._validation import FloatArray, check_vector
from facereject.losses import absolute_error, zero_one_loss
from facereject.predictors._base import AlphaSearch, FixedAlpha, LinearPredictor
from facereject.predictors._classes import learn_classes, locate_ordered
from facereject.risks import Risk, RiskFactory, ShapedRisk
from facereject.risks._base import LabelArray, check_weights
from facereject.solver import METHODS, LinearObjective

_TASKS = ("classification", "ordinal", "regression")


def _has_classes(predictor: _OwnRisk) -> bool:
    return predictor.task != "regression"


class _OwnRisk(LinearPredictor):
    """Scores ⟨w_k, x⟩ + b_k under a given risk, read as the task says."""

    risk: RiskFactory
    task: str
    fit_intercept: bool

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a label for each row, or a number for regression.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        predictions : ndarray of shape (n,)
        """
        X = self._check_features(X)
        return self.classes_[self._predict_codes(X)] if _has_classes(self) else self._scores(X)

    @available_if(_has_classes)
    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the classes; not for regression.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n, n_classes), or (n,) for two classes
            The class of the largest is predicted; of two classes ``classes_[1]`` where the score is positive.
            For ordinal labels the score of class k is Σ_{y < k} (⟨w, x⟩ − b_y).
        """
        scores = self._scores(self._check_features(X))
        if scores.ndim == 1:
            return scores
        if self.task == "ordinal":
            scores = np.pad(scores.cumsum(axis=1), ((0, 0), (1, 0)))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of correct labels, minus the mean absolute error of ordinal ones, minus the risk of numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        score : float
            Higher is better.
        """
        X, target = self._check_features(X), self._check_target(y)
        loss = self._total_loss(X, target, check_weights(sample_weight, target.size))
        return 1.0 - loss if self.task == "classification" else -loss

    def _scores(self, X: Any) -> FloatArray:
        """What the risk is a function of: (n,) or (n, K)."""
        scores = np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_
        return scores[:, 0] if self._one_score else scores

    def _predict_codes(self, X: Any) -> LabelArray:
        scores = self._scores(X)
        if self.task == "ordinal":
            position = (scores > 0).sum(axis=1)
        else:
            position = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self._trained_codes[position])

    def _learn_target(self, y: NDArray[Any]) -> NDArray[Any]:
        if not callable(self.risk):
            raise TypeError(
                "risk must be a function of (labels, sample_weight) that returns a function of the scores, "
                f"for instance facereject.risks.CrossEntropy; got {self.risk!r}"
            )
        if self.task not in _TASKS:
            raise ValueError(f"task must be one of {', '.join(_TASKS)}; got {self.task!r}")
        if not _has_classes(self):
            return check_vector(y, "y")
        self.classes_, codes = learn_classes(y, type(self).__name__)
        return codes

    def _check_target(self, y: Any) -> NDArray[Any]:
        if not _has_classes(self):
            return check_vector(y, "y")
        if self.task == "ordinal":
            return locate_ordered(y, self.classes_)
        return locate_labels(column_or_1d(y), self.classes_, "y")

    def _objective(self, X: Any, target: NDArray[Any], weights: FloatArray) -> LinearObjective:
        ordinal, n_scores = self.task == "ordinal", None
        if _has_classes(self):
            # a fold may lack a rare class: the risk sees those it has, numbered without gaps
            self._trained_codes, target = np.unique(target, return_inverse=True)
            n_classes = self._trained_codes.size
            if n_classes < 2:
                raise ValueError("a training fold holds one class only: use fewer folds, or stratified ones")
            n_scores = n_classes - 1 if ordinal else n_classes if n_classes > 2 else None
        risk = self.risk(target, sample_weight=check_weights(weights, len(target)))
        if isinstance(risk, ShapedRisk):
            self._check_shape(risk.score_shape, n_scores)
            n_scores = None
        self._one_score = not ordinal and n_scores is None and not _is_wide(risk)
        return LinearObjective(
            X, risk, fit_intercept=self.fit_intercept, n_scores=n_scores, shared_weights=ordinal
        )

    def _check_shape(self, shape: tuple[int, ...], n_scores: int | None) -> None:
        """Refuse a risk whose scores cannot be read as this task."""
        both = self.task == "classification" and n_scores is None and shape[1:] == (2,)
        if shape[1:] != (() if n_scores is None else (n_scores,)) and not both:
            found = "one score" if len(shape) == 1 else f"{shape[1]} scores"
            wanted = "one" if n_scores is None else n_scores
            raise ValueError(f"the risk takes {found} per example, but {self.task} of this y needs {wanted}")

    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        coefficients, intercepts = objective.split(w)
        self.coef_ = coefficients.copy()
        if self.task == "ordinal":
            self.intercept_ = -np.sort(intercepts)
        else:
            self.intercept_ = intercepts.copy() if self.fit_intercept else np.zeros(len(coefficients))

    def _total_loss(self, X: Any, target: NDArray[Any], weights: FloatArray) -> float:
        mass = float(weights.sum())
        if not _has_classes(self):
            if mass == 0:
                return 0.0
            return mass * float(self.risk(target, sample_weight=weights / mass)(self._scores(X))[0])
        loss = absolute_error if self.task == "ordinal" else zero_one_loss
        return float(loss(target, self._predict_codes(X)) @ weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if _has_classes(self):
            tags.estimator_type = "classifier"
            # classes that do not follow each other along a line cannot be told apart by thresholds
            tags.classifier_tags = ClassifierTags(poor_score=self.task == "ordinal")
        else:
            tags.estimator_type = "regressor"
            # scikit-learn's checks read ``score`` of a regressor as R²
            tags.regressor_tags = RegressorTags(poor_score=True)
        return tags


def _is_wide(risk: Risk) -> bool:
    return isinstance(risk, ShapedRisk) and len(risk.score_shape) == 2


class LinearRiskPredictor(_OwnRisk, FixedAlpha):
    """Linear predictor that minimises a risk of your own.

        alpha/2 ‖θ‖² + risk(scores of all examples),     s_k(x) = ⟨w_k, x⟩ + b_k

    Parameters
    ----------
    risk : callable (y, sample_weight) -> risk
        A function or class that is given the labels of the examples at hand and their weights (arrays of
        shape (n,); the weights sum to 1, by the keyword ``sample_weight``). It returns a convex function of
        the scores, ``scores -> (value, gradient)``, the gradient of the shape of the scores. The classes of
        ``facereject.risks`` are such callables. The predictor can be pickled if this callable can: a lambda
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
        See ``facereject.solver.bundle_minimize``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, sorted; not for regression.
    coef_ : ndarray of shape (number of weight vectors, d)
    intercept_ : ndarray of shape (number of scores,)
        For ordinal labels the −b_k, in descending order.
    alpha_ : float
    n_iter_ : int
    gap_ : float
        (objective − lower bound) / objective at the stop.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only when X had column names.

    Examples
    --------
    Quantile regression, tuned by its own risk on left-out folds:

    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from facereject.predictors import LinearRiskPredictorCV
    >>> def quantile(y, sample_weight):
    ...     def risk(scores):
    ...         slope = np.where(y > scores, 0.9, -0.1)
    ...         return sample_weight @ (slope * (y - scores)), -sample_weight * slope
    ...     return risk
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRiskPredictorCV(quantile, "regression", cs=(1e-6, 1e-3, 1)).fit(X, y)
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
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.solver = solver


class LinearRiskPredictorCV(_OwnRisk, AlphaSearch):
    """``LinearRiskPredictor`` with alpha = c/n chosen on examples left out.

    By the share of wrong labels, the mean absolute error of ordinal ones (steps along ``classes_``), and for
    regression by the risk itself.

    Parameters
    ----------
    risk, task
        As in ``LinearRiskPredictor``.
    cs : sequence of float
        The c to try. One run serves the grid: cuts and starting points are shared.
    cv : int, splitter or iterable of (train, test)
        Folds, stratified by label for an integer; unused when ``fit`` is given a validation set.
    tol, max_iter, fit_intercept, solver
        As in ``LinearRiskPredictor``.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_cs,)
        c/n for the examples given to ``fit``, in the order of ``cs``.
    validation_losses_ : ndarray of shape (n_cs,)
    alpha_ : float
        The best of ``alphas_``; the largest of equals.
    classes_, coef_, intercept_, n_iter_, gap_, n_features_in_, feature_names_in_
        Of the model with ``alpha_``, trained on all examples given to ``fit``.
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
        self.cs = cs
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.solver = solver
