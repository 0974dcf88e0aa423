"""Boxes on crops of a certain scale beside the boxes of the search: python tools/bench/boxes.py FOLDER

YuNet searches an image, then locates every face on a crop that shows it in a certain size, so that photos and
frames of a video get equal boxes. The score of ``default`` was trained with the boxes of the crops. On the
photographs of 300-W that were set aside in training, clean and degraded: faces missed, mean error of the
landmarks, AuRC and usable share (targets of 2.3 and 3 %) with either box. The settings of the crops were
chosen on the first degraded versions of these photographs (``--first 1``); the others were not looked at.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.datasets import match_face
from facereject.faces.detectors.base import find_faces
from facereject.faces.detectors.yunet import _Search
from facereject.faces.images import Views
from facereject.faces.training.degrade import random_degradation
from facereject.losses import landmark_nme
from facereject.metrics import aurc
from tools.train.default_model import TARGETS, TEST_SEED, set_aside

ON_CROPS = _Search.settled


def usable(losses: np.ndarray, uncertainty: np.ndarray, n_faces: int, target: float) -> float:
    """Share of all faces that can be accepted, most certain first, with this mean error."""
    means = np.cumsum(losses[np.argsort(uncertainty, kind="stable")]) / np.arange(1, len(losses) + 1)
    reached = np.flatnonzero(means <= target)
    return (reached[-1] + 1 if len(reached) else 0) / n_faces


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="annotated photographs (300-W layout)")
    parser.add_argument("--first", type=int, default=10, help="number of the first degraded version")
    parser.add_argument("--versions", type=int, default=4, help="degraded versions of each photograph")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    rejector = FaceRejector.pretrained()
    _, test, _, copies = set_aside(FaceDataset.load(options.folder))
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    n_faces = dict.fromkeys(TARGETS, 0)
    for i, sample in enumerate(test):
        if i in copies:
            continue
        photo = Views(sample.load()).rgb
        for version in (0, *range(options.first, options.first + options.versions)):
            image, truth, kind = photo, sample.landmarks, "degraded" if version else "clean"
            if version:
                rng = np.random.default_rng([TEST_SEED, i, version])
                image, truth, *_ = random_degradation(image, truth, random_state=rng)
            n_faces[kind] += 1
            for box, settled in (("search", lambda _, face: face), ("crop", ON_CROPS)):
                _Search.settled = settled
                view = Views(image)
                found = match_face(find_faces(rejector.detector, view), truth, points=rejector.points)
                if found is None:
                    continue
                (face,) = rejector.assess_detections(view, [found])
                error = float(landmark_nme(truth, face.landmarks, rejector.points.normalizer))
                rows.setdefault((kind, box), []).append((error, face.uncertainty))
    for (kind, box), pairs in sorted(rows.items()):
        losses, uncertainty = np.array(pairs).T
        print(
            f"{kind:9s} {n_faces[kind]:5d} faces, boxes of the {box:6s}: "
            f"{n_faces[kind] - len(losses):4d} missed, "
            f"error {losses.mean():.3f}, AuRC {aurc(losses, uncertainty):.3f}, "
            f"usable {usable(losses, uncertainty, n_faces[kind], TARGETS[kind]):.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
