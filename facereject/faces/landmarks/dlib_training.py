"""Training dlib's landmark predictor: for cross-fitting, and for faces the published model does not suit."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import dlib
import numpy as np

from facereject._files import replacing
from facereject.faces.datasets import FaceSample, match_face
from facereject.faces.detectors.base import Detector, check_detector, find_faces
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray
from facereject.faces.images import ImageError, Views
from facereject.faces.landmarks.dlib_trees import LandmarkPredictor
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet, mirror_partners
from facereject.parallel import RunProgress


def train_landmark_predictor(
    samples: Sequence[FaceSample],
    path: str | os.PathLike[str],
    *,
    detector: Detector | None = None,
    oversampling: int = 5,
    jitter: float = 0.1,
    depth: int = 4,
    cascades: int = 10,
    trees: int = 500,
    mirrored: bool = False,
    workers: int | None = None,
    random_state: int = 0,
    progress: Callable[[RunProgress], None] | None = None,
) -> LandmarkPredictor:
    """Train dlib's cascade of regression trees and write it to a .dat file.

    Boxes come from the detector that will be used later, as the predictor learns where they sit; faces it
    misses are left out.

    Parameters
    ----------
    samples : sequence of FaceSample
        Annotated faces, such as a FaceDataset, with any number of points.
    path : path
        Where the model file is written; missing folders are made.
    detector : Detector or None
        None is dlib's with threshold -1, which finds nearly all faces.
    oversampling, jitter, depth, cascades, trees : numbers
        dlib's training options: random starts per face, shift of the box at each start (share of its size),
        depth of a tree, stages, and trees per stage.
    mirrored : bool, default=False
        Learn from the mirror image of every face, too; the points must be symmetric, as the 68 of 300-W are.
    workers : int or None
        Threads; None uses all cores.
    random_state : int
        Seed; equal seeds give equal predictors.
    progress : callable or None
        Gets a `RunProgress` of the photos read, before dlib's own training starts.
    """
    detector = FaceDetector.for_training() if detector is None else check_detector(detector)
    images, shapes = [], []
    for number, sample in enumerate(samples):
        if progress is not None:
            progress(RunProgress(number, len(samples), "faces"))
        try:
            view = Views(sample.load())
        except ImageError:
            continue
        found = match_face(find_faces(detector, view), sample.landmarks)
        if found is None:
            continue
        images.append(view.gray)
        shapes.append([_object(found.box, sample.landmarks)])
        if mirrored:
            last = view.gray.shape[1] - 1
            box = found.box._replace(x=last + 1 - found.box.x - found.box.width)
            landmarks = np.column_stack([last - sample.landmarks[:, 0], sample.landmarks[:, 1]])
            images.append(np.ascontiguousarray(view.gray[:, ::-1]))
            shapes.append([_object(box, landmarks[_partners(landmarks)])])
    if len(images) < 2:
        raise ValueError(f"samples must hold at least two detectable faces, found {len(images)}")
    options = dlib.shape_predictor_training_options()
    options.oversampling_amount = oversampling
    options.oversampling_translation_jitter = jitter
    options.tree_depth = depth
    options.cascade_depth = cascades
    options.num_trees_per_cascade_level = trees
    options.num_threads = workers or os.cpu_count() or 1
    options.random_seed = str(random_state)
    options.be_verbose = False
    model = dlib.train_shape_predictor(images, shapes, options)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        model.save(file.name)
    return LandmarkPredictor(path)


def _object(box: Box, landmarks: FloatArray) -> Any:
    x, y, width, height = (round(value) for value in box)
    points = [dlib.point(round(px), round(py)) for px, py in landmarks]
    return dlib.full_object_detection(dlib.rectangle(x, y, x + width - 1, y + height - 1), points)


def _partners(landmarks: FloatArray) -> list[int]:
    """For each landmark the one that takes its place in a mirror image."""
    points = POINTS_300W if len(landmarks) == POINTS_300W.n else PointSet(landmarks, "box")
    partners = mirror_partners(points)
    if partners is None:
        raise ValueError("mirrored: the mean shape of these landmarks is not symmetric")
    return list(partners)
