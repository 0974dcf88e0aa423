"""The part of boosted scores that is LightGBM: what trees see, where they start, how many there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from facereject._labels import top_and_gap
from facereject._validation import FloatArray, check_integer, check_number, check_same_length, check_vector
from facereject.metrics import aurc
from facereject.scores._base import BaseScore, check_groups_of_rows
from facereject.scores._confidence import (
    START_ALPHA,
    START_TOL,
    Confidence,
    ConfidenceReader,
    LinearStart,
    as_columns,
    fit_start,
)
from facereject.scores._lightgbm import import_lightgbm

# relative decrease of AuRC below which trees are not worth having
_WORTHWHILE = 0.005
# share of the examples a leaf may at most be asked to hold, so that small samples still split
_LEAF_SHARE = 0.05


class BoostingRows(NamedTuple):
    """Examples as the trees see them: table, losses in units of their mean, weights, score of the start."""

    table: NDArray[Any]
    target: FloatArray
    weight: FloatArray
    start: FloatArray

    def rows(self, index: Any) -> BoostingRows:
        """The examples at ``index``."""
        return BoostingRows(*(values[index] for values in self))


class Growth:
    """Trees that grow one by one on some examples, and their scores of the examples held out."""

    def __init__(
        self,
        score: BoostedScore,
        lightgbm: Any,
        part: BoostingRows,
        held_out: BoostingRows | None,
        n_leaves: int,
    ):
        parameters = {
            "learning_rate": score.learning_rate,
            "num_leaves": n_leaves,
            "lambda_l2": score.l2_regularization,
            "min_data_in_leaf": max(1, min(score.min_samples_leaf, int(_LEAF_SHARE * len(part.table)))),
            # a bin holds 3 values by default: too many for a handful of examples
            "min_data_in_bin": min(3, max(1, len(part.table) // 100)),
            "feature_pre_filter": False,
            "metric": "none",
            "objective": "none",
            "seed": int(check_random_state(score.random_state).randint(2**31)),
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": score.n_jobs,
            "verbosity": -1,
        }
        categorical = [score.n_features_in_] if score.classes_ is not None else []
        dataset = lightgbm.Dataset(
            part.table,
            part.target,
            weight=part.weight,
            init_score=part.start,
            categorical_feature=categorical,
            params=parameters,
        ).construct()
        self.booster: Any = None
        # LightGBM calls it a fatal error where no column can be split
        if any(dataset.feature_num_bin(column) > 1 for column in range(part.table.shape[1])):
            self.booster = lightgbm.Booster(parameters, dataset)
        self._objective = score._objective(part.target, part.weight)
        self._held_out = held_out
        self._scores = None if held_out is None else held_out.start.copy()
        self._threads = score.n_jobs

    def grow(self, n_trees: int) -> Any:
        """Add trees and return the booster."""
        for _ in range(n_trees if self.booster is not None else 0):
            grown = self.booster.current_iteration()
            self.booster.update(fobj=self._objective)
            # where no leaf can be split LightGBM adds nothing
            added = self.booster.current_iteration() > grown
            if added and self._held_out is not None and self._scores is not None:
                self._scores += self.booster.predict(
                    self._held_out.table,
                    start_iteration=grown,
                    num_iteration=1,
                    num_threads=self._threads,
                )
        return self.booster

    def area(self) -> float:
        """AuRC of the examples held out."""
        assert self._held_out is not None
        assert self._scores is not None
        return aurc(self._held_out.target, self._scores)


class FoundTrees(NamedTuple):
    """Trees of one size: how many, their AuRC on the parts held out, the first of the searches."""

    n_leaves: int
    n_trees: int
    area: float
    growth: Growth


class BoostedScore(BaseScore):
    """Trees on the features, the predicted class, the outputs of the predictor and auxiliary features."""

    response = "auto"
    reads_auxiliary = True
    reference_models = "many"
    _all_finite = "allow-nan"
    # score of every example before the first tree, where there is nothing to start from
    _origin = 0.0

    def __init__(
        self,
        n_estimators: int = 1000,
        *,
        learning_rate: float = 0.05,
        max_leaf_nodes: int | Sequence[int] = (8, 31),
        l2_regularization: float = 20.0,
        min_samples_leaf: int = 20,
        patience: int = 50,
        validation_fraction: float | None = 0.2,
        use_base_score: bool = True,
        n_jobs: int = 1,
        random_state: Any = 0,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.l2_regularization = l2_regularization
        self.min_samples_leaf = min_samples_leaf
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.use_base_score = use_base_score
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
        groups: Any = None,
        validation: Any = None,
    ) -> Any:
        """Learn the score.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN is a missing value; in a column that had none in training the trees read it as 0.
        losses : array-like of shape (n,)
            Loss ≥ 0 of each prediction, on examples that the predictor was not trained on.
        predictions : array-like of shape (n,), optional
            Predicted classes, used as a categorical column.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples.
        outputs : array-like of shape (n, K) or (n,), optional
            predict_proba or decision_function of the predictor, used as further columns together with
            log-odds, top, gap and entropy of each row.
        auxiliary : array-like of shape (n, m), optional
            Auxiliary features: further columns about the predictions, as distances to neighbours.
        base_score : array-like of shape (n,), optional
            The predictor's own uncertainty, where the log-odds of its outputs are not it; see
            ``ConfidenceScore``.
        groups : array-like of shape (n,), optional
            Examples of one group are held out together when the number of trees is sought: photos of
            one person, losses of one predictor.
        validation : tuple (X, losses, predictions, outputs, auxiliary, base_score), optional
            Examples that decide the number of trees; None for what is absent, and trailing Nones may be left
            out. Without it parts of the training examples are held out for that, and the score is then fitted
            again to all of them.

        Returns
        -------
        self
            The fitted score.

        Raises
        ------
        LightGBMNotAvailableError
        """
        lightgbm = import_lightgbm()
        self._check_settings()
        data = self._check_fit(X, losses, predictions, sample_weight)
        n = len(data.X)
        self.classes_ = position = None
        if data.predictions is not None:
            self.classes_, position = np.unique(data.predictions, return_inverse=True)
        self._reader = ConfidenceReader(outputs, auxiliary, base_score, n)
        confidence = self._reader(outputs, auxiliary, base_score, n)
        # in units of the mean loss, the trees do not depend on the unit
        self.mean_loss_ = float(np.average(data.target, weights=data.sample_weight))
        target = data.target / (self.mean_loss_ or 1.0)
        weight = np.ones(n) if data.sample_weight is None else data.sample_weight
        self.start_: LinearStart | None = None
        if self.use_base_score and not self._reader.is_empty:
            self.start_ = self._fit_start(confidence, target, data.sample_weight)
        table = self._table(data.X, position, outputs, confidence)
        part = BoostingRows(table, target, weight, self._start(confidence))
        sizes = self._check_leaves()
        if validation is not None:
            found = self._search(lightgbm, sizes, [(part, self._check_validation(validation))])
            self.booster_ = found.growth.booster if found.n_trees else None
            if self.booster_ is not None:
                # trees grown while the search waited for a better one are no part of the score
                self.booster_.best_iteration = found.n_trees
            self.n_estimators_, self.max_leaf_nodes_ = found.n_trees, found.n_leaves
        else:
            self.n_estimators_, self.max_leaf_nodes_ = self.n_estimators, sizes[0]
            if self.validation_fraction is not None:
                folds = [(part.rows(rest), part.rows(out)) for rest, out in self._parts_held_out(n, groups)]
                found = self._search(lightgbm, sizes, folds)
                self.n_estimators_, self.max_leaf_nodes_ = found.n_trees, found.n_leaves
            final = Growth(self, lightgbm, part, None, self.max_leaf_nodes_)
            self.booster_ = final.grow(self.n_estimators_) if self.n_estimators_ else None
        if self.booster_ is None:
            self.n_estimators_ = 0
        given = {"X": X, "losses": data.target, "predictions": data.predictions, "outputs": outputs}
        given.update(sample_weight=data.sample_weight, auxiliary=auxiliary, base_score=base_score)
        base = confidence.base_score if self.use_base_score else None
        self._earn_weight(data.target, base, given, groups)
        return self

    def _repeated(self) -> Any:
        return (
            super()
            ._repeated()
            .set_params(
                n_estimators=self.n_estimators_, max_leaf_nodes=self.max_leaf_nodes_, validation_fraction=None
            )
        )

    def predict(
        self,
        X: Any,
        predictions: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
    ) -> FloatArray:
        """Uncertainty of the prediction at each row of X; higher = less certain.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features, as in ``fit``.
        predictions, outputs, auxiliary, base_score : array-likes with n rows, optional
            As in ``fit``; needed exactly when ``fit`` had them. A predicted class that training never saw is
            a missing value to the trees: they fall back on the other columns.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        check_is_fitted(self)
        X, position = self._check_predict(X, predictions, self.classes_)
        confidence = self._reader(outputs, auxiliary, base_score, len(X))
        scores = self._start(confidence)
        if self.booster_ is not None:
            table = self._table(X, position, outputs, confidence)
            scores = scores + self.booster_.predict(
                table, num_iteration=self.n_estimators_, num_threads=self.n_jobs
            )
        elif self.start_ is None:
            return np.full(len(X), self.mean_loss_)
        learned = np.asarray(scores, dtype=np.float64) * self._score_unit()
        return self._weighting(confidence.base_score, learned)

    def _check_settings(self) -> None:
        for name, least in (("n_estimators", 1), ("min_samples_leaf", 1), ("patience", 1)):
            # a search that ended with zero trees may be repeated without searching
            allowed = 0 if name == "n_estimators" and self.validation_fraction is None else least
            check_integer(getattr(self, name), name, minimum=allowed)
        check_number(self.learning_rate, "learning_rate", above=0, maximum=1)
        check_number(self.l2_regularization, "l2_regularization", minimum=0)
        if self.validation_fraction is not None:
            check_number(self.validation_fraction, "validation_fraction", above=0, below=1)

    def _check_leaves(self) -> list[int]:
        """Numbers of leaves to try, in the order given."""
        several = np.ndim(self.max_leaf_nodes) == 1 and not isinstance(self.max_leaf_nodes, str)
        sizes: Any = self.max_leaf_nodes if several else [self.max_leaf_nodes]
        if not len(sizes):
            raise ValueError("max_leaf_nodes must hold at least one number of leaves")
        return [check_integer(size, "max_leaf_nodes", minimum=2) for size in sizes]

    def _score_unit(self) -> float:
        return 1.0

    def _objective(self, target: FloatArray, weight: FloatArray) -> Any:
        """A function (scores, dataset) -> (gradient, curvature)."""
        raise NotImplementedError

    def _fit_start(
        self, confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None
    ) -> LinearStart:
        """The score that the trees correct."""
        return fit_start(confidence, target, sample_weight, START_ALPHA, START_TOL)

    def _start(self, confidence: Confidence) -> FloatArray:
        n = len(confidence.columns)
        return np.full(n, self._origin) if self.start_ is None else self.start_(confidence)

    def _parts_held_out(self, n: int, groups: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to grow on and rows held out: every example once, or one part where there is no start.

        Without a start some trees are needed in any case and a rough number will do. With one the question is
        whether any tree helps, which a part with a handful of errors cannot tell.
        """
        if n < 2:
            raise ValueError("X must hold at least 2 examples: one of them is held out")
        assert self.validation_fraction is not None
        if groups is not None:
            groups = check_groups_of_rows(groups, n)
            parts = min(len(np.unique(groups)), max(2, round(1.0 / self.validation_fraction)))
            folds: Any = GroupKFold(parts).split(np.empty(n), groups=groups)
        else:
            order = check_random_state(self.random_state).permutation(n)
            size = min(n - 1, max(1, round(self.validation_fraction * n)))
            starts = range(0, n - size + 1, size)
            folds = ((np.delete(order, slice(i, i + size)), order[i : i + size]) for i in starts)
        for k, fold in enumerate(folds):
            if k == 0 or self.start_ is not None or groups is not None:
                yield fold

    def _search(
        self, lightgbm: Any, sizes: list[int], folds: list[tuple[BoostingRows, BoostingRows]]
    ) -> FoundTrees:
        """Number of leaves and trees of the lowest mean AuRC of the parts held out; on a par the earlier."""
        best: FoundTrees | None = None
        for size in sizes:
            growth = [Growth(self, lightgbm, *fold, size) for fold in folds]
            n_trees, area = self._count_trees(growth)
            if best is None or area < (1.0 - _WORTHWHILE) * best.area:
                best = FoundTrees(size, n_trees, area, growth[0])
        assert best is not None
        return best

    def _count_trees(self, growth: list[Growth]) -> tuple[int, float]:
        """Number of trees of the lowest mean AuRC held out, and that AuRC; 0 if no tree beats the start."""
        areas = [float(np.mean([part.area() for part in growth]))]
        if any(part.booster is None for part in growth):
            return 0, areas[0]
        first = 0 if self.start_ is not None else 1
        best = first
        while len(areas) <= self.n_estimators:
            for part in growth:
                part.grow(1)
            areas.append(float(np.mean([part.area() for part in growth])))
            if len(areas) - 1 == first or areas[-1] < areas[best]:
                best = len(areas) - 1
            if len(areas) - 1 - best >= self.patience:
                break
        worthwhile = self.start_ is None or areas[best] < (1.0 - _WORTHWHILE) * areas[0]
        return (best, areas[best]) if worthwhile else (0, areas[0])

    def _table(
        self, X: NDArray[Any], position: NDArray[np.intp] | None, outputs: Any, confidence: Confidence
    ) -> NDArray[Any]:
        """Columns of the trees: features, code of the predicted class, outputs, columns made of them."""
        columns = [X]
        if position is not None:
            # LightGBM reads a negative category as missing
            columns.append(position[:, None])
        if outputs is not None:
            columns.append(as_columns(outputs))
        if outputs is not None and not self.use_base_score:
            columns.extend(_plain_columns(columns[-1]))
        else:
            columns.append(confidence.columns)
        return np.hstack(columns)

    def _check_validation(self, validation: Any) -> BoostingRows:
        if not isinstance(validation, (tuple, list)) or not 2 <= len(validation) <= 6:
            raise ValueError(
                "validation must be a tuple (X, losses, predictions, outputs, auxiliary, base_score)"
            )
        X, losses, predictions, outputs, auxiliary, base_score = (*validation, None, None, None, None)[:6]
        X, position = self._check_predict(X, predictions, self.classes_)
        losses = check_vector(losses, "losses of validation", non_negative=True)
        check_same_length(**{"X of validation": X, "losses of validation": losses})
        confidence = self._reader(outputs, auxiliary, base_score, len(X))
        table = self._table(X, position, outputs, confidence)
        return BoostingRows(table, losses, np.ones(len(X)), self._start(confidence))


def _plain_columns(values: FloatArray) -> list[FloatArray]:
    """The largest output and its distance to the second largest, or the absolute value of a single one."""
    if values.shape[1] == 1:
        return [np.abs(values)]
    return [part[:, None] for part in top_and_gap(values)]
