"""What all learned scores share: checks of the arguments, standardised features, predicted classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from facereject._labels import kind_of_labels, locate_labels
from facereject._validation import FloatArray, check_same_length, check_vector
from facereject.scores._weighting import Weighting, choose_weighting, count_errors
from facereject.solver._standardized import ColumnMoments, Standardized

#: Regularisation searched by the ...CV scores: 0 and 1e-6 ... 1e3.
ALPHAS = (0.0, *(10.0**k for k in range(-6, 4)))
# folds on which a learned score is compared with the base score
_COMPARED_FOLDS = 5


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

    Where ``fit`` is told what the predictor says of itself (a base score, or outputs that contain one), the
    learned score must earn its place against it. Copies of it are fitted without each of some folds, and on
    these the AuRC of both is compared, and of weighted means of their ranks. The weight with the surest gain
    is used: at least 2.5 standard errors, and at most m/40 with m errors. ``weight_`` is 0 where no gain is
    sure; then ``predict`` returns the base score.

    Attributes
    ----------
    weight_ : float
        Weight of the learned score, in [0, 1]; 1 where there is no base score. ``repr`` says why.
    target : str
        What the score is fitted to: "losses" or "true_class_probability".
    response : str or None
        What it reads from the predictor besides the predictions: None, "predict_proba",
        "decision_function", or "auto" (the first of the two that there is).
    reads_auxiliary : bool
        Whether ``fit`` and ``predict`` take ``auxiliary`` and ``base_score``.
    reference_models : str or None
        Models trained on the same examples whose opinions of a prediction are auxiliary features: "few", as
        random trees, or "many", with boosted trees.
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
    # False for the copies that are fitted to find the weight
    _earns_weight = True
    # True where ``cross_fit`` needs the uncertainties of held-out examples afterwards
    _keeps_held_out = False
    _weighting = Weighting(1.0, "")
    _held_out: FloatArray | None = None

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

    def _earn_weight(
        self, losses: FloatArray | None, base: FloatArray | None, given: dict[str, Any], groups: Any = None
    ) -> None:
        """Compare the score, just fitted to the arguments ``given``, with the base score; set ``weight_``."""
        given = {name: value for name, value in given.items() if value is not None}
        # a score of features alone is not expected to be compared
        alone = "auxiliary" in given and base is None and self._earns_weight
        self._weighting = Weighting(1.0, "there is no base score to compare it with" if alone else "")
        self._held_out = None
        if losses is not None and base is not None and self._earns_weight:
            weight = given.get("sample_weight")
            learned = base
            # less than two errors decide nothing, and cannot be learned from without one fold
            if count_errors(losses, weight) >= 2:
                learned = self._held_out_uncertainty(losses, given, groups)
            self._weighting = choose_weighting(losses, base, learned, weight)
            if self._keeps_held_out:
                self._held_out = self._weighting(base, learned)
        self.weight_ = self._weighting.weight

    def _held_out_uncertainty(self, losses: FloatArray, given: dict[str, Any], groups: Any) -> FloatArray:
        """Uncertainty of each example by a copy of the score that has not seen its loss.

        A score need not have a unit. Those of the copies are shifted and scaled to have the mean and standard
        deviation of this score on the examples that both were fitted to.
        """
        targets = (self.target, "losses", "sample_weight")
        held_out = np.empty(len(losses))

        def predict(score: Any, rows: NDArray[np.intp]) -> FloatArray:
            known = {name: value for name, value in given.items() if name not in targets}
            return np.asarray(score.predict(**{"X": None, **_rows_of(known, rows)}))

        for rest, out in _compared_folds(losses, groups):
            copy = self._repeated()
            copy._earns_weight = False
            copy.fit(**{"X": None, **_rows_of(given, rest)})
            own, final = predict(copy, rest), predict(self, rest)
            scale = final.std() / own.std() if own.std() > 0 else 1.0
            held_out[out] = final.mean() + scale * (predict(copy, out) - own.mean())
        return held_out

    def _repeated(self) -> Any:
        """An unfitted copy that repeats what this score has chosen instead of choosing again.

        Scores of different alpha differ in scale by orders of magnitude.
        """
        return clone(self)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        reason = self._weighting.reason if hasattr(self, "weight_") else ""
        return f"{text}  # weight {self.weight_:g}: {reason}" if reason else text

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


def _rows_of(given: dict[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    return {name: _safe_indexing(value, rows) for name, value in given.items()}


def _compared_folds(losses: FloatArray, groups: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to fit to and rows held out: groups together, else every fold with its share of the losses."""
    n = len(losses)
    if groups is not None:
        groups = np.asarray(groups)
        yield from GroupKFold(min(_COMPARED_FOLDS, len(np.unique(groups)))).split(losses, groups=groups)
        return
    order = np.random.default_rng(0).permutation(n)
    fold = np.empty(n, dtype=np.intp)
    fold[order[np.argsort(losses[order], kind="stable")]] = np.arange(n) % min(_COMPARED_FOLDS, n)
    for k in range(fold.max() + 1):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


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
    with warnings.catch_warnings():
        # a fold may lack a rare class: its outputs get a column all the same
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
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
