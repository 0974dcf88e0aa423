"""From all features of a face to about a hundred columns that trees can use, and what is told by them.

Trees on these columns are the score. On them depend the expected error of each landmark (`PointErrors`: trees
on the features around it, the same for all landmarks) and the cause of a large error (`CauseModel`).

The columns, in this order (u points are used, in g groups of neighbours):

- linear in the HOG values: a score, the expected log error of each group, the rigid part of the expected
  correction (shift in face widths, log scale, angle in radians), and, where one was learned, a score for
  faces that are not degraded
- mean length of the HOG vectors of each group: local contrast
- shape: the leading principal components of the aligned points in standard deviations, the Mahalanobis
  distance in them, the log distance from them, the asymmetry in both directions
- how the aligned face lies in its box: shift, log scale, angle
- `FRAME`, `QUALITY` and, if the context has them, `DETECTOR`: see `facereject.faces.features.context`
- with `MirroredRuns`: the means of either kind of value over each group and over all, and the largest
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._trees import TreeScore
from facereject.faces.face import CAUSES
from facereject.faces.features.context import FRAME, QUALITY
from facereject.faces.features.recipe import FaceFeatures
from facereject.faces.landmarks.point_set import PointSet, mirror_partners
from facereject.modelfile import ArraySpec

FloatArray = NDArray[np.float64]

#: columns of `CompactColumns.weights` for the correction; the score and one per group come before
N_CORRECTION = 4

_HOG_VALUES = 36

#: how many neighbours of a point are looked at besides itself
NEIGHBOURS = 6

# face widths from the middle: nose, mouth and inner eyes, against the outline
_INNER = 0.2

# columns that say how the aligned face lies in its box
_PLACE = 4

# groups of neighbouring points of the 68 of 300-W
_GROUPS_300W = (
    range(6), range(6, 11), range(11, 17), range(17, 22), range(22, 27),
    range(27, 36), range(36, 42), range(42, 48), range(48, 68),
)  # fmt: skip


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class CompactColumns:
    """What is learned about the columns, and how they are computed.

    Parameters
    ----------
    points : PointSet
    n_runs : int
        Values of `MirroredRuns` between HOG and context: 0, or 2 per point that is used.
    n_context : int
        Values of `FaceContext`.
    weights : ndarray of shape (h, k), float32
        From the HOG values to score, log errors and correction: k = 1 + g + 4, and one more with a score for
        faces that are not degraded.
    offsets : ndarray of shape (k,), float32
    axes : ndarray of shape (2 u, c), float32
        Principal directions of aligned shapes.
    spread : ndarray of shape (c,), float32
        Standard deviations along them.
    """

    points: PointSet
    n_runs: int
    n_context: int
    weights: NDArray[np.float32]
    offsets: NDArray[np.float32]
    axes: NDArray[np.float32]
    spread: NDArray[np.float32]

    specs: ClassVar[dict[str, ArraySpec]] = {
        "compact_weights": ("float32", (None, None)),
        "compact_offsets": ("float32", (None,)),
        "compact_axes": ("float32", (None, None)),
        "compact_spread": ("float32", (None,)),
    }

    def __post_init__(self) -> None:
        groups, u = len(point_groups(self.points)), self.points.n_used
        least = 1 + groups + N_CORRECTION
        n_linear = min(max(len(self.offsets), least), least + 1)
        shapes = {
            "weights": (_HOG_VALUES * u, n_linear),
            "offsets": (n_linear,),
            "axes": (2 * u, len(self.spread)),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"compact {name} must have shape {shape}, got {getattr(self, name).shape}")
        if self.n_runs not in (0, 2 * u) or not (self.spread > 0).all():
            raise ValueError("compact columns: the spread must be positive, the runs none or two per point")

    @functools.cached_property
    def n_hog(self) -> int:
        """How many HOG values there are."""
        return _HOG_VALUES * self.points.n_used

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file stores."""
        return {name: getattr(self, name.removeprefix("compact_")) for name in self.specs}

    @property
    def n_features(self) -> int:
        """How many features a row has."""
        return self.n_hog + self.n_runs + self.n_context

    @property
    def n_columns(self) -> int:
        """How many columns come out."""
        return int(self(np.zeros((1, self.n_features), dtype=np.float32)).shape[1])

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], features: FaceFeatures) -> CompactColumns:
        """The inverse of `arrays`, for rows of these features."""
        if features.context is None:
            raise ValueError("compact columns need the features of shape, place and image quality")
        n_runs = 0 if features.stability is None else features.stability.n_features
        tables = {name.removeprefix("compact_"): arrays[name] for name in cls.specs}
        return cls(features.points, n_runs, features.context.n_features, **tables)

    def linear(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """The columns that are linear in the HOG values, for rows of features."""
        return np.asarray(features[:, : self.n_hog] @ self._by_column + self.offsets, dtype=np.float32)

    @functools.cached_property
    def _by_column(self) -> NDArray[np.float32]:
        """The weights with each column in one piece of memory: one row of features reads them faster."""
        return np.asfortranarray(self.weights)

    def measure(self, features: NDArray[np.float32]) -> Measured:
        """What both the columns and the values of single points are made of, for rows of features."""
        n, u = len(features), self.points.n_used
        windows = features[:, : self.n_hog].reshape(n * u, _HOG_VALUES)
        lengths = np.sqrt(np.einsum("ij,ij->i", windows, windows)).reshape(n, u)
        start = self.n_hog + self.n_runs
        aligned, place = _align(features[:, start : start + 2 * u], self.layout)
        away = aligned - self.layout.shape
        return Measured(lengths, aligned, place, away, away @ self._wide_axes)

    def unexplained(self, measured: Measured) -> FloatArray:
        """What the principal directions do not explain of the shapes, (n, 2 u)."""
        return np.asarray(measured.away - measured.scores @ self._wide_axes.T)

    @functools.cached_property
    def _wide_axes(self) -> FloatArray:
        """The principal directions as the products with aligned shapes take them."""
        return self.axes.astype(np.float64)

    def __call__(
        self,
        features: NDArray[np.float32],
        linear: NDArray[np.float32] | None = None,
        measured: Measured | None = None,
    ) -> NDArray[np.float32]:
        """The columns of rows of features.

        Parameters
        ----------
        features : ndarray of shape (n, d)
        linear : ndarray or None
            Takes the place of `linear`, for training.
        measured : Measured or None
            As from `measure`, if it is known already.
        """
        if linear is None:
            linear = self.linear(features)
        found = self.measure(features) if measured is None else measured
        parts = [linear, found.lengths @ self.layout.groups, self.shape_columns(found), found.place]
        parts.append(features[:, self.n_hog + self.n_runs + 2 * self.points.n_used : self.n_features])
        runs = features[:, self.n_hog : self.n_hog + self.n_runs]
        for values in np.split(runs, 2, axis=1) if self.n_runs else ():
            parts += [
                values @ self.layout.groups,
                values.mean(axis=1, keepdims=True),
                values.max(axis=1, keepdims=True),
            ]
        return np.concatenate(parts, axis=1, dtype=np.float32)

    def shape_columns(self, found: Measured) -> FloatArray:
        """Scores along the principal directions, distance from the mean shape and the rest, asymmetry."""
        scores = found.scores / self.spread
        # the directions are orthogonal: what they leave of the squared length
        left = np.einsum("ij,ij->i", found.away, found.away)
        left -= np.einsum("ij,ij->i", found.scores, found.scores)
        distances = np.empty((len(scores), 2))
        np.sqrt(np.einsum("ij,ij->i", scores, scores), out=distances[:, 0])
        np.log(1e-4 + np.sqrt(np.maximum(left, 0)), out=distances[:, 1])
        return np.concatenate([scores, distances, self._asymmetry(found.aligned)], axis=1)

    @functools.cached_property
    def described(self) -> NDArray[np.intp]:
        """Positions of the columns of shape, local contrast and image quality.

        They describe a face and its image. Left out is what was learned from errors, and what depends on the
        detector, on the place in the image or on further runs.
        """
        n_groups = self.layout.groups.shape[1]
        first = len(self.offsets)
        n_shape = len(self.spread) + 2 + (0 if self.layout.mirror is None else 2)
        shape = np.arange(first + n_groups, first + n_groups + n_shape)
        quality = shape[-1] + 1 + _PLACE + len(FRAME) + np.arange(len(QUALITY))
        return np.concatenate([shape, np.arange(first, first + n_groups), quality])

    @functools.cached_property
    def layout(self) -> Layout:
        """What follows from the points alone."""
        return layout_of(self.points)

    def _asymmetry(self, aligned: FloatArray) -> FloatArray:
        """Shift across of the middle (a turned head), root mean square asymmetry; (n, 0) if undefined."""
        layout = self.layout
        if layout.mirror is None:
            return np.empty((len(aligned), 0))
        # across the face the mirror image changes sign, along it not
        apart = aligned - aligned.take(layout.mirror, axis=1) * layout.mirror_sign
        result = np.empty((len(aligned), 2))
        result[:, 0] = apart[:, ::2] @ layout.turn
        np.sqrt(np.einsum("ij,ij->i", apart, apart) / self.points.n_used, out=result[:, 1])
        return result


class Measured(NamedTuple):
    """Of rows of features.

    Attributes
    ----------
    lengths : ndarray of shape (n, u)
        Lengths of the HOG vectors.
    aligned, place : ndarray
        As from `align`.
    away : ndarray of shape (n, 2 u)
        The aligned points less the mean shape.
    scores : ndarray of shape (n, c)
        The same along the principal directions.
    """

    lengths: NDArray[np.float32]
    aligned: FloatArray
    place: FloatArray
    away: FloatArray
    scores: FloatArray


class Layout(NamedTuple):
    """What follows from a point set.

    Attributes
    ----------
    shape : ndarray of shape (2 u,)
        The mean shape.
    groups : ndarray of shape (u, g)
        Column k takes the mean over group k.
    group : ndarray of shape (u,)
        The group of every point.
    neighbours : ndarray of shape (u, 1 + k)
        Every point and those nearest to it.
    near : ndarray of shape (u, u)
        Column i takes the mean over the neighbours of point i, without itself.
    mirror : ndarray of shape (2 u,) or None
        For each coordinate the one that takes its place in a mirror image.
    mirror_sign : ndarray of shape (2 u,)
        -1 for x, 1 for y.
    turn : ndarray of shape (u,)
        The mean over the middle of the face less that over its outline.
    middle : complex
        Of the mean shape, x + iy.
    conjugate : ndarray of shape (u,), complex
        The mean shape less its middle, x - iy.
    """

    shape: FloatArray
    groups: NDArray[np.float32]
    group: NDArray[np.intp]
    neighbours: NDArray[np.intp]
    near: NDArray[np.float32]
    mirror: NDArray[np.intp] | None
    mirror_sign: FloatArray
    turn: FloatArray
    middle: complex
    conjugate: NDArray[np.complex128]


@functools.lru_cache(maxsize=16)
def layout_of(points: PointSet) -> Layout:
    """What follows from a point set."""
    u, shape = points.n_used, points.used_shape
    members = point_groups(points)
    groups, group = np.zeros((u, len(members)), dtype=np.float32), np.empty(u, dtype=np.intp)
    for k, member in enumerate(members):
        groups[list(member), k] = 1 / len(member)
        group[list(member)] = k
    distance = np.linalg.norm(shape[:, None] - shape[None], axis=2)
    neighbours = np.argsort(distance, axis=1, kind="stable")[:, : 1 + min(NEIGHBOURS, u - 1)]
    near = np.zeros((u, u), dtype=np.float32)
    for i, row in enumerate(neighbours):
        near[row[1:], i] = 1 / (len(row) - 1)
    partners = mirror_partners(points) if points.used is None else None
    inner = np.abs(shape[:, 0]) < _INNER
    turn = np.zeros(u)
    if inner.any() and not inner.all():
        turn = inner / inner.sum() - ~inner / (~inner).sum()
    mirror = None
    if partners is not None:
        x = 2 * np.array(partners, dtype=np.intp)
        mirror = np.stack([x, x + 1], axis=1).ravel()
    z = shape[:, 0] + 1j * shape[:, 1]
    return Layout(
        shape.ravel(),
        groups,
        group,
        neighbours,
        near,
        mirror,
        np.tile([-1.0, 1.0], u),
        turn,
        complex(z.mean()),
        np.conj(z - z.mean()),
    )


def align(placed: NDArray[np.floating[Any]], points: PointSet) -> tuple[FloatArray, FloatArray]:
    """Shapes brought to the mean shape by a similarity, and that similarity.

    Parameters
    ----------
    placed : ndarray of shape (n, 2 u)
        x, y of every point, one after the other.

    Returns
    -------
    aligned : ndarray of shape (n, 2 u)
        In the frame of the mean shape.
    place : ndarray of shape (n, 4)
        Middle x, y before; log scale; angle in radians.
    """
    return _align(placed, layout_of(points))


def _align(placed: NDArray[np.floating[Any]], layout: Layout) -> tuple[FloatArray, FloatArray]:
    # x and y side by side are a complex number
    z = np.array(placed, dtype=np.float64, order="C").view(np.complex128)
    found = np.empty((len(z), 2), dtype=np.complex128)
    middle = np.divide(np.add.reduce(z, axis=1), z.shape[1], out=found[:, 0])
    z -= middle[:, None]
    parts = z.view(np.float64)
    energy = np.einsum("ij,ij->i", parts, parts)
    energy += 1e-12
    factor = (z @ layout.conjugate).conj() / energy
    z *= factor[:, None]
    z += layout.middle
    # the logarithm of a complex number is that of its size, and its angle; never that of zero
    factor += 1e-12
    np.negative(np.log(factor), out=found[:, 1])
    return parts, found.view(np.float64)


def point_groups(points: PointSet) -> tuple[tuple[int, ...], ...]:
    """Groups of neighbours among the points that are used, as positions in their list.

    For the 68 points of 300-W the parts of the face, left and right; for others the cells of a 3 x 3 grid
    over the mean shape, as far as there are points in them.
    """
    if points.is_300w and points.used is None:
        return tuple(tuple(group) for group in _GROUPS_300W)
    shape = points.used_shape
    low, high = shape.min(axis=0), shape.max(axis=0)
    cell = np.minimum((3 * (shape - low) / np.maximum(high - low, 1e-9)).astype(int), 2)
    number = cell[:, 1] * 3 + cell[:, 0]
    return tuple(tuple(np.flatnonzero(number == k).tolist()) for k in np.unique(number))


# standard deviations beyond which a column says no more
_FAR = 3.0


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class CauseModel:
    """Log-odds of every cause of `CAUSES`, in that order: linear in standardised columns and their squares.

    Parameters
    ----------
    mean, scale : ndarray of shape (c,), float32
        Of the columns.
    weights : ndarray of shape (2 c + 1, k), float32
        The last row is the constant.
    """

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: NDArray[np.float32]

    specs: ClassVar[dict[str, ArraySpec]] = {
        "cause_mean": ("float32", (None,)),
        "cause_scale": ("float32", (None,)),
        "cause_weights": ("float32", (None, len(CAUSES))),
    }

    def __call__(self, columns: NDArray[np.float32]) -> FloatArray:
        """Log-odds, shape (n, k)."""
        terms = cause_terms((columns - self.mean) / self.scale)
        return np.asarray(terms @ self.weights, dtype=np.float64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name.removeprefix("cause_")) for name in self.specs}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], n_columns: int) -> CauseModel:
        model = cls(**{name.removeprefix("cause_"): arrays[name] for name in cls.specs})
        widths = (len(model.mean), len(model.scale), len(model.weights))
        if widths != (n_columns, n_columns, 2 * n_columns + 1) or not (model.scale > 0).all():
            raise ValueError(f"the causes are for {len(model.mean)} columns, there are {n_columns}")
        return model


