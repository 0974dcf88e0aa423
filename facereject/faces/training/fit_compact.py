"""Fitting a compact score: linear columns out of fold, principal shapes, and trees on top.

Half of the trees are fitted by SELE, half by least squares on the logarithm of the loss.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from facereject._trees import TreeScore
from facereject.faces.features.context import DETECTOR, UNKNOWN_DETECTOR
from facereject.faces.features.recipe import FaceFeatures
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.compact import N_CORRECTION, CompactColumns, align, point_groups
from facereject.faces.models.score_models import CompactScoreModel
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.fit_score import calibration_rows, fit_score
from facereject.losses import landmark_scale
from facereject.scores._lightgbm import import_lightgbm

FloatArray = NDArray[np.float64]


class TreeOptions(NamedTuple):
    """How trees are grown; ``tools/train/select_trees.py`` compares the defaults with others."""

    n_estimators: int = 150
    learning_rate: float = 0.1
    max_leaf_nodes: int = 8
    patience: int = 20


# the trees by least squares, in the words of LightGBM
_SQUARES: dict[str, Any] = {
    "objective": "l2",
    "lambda_l2": 20.0,
    "min_data_in_leaf": 20,
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "seed": 0,
    "verbosity": -1,
}

# percent: the logarithm of losses below tells noise apart; above, a face is lost
_LEAST_LOSS, _MOST_LOSS = 0.5, 20.0

_USUAL = TreeOptions()

# share of the photos held out in turn to find the number of trees
_HELD_OUT = 1 / 3

# weight of all clean rows together: what users show is mostly not degraded, most of the table is
_CLEAN_SHARE = 0.3

# values in a table; threads only pay on larger ones
_LARGE_TABLE = 1_000_000


class ScoreTrees(NamedTuple):
    """The trees of either kind."""

    by_sele: TreeScore
    by_squares: TreeScore


def clean_weights(clean: NDArray[np.bool_], least: float = _CLEAN_SHARE) -> FloatArray:
    """Weights of rows, 1 on average, by which clean ones count as this share of all if they are fewer."""
    weights = np.ones(len(clean))
    share = float(clean.mean())
    if 0 < share < least:
        weights[clean] = least / share
        weights[~clean] = (1 - least) / (1 - share)
    return weights


def grow_trees(
    columns: NDArray[np.float32],
    losses: FloatArray,
    clip: float | None,
    weights: FloatArray,
    *,
    groups: NDArray[np.str_] | None = None,
    n_trees: int | None = None,
    options: TreeOptions = _USUAL,
) -> tuple[ScoreTrees, int]:
    """Trees of both kinds and their number: ``n_trees``, or the number that ranks other groups best by SELE.

    Parameters
    ----------
    columns : ndarray of shape (n, c)
    losses : ndarray of shape (n,)
        In percent.
    clip : float or None
        For SELE, losses above count as this much.
    weights : ndarray of shape (n,)
    groups : ndarray of shape (n,), str, or None
        Rows of one group are held out together.
    n_trees : int or None
        Of either kind.
    options : TreeOptions
    """
    lightgbm = import_lightgbm()

    from facereject.scores import BoostedSELEScore

    if n_trees is not None:
        options = options._replace(n_estimators=n_trees)
    threads = os.cpu_count() or 1 if columns.size > _LARGE_TABLE else 1
    share = _HELD_OUT if n_trees is None else None
    fitted = BoostedSELEScore(**options._asdict(), validation_fraction=share, n_jobs=threads)
    bounded = losses if clip is None else np.minimum(losses, clip)
    fitted.fit(columns, bounded, sample_weight=weights, groups=groups)
    width = columns.shape[1]
    if fitted.booster_ is None:
        return ScoreTrees(TreeScore.constant(0.0, width), TreeScore.constant(0.0, width)), 1
    # a leaf holds at most 5 % of the rows, as for the trees by SELE, so that small samples still split
    leaf = max(1, min(_SQUARES["min_data_in_leaf"], len(columns) // 20))
    parameters = _SQUARES | {
        "learning_rate": options.learning_rate,
        "num_leaves": options.max_leaf_nodes,
        "num_threads": threads,
        "min_data_in_leaf": leaf,
    }
    data = lightgbm.Dataset(
        columns, np.log(_LEAST_LOSS + np.minimum(losses, _MOST_LOSS)), weight=weights, params=parameters
    )
    squares = lightgbm.train(parameters, data, fitted.n_estimators_)
    by_sele, by_squares = (TreeScore.from_lightgbm(booster) for booster in (fitted.booster_, squares))
    return ScoreTrees(by_sele, by_squares), fitted.n_estimators_


# errors in percent: below the floor they are annotation noise, above the ceiling a landmark is lost
_FLOOR, _CEILING = 0.3, 40.0

# principal components of the shape
_COMPONENTS = 15

# added to the diagonal of the ridge, per row, in units of the variance of a standardised value
_RIDGE = 0.03

# Boxes without a face: the error in percent that they stand for, and their weight beside all rows together
_LOST, _BACKGROUND_SHARE = 20.0, 0.05

# corrections beyond, in face widths, log units and radians, are those of lost faces
_LARGEST_CORRECTION = 0.5


class Background(NamedTuple):
    """Features of boxes without a face, and the number of each one's sample."""

    features: NDArray[np.float32]
    sample: NDArray[np.int64]


