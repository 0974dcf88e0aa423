"""The base of the linear predictors: tasks, checks, training at one alpha or over a grid."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import ClassifierTags, RegressorTags, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from facereject._labels import locate_labels
from facereject._validation import FloatArray, check_number, check_vector
from facereject.losses import absolute_error, zero_one_loss
from facereject.risks import Risk
from facereject.risks._base import LabelArray, check_weights
from facereject.solver import LinearObjective, bundle_minimize, bundle_path
from facereject.solver._bundle import METHODS


def has_classes(predictor: LinearPredictor) -> bool:
    """Whether the predictor predicts labels, not numbers."""
    return predictor.task != "regression"


class LinearPredictor(BaseEstimator, metaclass=ABCMeta):
    """A predictor with scores ⟨w_k, x⟩ + b_k that minimises alpha/2 ‖θ‖² + risk; θ includes the intercepts.

    Inside, a label is its position in ``classes_``, its *code*. A subclass sets the task, which says what the
    scores mean, and the risk (``_make_risk``):

    ==================  ===================================================================================
    ``classification``  one score per class, the largest wins; for two classes one score, positive for the
                        second
    ``ordinal``         ⟨w, x⟩ − b_k for K − 1 thresholds; the code is the number of positive scores
    ``regression``      one score, the prediction itself
    ==================  ===================================================================================
    """

    task: str
    tol: float
    max_iter: int
    fit_intercept: bool
    solver: str

    classes_: NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray

    @abstractmethod
    def _make_risk(self, target: NDArray[Any], weights: FloatArray) -> Risk:
        """Make the risk of training examples with these codes."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a label for each row, or a number for regression.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.

        Returns
        -------
        predictions : ndarray of shape (n,)
            Labels out of ``classes_``, or numbers.
        """
        X = self._check_features(X)
        return self.classes_[self._predict_codes(X)] if has_classes(self) else self._scores(X)

    @available_if(has_classes)
    def decision_function(self, X: Any) -> FloatArray:
        """Compute one score per class; not for regression.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.

        Returns
        -------
        scores : ndarray of shape (n, n_classes), or (n,) for two classes
            The class with the largest score is predicted; of two classes ``classes_[1]`` where the score is
            positive. For ordinal labels the score of class k is Σ_{y < k} (⟨w, x⟩ − b_y).
        """
        scores = self._scores(self._check_features(X))
        if scores.ndim == 1:
            return scores
        if self.task == "ordinal":
            scores = np.pad(scores.cumsum(axis=1), ((0, 0), (1, 0)))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy, or minus the mean loss for ordinal labels and numbers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features.
        y : array-like of shape (n,)
            True labels or numbers. Ordinal labels must be known from ``fit``.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0; equal by default.

        Returns
        -------
        score : float
            Higher is better: the share of correct labels, minus the mean absolute error of ordinal labels in
            steps along ``classes_``, or minus the risk for regression.
        """
        X, target = self._check_features(X), self._check_target(y)
        loss = self._total_loss(X, target, check_weights(sample_weight, target.size))
        return 1.0 - loss if self.task == "classification" else -loss

    def _scores(self, X: Any) -> FloatArray:
        """Compute what the risk is a function of: (n,) or (n, K)."""
        scores = np.asarray(X @ np.atleast_2d(self.coef_).T, dtype=np.float64) + self.intercept_
        return scores[:, 0] if self._one_score else scores

    def _predict_codes(self, X: Any) -> LabelArray:
        scores = self._scores(X)
        if self.task == "ordinal":
            return np.asarray((scores > 0).sum(axis=1))
        return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def _learn_target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Convert the targets of training to what the risk takes, and remember the labels."""
        if not has_classes(self):
            return check_vector(y, "y")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but y has one class only: "
                f"{self.classes_[0]!r}"
            )
        return codes.astype(np.intp)

    def _check_target(self, y: Any) -> NDArray[Any]:
        """Convert other targets likewise; the code of a label that was not seen in training is −1."""
        if not has_classes(self):
            return check_vector(y, "y")
        labels = column_or_1d(y)
        codes = locate_labels(labels, self.classes_, "y")
        if self.task == "ordinal" and (codes < 0).any():
            unknown = labels[int(np.flatnonzero(codes < 0)[0])]
            raise ValueError(f"label {unknown} was not seen in fit: its distance to the others is unknown")
        return codes

    def _objective(self, X: Any, target: NDArray[Any], weights: FloatArray) -> LinearObjective:
        """Make the mean risk as a function of the weights."""
        objective = LinearObjective(
            X,
            self._make_risk(target, weights),
            fit_intercept=self.fit_intercept,
            shared_weights=self.task == "ordinal",
        )
        self._one_score = len(objective.score_shape) == 1
        return objective

    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        """Store the solution ``w`` as fitted attributes."""
        coefficients, intercepts = objective.split(w)
        self.coef_ = coefficients.copy()
        if self.task == "ordinal":
            # Short of the optimum two thresholds can be in the wrong order. Sorting never raises the
            # objective: if φ_y(b) is the part of the risk that belongs to b_y, φ_{y+1} − φ_y falls in b.
            self.intercept_ = -np.sort(intercepts)
        else:
            self.intercept_ = intercepts.copy() if self.fit_intercept else np.zeros(len(coefficients))

    def _total_loss(self, X: Any, target: NDArray[Any], weights: FloatArray) -> float:
        """Sum up the weighted losses of examples; X has been checked."""
        loss = absolute_error if self.task == "ordinal" else zero_one_loss
        return float(loss(target, self._predict_codes(X)) @ weights)

    def _check_training_data(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, NDArray[Any], FloatArray]:
        # not float32: the rounding of products with large features can exceed the gap that is certified
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        target = self._learn_target(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must not be zero for every example")
        return X, target, weights

    def _check_features(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validate_features(X)

    def _validate_features(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _minimize(self, objective: LinearObjective, alpha: float) -> OptimizeResult:
        return bundle_minimize(objective, alpha, tol=self.tol, max_iter=self.max_iter, method=self.solver)

    def _accept(self, objective: LinearObjective, result: OptimizeResult) -> None:
        self._read_weights(objective, result.x)
        self.n_iter_ = result.nit
        self.gap_ = result.gap

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        if has_classes(self):
            tags.estimator_type = "classifier"
            # classes that do not follow each other along a line cannot be told apart by thresholds
            tags.classifier_tags = ClassifierTags(poor_score=self.task == "ordinal")
        else:
            tags.estimator_type = "regressor"
            # the checks of scikit-learn expect ``score`` of a regressor to be R²
            tags.regressor_tags = RegressorTags(poor_score=True)
        return tags


class FixedAlpha(LinearPredictor):
    """Training at a given alpha."""

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features. Bring them to a common scale first; training is slow otherwise.
        y : array-like of shape (n,)
            Labels, at least two different ones; numbers for regression.
        sample_weight : array-like of shape (n,), optional
            An integer weight equals repeating the example, also in the default alpha = 1/n, where n is the
            sum of the weights.

        Returns
        -------
        self : object
            The fitted predictor.
        """
        X, target, weights = self._check_training_data(X, y, sample_weight)
        if self.alpha is None:
            self.alpha_ = 1.0 / float(weights.sum())
        else:
            self.alpha_ = check_number(self.alpha, "alpha", minimum=0)
        objective = self._objective(X, target, weights)
        self._accept(objective, self._minimize(objective, self.alpha_))
        return self


