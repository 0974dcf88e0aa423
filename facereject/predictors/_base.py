"""What the linear predictors share: checks of X, training at one alpha or over a grid of them."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from facereject._settings import check_number
from facereject._validation import FloatArray, check_vector
from facereject.solver import LinearObjective, bundle_minimize, bundle_path


class LinearPredictor(BaseEstimator, metaclass=ABCMeta):
    """A predictor that minimises alpha/2 ‖θ‖² + mean risk, intercepts being part of θ.

    A subclass says what the targets are (``_learn_target``, ``_check_target``), which risk of which scores is
    minimised (``_objective``), what the weights found mean (``_read_weights``), how they predict
    (``predict``), and what the validation of alpha minimises (``_total_loss``).
    """

    tol: float
    max_iter: int
    solver: str

    @abstractmethod
    def _learn_target(self, y: NDArray[Any]) -> NDArray[Any]:
        """Targets of the training examples as the risk wants them; remembers the labels."""

    @abstractmethod
    def _check_target(self, y: Any) -> NDArray[Any]:
        """Targets of other examples in the same form."""

    @abstractmethod
    def _objective(self, X: Any, target: NDArray[Any], weights: FloatArray) -> LinearObjective:
        """The mean risk as a function of the weights."""

    @abstractmethod
    def _read_weights(self, objective: LinearObjective, w: FloatArray) -> None:
        """Store the solution ``w`` as fitted attributes."""

    @abstractmethod
    def _total_loss(self, X: Any, target: NDArray[Any], weights: FloatArray) -> float:
        """Weighted sum of the losses on examples; X has been checked."""

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a label or number for each row."""

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
            Labels, at least two different ones; numbers for regression.
        sample_weight : array-like of shape (n,), optional
            An integer weight equals repeating the example, also in the default alpha = 1/n, where n is the
            sum of the weights.

        Returns
        -------
        self
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

    cs: Any
    cv: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Any:
        """Choose alpha and train.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Bring the features to a common scale first; training is slow otherwise.
        y : array-like of shape (n,)
            Labels, at least two different ones; numbers for regression.
        sample_weight : array-like of shape (n,), optional
            An integer weight equals repeating the example in the same fold; n in alpha = c/n is the sum of
            the weights.
        validation : tuple (X_val, y_val), optional
            Examples to choose alpha on. The model is then trained on X alone, and ``cv`` is not used.

        Returns
        -------
        self
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
        # among equals the largest alpha: the simplest model
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
        """Solutions for all alphas; the cuts of the risk do not depend on alpha, so the grid shares them."""
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
        """Weighted sum of the losses under each solution."""
        totals = np.empty(len(path))
        for k, result in enumerate(path):
            self._read_weights(objective, result.x)
            totals[k] = self._total_loss(X, target, weights)
        return totals

    def _cross_validate(
        self, X: Any, target: NDArray[Any], weights: FloatArray, cs: FloatArray
    ) -> FloatArray:
        """Mean loss of each c over the examples left out, c/n following the size of the training part."""
        total, mass = np.zeros(cs.size), 0.0
        for train, test in check_cv(self.cv, target, classifier=is_classifier(self)).split(X, target):
            objective, path = self._path(X[train], target[train], weights[train], cs)
            total += self._losses_along(objective, path, X[test], target[test], weights[test])
            mass += float(weights[test].sum())
        return total / mass
