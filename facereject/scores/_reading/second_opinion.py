"""A second opinion on a prediction: other models trained on the same examples that may disagree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.scores._lightgbm import import_lightgbm
from facereject.scores._neighbours import Space

# rounds of the boosted trees
_ROUNDS = 100
# random trees that are asked about a class, and boosted ones in all, over all classes
_CLASS_TREES = 30
_CLASS_ROUNDS = 1000
# ridge regression on indicators of the classes: dimensions and regularisation with the features themselves;
# examples whose similarity is a feature, their regularisation, and the scale of a squared distance
_DIMENSIONS, _RIDGE = 256, 1.0
_LANDMARKS, _KERNEL_RIDGE, _KERNEL_SCALE = 300, 0.1, 0.5
# smallest expected loss whose logarithm is used, as a share of the largest loss
_SMALLEST_RISK = 1e-3
# rows whose similarities are held at once
_ROWS = 10_000
# examples per leaf of the random trees, at least
_LEAF = 2
# smallest value whose logarithm is used, as a share of the standard deviation of y
_TINY = 1e-3
_QUIET = {"seed": 0, "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1}


class OpinionPanel(NamedTuple):
    """Who is asked: how many random trees, boosted trees or not, and on how many examples at most.

    Beyond ``max_rows`` a sample of the examples is learned from, so that the cost has a bound.
    """

    n_trees: int
    boosted: bool
    max_rows: int


#: What ``reference_models`` of a score may be: a panel whose cost hardly shows, and one that says all it can.
PANELS = {
    "few": OpinionPanel(n_trees=10, boosted=False, max_rows=4_000),
    "many": OpinionPanel(n_trees=50, boosted=True, max_rows=10_000),
}


class SecondOpinion:
    """Where do other models of the same examples disagree with a prediction, and how sure are they?

    A prediction far from that of good trees is probably wrong, whichever regressor made it: a linear one is
    found out where the target is not linear. Boosted trees give the most exact second prediction. Trees with
    random splits add how much they differ, how much the targets within their leaves do, and how well the
    regressor did on the examples there: neighbours by what matters for the target, where plain distances
    count every feature alike.

    Parameters
    ----------
    features : ndarray or sparse matrix of shape (n, d)
        Examples that the regressor was trained on; NaN is a missing value.
    y : ndarray of shape (n,)
    losses : ndarray of shape (n,)
        Of predictions for them by regressors that have not seen them.
    panel : OpinionPanel
    """

    def __init__(self, features: Any, y: NDArray[Any], losses: FloatArray, panel: OpinionPanel):
        y = np.asarray(y, dtype=np.float64)
        self._scale = float(y.std()) or 1.0
        if len(y) > panel.max_rows:
            few = np.random.default_rng(0).permutation(len(y))[: panel.max_rows]
            features, y, losses = features[few], y[few], losses[few]
        targets = y / self._scale
        self._boosted = _train_boosted(_bounded(features), targets) if panel.boosted else None
        self._random = _RandomTrees(features, targets, losses, panel.n_trees) if panel.n_trees else None

    def columns(self, features: Any, predictions: NDArray[Any]) -> FloatArray:
        """Logarithms, one row per prediction: distance to the boosted trees', then those of the random ones.

        The latter are, in units of the standard deviation of y: the distance of the prediction to that of the
        trees, the standard deviation over them, the one of the targets within their leaves, and the root mean
        square distance of the prediction to all these targets, which is made up of those three; last the mean
        loss of the examples in the leaves, in units of the mean loss.
        """
        predicted = np.asarray(predictions, dtype=np.float64).reshape(-1) / self._scale
        found: list[FloatArray] = []
        if self._boosted is not None:
            found.append(np.abs(self._boosted.predict(_bounded(features), num_threads=1) - predicted))
        if self._random is not None:
            found.extend(self._random.columns(features, predicted))
        return np.asarray(np.log(np.column_stack(found) + _TINY))


class ClassOpinion:
    """What do other classifiers, trained on the same examples, think of a predicted class?

    Errors of different kinds of models differ: where a forest, a linear and a kernel model doubt the class,
    it is less probable, however sure the predictor is. All of them are cheap; boosted trees are for scores
    that ask "many".

    Parameters
    ----------
    features : ndarray or sparse matrix of shape (n, d)
        Examples that the classifier was trained on; NaN is a missing value.
    labels : ndarray of shape (n,)
    panel : OpinionPanel
    classes, matrix : ndarrays of shapes (K,) and (K, K), optional
        Loss of predicting column ŷ when row y is true, where that is not the 0/1 loss.
    """

    def __init__(
        self,
        features: Any,
        labels: NDArray[Any],
        panel: OpinionPanel,
        classes: NDArray[Any] | None = None,
        matrix: FloatArray | None = None,
    ):
        from sklearn.ensemble import ExtraTreesClassifier

        if len(labels) > panel.max_rows:
            few = np.random.default_rng(0).permutation(len(labels))[: panel.max_rows]
            features, labels = features[few], labels[few]
        self._classes, codes = np.unique(labels, return_inverse=True)
        self._matrix: FloatArray | None = None
        if classes is not None and matrix is not None:
            seen = np.searchsorted(classes, self._classes)
            self._matrix = matrix[np.ix_(seen, seen)] / matrix.max()
        self._table = _tree_table(features)
        self._trees = ExtraTreesClassifier(_CLASS_TREES, random_state=0).fit(self._table(features), codes)
        self._space = Space(features, _DIMENSIONS)
        points = self._space(features)
        self._ridges = [_ClassRidge(points, codes), _ClassRidge(points, codes, _LANDMARKS)]
        self._boosted = None
        if panel.boosted and len(self._classes) > 1:
            self._boosted = _train_class_boosted(_bounded(features), codes)

    def columns(self, features: Any, predictions: NDArray[Any]) -> FloatArray:
        """Log-odds against the predicted class by trees, margins against it by the others: (n, 3 or 4).

        With a loss matrix as many columns follow: logarithms of the expected loss by each of them.
        """
        codes = np.searchsorted(self._classes, predictions).clip(max=len(self._classes) - 1)
        # a class that these models never saw has no chance with them
        codes = np.where(self._classes[codes] == predictions, codes, -1)
        n = features.shape[0]
        parts = [
            self._columns(features[first : first + _ROWS], codes[first : first + _ROWS])
            for first in range(0, max(n, 1), _ROWS)
        ]
        return np.concatenate(parts)

    def _columns(self, features: Any, codes: NDArray[np.intp]) -> FloatArray:
        points = self._space(features)
        values = [
            self._trees.predict_proba(self._table(features)),
            *(ridge.values(points) for ridge in self._ridges),
        ]
        found = [_log_odds(values[0], codes), *(_margins(part, codes) for part in values[1:])]
        if self._boosted is not None:
            boosted = self._boosted.predict(_bounded(features), num_threads=1)
            values.append(np.column_stack([1.0 - boosted, boosted]) if boosted.ndim == 1 else boosted)
            found.append(_log_odds(values[-1], codes))
        if self._matrix is not None:
            risks = [_risk_of(part, codes, self._matrix) for part in values]
            found += [np.log(risk.clip(min=0.0) + _SMALLEST_RISK) for risk in risks]
        return np.column_stack(found)


class _ClassRidge:
    """Ridge regression on indicators of the classes, of the features or of similarities to some examples."""

    def __init__(self, points: FloatArray, codes: NDArray[np.intp], n_landmarks: int = 0):
        self._scale = _KERNEL_SCALE / max(1, int(np.count_nonzero(points.std(axis=0))))
        self._landmarks: FloatArray | None = None
        penalty = None
        if n_landmarks:
            chosen = np.random.default_rng(0).permutation(len(points))[:n_landmarks]
            self._landmarks = points[chosen]
            penalty = _KERNEL_RIDGE * (self._table(self._landmarks) + 1e-6 * np.eye(len(chosen)))
        table, indicators = self._table(points), np.eye(int(codes.max()) + 1)[codes]
        self._mean, self._base = table.mean(axis=0), indicators.mean(axis=0)
        table, target = table - self._mean, indicators - self._base
        if penalty is not None:
            self._weights = np.linalg.solve(table.T @ table + penalty, table.T @ target)
        elif table.shape[1] <= len(table):
            self._weights = np.linalg.solve(
                table.T @ table + _RIDGE * np.eye(table.shape[1]), table.T @ target
            )
        else:
            # the same weights from a system of the size of the sample
            self._weights = table.T @ np.linalg.solve(table @ table.T + _RIDGE * np.eye(len(table)), target)

    def values(self, points: FloatArray) -> FloatArray:
        """One per class, high where it is likely."""
        return np.asarray((self._table(points) - self._mean) @ self._weights + self._base)

    def _table(self, points: FloatArray) -> FloatArray:
        if self._landmarks is None:
            return points
        squares = (points**2).sum(axis=1)[:, None] + (self._landmarks**2).sum(axis=1)
        return np.asarray(np.exp(-self._scale * (squares - 2.0 * points @ self._landmarks.T).clip(min=0.0)))


def _margins(values: FloatArray, codes: NDArray[np.intp]) -> FloatArray:
    """The largest value of another class less that of the predicted one, which is 0 if never seen."""
    rows = np.flatnonzero(codes >= 0)
    own, others = np.zeros(len(values)), values.copy()
    own[rows] = values[rows, codes[rows]]
    if values.shape[1] > 1:
        others[rows, codes[rows]] = -np.inf
    return np.asarray(others.max(axis=1) - own)


def _risk_of(chances: FloatArray, codes: NDArray[np.intp], matrix: FloatArray) -> FloatArray:
    """Expected loss of the predicted class; the largest one if it was never seen."""
    risks = chances @ matrix
    return np.where(codes >= 0, risks[np.arange(len(codes)), codes], risks.max(axis=1))


def _log_odds(probabilities: FloatArray, codes: NDArray[np.intp]) -> FloatArray:
    """Against the class at ``codes``, bounded by what a vote of the trees can tell."""
    own = np.where(codes >= 0, probabilities[np.arange(len(codes)), codes], 0.0)
    least = 0.5 / _CLASS_TREES
    return np.asarray(np.log((1.0 - own + least) / (own + least)))


def _train_class_boosted(table: Any, codes: NDArray[np.intp]) -> Any:
    n_classes = int(codes.max()) + 1
    options: dict[str, Any] = {"objective": "binary"}
    if n_classes > 2:
        options = {"objective": "multiclass", "num_class": n_classes}
    options.update(learning_rate=0.1, num_leaves=15, min_data_in_leaf=10, **_QUIET)
    rounds = int(np.clip(_CLASS_ROUNDS // n_classes, 20, 80))
    lightgbm = import_lightgbm()
    return lightgbm.train(options, lightgbm.Dataset(table, codes, params=options), rounds)


class _RandomTrees:
    """Extremely randomised trees on the ranks of the features: no outlier decides where they are split."""

    def __init__(self, features: Any, targets: FloatArray, losses: FloatArray, n_trees: int):
        # slow to load, and most scores do without
        from sklearn.ensemble import ExtraTreesRegressor

        self._table = _tree_table(features)
        table = self._table(features)
        model = ExtraTreesRegressor(n_trees, min_samples_leaf=_LEAF, random_state=0).fit(table, targets)
        self._trees = [member.tree_ for member in model.estimators_]
        unit = float(losses.mean()) or 1.0
        self._losses = [_means_of_leaves(tree, tree.apply(table), losses / unit) for tree in self._trees]

    def columns(self, features: Any, predicted: FloatArray) -> list[FloatArray]:
        """What ``SecondOpinion.columns`` says of them, without the logarithm."""
        table = self._table(features)
        leaves = [tree.apply(table) for tree in self._trees]
        pairs = list(zip(self._trees, leaves, strict=True))
        means = np.stack([tree.value[leaf, 0, 0] for tree, leaf in pairs])
        # where all targets are equal rounding leaves a variance just below 0
        within = np.mean([tree.impurity[leaf] for tree, leaf in pairs], axis=0).clip(min=0.0)
        distance, between = means.mean(axis=0) - predicted, means.var(axis=0)
        spread = np.sqrt([between, within, distance**2 + between + within])
        losses = np.mean([values[leaf] for values, leaf in zip(self._losses, leaves, strict=True)], axis=0)
        return [np.abs(distance), *spread, losses]


def _tree_table(features: Any) -> Callable[[Any], Any]:
    """How features become what random trees see: ranks, or sparse features as they are."""
    return _bounded if hasattr(features, "tocsr") else _Ranks(features)


class _Ranks:
    """Each feature -> how many values in training are below and up to it, added; NaN is above all."""

    def __init__(self, features: Any):
        self._sorted = np.sort(np.asarray(features, dtype=np.float64), axis=0)

    def __call__(self, features: Any) -> NDArray[np.float32]:
        table = np.asarray(features, dtype=np.float64)
        ranks = np.empty(table.shape, dtype=np.float32)
        for column, values in enumerate(self._sorted.T):
            queries = table[:, column]
            ranks[:, column] = np.searchsorted(values, queries) + np.searchsorted(values, queries, "right")
        return ranks


def _means_of_leaves(tree: Any, leaves: NDArray[np.intp], values: FloatArray) -> FloatArray:
    """Mean value of the examples in each leaf, at its position in the tree."""
    sums, counts = (np.bincount(leaves, weight, tree.node_count) for weight in (values, None))
    return np.asarray(sums / np.maximum(counts, 1))


def _train_boosted(table: Any, targets: FloatArray) -> Any:
    options = {"objective": "l2", "learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20, **_QUIET}
    lightgbm = import_lightgbm()
    return lightgbm.train(options, lightgbm.Dataset(table, targets, params=options), _ROUNDS)


def _bounded(features: Any) -> Any:
    """The table in single precision, as trees take it: what is infinite there counts as very large."""
    largest = np.finfo(np.float32).max
    if hasattr(features, "tocsr"):
        return features.tocsr().astype(np.float32)
    return np.clip(np.asarray(features, dtype=np.float64), -largest, largest).astype(np.float32)
