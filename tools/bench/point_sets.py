"""How well rejectors for other points than the 68 rank faces, against the detector's score and the oracle.

    python tools/bench/point_sets.py 300w --photos 300 --degradations 2

One rejector per set of points is trained on half of the photographs and tested on the other half: dlib's 68
points, its published five, the twenty of the mouth, and a mesh of 135 whose features are computed at 51. The
68-point model was trained on 300-W itself, so its clean errors are flattered; the ranking is what matters.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from facereject.faces import (
    FaceDataset,
    LandmarkPredictor,
    evaluate_face_rejector,
    make_landmarks,
    train_face_rejector,
)
from facereject.faces.training.train import Training

FIVE = (45, 42, 36, 39, 33)
MOUTH = tuple(range(48, 68))


def dense(points):
    """68 points and the middles between neighbours."""
    return np.concatenate([points, (points[1:] + points[:-1]) / 2])


@dataclasses.dataclass(frozen=True)
class Derived:
    """Points computed from those of dlib's published model."""

    change: Callable
    n_points: int
    normalizer: str
    feature_points: Sequence[int] | None = None
    color = "gray"

    def __call__(self, image, box):
        return self.change(LandmarkPredictor()(image, box))


def mouth(points):
    """The twenty points of the mouth."""
    return points[list(MOUTH)]


def five(points):
    """Corners of the eyes and the nose, in the order of dlib's five."""
    return points[list(FIVE)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--photos", type=int, default=300, help="photographs to train and test on")
    parser.add_argument("--degradations", type=int, default=2)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    everything = FaceDataset.load(options.data)
    share = min(1.0, options.photos / len(everything.photos)) / 2
    halves = everything.split(share, share, random_state=options.seed)
    sets = {
        "68, dlib": (lambda points: points, make_landmarks("dlib")),
        "5, dlib": (five, make_landmarks("dlib-5")),
        "20, mouth": (mouth, Derived(mouth, 20, "points:0,6")),
        "135, mesh": (dense, Derived(dense, 135, "points:36,45", range(17, 68))),
    }
    print(f"{len(halves[0])} faces to train on, {len(halves[1])} to test on, seed {options.seed}")
    print("points       photographs  faces  mean error    AuRC: detector  score  oracle   gap closed")
    for name, (change, predictor) in sets.items():
        fit, test = (
            [dataclasses.replace(sample, landmarks=change(sample.landmarks)) for sample in half]
            for half in halves
        )
        training, workers = Training(degradations=options.degradations), options.workers
        rejector = train_face_rejector(fit, predictor=predictor, training=training, workers=workers)
        result = evaluate_face_rejector(rejector, test, degradations=options.degradations, workers=workers)
        for kind, group in (("clean", result.clean), ("degraded", result.degraded)):
            if group is None:
                continue
            areas = f"{group.aurc_detector:14.2f}  {group.aurc_score:5.2f}  {group.aurc_oracle:6.2f}"
            figures = f"{group.n:5d}  {group.mean_error:8.2f} %  {areas}  {group.gap_closed:11.0%}"
            print(f"{name:11s}  {kind:11s}  {figures}", flush=True)


if __name__ == "__main__":
    main()