class LinearFit(NamedTuple):
    """A linear score on the HOG values, and the uncertainty of every row by one that did not see it."""

    model: Any
    uncertainty: FloatArray


class CompactFit(NamedTuple):
    """A compact score, and the uncertainty of every row by trees that have not seen its photo."""

    model: CompactScoreModel
    uncertainty: FloatArray
    columns: NDArray[np.float32]


class MoreRows(NamedTuple):
    """Rows that the trees learn from besides those of the table.

    Attributes
    ----------
    columns : ndarray of shape (m, c), float32
    losses, weights : ndarray of shape (m,)
        Weights beside 1 for a row of the table.
    sample : ndarray of shape (m,), int
        Whose photo they show.
    """

    columns: NDArray[np.float32]
    losses: FloatArray
    weights: FloatArray
    sample: NDArray[np.int64]


def point_errors(table: FaceTable, points: PointSet) -> FloatArray:
    """Error of every point in percent, shape (n, p)."""
    truth, found = table.truth.astype(np.float64), table.landmarks.astype(np.float64)
    scale = np.array([float(landmark_scale(face, points.normalizer)) for face in truth])
    return np.asarray(100 * np.linalg.norm(found - truth, axis=2) / scale[:, None])


def log_errors(errors: FloatArray) -> FloatArray:
    """The logarithms that are learned, of errors in percent."""
    return np.asarray(np.log(np.clip(errors, 0, _CEILING) + _FLOOR))


def fit_compact(
    table: FaceTable,
    features: FaceFeatures,
    fold: NDArray[np.int64],
    groups: NDArray[np.str_],
    linear: LinearFit,
    clip: float | None,
    clean: LinearFit | None = None,
    background: Background | None = None,
) -> CompactFit:
    """Fit a compact score to a table with context.

    Parameters
    ----------
    table : FaceTable
        With `FaceContext`, and with `MirroredRuns` or without.
    features : FaceFeatures
        What its features are.
    fold : ndarray of shape (n,), int
        Rows of one fold are scored by a model fitted to the others.
    groups : ndarray of shape (n,), str
        The photo of every row: rows of one stay together when the number of trees is chosen.
    linear : LinearFit
        A linear score on the HOG values, on the same folds.
    clip : float or None
        Losses above count as this much.
    clean : LinearFit or None
        The same, fitted to clean rows alone. If it is given, clean rows also count more for the trees.
    background : Background or None
        Boxes without a face: the trees learn to trust none.
    """
    columns, seen = learn_columns(table, features, fold, linear, clean)
    importance = np.ones(len(table)) if clean is None else clean_weights(table.clean)
    # one number of trees for all, so that it is sought once; photos are held out for that as well
    more = _more_rows(table, features, columns, seen, background)
    names, first = np.unique(table.sample, return_index=True)
    owner = first[np.searchsorted(names, more.sample)]
    everything = np.concatenate([seen, more.columns])
    losses, weights = np.concatenate([table.losses, more.losses]), np.concatenate([importance, more.weights])
    folds, owners = np.concatenate([fold, fold[owner]]), np.concatenate([groups, groups[owner]])
    final, n_trees = grow_trees(everything, losses, clip, weights, groups=owners)
    scored = np.empty((len(table), len(final)))
    for k in np.unique(fold):
        rest, out = folds != k, fold == k
        trees, _ = grow_trees(everything[rest], losses[rest], clip, weights[rest], n_trees=n_trees)
        scored[out] = np.column_stack([part(seen[out]) for part in trees])
    # both kinds count alike among clean faces, which are the hardest to tell apart
    usual = table.clean if table.clean.any() else np.ones(len(table), dtype=bool)
    factors = 1 / np.maximum(scored[usual].std(axis=0), 1e-9)
    joined = TreeScore.joined(list(zip(final, factors.tolist(), strict=True)))
    return CompactFit(CompactScoreModel(columns, joined), scored @ factors, seen)


