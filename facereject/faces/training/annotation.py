"""What training takes from the annotation: the points; and photos without one, annotated by the predictor.

On a clean photo a predictor is mostly right, and where it is not, runs on mirrored and turned copies
disagree. The mean of these runs is the annotation, faces on which they disagree most are left out, and the
degraded versions of the photo supply the errors. This tells in which order to trust faces, but not how large
their errors are in percent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from facereject.faces.datasets import FaceDataset, FaceSample, Problem, match_face
from facereject.faces.detectors.base import Detector, find_faces
from facereject.faces.face import Box
from facereject.faces.features.recipe import MirroredRuns
from facereject.faces.images import ANIMATION_SUFFIXES, IMAGE_SUFFIXES, ImageError, Views
from facereject.faces.landmarks.base import Landmarks, NoLandmarksError, predict_landmarks
from facereject.faces.landmarks.point_set import MEAN_SHAPE, POINTS_300W, PointSet

# faces whose boxes are looked at: their median place and size need no more
_LOOKED_AT = 60

# rules that only make sense for the 68 points of 300-W
_RULES_OF_300W = ("outer_eyes", "pupils")


def learn_points(
    samples: Sequence[FaceSample],
    predictor: Landmarks,
    detector: Detector,
    *,
    normalizer: str | None = None,
    feature_points: Sequence[int] | None = None,
) -> PointSet:
    """What a model is to know about the points of a predictor.

    68 points are those of 300-W, unless a rule of another mark-up is given; their mean shape is known. That
    of others is learned from the annotation (`PointSet.learned`).

    Parameters
    ----------
    samples : sequence of FaceSample
        All annotated with the points of the predictor.
    predictor : callable
        May declare ``n_points``, ``normalizer`` and ``feature_points``.
    detector : Detector
    normalizer : str or None
        None is what the predictor declares, else "outer_eyes" for 68 points and "box" for others.
    feature_points : sequence of int or None
        None is what the predictor declares, else all points.
    """
    n_points = common_count(samples)
    declared = getattr(predictor, "n_points", None)
    if declared not in (None, n_points):
        raise ValueError(
            f"samples: annotated with {n_points} points, but the predictor places {declared}; choose the "
            "annotated points that are its own, in its order (FaceDataset.with_points, --points)"
        )
    used = getattr(predictor, "feature_points", None) if feature_points is None else feature_points
    rule = getattr(predictor, "normalizer", None) if normalizer is None else normalizer
    return points_of(samples, rule, used, lambda: _boxes(samples, detector))


def points_of(
    samples: Sequence[FaceSample],
    rule: str | None,
    used: Sequence[int] | None,
    boxes: Callable[[], Sequence[Box | None]],
) -> PointSet:
    """The points of samples: those of 300-W, or learned with the boxes that a detector gives the faces."""
    chosen = None if used is None else tuple(used)
    if common_count(samples) == POINTS_300W.n and (rule is None or rule in _RULES_OF_300W):
        return PointSet(MEAN_SHAPE, rule or POINTS_300W.normalizer, chosen)
    shapes = np.array([sample.landmarks for sample in samples])
    return PointSet.learned(shapes, boxes(), normalizer=rule or "box", used=chosen)


def common_count(samples: Sequence[FaceSample]) -> int:
    """How many points the samples are annotated with; ValueError if they differ."""
    counts = sorted({len(sample.landmarks) for sample in samples})
    if len(counts) != 1:
        found = "none" if not counts else " and ".join(map(str, counts))
        raise ValueError(f"samples must all be annotated with the same number of points, found {found}")
    return counts[0]


def _boxes(samples: Sequence[FaceSample], detector: Detector) -> list[Box | None]:
    """The detector's boxes of some faces, evenly spread; None for the others and where it found none."""
    boxes: list[Box | None] = [None] * len(samples)
    chosen = np.unique(np.linspace(0, len(samples) - 1, min(_LOOKED_AT, len(samples))).astype(int))
    for i in chosen.tolist():
        try:
            faces = find_faces(detector, Views(samples[i].load()))
        except ImageError:
            continue
        except (TypeError, ValueError):
            # not a detector, or one that returns something else than detections
            raise
        except Exception:
            # as in extraction, where it is counted
            continue
        found = match_face(faces, samples[i].landmarks)
        boxes[i] = None if found is None else found.box
    return boxes


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
    found: list[FaceSample] = []
    boxes, problems = [], []
    for path in paths:
        try:
            view = Views(path)
            for detection in find_faces(detector, view):
                landmarks = predict_landmarks(predictor, view.shown_to(predictor), detection.box)
                found.append(FaceSample(path, landmarks, str(path)))
                boxes.append(detection.box)
        except (ImageError, NoLandmarksError, OSError) as error:
            problems.append(Problem(str(path), str(error)))
    if not found:
        raise ValueError(f"photos: no face was found in {len(paths)} images")
    rule = normalizer or getattr(predictor, "normalizer", None)
    runs = MirroredRuns(points=points_of(found, rule, None, lambda: boxes))
    samples, doubts = [], []
    for sample in found:
        view = Views(sample.image_path)
        try:
            mean, values = runs(view.shown_to(predictor), sample.landmarks, predictor)
        except NoLandmarksError as error:
            problems.append(Problem(sample.photo, str(error)))
            continue
        samples.append(FaceSample(sample.image_path, mean, sample.photo))
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
