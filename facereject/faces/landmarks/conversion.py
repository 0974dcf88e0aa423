"""Maps between mark-ups: point sets of other tools to the 68 points of 300-W.

For the 468 points of the face mesh there are fixed correspondences and a fitted linear map. The
correspondences are numbers of mesh points. Those of the jaw and of the ends of the brows are the nearest ones
to the hand-placed contours of the Face Research Lab London Set (CC BY 4.0), the others are corners and lid
points that both mark-ups name. The fitted map was learned from the annotation of 300-W, whose licence
excludes commercial use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from facereject.faces.geometry import FloatArray, fit_similarity, transform_points
from facereject.faces.landmarks.point_set import N_LANDMARKS, procrustes_mean
from facereject.modelfile import ArraySpec, read_model, write_model

#: how many points the mesh has; MediaPipe's later models add ten of the irises behind them
N_MESH, N_WITH_IRISES = 468, 478

#: for each of the 68 points of 300-W, the point of the mesh
FIXED = (
    127, 234, 93, 215, 138, 136, 149, 148, 152, 377, 378, 365, 367, 435, 323, 454, 356,
    70, 63, 105, 66, 55, 285, 296, 334, 293, 300,
    168, 197, 5, 4, 75, 97, 2, 326, 305,
    33, 160, 158, 133, 153, 144, 362, 385, 387, 263, 373, 380,
    61, 39, 37, 0, 267, 269, 291, 405, 314, 17, 84, 181,
    78, 82, 13, 312, 308, 317, 14, 87,
)  # fmt: skip

_KIND = "landmark-map"


# values that the correction of a face has: four more or fewer change its error by less than 0.02 %
_RANK = 16


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class MeshMap:
    """Fixed correspondences and a linear correction, in the frame of a mean mesh.

    With z the mesh after the similarity that takes it to ``mean`` M, and d = z - M as one row, the target
    points in that frame are ``center`` + d[FIXED] + d ``inputs`` ``outputs``, and the similarity takes them
    back. Scale, rotation and shift of a face therefore change nothing.

    Attributes
    ----------
    mean : ndarray of shape (468, 2)
    center : ndarray of shape (68, 2)
    inputs : ndarray of shape (936, k)
    outputs : ndarray of shape (k, 136)
    """

    mean: FloatArray
    center: FloatArray
    inputs: NDArray[np.float32]
    outputs: NDArray[np.float32]

    def __call__(self, points: FloatArray) -> FloatArray:
        """Points (468, 2) to points (68, 2), in pixels."""
        frame = fit_similarity(points, self.mean)
        moved = transform_points(frame, points) - self.mean
        correction = (moved.ravel() @ self.inputs @ self.outputs).reshape(-1, 2)
        level = self.center + moved[list(FIXED)] + correction
        # not the similarity fitted the other way round, which is a little smaller
        return np.asarray(np.linalg.solve(frame[:, :2], (level - frame[:, 2]).T).T, dtype=np.float64)

    @classmethod
    def fit(cls, meshes: FloatArray, targets: FloatArray, alpha: float, rank: int = _RANK) -> MeshMap:
        """Ridge regression of what the fixed correspondences leave, of reduced rank.

        W minimises sum ||t - C - d[FIXED] - d W||^2 + alpha ||W||^2 over faces; its columns are then
        projected onto the ``rank`` directions in which d W varies most. M is the mean mesh, of which the
        outer eye corners are one unit apart, and C the mean target in its frame.

        Parameters
        ----------
        meshes : ndarray of shape (n, 468, 2)
        targets : ndarray of shape (n, 68, 2)
            Annotated points of the same faces.
        alpha : float
        rank : int
        """
        mean = _mean_mesh(meshes)
        frames = [fit_similarity(mesh, mean) for mesh in meshes]
        moved = np.array([transform_points(f, mesh) for f, mesh in zip(frames, meshes, strict=True)]) - mean
        wanted = np.array([transform_points(f, target) for f, target in zip(frames, targets, strict=True)])
        center = wanted.mean(axis=0)
        rows = moved.reshape(len(moved), -1)
        left = (wanted - center - moved[:, FIXED]).reshape(len(moved), -1)
        weights = np.linalg.solve(rows.T @ rows + alpha * np.eye(rows.shape[1]), rows.T @ left)
        directions = np.linalg.svd(rows @ weights, full_matrices=False)[2][:rank]
        inputs = (weights @ directions.T).astype(np.float32)
        return cls(mean, center, inputs, directions.astype(np.float32))

    def save(self, path: str, **header: object) -> None:
        """Write the map to a file; the header is plain JSON that says what it was fitted to."""
        write_model(path, _KIND, header, {name: getattr(self, name) for name in _SPECS})

    @classmethod
    def load(cls, path: str) -> MeshMap:
        """The inverse of `save`."""
        return cls(**read_model(path, _KIND, _SPECS).arrays)


_SPECS: dict[str, ArraySpec] = {
    "mean": ("float64", (N_MESH, 2)),
    "center": ("float64", (len(FIXED), 2)),
    "inputs": ("float32", (2 * N_MESH, None)),
    "outputs": ("float32", (None, 2 * len(FIXED))),
}


@functools.cache
def fitted_map() -> MeshMap:
    """The map that comes with the package."""
    with resources.as_file(
        resources.files("facereject") / "pretrained" / "maps" / "mesh-68.safetensors"
    ) as path:
        return MeshMap.load(str(path))


def to_68(points: FloatArray, *, free: bool = False) -> FloatArray:
    """The 68 points of 300-W from a mesh of 468 points, or of 478 with the irises.

    Parameters
    ----------
    points : ndarray of shape (468, 2) or (478, 2)
    free : bool, default=False
        By the fixed correspondences, which are free for any use, instead of the fitted map.
    """
    mesh = points[:N_MESH]
    return mesh[list(FIXED)] if free else fitted_map()(mesh)


def _mean_mesh(meshes: FloatArray) -> FloatArray:
    mean = procrustes_mean(meshes)
    return mean / float(np.linalg.norm(mean[FIXED[36]] - mean[FIXED[45]]))


#: for each of the 68 points of 300-W, the point of WFLW's 98: every second of the jaw, the upper edges of the
#: brows, the nose, six of eight points of each eye, the mouth
WFLW = (
    *range(0, 33, 2), *range(33, 38), *range(42, 47), *range(51, 60),
    60, 61, 63, 64, 65, 67, 68, 69, 71, 72, 73, 75, *range(76, 96),
)  # fmt: skip

#: from how many points to a function that makes the 68 points of 300-W of them
MAPS_TO_68: dict[int, Callable[[FloatArray], FloatArray]] = {
    N_MESH: to_68,
    N_WITH_IRISES: to_68,
    98: lambda points: points[list(WFLW)],
}


def converted(points: FloatArray, n_points: int) -> FloatArray:
    """Points as a model needs them: as they are, or mapped to the 68 of 300-W.

    Parameters
    ----------
    points : ndarray of shape (m, 2)
    n_points : int
        How many the model needs.

    Raises
    ------
    ValueError
        There is no map from these to those.
    """
    if len(points) == n_points:
        return points
    if n_points == N_LANDMARKS and len(points) in MAPS_TO_68:
        return MAPS_TO_68[len(points)](points)
    known = f"{', '.join(map(str, sorted(MAPS_TO_68)))} points can be mapped to {N_LANDMARKS}"
    raise ValueError(
        f"landmarks must have shape ({n_points}, 2): x, y in pixels; got {points.shape}; {known}; for others "
        "train a model (`facereject train`, `train_face_rejector`)"
    )
