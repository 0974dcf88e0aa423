"""Fits the box that YuNet's detections are given, and the scale of dlib's scores beside YuNet's.

    facereject models get yunet
    python -m tools.train.yunet_box ../shared/data/faces/300w

Faces of the fit part, clean and degraded, that both detectors find: in the frame of the mean face fitted to
YuNet's five points, the centre and the logarithm of the side of dlib's box are linear in those of the
network's box, by least absolute deviations. Printed are the coefficients of
`facereject/faces/detectors/yunet.py`, the mean error of dlib's landmarks in either box, and the constants of
`facereject/faces/detectors/both.py`.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from facereject.faces import FaceDataset, FaceDetector, LandmarkPredictor
from facereject.faces.datasets import match_face
from facereject.faces.detectors import yunet
from facereject.faces.face import Box
from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.images import to_gray
from facereject.faces.training.degrade import random_degradation
from facereject.losses import landmark_nme
from tools.train.default_model import set_aside

SEED, STEP, VERSIONS = 7, 3, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    options = parser.parse_args()
    fit, *_ = set_aside(FaceDataset.load(options.data))
    networks, boxes, scores, errors = [], [], [], {"dlib": [], "YuNet": []}
    detector, other, predictor = yunet.YuNetDetector(), FaceDetector(threshold=-1.0), LandmarkPredictor()
    raw = _record_networks()
    for i in range(0, len(fit), STEP):
        image = fit[i].load()
        for version in range(VERSIONS + 1):
            rng = np.random.default_rng([SEED, i, version])
            shown, truth = image, fit[i].landmarks
            if version:
                shown, truth, *_ = random_degradation(image, fit[i].landmarks, random_state=rng)
            gray = to_gray(shown)
            ours, theirs = match_face(detector.detect(shown), truth), match_face(other.detect(gray), truth)
            if theirs is not None:
                scores.append((theirs.score, 0.0 if ours is None else ours.score))
            if ours is None or theirs is None or theirs.score < 0:
                continue
            networks.append(_in_frame(np.array(ours.points), raw[ours.points]))
            boxes.append(_in_frame(np.array(ours.points), theirs.box))
            for name, found in (("dlib", theirs), ("YuNet", ours)):
                errors[name].append(landmark_nme(truth, predictor(gray, found.box)))
    seen, goal = np.array(networks), np.array(boxes)
    design = np.column_stack([np.ones(len(seen)), seen[:, 1:]])
    print(f"{len(seen)} faces")
    print("across", _least_absolute(seen[:, :1], goal[:, 0]).round(3))
    print("along ", _least_absolute(design, goal[:, 1]).round(3))
    print("side  ", _least_absolute(design, goal[:, 2]).round(3))
    print("mean error of landmarks:", {name: round(float(np.mean(each)), 3) for name, each in errors.items()})
    dlib_score, score = np.array(scores).T

    def apart(ab: Any) -> Any:
        return 1 / (1 + np.exp(-ab[0] - ab[1] * dlib_score)) - score

    print("scale of scores:", least_squares(apart, [1.0, 1.0]).x.round(2))


def _record_networks() -> dict[Any, Box]:
    """The network's own boxes by the five points, as `box_of` is given them from now on."""
    found: dict[Any, Box] = {}
    inner = yunet.box_of

    def record(points: Any, network: Box) -> Box | None:
        found[tuple((x, y) for x, y in points.tolist())] = network
        return inner(points, network)

    yunet.box_of = record
    return found


def _in_frame(points: Any, box: Box) -> tuple[float, float, float]:
    """Centre and logarithm of the side of a box in the frame of the mean face."""
    matrix = fit_similarity(yunet.FIVE, points)
    scale = math.hypot(matrix[0, 0], matrix[1, 0])
    inverse = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2]
    x, y = transform_points(inverse, np.array([box.center]))[0]
    return float(x), float(y), math.log(math.sqrt(abs(box.width * box.height)) / scale)


def _least_absolute(X: Any, y: Any, rounds: int = 30) -> Any:
    """Least absolute deviations by weighted least squares."""
    weights = np.ones(len(X))
    for _ in range(rounds):
        coef = np.linalg.solve((X * weights[:, None]).T @ X, (X * weights[:, None]).T @ y)
        weights = 1 / np.maximum(np.abs(y - X @ coef), 0.01)
    return coef


if __name__ == "__main__":
    main()
