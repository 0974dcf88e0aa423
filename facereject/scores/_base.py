"""What all learned scores share: checks of the arguments, standardised features, predicted classes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import validate_data

from facereject._labels import kind_of_labels, locate_labels
from facereject._validation import FloatArray, check_same_length, check_vector
from facereject.solver._standardized import ColumnMoments, Standardized

#: Regularisation searched by the ...CV scores: 0 and 1e-6 ... 1e3.
ALPHAS = (0.0, *(10.0**k for k in range(-6, 4)))


class TrainingSet(NamedTuple):
    """Checked arguments of ``fit``; one row per example."""

    X: NDArray[Any]
    target: FloatArray
    predictions: NDArray[Any] | None
    sample_weight: FloatArray | None
    # score of each example that features are to correct
    start: FloatArray | None = None

    def rows(self, index: Any) -> TrainingSet:
        """The examples at ``index``."""
        predictions = None if self.predictions is None else self.predictions[index]
        weight = None if self.sample_weight is None else self.sample_weight[index]
        start = None if self.start is None else self.start[index]
        return TrainingSet(self.X[index], self.target[index], predictions, weight, start)


class BaseScore(BaseEstimator):
    """An uncertainty score learned from examples: higher = less certain.

    Clones and pickles like any scikit-learn estimator.

    Attributes
    ----------
    target : str
        What the score is fitted to: "losses" or "true_class_probability".
    response : str or None
        What it reads from the predictor besides the predictions: None, "predict_proba",
        "decision_function", or "auto" (the first of the two that there is).
    reads_auxiliary : bool
        Whether ``fit`` and ``predict`` take ``auxiliary`` and ``base_score``.
    reference_models : str or None
        Trees trained on the same examples whose predictions are auxiliary features about a regressor:
        "few" random trees, or "many" and boosted ones.
    reads_features : bool
        Whether X is looked at.
    """

    target: str = "losses"
    response: str | None = None
    reads_auxiliary: bool = False
    reference_models: str | None = None
    reads_features: bool = True
    # what scikit-learn's checks say to NaN in X: refused, or "allow-nan"
    _all_finite: bool | str = True

    def _check_fit(self, X: Any, target: Any, predictions: Any, sample_weight: Any) -> TrainingSet:
        """Checked copies of the arguments; remembers the number and names of the features."""
        # float32 stays float32: it halves the memory of wide features
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite=self._all_finite)
        target = check_vector(target, self.target, non_negative=True)
        check_same_length(X=X, **{self.target: target})
        if predictions is not None:
            predictions = check_predictions(predictions, len(X))
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X)
        return TrainingSet(X, target, predictions, sample_weight)

    def _check_predict(
        self, X: Any, predictions: Any, classes: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[np.intp] | None]:
        """Features, and the position of each prediction in ``classes``: −1 for a class never seen."""
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite=self._all_finite, reset=False
        )
        if classes is None:
            if predictions is not None:
                raise ValueError("predictions were not given to fit: leave them out, or fit with them")
            return X, None
        if predictions is None:
            raise ValueError("predictions are needed: this score was fitted with them")
        return X, locate_labels(check_predictions(predictions, len(X)), classes, "predictions")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._all_finite == "allow-nan"
        return tags


class Standardizer(NamedTuple):
    """x -> (x − mean) / scale per column; constant columns have scale 1."""

    mean: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, X: NDArray[Any], sample_weight: FloatArray | None = None) -> Standardizer:
        """Mean and standard deviation (divisor n) of each column."""
        moments = ColumnMoments.of(X, sample_weight)
        return cls(moments.mean, moments.deviation())

    def __call__(self, X: NDArray[Any]) -> Standardized:
        """The standardised features, not computed before they are needed."""
        return Standardized(X, self.mean, self.scale)


def make_folds(cv: Any, random_state: Any, *, stratified: bool = False) -> Any:
    """A splitter: shuffled folds for an int, else the splitter or the (train, test) pairs given."""
    if isinstance(cv, Integral):
        kind = StratifiedKFold if stratified else KFold
        return kind(cv, shuffle=True, random_state=random_state)
    return check_cv(cv)


def check_groups_of_rows(groups: Any, n: int) -> NDArray[Any]:
    """Groups as an array, one per row of X, at least two different ones."""
    array = np.asarray(groups)
    if array.shape != (n,):
        raise ValueError(f"groups must hold one group per row of X ({n}), got shape {array.shape}")
    if len(np.unique(array)) < 2:
        raise ValueError("groups must hold at least 2 groups: one of them is held out")
    return array


def assign_folds(
    stratified: bool, X: Any, y: NDArray[Any], cv: Any, groups: Any, random_state: Any
) -> NDArray[np.intp]:
    """Fold in which each example is held out."""
    folds = make_folds(cv, random_state, stratified=stratified)
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (len(y),):
            raise ValueError(f"groups must hold one group per example ({len(y)}), got shape {groups.shape}")
        if isinstance(cv, Integral):
            kind = StratifiedGroupKFold if stratified else GroupKFold
            folds = kind(cv, shuffle=True, random_state=random_state)
    fold = np.full(len(y), -1, dtype=np.intp)
    times = np.zeros(len(y), dtype=np.intp)
    for k, (_, held_out) in enumerate(folds.split(X, y, groups)):
        fold[held_out] = k
        times[held_out] += 1
    if not (times == 1).all():
        raise ValueError("cv must hold out every example exactly once")
    return fold


def check_sample_weight(sample_weight: Any, X: Any) -> FloatArray:
    """Weights ≥ 0, one per row of X and not all of them zero."""
    weight = check_vector(sample_weight, "sample_weight", non_negative=True)
    check_same_length(X=X, sample_weight=weight)
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every example")
    return weight


def check_predictions(predictions: Any, n: int) -> NDArray[Any]:
    """Predicted classes, one per example: integers, strings or booleans."""
    array = np.asarray(predictions)
    if array.shape != (n,):
        raise ValueError(f"predictions must hold one class per row of X ({n}), got shape {array.shape}")
    missing = np.zeros(n, dtype=bool)
    if array.dtype.kind == "f":
        missing = ~np.isfinite(array)
    elif array.dtype.kind == "O":
        # None or NaN among strings; only NaN differs from itself
        missing = np.array([label is None or label != label for label in array])
    if missing.any():
        position = int(np.flatnonzero(missing)[0])
        raise ValueError(f"predictions must be classes, but predictions[{position}] is {array[position]}")
    if kind_of_labels(array) == "a mixture of both":
        raise ValueError("predictions must be all strings or all numbers, but they hold both")
    if array.dtype.kind == "f" and (array != np.rint(array)).any():
        raise ValueError(
            "predictions must be classes, but they hold fractions: leave them out for a regressor, "
            "or append them to X as a feature"
        )
    return array
