"""Training without annotation: the predictor's own landmarks on a clean photo replace it.

On a clean photo a predictor is mostly right, and where it is not, runs on mirrored and turned copies
disagree. The mean of these runs is the annotation, faces on which they disagree most are left out, and the
degraded versions of the photo supply the errors. This tells in which order to trust faces, but not how large
their errors are in percent.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from facereject.faces.datasets import FaceDataset, FaceSample, Problem
from facereject.faces.detectors.base import Detector, find_faces
from facereject.faces.face import Box
from facereject.faces.features.recipe import MirroredRuns
from facereject.faces.geometry import FloatArray
from facereject.faces.images import ANIMATION_SUFFIXES, IMAGE_SUFFIXES, ImageError, Views
from facereject.faces.landmarks.base import Landmarks, NoLandmarksError, predict_landmarks
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet

Photos = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def annotate_by_predictor(
    photos: Photos,
    predictor: Landmarks,
    detector: Detector,
    *,
    normalizer: str | None = None,
    share: float = 0.75,
) -> FaceDataset:
    """Faces of clean photos, annotated by the predictor itself.

    Parameters
    ----------
    photos : folder, or sequence of image files
        Of a folder all images in it and its sub-folders.
    predictor : callable
    detector : Detector
    normalizer : str or None
        As in `train_face_rejector`.
    share : float, default=0.75
        Share of the faces that is kept: those on which the runs of the predictor agree best.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share:g}")
    paths = photo_paths(photos)
    found: list[tuple[Path, Box, FloatArray]] = []
    problems = []
    for path in paths:
        try:
            view = Views(path)
            for detection in find_faces(detector, view):
                landmarks = predict_landmarks(predictor, view.shown_to(predictor), detection.box)
                found.append((path, detection.box, landmarks))
        except (ImageError, NoLandmarksError, OSError) as error:
            problems.append(Problem(str(path), str(error)))
    if not found:
        raise ValueError(f"photos: no face was found in {len(paths)} images")
    runs = MirroredRuns(points=_points(found, normalizer or getattr(predictor, "normalizer", None)))
    samples, doubts = [], []
    for path, _, landmarks in found:
        view = Views(path)
        try:
            mean, values = runs(view.shown_to(predictor), landmarks, predictor)
        except NoLandmarksError as error:
            problems.append(Problem(str(path), str(error)))
            continue
        samples.append(FaceSample(path, mean, str(path)))
        doubts.append(float(values.mean()))
    kept = np.sort(np.argsort(doubts, kind="stable")[: max(1, round(share * len(doubts)))])
    return FaceDataset([samples[int(i)] for i in kept], problems)


def photo_paths(photos: Photos) -> list[Path]:
    if isinstance(photos, str | os.PathLike):
        folder = Path(photos)
        if not os.path.isdir(folder):
            raise ValueError(f"photos: {folder} is no folder; pass a folder or a list of image files")
        known = IMAGE_SUFFIXES | ANIMATION_SUFFIXES
        paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in known)
    else:
        paths = [Path(path) for path in photos]
    if not paths:
        raise ValueError("photos: the folder or list has no images")
    return paths


def _points(found: Sequence[tuple[Path, Box, FloatArray]], rule: str | None) -> PointSet:
    shapes = [landmarks for _, _, landmarks in found]
    counts = {len(shape) for shape in shapes}
    if len(counts) != 1:
        raise ValueError(f"predictor: places {min(counts)} to {max(counts)} points")
    if counts == {POINTS_300W.n} and rule in (None, POINTS_300W.normalizer):
        return POINTS_300W
    return PointSet.learned(np.array(shapes), [box for _, box, _ in found], normalizer=rule or "box")
