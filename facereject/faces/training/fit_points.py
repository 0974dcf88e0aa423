"""Fitting the expected error of every point, and which points are covered."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from facereject._trees import TreeScore
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.compact import CompactColumns, PointErrors, layout_of, point_values
from facereject.faces.training.table import FaceTable
from facereject.scores._lightgbm import import_lightgbm

FloatArray = NDArray[np.float64]

_HOG_VALUES = 36

# errors in percent: below the floor they are annotation noise, above the ceiling a landmark is lost
_FLOOR, _CEILING = 0.3, 40.0

#: faces that are enough: each has many points
MOST_FACES = 10_000

# added to the diagonal of the ridge, per face
_RIDGE = 2e-3

# blocks of equal size that the expected error is averaged over before it is made monotone
_BLOCKS = 60

# share of the visible points of clean photos that may be taken to be covered
_FALSE_ALARMS = 0.02

#: Weight of a face with covered points when trees learn which ones are. Few faces have any: with equal
#: weights the trees learn to tell such faces from others, more than points from their neighbours.
EMPHASIS = 5.0

#: Log error per unit of the log-odds that a point is covered. Without it, expected errors rank best; with it,
#: points under an occluder stand out from the others of their face.
COVERED_WEIGHT = 0.1


class _Kind(NamedTuple):
    """How many trees, and how they are grown in the words of LightGBM."""

    number: int
    options: dict[str, Any]


_ERROR_TREES = _Kind(60, {"objective": "l2", "num_leaves": 15, "learning_rate": 0.12})
_HIDDEN_TREES = _Kind(40, {"objective": "binary", "num_leaves": 8, "learning_rate": 0.15})


class PointFit(NamedTuple):
    """Expected errors of points, and what they are for the faces used, by models that did not see them.

    Attributes
    ----------
    model : PointErrors
    rows : ndarray of shape (m,), int
        The faces of the table that were used.
    errors : ndarray of shape (m, u)
        Expected error of their points in percent, out of fold.
    said : ndarray of shape (m, u)
        The log error before it was put right, out of fold.
    hidden : ndarray of shape (m, u)
        Log-odds that they are covered, out of fold.
    """

    model: PointErrors
    rows: NDArray[np.int64]
    errors: FloatArray
    said: FloatArray
    hidden: FloatArray


def fit_point_errors(
    table: FaceTable,
    errors: FloatArray,
    compact: CompactColumns,
    seen: NDArray[np.float32],
    fold: NDArray[np.int64],
    random_state: int,
    needed: NDArray[np.int64] | None = None,
    covered_weight: float = COVERED_WEIGHT,
    most: int = MOST_FACES,
    emphasis: float = EMPHASIS,
) -> PointFit:
    """Fit to a table with context.

    Parameters
    ----------
    table : FaceTable
    errors : ndarray of shape (n, p)
        True errors of all points in percent.
    compact : CompactColumns
    seen : ndarray of shape (n, c)
        Compact columns, the linear ones out of fold.
    fold : ndarray of shape (n,), int
    random_state : int
    needed : ndarray of int or None
        Rows that must be among those used.
    covered_weight : float
        Log error per unit of the log-odds that a point is covered.
    most : int
        Faces to learn from.
    emphasis : float
        Weight of faces with covered points when it is learned which points are covered.
    """
    lightgbm = import_lightgbm()

    points = compact.points
    rows = some_rows(table, random_state, needed, most)
    used = slice(None) if points.used is None else list(points.used)
    truth, covered = errors[rows][:, used], table.hidden[rows][:, used]
    features, columns, fold = table.features[rows], seen[rows], fold[rows]
    logs = np.log(np.clip(truth, 0, _CEILING) + _FLOOR)
    usual = logs.mean(axis=0).astype(np.float32)
    folds = np.unique(fold)
    weights, local = _local_ridge(features, logs - usual, points, fold)
    local += usual
    values = point_values(compact, usual, features, columns, local)
    owner = np.repeat(np.arange(len(rows)), points.n_used)

    def grow(
        chosen: NDArray[np.bool_], kind: _Kind, goal: Any, weights: FloatArray | None = None
    ) -> TreeScore:
        flat = chosen[owner]
        leaf = max(20, int(flat.sum()) // 2_000)
        options = {"verbosity": -1, "num_threads": 1, "deterministic": True, "min_data_in_leaf": leaf}
        weight = None if weights is None else weights[owner[flat]]
        data = lightgbm.Dataset(values[flat], np.asarray(goal, dtype=np.float64).ravel()[flat], weight=weight)
        return TreeScore.from_lightgbm(lightgbm.train(options | kind.options, data, kind.number))

    importance = np.where(covered.any(axis=1), emphasis, 1.0)
    everything = np.ones(len(rows), dtype=bool)
    said, odds = np.empty(logs.shape), np.zeros(logs.shape)
    any_covered = bool(covered.any())
    for k in folds:
        out = fold == k
        flat = out[owner]
        said[out] = grow(~out, _ERROR_TREES, logs)(values[flat]).reshape(-1, logs.shape[1])
        if any_covered:
            trees = grow(~out, _HIDDEN_TREES, covered, importance)
            odds[out] = trees(values[flat]).reshape(-1, logs.shape[1])
    more = covered_weight if any_covered else 0.0
    said += more * odds
    knots, heights = calibrated(said.ravel(), truth.ravel())
    goal = covered if any_covered else np.arange(covered.size) % 2
    model = PointErrors(
        compact,
        weights,
        usual,
        grow(everything, _ERROR_TREES, logs),
        knots,
        heights,
        grow(everything, _HIDDEN_TREES, goal, importance),
        # without an example of a covered point none is ever said to be covered
        _limit(odds, covered, table.clean[rows]) if any_covered else _NEVER,
        more,
    )
    return PointFit(model, rows, np.interp(said, knots, heights), said, odds)


# log-odds that nothing reaches; a model file holds finite numbers
_NEVER = 1e9


def some_rows(
    table: FaceTable, random_state: int, needed: NDArray[np.int64] | None, most: int
) -> NDArray[np.int64]:
    """A random choice of rows that contains all needed ones, by default the clean rows."""
    order = np.random.default_rng(random_state).permutation(len(table))
    first = np.flatnonzero(table.clean) if needed is None else needed
    chosen = np.concatenate([first, order[~np.isin(order, first)]])
    return np.sort(chosen[: max(most, len(first))])


def _local_ridge(
    features: NDArray[np.float32], goal: FloatArray, points: PointSet, fold: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Ridge regression of every point's log error on the HOG values of it and its neighbours.

    Weights on all rows, shape (u, 36 (1 + k)), and predictions out of fold, shape (n, u).
    """
    n, u = len(features), points.n_used
    windows = features[:, : _HOG_VALUES * u].reshape(n, u, _HOG_VALUES)
    near = layout_of(points).neighbours
    weights = np.empty((u, near.shape[1] * _HOG_VALUES), dtype=np.float32)
    predictions = np.empty((n, u), dtype=np.float32)
    parts = [np.flatnonzero(fold == k) for k in np.unique(fold)]
    for i in range(u):
        # not centred: the usual log error is taken away already, and HOG values of nothing are zero
        X = windows[:, near[i]].reshape(n, -1)
        squares = [(X[part].T @ X[part]).astype(np.float64) for part in parts]
        products = [X[part].T.astype(np.float64) @ goal[part, i] for part in parts]
        A, b = sum(squares), sum(products)
        ridge = _RIDGE * n * np.eye(X.shape[1])
        weights[i] = np.linalg.solve(A + ridge, b)
        for part, square, product in zip(parts, squares, products, strict=True):
            predictions[part, i] = X[part] @ np.linalg.solve(A - square + ridge, b - product)
    return weights, predictions


def calibrated(said: FloatArray, truth: FloatArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean true error over blocks of what was said, made monotone."""
    order = np.argsort(said, kind="stable")
    blocks = np.array_split(order, min(_BLOCKS, len(order)))
    centers = np.array([said[block].mean() for block in blocks])
    means = np.array([truth[block].mean() for block in blocks])
    fitted = IsotonicRegression().fit(centers, means)
    knots = fitted.X_thresholds_.astype(np.float32)
    apart = np.append(True, np.diff(knots) > 0)
    return knots[apart], fitted.y_thresholds_.astype(np.float32)[apart]


def _limit(odds: FloatArray, covered: NDArray[np.bool_], clean: NDArray[np.bool_]) -> float:
    """The lowest log-odds that flag at most `_FALSE_ALARMS` of the visible points of clean photos."""
    visible = ~covered & clean[:, None] if clean.any() else ~covered
    return float(np.quantile(odds[visible], 1 - _FALSE_ALARMS))