class AlphaSearch(LinearPredictor):
    """Training at the alpha = c/n of a grid that has the smallest loss on examples not trained on."""

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Any:
        """Choose alpha and train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features. Bring them to a common scale first; training is slow otherwise.
        y : array-like of shape (n,)
            Labels, at least two different ones; numbers for regression.
        sample_weight : array-like of shape (n,), optional
            An integer weight equals repeating the example in the same fold; n in alpha = c/n is the sum of
            the weights.
        validation : tuple (X_val, y_val), optional
            Examples to choose alpha on. The model is then trained on X alone, and ``cv`` is not used.

        Returns
        -------
        self : object
            The fitted predictor.
        """
        X, target, weights = self._check_training_data(X, y, sample_weight)
        cs = check_vector(self.cs, "cs", non_negative=True)
        self.alphas_ = cs / weights.sum()
        if validation is not None:
            X_val, target_val = self._check_validation(validation)
            ones = np.ones(len(target_val))
            objective, path = self._path(X, target, weights, cs)
            losses = self._losses_along(objective, path, X_val, target_val, ones) / ones.size
        else:
            losses = self._cross_validate(X, target, weights, cs)
        self.validation_losses_ = losses
        # of equals the largest alpha: the simplest model
        best = max(range(cs.size), key=lambda k: (-losses[k], cs[k]))
        self.alpha_ = float(self.alphas_[best])
        if validation is None:
            objective = self._objective(X, target, weights)
            self._accept(objective, self._minimize(objective, self.alpha_))
        else:
            self._accept(objective, path[best])
        return self

    def _check_validation(self, validation: Any) -> tuple[Any, NDArray[Any]]:
        try:
            X_val, y_val = validation
        except (TypeError, ValueError):
            raise ValueError("validation must be a pair (X_val, y_val)") from None
        X_val = self._validate_features(X_val)
        target = self._check_target(y_val)
        if X_val.shape[0] != target.size:
            raise ValueError(f"validation: X_val has {X_val.shape[0]} rows, but y_val {target.size} labels")
        return X_val, target

    def _path(
        self, X: Any, target: NDArray[Any], weights: FloatArray, cs: FloatArray
    ) -> tuple[LinearObjective, list[OptimizeResult]]:
        """Solve for all alphas; the cuts of the risk do not depend on alpha, so the grid shares them."""
        objective = self._objective(X, target, weights)
        alphas = cs / weights.sum()
        path = bundle_path(objective, alphas, tol=self.tol, max_iter=self.max_iter, method=self.solver)
        return objective, path

    def _losses_along(
        self,
        objective: LinearObjective,
        path: list[OptimizeResult],
        X: Any,
        target: NDArray[Any],
        weights: FloatArray,
    ) -> FloatArray:
        """Sum up the weighted losses under each solution."""
        totals = np.empty(len(path))
        for k, result in enumerate(path):
            self._read_weights(objective, result.x)
            totals[k] = self._total_loss(X, target, weights)
        return totals

    def _cross_validate(
        self, X: Any, target: NDArray[Any], weights: FloatArray, cs: FloatArray
    ) -> FloatArray:
        """Compute the mean loss of each c on left-out examples; n of alpha = c/n is that of the fold."""
        total, mass = np.zeros(cs.size), 0.0
        for train, test in check_cv(self.cv, target, classifier=is_classifier(self)).split(X, target):
            objective, path = self._path(X[train], target[train], weights[train], cs)
            total += self._losses_along(objective, path, X[test], target[test], weights[test])
            mass += float(weights[test].sum())
        return total / mass
