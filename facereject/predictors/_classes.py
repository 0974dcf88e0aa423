"""What the linear classifiers share: labels as codes, and prediction from one score per class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from facereject._labels import locate_labels
from facereject._validation import FloatArray
from facereject.losses import zero_one_loss
from facereject.predictors._base import LinearPredictor
from facereject.risks._base import LabelArray
from facereject.solver import LinearObjective


def learn_classes(y: NDArray[Any], estimator: str) -> tuple[NDArray[Any], LabelArray]:
    """The sorted labels of training, and the position of each label among them, its *code*."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{estimator} needs at least two classes, but y holds one class only: {classes[0]!r}"
        )
    return classes, codes.astype(np.intp)


def locate_ordered(y: Any, classes: NDArray[Any]) -> LabelArray:
    """Codes of ordered labels; one that training did not see has no place among them and is refused."""
    labels = column_or_1d(y)
    codes = locate_labels(labels, classes, "y")
    if (codes < 0).any():
        unknown = labels[int(np.flatnonzero(codes < 0)[0])]
        raise ValueError(f"label {unknown} was not seen in fit: its distance to the others is unknown")
    return codes


class LinearClassifier(ClassifierMixin, LinearPredictor):
    """A linear predictor of labels. Inside, a label is its position in ``classes_``, its code."""

    classes_: NDArray[Any]

    # per example, in codes; what the validation of alpha minimises
    _loss: Callable[[Any, Any], FloatArray] = staticmethod(zero_one_loss)

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

    def _learn_target(self, y: NDArray[Any]) -> LabelArray:
        self.classes_, codes = learn_classes(y, type(self).__name__)
        return codes

    def _check_target(self, y: Any) -> LabelArray:
        """Codes of labels; −1 for a label that training did not see."""
        return locate_labels(column_or_1d(y), self.classes_, "y")

    def _total_loss(self, X: Any, target: NDArray[Any], weights: FloatArray) -> float:
        return float(self._loss(target, self._predict_codes(X)) @ weights)


class ClassScores(LinearClassifier):
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
