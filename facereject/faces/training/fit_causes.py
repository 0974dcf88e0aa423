"""Fitting the causes of large errors: what was done to the images is known, and boxes without a face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces.datasets import FaceSample
from facereject.faces.face import CAUSES, Box, Detection
from facereject.faces.geometry import FloatArray, bounding_box, overlap
from facereject.faces.images import ImageError, Views
from facereject.faces.landmarks.base import NoLandmarksError, predict_landmarks
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.compact import CauseModel, cause_terms
from facereject.faces.training.extract import Extractor
from facereject.faces.training.table import FaceTable

#: the cause of each degradation; "unclear" where there is no single remedy
CAUSE_OF = {
    "blur": "blur",
    "motion": "motion",
    "noise": "noise",
    "jpeg": "unclear",
    "dark": "dark",
    "bright": "bright",
    "shadow": "dark",
    "haze": "unclear",
    "low_resolution": "low_resolution",
    "occlusion": "occluded",
    "rotation": "turned",
    "cut": "cut_off",
    "small": "low_resolution",
    "old_print": "unclear",
}

# how far the middle of the face is off the middle of its outline, in face widths, when the head is turned
_TURNED = 0.2

# inverse strength of the regularisation; see scikit-learn's LogisticRegression
_C = 0.03

# boxes without a face: sides in sizes of the face, tries to find one, overlap with the face that is allowed
_SIDES, _TRIES, _OVERLAP = (0.3, 0.7), 20, 0.1


class CauseFit(NamedTuple):
    """The causes of the rows that were used, as known and as found by a model that did not see them."""

    model: CauseModel
    known: NDArray[np.str_]
    found: NDArray[np.str_]


def known_causes(table: FaceTable, points: PointSet) -> NDArray[np.str_]:
    """The cause of every row as far as it is known: of what one degradation was done to, and of clean rows.

    Clean photos of turned heads count as turned, others as unclear. Empty where several things were
    done at once or the box was moved.
    """
    causes = np.array([CAUSE_OF.get(kind, "") for kind in table.kinds], dtype=object)
    for i in np.flatnonzero(table.clean):
        causes[i] = "turned" if _turned(table.truth[i].astype(np.float64), points) > _TURNED else "unclear"
    return causes.astype(np.str_)


def fit_causes(
    columns: NDArray[np.float32], causes: NDArray[np.str_], fold: NDArray[np.int64]
) -> CauseFit | None:
    """Fit to rows of compact columns whose causes are known; None if there are fewer than two causes."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(causes)) < 2:
        return None
    mean, scale = columns.mean(axis=0), columns.std(axis=0) + 1e-6
    terms = cause_terms((columns - mean) / scale)[:, :-1]

    def fitted(rows: NDArray[np.bool_]) -> NDArray[np.float32]:
        model = LogisticRegression(C=_C, max_iter=500, class_weight="balanced").fit(terms[rows], causes[rows])
        return _weights(model)

    found = np.full(len(causes), "unclear", dtype=max(causes.dtype, np.dtype("<U7")))
    constant = np.ones((len(terms), 1))
    for k in np.unique(fold):
        if len(np.unique(causes[fold != k])) > 1:
            odds = np.hstack([terms, constant])[fold == k] @ fitted(fold != k)
            found[fold == k] = np.array(list(CAUSES))[odds.argmax(axis=1)]
    return CauseFit(CauseModel(mean, scale, fitted(np.ones(len(causes), dtype=bool))), causes, found)


def _weights(model: Any) -> NDArray[np.float32]:
    """The weights of a fitted logistic regression, in the order of `CAUSES`."""
    coef, constant = model.coef_, model.intercept_
    if len(model.classes_) == 2:
        coef, constant = np.vstack([-coef, coef]) / 2, np.concatenate([-constant, constant]) / 2
    weights = np.zeros((coef.shape[1] + 1, len(CAUSES)), dtype=np.float32)
    # a cause without an example is never the most likely one
    weights[-1] = _NEVER
    for name, row, offset in zip(model.classes_, coef, constant, strict=True):
        place = list(CAUSES).index(name)
        weights[:-1, place], weights[-1, place] = row, offset
    weights[-1, list(CAUSES).index("no_face_in_box")] -= _NO_FACE_PENALTY
    return weights


# Log-odds. Faces that are hardly seen look like none, and their detector rarely finds them to learn from: it
# takes clear evidence to call a box empty.
_NO_FACE_PENALTY = 3.0

# log-odds below those of everything; a model file holds finite numbers
_NEVER = -1e6


def background_features(
    samples: Sequence[FaceSample], extractor: Extractor
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Features of boxes beside the face of clean photos, and the number of each one's sample."""
    found, owners = [], []
    for index, sample in enumerate(samples):
        rng = np.random.default_rng([extractor.random_state, index, _BACKGROUND])
        try:
            view = Views(sample.load())
        except ImageError:
            continue
        box = _box_beside(view.size, sample.landmarks, rng)
        if box is None:
            continue
        try:
            shown = view.shown_to(extractor.predictor)
            points = predict_landmarks(extractor.predictor, shown, box, extractor.points.n)
            seen = extractor.features(view, Detection(box, 0.0), points, extractor.predictor)
            found.append(seen.values)
        except NoLandmarksError:
            continue
        owners.append(index)
    width = extractor.features.n_features
    return np.array(found, dtype=np.float32).reshape(-1, width), np.array(owners, dtype=np.int64)


# tells the random numbers of boxes without a face from those of degraded versions
_BACKGROUND = 1_000_003


def _box_beside(size: tuple[int, int], landmarks: FloatArray, rng: np.random.Generator) -> Box | None:
    """A square in the image that hardly overlaps the face; None if none was found."""
    face = bounding_box(landmarks)
    for _ in range(_TRIES):
        side = rng.uniform(*_SIDES) * max(face.width, face.height)
        room = np.array(size) - side
        if (room <= 0).any():
            continue
        x, y = rng.uniform(0, room)
        box = Box(float(x), float(y), float(side), float(side))
        if overlap(box, face) < _OVERLAP:
            return box
    return None


def _turned(landmarks: FloatArray, points: PointSet) -> float:
    """How far the middle points are from the middle of the outer ones, in widths of the face."""
    shape = points.mean_shape
    inner = np.abs(shape[:, 0]) < 0.1
    if inner.all() or not inner.any():
        return 0.0
    left, right = landmarks[shape[:, 0].argmin()], landmarks[shape[:, 0].argmax()]
    across = right - left
    width = float(across @ across)
    if width <= 0:
        return 0.0
    return abs(float((landmarks[inner].mean(axis=0) - (left + right) / 2) @ across)) / width
