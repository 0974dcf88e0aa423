"""The depths of the generic face of `facereject.faces.landmarks.point_set`: python -m tools.train.face_depth

Annotated photographs show many faces from many sides. With x and y fixed to the mean shape, the depths and
the direction of every face are fitted in turns under scaled orthography, x = s R [X Y Z] + t, with mirror
images added so that the result is symmetric. Points that move with the jaw or slide along the outline count
less. Then the angles that `pose_of` gives for people who look into the camera of a studio.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from facereject.faces import FaceRejector, Pose
from facereject.faces.datasets import read_pts
from facereject.faces.landmarks.point_set import MEAN_SHAPE

DATA = Path(os.environ.get("FACEREJECT_DATA") or Path(__file__).parents[3] / "shared" / "data") / "faces"

_MIRRORED = [
    *range(16, -1, -1), *range(26, 16, -1), 27, 28, 29, 30, 35, 34, 33, 32, 31, 45, 44, 43, 42, 47, 46,
    39, 38, 37, 36, 41, 40, 54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55, 64, 63, 62, 61, 60, 67, 66, 65,
]  # fmt: skip


def main() -> None:
    files = sorted((DATA / "300w").rglob("*.pts"))
    if not files:
        sys.exit(f"{DATA / '300w'} holds no annotated faces: set FACEREJECT_DATA to the folder with faces/")
    faces = np.array([read_pts(file) for file in files])
    faces = np.concatenate([faces, faces[:, _MIRRORED] * [-1, 1]])
    weights = np.ones(68)
    weights[:17], weights[17:27], weights[55:68] = 0.05, 0.5, 0.2
    faces -= np.average(faces, axis=1, weights=weights)[:, None]
    faces /= np.sqrt((faces**2).mean(axis=(1, 2), keepdims=True))
    shape = np.column_stack([MEAN_SHAPE, MEAN_SHAPE[:, 0] ** 2])
    for _ in range(200):
        shape -= np.average(shape, axis=0, weights=weights)
        cameras = _cameras(shape, faces, weights)
        rest = faces - np.einsum("nij,pj->npi", cameras[:, :, :2], shape[:, :2])
        depth = np.einsum("ni,npi->p", cameras[:, :, 2], rest) / (cameras[:, :, 2] ** 2).sum()
        shape[:, 2] = (depth + depth[_MIRRORED]) / 2
    depth = shape[:, 2] - shape[30, 2]
    print(f"{len(files)} faces; depth behind the tip of the nose, in widths of the face:")
    for start in range(0, 68, 10):
        print("    " + ", ".join(f"{value:.3f}" for value in depth[start : start + 10]) + ",")
    rejector = FaceRejector.pretrained()
    photos = sorted((DATA / "london").glob("*_03.jpg"))
    poses = np.array([face.pose for photo in photos for face in rejector(photo)[:1]])
    for name, angles in zip(Pose._fields, poses.T, strict=True):
        print(f"{name} of {len(poses)} studio portraits: mean {angles.mean():.1f}, spread {angles.std():.1f}")


def _cameras(shape: np.ndarray, faces: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For every face the first two rows of s R, nearest to the best affine map."""
    weighted = shape * weights[:, None]
    affine = np.linalg.solve(weighted.T @ shape, weighted.T @ faces).transpose(0, 2, 1)
    left, sizes, right = np.linalg.svd(affine, full_matrices=False)
    return sizes.mean(axis=1)[:, None, None] * (left @ right)


if __name__ == "__main__":
    main()
