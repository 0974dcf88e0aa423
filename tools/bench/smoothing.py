"""Steadied landmarks against raw ones: python tools/bench/smoothing.py [--photos N] [--skip N]

Annotated photographs are shown as videos of two seconds with sensor noise: once still, once moved, turned and
scaled smoothly, so that the true points of every frame are known. A tracker follows the face. Its landmarks
are compared raw, with a plain exponential mean (two weights) and with `LandmarkSmoother`:

jitter   mean step of a point from frame to frame on still faces, in percent of the distance of the eyes
error    mean distance from the annotation, same unit, still and moving
lag      by how many frames the points come later than the raw ones on moving faces
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from media import DATA, report

from facereject.faces import Face, FaceRejector, load_rgb
from facereject.faces.datasets import read_pts
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.tracking.smoothing import LandmarkSmoother
from facereject.tracking.tracker import FaceTracker

FPS, N_FRAMES, NOISE = 30, 60, 5.0

# frames at the beginning that are not counted: filters and tracker start
FIRST = 10


def still(time: float) -> tuple[float, float, float, float]:
    """Shift in x and y in pixels, angle in degrees, scale."""
    return 0.0, 0.0, 0.0, 1.0


def moving(time: float) -> tuple[float, float, float, float]:
    def swing(size: float, hertz: float) -> float:
        return size * math.sin(2 * math.pi * hertz * time)

    return swing(40, 0.5), swing(20, 0.4), swing(12, 0.45), 1 + swing(0.15, 0.3)


def watch(photo: Path, path: Callable[[float], tuple[float, ...]], rejector: FaceRejector, seed: int):
    """The faces of a tracker and the true points, (frames, 68, 2); None if the face was lost on the way."""
    image, points = load_rgb(photo), read_pts(photo.with_suffix(".pts"))
    rng, tracker = np.random.default_rng(seed), FaceTracker(rejector)
    faces, true = [], []
    for i in range(N_FRAMES):
        x, y, angle, scale = path(i / FPS)
        matrix = cv2.getRotationMatrix2D(tuple(points.mean(axis=0)), -angle, scale)
        matrix[:, 2] += (x, y)
        frame = cv2.warpAffine(image, matrix, image.shape[1::-1], borderMode=cv2.BORDER_REPLICATE)
        noisy = np.clip(frame + rng.normal(0, NOISE, frame.shape), 0, 255).astype(np.uint8)
        there = points @ matrix[:, :2].T + matrix[:, 2]
        found = [each.face for each in tracker.update(noisy, i / FPS)]
        near = [face for face in found if np.abs(face.landmarks.mean(0) - there.mean(0)).max() < 40]
        if not near:
            return None
        faces.append(near[0])
        true.append(there)
    return faces, np.array(true)


def raw(faces: list[Face]) -> np.ndarray:
    return np.array([face.landmarks for face in faces])


def exponential(weight: float) -> Callable[[list[Face]], np.ndarray]:
    def smooth(faces: list[Face]) -> np.ndarray:
        points = raw(faces)
        for i in range(1, len(points)):
            points[i] = points[i - 1] + weight * (points[i] - points[i - 1])
        return points

    return smooth


def steadied(faces: list[Face]) -> np.ndarray:
    smoother = LandmarkSmoother(MEAN_SHAPE)
    return np.array([smoother(face, i / FPS) for i, face in enumerate(faces)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--photos", type=int, default=12, help="photographs (default: 12)")
    parser.add_argument("--skip", type=int, default=17, help="leave out so many at first (default: 17)")
    options = parser.parse_args()
    photos = sorted((DATA / "300w" / "lfpw" / "trainset").glob("*.jpg"))[options.skip :: 60][: options.photos]
    if not photos:
        sys.exit(f"{DATA} holds no photographs: set FACEREJECT_DATA to the folder that holds faces/")
    cv2.setNumThreads(1)
    rejector = FaceRejector.pretrained()
    methods = {"raw": raw, "mean of weight 0.3": exponential(0.3), "mean of weight 0.5": exponential(0.5)}
    methods["LandmarkSmoother"] = steadied
    jitter: dict[str, list[float]] = {name: [] for name in methods}
    errors: dict[tuple[str, str], list[float]] = {(n, k): [] for n in methods for k in ("still", "moving")}
    lags: dict[str, list[float]] = {name: [] for name in methods}
    for seed, photo in enumerate(photos):
        for kind, path in (("still", still), ("moving", moving)):
            seen = watch(photo, path, rejector, seed)
            if seen is None:
                continue
            faces, true = seen
            unit = 0.01 * np.linalg.norm(true[:, 36] - true[:, 45], axis=1)[:, None]
            velocity = np.gradient(true, axis=0)[FIRST:-1]
            for name, method in methods.items():
                points = method(faces)
                errors[name, kind].append((np.linalg.norm(points - true, axis=2) / unit)[FIRST:].mean())
                if kind == "still":
                    steps = np.linalg.norm(np.diff(points, axis=0), axis=2) / unit[1:]
                    jitter[name].append(steps[FIRST:].mean())
                else:
                    late = ((raw(faces) - points)[FIRST:-1] * velocity).sum() / (velocity**2).sum()
                    lags[name].append(late)
    print(f"{len(jitter['raw'])} still and {len(lags['raw'])} moving faces, {N_FRAMES} frames each")
    for name in methods:
        resting, going = (np.mean(errors[name, kind]) for kind in ("still", "moving"))
        print(
            f"  {name:20s} jitter {np.mean(jitter[name]):.3f}, error {resting:.2f} still and {going:.2f} "
            f"moving, lag {np.mean(lags[name]):.2f} frames"
        )
    ours = "LandmarkSmoother"
    report("jitter / raw", float(np.mean(jitter[ours]) / np.mean(jitter["raw"])), 0.5)
    report("lag in frames", float(np.mean(lags[ours])), 1.0)
    for kind in ("still", "moving"):
        ratio = float(np.mean(errors[ours, kind]) / np.mean(errors["raw", kind]))
        report(f"error / raw, {kind}", ratio, 1.0)


if __name__ == "__main__":
    main()