def cause_terms(standard: NDArray[np.float32]) -> NDArray[np.float32]:
    """Standardised columns within three standard deviations, their squares, and one."""
    near = np.clip(standard, -_FAR, _FAR)
    return np.concatenate([near, near * near, np.ones((len(near), 1))], axis=1, dtype=np.float32)


# values of a point without and with further runs of the predictor, see `point_values`
_PLAIN_VALUES, _RUN_VALUES = 11, 4


# arrays of a model file besides the trees
_TABLES = ("weights", "usual", "knots", "errors")


class PointValues(NamedTuple):
    """Expected error in percent of every point that is used, and whether it is taken to be covered."""

    errors: FloatArray
    hidden: NDArray[np.bool_]


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class PointErrors:
    """Expected errors of the points that are used, in percent.

    Parameters
    ----------
    columns : CompactColumns
    weights : ndarray of shape (u, 36 (1 + k)), float32
        From the HOG values of a point and of its k neighbours to its log error.
    usual : ndarray of shape (u,), float32
        Mean log error of every point.
    trees : TreeScore
        From the values of a point, see `point_values`, to its log error.
    knots, errors : ndarray of shape (m,), float32
        Log errors the trees say, ascending, and the mean error in percent there, never descending: put right
        on faces they were not trained on.
    hidden : TreeScore
        From the same values to the log-odds that the point is covered.
    limit : float
        Log-odds above which it is taken to be covered.
    covered : float, default=0
        Added to the log error per unit of these log-odds: covered points stand out more than by their errors
        in training, where many were guessed well.
    """

    columns: CompactColumns
    weights: NDArray[np.float32]
    usual: NDArray[np.float32]
    trees: TreeScore
    knots: NDArray[np.float32]
    errors: NDArray[np.float32]
    hidden: TreeScore
    limit: float
    covered: float = 0.0

    specs: ClassVar[dict[str, ArraySpec]] = {
        "point_weights": ("float32", (None, None)),
        "point_usual": ("float32", (None,)),
        "point_knots": ("float32", (None,)),
        "point_errors": ("float32", (None,)),
        "point_limit": ("float64", (None,)),
        **{f"{part}_{name}": spec for part in ("point", "hidden") for name, spec in TreeScore.specs.items()},
    }

    def __post_init__(self) -> None:
        u, k = self.columns.layout.neighbours.shape
        same = len(self.usual) == u and len(self.knots) == len(self.errors) > 0
        if not math.isfinite(self.limit + self.covered):
            raise ValueError("the limit of covered points must be finite")
        if self.weights.shape != (u, _HOG_VALUES * k) or not same or not (np.diff(self.knots) > 0).all():
            raise ValueError("the tables of the points have other lengths than the points")

    def __call__(
        self,
        features: NDArray[np.float32],
        columns: NDArray[np.float32],
        measured: Measured | None = None,
    ) -> PointValues:
        """What is expected of every point that is used, for rows of features and their compact columns."""
        shape = (len(features), self.columns.points.n_used)
        local = local_prediction(features, self.columns, self.weights) + self.usual
        values = point_values(self.columns, self.usual, features, columns, local, measured)
        odds = self.hidden(values).reshape(shape)
        said = self.trees(values).reshape(shape) + self.covered * odds
        return PointValues(np.interp(said, self.knots, self.errors), odds > self.limit)

    def arrays(self) -> dict[str, NDArray[Any]]:
        found = {f"point_{name}": getattr(self, name) for name in _TABLES}
        for part, trees in (("point", self.trees), ("hidden", self.hidden)):
            found |= {f"{part}_{name}": array for name, array in trees.arrays().items()}
        return found | {"point_limit": np.array([self.limit, self.covered])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], columns: CompactColumns) -> PointErrors:
        n_values = n_point_values(columns)
        trees, hidden = (
            TreeScore.from_tables({name: arrays[f"{part}_{name}"] for name in TreeScore.specs}, n_values)
            for part in ("point", "hidden")
        )
        tables = {name: arrays[f"point_{name}"] for name in _TABLES}
        # files of earlier versions hold the limit alone
        limit, covered = [*arrays["point_limit"].tolist(), 0.0][:2]
        return cls(columns, trees=trees, hidden=hidden, limit=limit, covered=covered, **tables)