def _more_rows(
    table: FaceTable,
    features: FaceFeatures,
    columns: CompactColumns,
    seen: NDArray[np.float32],
    background: Background | None,
) -> MoreRows:
    """Boxes without a face, and faces as they are seen without the five points of a detector."""
    parts = [MoreRows(seen[:0], np.empty(0), np.empty(0), np.empty(0, dtype=np.int64))]
    if background is not None and len(background.features):
        known = np.isin(background.sample, table.sample)
        empty = columns(background.features[known])
        weight = _BACKGROUND_SHARE * len(table) / max(len(empty), 1)
        lost, weights = np.full(len(empty), _LOST), np.full(len(empty), weight)
        parts.append(MoreRows(empty, lost, weights, background.sample[known]))
    # a detector that never gives five points leaves nothing to be learned
    if features.context is not None and features.context.detector and _five_points(table).any():
        rows = calibration_rows(table, 0)
        without = table.features[rows].copy()
        without[:, -len(DETECTOR) :] = UNKNOWN_DETECTOR
        linear = seen[rows][:, : len(columns.offsets)]
        parts.append(
            MoreRows(columns(without, linear), table.losses[rows], np.ones(len(rows)), table.sample[rows])
        )
    return MoreRows(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _five_points(table: FaceTable) -> NDArray[np.bool_]:
    """For a table with the values of the detector: which rows have five points."""
    return np.asarray(table.features[:, -len(DETECTOR)] > 0)


def learn_columns(
    table: FaceTable,
    features: FaceFeatures,
    fold: NDArray[np.int64],
    linear: LinearFit,
    clean: LinearFit | None = None,
) -> tuple[CompactColumns, NDArray[np.float32]]:
    """The columns a compact score sees, and those of all rows, the linear ones out of fold.

    Parameters are those of `fit_compact`.
    """
    score, points = linear.model, features.points
    assert features.context is not None
    n_context = features.context.n_features
    errors = point_errors(table, points)
    chosen = errors if points.used is None else errors[:, list(points.used)]
    logs = log_errors(chosen)
    targets = [logs[:, list(group)].mean(axis=1) for group in point_groups(points)]
    goal = np.column_stack([*targets, corrections(table, points)])
    n_hog = score.n_features
    expected, weights, offsets = ridge_out_of_fold(table.features[:, :n_hog], goal, fold)
    n_runs = table.features.shape[1] - n_hog - n_context
    axes, spread = principal_shapes(table.features[:, n_hog + n_runs :], table.losses, points)
    more = [] if clean is None else [clean]
    columns = CompactColumns(
        points,
        n_runs,
        n_context,
        np.column_stack([score.coef, weights, *(fit.model.coef for fit in more)]).astype(np.float32),
        np.hstack([score.intercept, offsets, *(fit.model.intercept for fit in more)]).astype(np.float32),
        axes,
        spread,
    )
    held_out = np.column_stack([linear.uncertainty, expected, *(fit.uncertainty for fit in more)])
    return columns, columns(table.features, held_out.astype(np.float32))


def linear_on_clean(
    table: FaceTable, fold: NDArray[np.int64], alpha: float | None, clip: float | None
) -> LinearFit | None:
    """A linear SELE score of a table of HOG values, fitted to its clean rows alone; it scores all rows.

    None if a fold would be left without a clean row that has an error to learn from.
    """
    wrong = table.clean & (table.losses > 0)
    if any(not (wrong & (fold != k)).any() for k in np.unique(fold)):
        return None
    uncertainty = np.empty(len(table))
    for k in np.unique(fold):
        fitted = fit_score(table, "sele", alpha, clip, rows=table.clean & (fold != k))
        uncertainty[fold == k] = fitted(table.features[fold == k])
    return LinearFit(fit_score(table, "sele", alpha, clip, rows=table.clean), uncertainty)


def corrections(table: FaceTable, points: PointSet) -> FloatArray:
    """The similarity that best takes predicted to true points, in the frame of the aligned prediction.

    Shape (n, 4): shift x, y in face widths, log scale, angle in radians; clipped.
    """
    n = len(table)
    used = slice(None) if points.used is None else list(points.used)
    found, truth = (
        values[:, used].reshape(n, -1).astype(np.float64) for values in (table.landmarks, table.truth)
    )
    place, goal = align(found, points)[1], align(truth, points)[1]
    # how large and how tilted the prediction is says what a shift in pixels means
    turn = np.exp(place[:, 2] + 1j * place[:, 3])
    shift = ((goal[:, 0] - place[:, 0]) + 1j * (goal[:, 1] - place[:, 1])) / turn
    angle = np.angle(np.exp(1j * (goal[:, 3] - place[:, 3])))
    result = np.column_stack([shift.real, shift.imag, goal[:, 2] - place[:, 2], angle])
    assert result.shape == (n, N_CORRECTION)
    return np.asarray(np.clip(result, -_LARGEST_CORRECTION, _LARGEST_CORRECTION))


def ridge_out_of_fold(
    X: NDArray[np.float32],
    Y: FloatArray,
    fold: NDArray[np.int64],
    sample_weight: FloatArray | None = None,
    ridge: float = _RIDGE,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ridge regression from X to all columns of Y: predictions out of fold, and weights on all rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, k)
    fold : ndarray of shape (n,), int
    sample_weight : ndarray of shape (n,) or None
    ridge : float
        Added to the diagonal per row, in units of the variance of a standardised value.

    Returns
    -------
    predictions : ndarray of shape (n, k)
    weights : ndarray of shape (d, k)
    offsets : ndarray of shape (k,)
    """
    mean, scale = X.mean(axis=0), X.std(axis=0) + 1e-3
    Z = (X - mean) / scale
    middle = np.average(Y, axis=0, weights=sample_weight)
    R = (Y - middle).astype(np.float32)
    A = Z
    if sample_weight is not None:
        root = np.sqrt(sample_weight / sample_weight.mean()).astype(np.float32)[:, None]
        A, R = Z * root, R * root
    equations = _normal_equations if len(Z) > Z.shape[1] else _dual_equations
    solve = equations(A, R, fold, ridge)
    predictions = np.empty(Y.shape)
    for k in np.unique(fold):
        predictions[fold == k] = Z[fold == k] @ solve(int(k)) + middle
    weights = solve(None) / scale[:, None]
    return predictions, weights, middle - mean @ weights


_Solve = Callable[[int | None], FloatArray]


def _normal_equations(
    Z: NDArray[np.float32], R: NDArray[np.float32], fold: NDArray[np.int64], ridge: float
) -> _Solve:
    """Weights (Z'Z + ridge)^-1 Z'R of all rows but those of one fold: many rows."""
    folds = np.unique(fold).tolist()
    # what every fold adds to the equations: leaving one out is a subtraction
    squares = {k: Z[fold == k].T @ Z[fold == k] for k in folds}
    products = {k: Z[fold == k].T @ R[fold == k] for k in folds}

    def solve(left_out: int | None) -> FloatArray:
        kept = [k for k in folds if k != left_out]
        A, b = sum(squares[k] for k in kept), sum(products[k] for k in kept)
        return _solved(A, b, ridge * int(np.isin(fold, kept).sum()))

    return solve


def _dual_equations(
    Z: NDArray[np.float32], R: NDArray[np.float32], fold: NDArray[np.int64], ridge: float
) -> _Solve:
    """The same weights as Z' (Z Z' + ridge)^-1 R: fewer rows than values."""
    inner = Z @ Z.T

    def solve(left_out: int | None) -> FloatArray:
        rows = np.flatnonzero(fold != left_out) if left_out is not None else np.arange(len(Z))
        return np.asarray(Z[rows].T @ _solved(inner[np.ix_(rows, rows)], R[rows], ridge * len(rows)))

    return solve


def _solved(A: Any, b: Any, ridge: float) -> FloatArray:
    matrix = np.array(A, dtype=np.float64)
    matrix[np.diag_indices_from(matrix)] += ridge
    factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(scipy.linalg.cho_solve(factor, np.asarray(b, dtype=np.float64), check_finite=False))


def principal_shapes(
    placed: NDArray[np.float32], losses: FloatArray, points: PointSet
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Principal directions of the aligned shapes about the mean shape, and standard deviations along them.

    Only the better half of the faces counts: the shapes of lost ones are no shapes of faces.
    """
    good = losses <= np.median(losses)
    aligned, _ = align(placed[good, : 2 * points.n_used], points)
    away = aligned - points.used_shape.ravel()
    _, sizes, directions = np.linalg.svd(away, full_matrices=False)
    kept = min(_COMPONENTS, int((sizes > 1e-6 * sizes[0]).sum()))
    spread = sizes[:kept] / np.sqrt(len(away))
    return directions[:kept].T.astype(np.float32), spread.astype(np.float32)
