"""Maps between mark-ups: point sets of other tools to the 68 points of 300-W."""

from __future__ import annotations

from collections.abc import Callable

from facereject.faces.geometry import FloatArray
from facereject.faces.landmarks.mesh_map import N_MESH, N_WITH_IRISES, to_68
from facereject.faces.landmarks.point_set import N_LANDMARKS

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