def local_prediction(
    features: NDArray[np.float32], compact: CompactColumns, weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Linear in the HOG values of each point and its neighbours, shape (n, u)."""
    n, u = len(features), compact.points.n_used
    windows = features[:, : compact.n_hog].reshape(n, u, _HOG_VALUES)
    near = windows[:, compact.layout.neighbours].reshape(n, u, -1)
    return np.asarray(np.einsum("nuk,uk->nu", near, weights), dtype=np.float32)


def point_values(
    compact: CompactColumns,
    usual: NDArray[np.float32],
    features: NDArray[np.float32],
    columns: NDArray[np.float32],
    local: NDArray[np.float32],
    measured: Measured | None = None,
) -> NDArray[np.float32]:
    """What the trees see of every point, shape (n u, v).

    Its own linear prediction and that of its neighbours; the expected log error of its group; the length of
    its HOG vector, and of its neighbours'; how far it lies from the principal shapes, and its neighbours; the
    distance to the frame; its usual log error; how far it is on the side that is turned away; the linear
    score of the face; with further runs, their values for the point and its neighbours.
    """
    points, layout, n = compact.points, compact.layout, len(features)
    u = points.n_used
    found = compact.measure(features) if measured is None else measured
    left = compact.unexplained(found)
    residual = np.hypot(left[:, ::2], left[:, 1::2])
    rest = features[:, compact.n_hog + compact.n_runs :]
    frame = rest[:, 2 * u : 2 * u + len(FRAME), None]
    x, y = rest[:, : 2 * u : 2], rest[:, 1 : 2 * u : 2]
    # distances to the four sides: of the outermost point, and of this one from it
    across = np.minimum(
        x - x.min(axis=1, keepdims=True) + frame[:, 1], x.max(axis=1, keepdims=True) - x + frame[:, 3]
    )
    along = np.minimum(
        y - y.min(axis=1, keepdims=True) + frame[:, 2], y.max(axis=1, keepdims=True) - y + frame[:, 4]
    )
    turned = (found.aligned[:, ::2] - points.used_shape[:, 0]) @ layout.turn
    values = np.empty((n, u, n_point_values(compact)), dtype=np.float32)
    parts: list[NDArray[Any]] = [
        local,
        local @ layout.near,
        columns[:, 1:][:, layout.group],
        found.lengths,
        found.lengths @ layout.near,
        residual,
        residual @ layout.near,
        np.minimum(across, along),
        usual,
        points.used_shape[:, 0] * turned[:, None],
        columns[:, :1],
    ]
    if compact.n_runs:
        runs = features[:, compact.n_hog : compact.n_hog + compact.n_runs].reshape(n, 2, u)
        for k in range(2):
            parts += [runs[:, k], runs[:, k] @ layout.near]
    for k, part in enumerate(parts):
        values[:, :, k] = part
    return values.reshape(n * u, -1)


def n_point_values(compact: CompactColumns) -> int:
    """How many values the trees see of a point."""
    return _PLAIN_VALUES + (_RUN_VALUES if compact.n_runs else 0)
