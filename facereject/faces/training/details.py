"""What a compact score says besides the uncertainty: errors of points, covered points, causes, regions.

What was done to degraded images is known, and so are their covered points; boxes beside a face have none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from facereject._trees import TreeScore
from facereject.faces.datasets import FaceSample
from facereject.faces.face import CAUSES, Box, Detection
from facereject.faces.geometry import FloatArray, bounding_box, overlap
from facereject.faces.images import ImageError, Views
from facereject.faces.landmarks.base import NoLandmarksError, predict_landmarks
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.calibration import RegionSample
from facereject.faces.models.compact import (
    CauseModel,
    CompactColumns,
    PointErrors,
    cause_terms,
    layout_of,
    point_values,
)
from facereject.faces.models.score_models import CompactScoreModel
from facereject.faces.training.extract import Extractor, FaceTable
from facereject.faces.training.fit_compact import Background, CompactFit, log_errors, point_errors
from facereject.scores._lightgbm import import_lightgbm

_HOG_VALUES = 36

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
    logs = log_errors(truth)
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
        _limit(odds, covered, table.clean[rows]) if any_covered else _OUT_OF_REACH,
        more,
    )
    return PointFit(model, rows, np.interp(said, knots, heights), said, odds)


# log-odds that nothing reaches; a model file holds finite numbers
_OUT_OF_REACH = 1e9


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


#: the cause of each degradation; "unclear" where there is no single remedy
CAUSE_OF = {
    "blur": "blur",
    "motion": "motion",
    "noise": "noise",
    "jpeg": "unclear",
    "dark": "dark",
    "bright": "bright",
    "shadow": "dark",
    "haze": "unclear",
    "low_resolution": "low_resolution",
    "occlusion": "occluded",
    "rotation": "turned",
    "cut": "cut_off",
    "small": "low_resolution",
    "old_print": "unclear",
}

# how far the middle of the face is off the middle of its outline, in face widths, when the head is turned
_TURNED = 0.2

# inverse strength of the regularisation; see scikit-learn's LogisticRegression
_C = 0.03

# boxes without a face: sides in sizes of the face, tries to find one, overlap with the face that is allowed
_SIDES, _TRIES, _OVERLAP = (0.3, 0.7), 20, 0.1


class CauseFit(NamedTuple):
    """The causes of the rows that were used, as known and as found by a model that did not see them."""

    model: CauseModel
    known: NDArray[np.str_]
    found: NDArray[np.str_]


def known_causes(table: FaceTable, points: PointSet) -> NDArray[np.str_]:
    """The cause of every row as far as it is known: of what one degradation was done to, and of clean rows.

    Clean photos of turned heads count as turned, others as unclear. Empty where several things were
    done at once or the box was moved.
    """
    causes = np.array([CAUSE_OF.get(kind, "") for kind in table.kinds], dtype=object)
    for i in np.flatnonzero(table.clean):
        causes[i] = "turned" if _turned(table.truth[i].astype(np.float64), points) > _TURNED else "unclear"
    return causes.astype(np.str_)


def fit_causes(
    columns: NDArray[np.float32], causes: NDArray[np.str_], fold: NDArray[np.int64]
) -> CauseFit | None:
    """Fit to rows of compact columns whose causes are known; None if there are fewer than two causes."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(causes)) < 2:
        return None
    mean, scale = columns.mean(axis=0), columns.std(axis=0) + 1e-6
    terms = cause_terms((columns - mean) / scale)[:, :-1]

    def fitted(rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        model = LogisticRegression(C=_C, max_iter=500, class_weight="balanced").fit(terms[rows], causes[rows])
        return _weights(model)

    found = np.full(len(causes), "unclear", dtype=max(causes.dtype, np.dtype("<U7")))
    constant = np.ones((len(terms), 1))
    for k in np.unique(fold):
        if len(np.unique(causes[fold != k])) > 1:
            odds = np.hstack([terms, constant])[fold == k] @ fitted(fold != k)
            found[fold == k] = np.array(list(CAUSES))[odds.argmax(axis=1)]
    return CauseFit(CauseModel(mean, scale, fitted(np.ones(len(causes), dtype=bool))), causes, found)


def _weights(model: Any) -> NDArray[np.float32]:
    """The weights of a fitted logistic regression, in the order of `CAUSES`."""
    coef, constant = model.coef_, model.intercept_
    if len(model.classes_) == 2:
        coef, constant = np.vstack([-coef, coef]) / 2, np.concatenate([-constant, constant]) / 2
    weights = np.zeros((coef.shape[1] + 1, len(CAUSES)), dtype=np.float32)
    # a cause without an example is never the most likely one
    weights[-1] = _NEVER
    for name, row, offset in zip(model.classes_, coef, constant, strict=True):
        place = list(CAUSES).index(name)
        weights[:-1, place], weights[-1, place] = row, offset
    weights[-1, list(CAUSES).index("no_face_in_box")] -= _NO_FACE_PENALTY
    return weights


# Log-odds. Faces that are hardly seen look like none, and their detector rarely finds them to learn from: it
# takes clear evidence to call a box empty.
_NO_FACE_PENALTY = 3.0

# log-odds below those of everything; a model file holds finite numbers
_NEVER = -1e6


def background_features(samples: Sequence[FaceSample], extractor: Extractor) -> Background:
    """Boxes beside the face of clean photos."""
    found, owners = [], []
    for index, sample in enumerate(samples):
        rng = np.random.default_rng([extractor.random_state, index, _BACKGROUND])
        try:
            view = Views(sample.load())
        except ImageError:
            continue
        box = _box_beside(view.size, sample.landmarks, rng)
        if box is None:
            continue
        try:
            shown = view.shown_to(extractor.predictor)
            points = predict_landmarks(extractor.predictor, shown, box, extractor.points.n)
            seen = extractor.features(view, Detection(box, 0.0), points, extractor.predictor)
            found.append(seen.values)
        except NoLandmarksError:
            continue
        owners.append(index)
    width = extractor.features.n_features
    features = np.array(found, dtype=np.float32).reshape(-1, width)
    return Background(features, np.array(owners, dtype=np.int64))


# tells the random numbers of boxes without a face from those of degraded versions
_BACKGROUND = 1_000_003


def _box_beside(size: tuple[int, int], landmarks: FloatArray, rng: np.random.Generator) -> Box | None:
    """A square in the image that hardly overlaps the face; None if none was found."""
    face = bounding_box(landmarks)
    for _ in range(_TRIES):
        side = rng.uniform(*_SIDES) * max(face.width, face.height)
        room = np.array(size) - side
        if (room <= 0).any():
            continue
        x, y = rng.uniform(0, room)
        box = Box(float(x), float(y), float(side), float(side))
        if overlap(box, face) < _OVERLAP:
            return box
    return None


def _turned(landmarks: FloatArray, points: PointSet) -> float:
    """How far the middle points are from the middle of the outer ones, in widths of the face."""
    shape = points.mean_shape
    inner = np.abs(shape[:, 0]) < 0.1
    if inner.all() or not inner.any():
        return 0.0
    left, right = landmarks[shape[:, 0].argmin()], landmarks[shape[:, 0].argmax()]
    across = right - left
    width = float(across @ across)
    if width <= 0:
        return 0.0
    return abs(float((landmarks[inner].mean(axis=0) - (left + right) / 2) @ across)) / width


_N_REGION_POINTS = 68


class DetailsFit(NamedTuple):
    """The score with all its parts, the calibration of regions, and figures out of fold for the card."""

    model: CompactScoreModel
    regions: RegionSample | None
    info: dict[str, Any]


def fit_details(
    table: FaceTable,
    fold: NDArray[np.int64],
    extractor: Extractor,
    compact: CompactFit,
    calibration: NDArray[np.int64],
    limit: float,
    background: Background | None,
) -> DetailsFit:
    """Fit what a compact score says besides the uncertainty.

    Parameters
    ----------
    table : FaceTable
    fold : ndarray of shape (n,), int
    extractor : Extractor
    compact : CompactFit
        The score, with its uncertainties and columns out of fold.
    calibration : ndarray of int
        The rows of the table that calibrate the rejector.
    limit : float
        Uncertainty above which faces are rejected: causes are learned from those.
    background : Background or None
        Boxes without a face.
    """
    seed, points = int(extractor.random_state), extractor.points
    errors = point_errors(table, points)
    fitted = fit_point_errors(
        table, errors, compact.model.columns, compact.columns, fold, seed, needed=calibration
    )
    regions = None
    if points.n == _N_REGION_POINTS and points.used is None:
        chosen = np.searchsorted(fitted.rows, calibration)
        regions = RegionSample.of_points(fitted.errors[chosen], errors[calibration])
    causes = known_causes(table, points)
    bound = float(np.median(compact.uncertainty)) if math.isinf(limit) else limit
    rows = (causes != "") & (compact.uncertainty > bound)
    columns, names, folds = compact.columns[rows], causes[rows], fold[rows]
    if background is not None and len(background.features):
        kept = np.isin(background.sample, table.sample)
        order, first = np.unique(table.sample, return_index=True)
        of_sample = fold[first[np.searchsorted(order, background.sample[kept])]]
        columns = np.concatenate([columns, compact.model.columns(background.features[kept])])
        names = np.concatenate([names, np.full(len(of_sample), "no_face_in_box")])
        folds = np.concatenate([folds, of_sample])
    why = fit_causes(columns, names, folds)
    info: dict[str, Any] = {"points": _point_figures(table, errors, fitted, extractor)}
    if why is not None:
        info["causes_right"] = float((why.known == why.found).mean())
    model = replace(compact.model, point_errors=fitted.model, causes=None if why is None else why.model)
    return DetailsFit(model, regions, info)


def _point_figures(
    table: FaceTable, errors: NDArray[np.float64], fitted: PointFit, extractor: Extractor
) -> dict[str, Any]:
    """Out of fold: rank correlation of expected and true errors, their means, and covered points found."""
    from scipy.stats import spearmanr

    used = slice(None) if extractor.points.used is None else list(extractor.points.used)
    truth, covered = errors[fitted.rows][:, used], table.hidden[fitted.rows][:, used]
    clean = table.clean[fitted.rows]
    flagged = fitted.hidden > fitted.model.limit
    figures: dict[str, Any] = {}
    for name, rows in (("clean", clean), ("degraded", ~clean)):
        if rows.any():
            expected, true = fitted.errors[rows].ravel(), truth[rows].ravel()
            varied = np.ptp(expected) > 0 and np.ptp(true) > 0
            figures[name] = {
                "spearman": float(spearmanr(expected, true)[0]) if varied else None,
                "expected": float(fitted.errors[rows].mean()),
                "true": float(truth[rows].mean()),
                "flagged_visible": _share(flagged[rows], ~covered[rows]),
                "flagged_covered": _share(flagged[rows], covered[rows]),
            }
    return figures


def _share(flagged: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return float(flagged[among].mean()) if among.any() else None
