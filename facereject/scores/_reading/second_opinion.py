"""A second opinion on what a regressor predicts: trees trained on the same examples that may disagree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.scores._lightgbm import import_lightgbm

# boosted trees: rounds, and examples they are fitted to at most; their cost does not grow with the table
_ROUNDS, _BOOSTING_ROWS = 100, 10_000
# forest: trees, examples per leaf, share of the features looked at in each split, examples drawn per tree
_TREES, _LEAF, _FEATURES, _TREE_ROWS = 25, 5, 0.5, 4_000
# smallest difference that has a logarithm of its own, as a share of the standard deviation of y
_TINY = 1e-3


class SecondOpinion:
    """Where do other models of the same examples disagree with a prediction, and how sure are they?

    A prediction far from that of good trees is probably wrong, whichever regressor made it: a linear one is
    found out where the target is not linear. Boosted trees give the most exact second prediction. A small
    forest adds how much its trees differ and how much the targets within their leaves do, which few
    regressors state themselves.

    Parameters
    ----------
    features : ndarray or sparse matrix of shape (n, d)
        Examples that the regressor was trained on; NaN is a missing value.
    y : ndarray of shape (n,)
    with_forest : bool
        Whether to train the forest too; a regressor that states its own spread gains nothing by it.
    """

    def __init__(self, features: Any, y: NDArray[Any], *, with_forest: bool):
        y = np.asarray(y, dtype=np.float64)
        self._scale = float(y.std()) or 1.0
        table, targets = _bounded(features), y / self._scale
        n = len(y)
        few = np.random.default_rng(0).permutation(n)[:_BOOSTING_ROWS] if n > _BOOSTING_ROWS else slice(None)
        options = {"objective": "l2", "learning_rate": 0.1, "num_leaves": 31, "min_data_in_leaf": 20}
        quiet = {"seed": 0, "deterministic": True, "force_row_wise": True, "num_threads": 1, "verbosity": -1}
        lightgbm = import_lightgbm()
        dataset = lightgbm.Dataset(table[few], targets[few], params={**options, **quiet})
        self._boosted = lightgbm.train({**options, **quiet}, dataset, _ROUNDS)
        self._forest: Any = None
        if with_forest:
            # slow to load, and most scores do without
            from sklearn.ensemble import RandomForestRegressor

            self._forest = RandomForestRegressor(
                _TREES,
                min_samples_leaf=_LEAF,
                max_features=int(np.ceil(_FEATURES * table.shape[1])),
                max_samples=min(n, _TREE_ROWS),
                random_state=0,
            ).fit(table, targets)

    def columns(self, features: Any, predictions: NDArray[Any]) -> FloatArray:
        """Logarithms, in units of the standard deviation of y: shape (n, 1), or (n, 5) with the forest.

        The distance of the prediction to that of the boosted trees; then that to the forest's, the standard
        deviation over its trees, the one of the targets within their leaves, and the root mean square
        distance of the prediction to all these targets, which is made up of those three.
        """
        table = _bounded(features)
        predicted = np.asarray(predictions, dtype=np.float64).reshape(-1) / self._scale
        found = [np.abs(self._boosted.predict(table, num_threads=1) - predicted)]
        if self._forest is not None:
            trees = [tree.tree_ for tree in self._forest.estimators_]
            leaves = [tree.apply(table) for tree in trees]
            pairs = list(zip(trees, leaves, strict=True))
            means = np.stack([tree.value[leaf, 0, 0] for tree, leaf in pairs])
            # where all targets are equal rounding leaves a variance just below 0
            within = np.mean([tree.impurity[leaf] for tree, leaf in pairs], axis=0).clip(min=0.0)
            distance, between = means.mean(axis=0) - predicted, means.var(axis=0)
            found.append(np.abs(distance))
            found.extend(np.sqrt([between, within, distance**2 + between + within]))
        return np.asarray(np.log(np.column_stack(found) + _TINY))


def _bounded(features: Any) -> Any:
    """The table in single precision, as trees take it: what is infinite there counts as very large."""
    largest = np.finfo(np.float32).max
    if hasattr(features, "tocsr"):
        return features.tocsr().astype(np.float32)
    return np.clip(np.asarray(features, dtype=np.float64), -largest, largest).astype(np.float32)
