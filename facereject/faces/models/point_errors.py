"""Expected error of each landmark: trees on the features around it, the same for all landmarks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._trees import TreeScore
from facereject.faces.features.context import FRAME
from facereject.faces.models.compact import CompactColumns, Measured
from facereject.modelfile import ArraySpec

FloatArray = NDArray[np.float64]

_HOG_VALUES = 36

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
