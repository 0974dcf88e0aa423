"""A second opinion on what a regressor predicts: trees trained on the same examples that may disagree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.scores._lightgbm import import_lightgbm

# rounds of the boosted trees
_ROUNDS = 100
# examples per leaf of the random trees, at least
_LEAF = 2
# smallest value that has a logarithm of its own, as a share of the standard deviation of y
_TINY = 1e-3


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


class _RandomTrees:
    """Extremely randomised trees on the ranks of the features: no outlier decides where they are split."""

    def __init__(self, features: Any, targets: FloatArray, losses: FloatArray, n_trees: int):
        # slow to load, and most scores do without
        from sklearn.ensemble import ExtraTreesRegressor

        self._ranks = None if hasattr(features, "tocsr") else _Ranks(features)
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

    def _table(self, features: Any) -> Any:
        return _bounded(features) if self._ranks is None else self._ranks(features)


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
    options = {"objective": "l2", "learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20}
    quiet = {"seed": 0, "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1}
    lightgbm = import_lightgbm()
    dataset = lightgbm.Dataset(table, targets, params={**options, **quiet})
    return lightgbm.train({**options, **quiet}, dataset, _ROUNDS)


def _bounded(features: Any) -> Any:
    """The table in single precision, as trees take it: what is infinite there counts as very large."""
    largest = np.finfo(np.float32).max
    if hasattr(features, "tocsr"):
        return features.tocsr().astype(np.float32)
    return np.clip(np.asarray(features, dtype=np.float64), -largest, largest).astype(np.float32)
