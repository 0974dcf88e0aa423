"""What the linear predictors share: checks, training at one alpha or over a grid, prediction from scores."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from facereject._labels import locate_labels
from facereject._settings import check_number
from facereject._validation import FloatArray, check_vector
from facereject.losses import zero_one_loss
from facereject.risks._base import LabelArray
from facereject.solver import LinearObjective, bundle_minimize, bundle_path


class LinearPredictor(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A classifier that minimises alpha/2 ‖θ‖² + mean risk, intercepts being part of θ.

    A subclass says which risk of which scores is minimised (``_objective``), what the weights found mean
    (``_read_weights``) and how they predict (``decision_function``, ``_predict_codes``). Inside, a label is
    its position in ``classes_``, its *code*.
    """

    tol: float
    max_iter: int
    classes_: NDArray[Any]

    # per example, in codes; what the validation of alpha minimises
    _loss: Callable[[Any, Any], FloatArray] = staticmethod(zero_one_loss)

    @abstractmethod
    def _objective(self, X: Any, codes: LabelArray, weights: FloatArray) -> LinearObjective:
        """The mean risk as a function of the weights."""

    @abstractmethod
    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        """Store the solution ``w`` as fitted attributes."""

    @abstractmethod
    def decision_function(self, X: Any) -> FloatArray:
        """Scores: one per class, the largest wins; for two classes one, positive for ``classes_[1]``."""

    @abstractmethod
    def _predict_codes(self, X: Any) -> LabelArray:
        """Codes of the predicted labels; X has been checked."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a label for each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        codes = self._predict_codes(self._check_features(X))
        return self.classes_[codes]

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, LabelArray, FloatArray]:
        # not float32: the rounding of products with large features can exceed the gap that is certified
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but y holds one class only: "
                f"{self.classes_[0]!r}"
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must not be zero for every example")
        return X, codes.astype(np.intp), weights

    def _check_features(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validate_features(X)

    def _validate_features(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _encode(self, y: Any) -> LabelArray:
        """Codes of labels; −1 for a label that training did not see."""
        return locate_labels(column_or_1d(y), self.classes_, "y")

    def _accept(self, objective: LinearObjective, result: OptimizeResult) -> None:
        self._read_weights(objective, result.x)
        self.n_iter_ = result.nit
        self.gap_ = result.gap

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class FixedAlpha(LinearPredictor):
    """Training at one given alpha."""

    alpha: float | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on examples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Bring the features to a common scale first; training is slow otherwise.
        y : array-like of shape (n,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n,), optional
            An integer weight equals repeating the example, also in the default alpha = 1/n, where n is the
            sum of the weights.

        Returns
        -------
        self
        """
        X, codes, weights = self._check_training_data(X, y, sample_weight)
        if self.alpha is None:
            self.alpha_ = 1.0 / float(weights.sum())
        else:
            self.alpha_ = check_number(self.alpha, "alpha", minimum=0)
        objective = self._objective(X, codes, weights)
        result = bundle_minimize(objective, self.alpha_, tol=self.tol, max_iter=self.max_iter)
        self._accept(objective, result)
        return self


class AlphaSearch(LinearPredictor):
    """Training at the alpha = c/n of a grid that has the smallest loss on examples not trained on."""

    cs: Any
    cv: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Any:
        """Choose alpha and train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Bring the features to a common scale first; training is slow otherwise.
        y : array-like of shape (n,)
            Labels, at least two different ones.
        sample_weight : array-like of shape (n,), optional
            An integer weight equals repeating the example in the same fold; n in alpha = c/n is the sum of
            the weights.
        validation : tuple (X_val, y_val), optional
            Examples to choose alpha on. The model is then trained on X alone, and ``cv`` is not used.

        Returns
        -------
        self
        """
        X, codes, weights = self._check_training_data(X, y, sample_weight)
        cs = check_vector(self.cs, "cs", non_negative=True)
        self.alphas_ = cs / weights.sum()
        if validation is not None:
            X_val, codes_val = self._check_validation(validation)
            objective, path = self._path(X, codes, weights, cs)
            self.validation_losses_ = self._losses_along(objective, path, X_val, codes_val).mean(axis=1)
        else:
            self.validation_losses_ = self._cross_validate(X, codes, weights, cs)
        # among equals the largest alpha: the simplest model
        best = max(range(cs.size), key=lambda k: (-self.validation_losses_[k], cs[k]))
        self.alpha_ = float(self.alphas_[best])
        if validation is not None:
            result = path[best]
        else:
            objective = self._objective(X, codes, weights)
            result = bundle_minimize(objective, self.alpha_, tol=self.tol, max_iter=self.max_iter)
        self._accept(objective, result)
        return self

    def _check_validation(self, validation: Any) -> tuple[Any, LabelArray]:
        try:
            X_val, y_val = validation
        except (TypeError, ValueError):
            raise ValueError("validation must be a pair (X_val, y_val)") from None
        X_val = self._validate_features(X_val)
        codes = self._encode(y_val)
        if X_val.shape[0] != codes.size:
            raise ValueError(f"validation: X_val has {X_val.shape[0]} rows, but y_val {codes.size} labels")
        return X_val, codes

    def _path(
        self, X: Any, codes: LabelArray, weights: FloatArray, cs: FloatArray
    ) -> tuple[LinearObjective, list[OptimizeResult]]:
        """Solutions for all alphas; the cuts of the risk do not depend on alpha, so the grid shares them."""
        objective = self._objective(X, codes, weights)
        path = bundle_path(objective, cs / weights.sum(), tol=self.tol, max_iter=self.max_iter)
        return objective, path

    def _losses_along(
        self, objective: LinearObjective, path: list[OptimizeResult], X: Any, codes: LabelArray
    ) -> FloatArray:
        """Loss of every example under each solution, shape (n_alphas, n)."""
        losses = np.empty((len(path), codes.size))
        for row, result in zip(losses, path, strict=True):
            self._read_weights(objective, result.x)
            row[:] = self._loss(codes, self._predict_codes(X))
        return losses

    def _cross_validate(self, X: Any, codes: LabelArray, weights: FloatArray, cs: FloatArray) -> FloatArray:
        """Mean loss of each c over the examples left out, c/n following the size of the training part."""
        total, mass = np.zeros(cs.size), 0.0
        for train, test in check_cv(self.cv, codes, classifier=True).split(X, codes):
            objective, path = self._path(X[train], codes[train], weights[train], cs)
            total += self._losses_along(objective, path, X[test], codes[test]) @ weights[test]
            mass += float(weights[test].sum())
        return total / mass


class ClassScores(LinearPredictor):
    """A predictor with one score ⟨w_y, x⟩ + b_y per class, or one in all for two classes."""

    fit_intercept: bool

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)

        Returns
        -------
        scores : ndarray of shape (n, n_classes), or (n,) for two classes
            ⟨w_y, x⟩ + b_y; the class of the largest is predicted. Of two classes ``classes_[1]`` is
            predicted where the score is positive.
        """
        return self._scores(self._check_features(X))

    def _scores(self, X: Any) -> FloatArray:
        scores = np.asarray(X @ self.coef_.T, dtype=np.float64) + self.intercept_
        return scores[:, 0] if self.classes_.size == 2 else scores

    def _predict_codes(self, X: Any) -> LabelArray:
        scores = self._scores(X)
        return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        coefficients, intercepts = objective.split(w)
        self.coef_ = coefficients.copy()
        self.intercept_ = intercepts.copy() if self.fit_intercept else np.zeros(len(coefficients))
