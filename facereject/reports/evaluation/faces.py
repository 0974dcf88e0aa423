"""The most and the least certain faces of an evaluation, and the decisions that turned out worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.drawing.crops import face_crop
from facereject.faces import FaceEvaluation, FaceRejector, FaceSample, ImageError, match_face
from facereject.faces.detectors.base import find_faces
from facereject.faces.images.load import ImageArray
from facereject.faces.landmarks.base import NoLandmarksError, predict_landmarks
from facereject.faces.views import Views


class FaceShot(NamedTuple):
    """A crop with points, its decision and lines of text below it."""

    image: ImageArray
    accepted: bool
    name: str
    lines: list[str]


def face_groups(
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    evaluation: FaceEvaluation,
    rows: NDArray[np.int64],
    accepted: NDArray[np.bool_],
    *,
    count: int = 6,
) -> list[tuple[str, list[FaceShot]]]:
    """The most and the least certain faces, and the decisions that turned out worst, with pictures.

    ``rows`` are the rows of the evaluation's table that show photographs as they are, ``accepted`` the
    decisions on them.
    """
    losses, uncertainty = evaluation.table.losses[rows], evaluation.uncertainty[rows]
    yes, no = np.flatnonzero(accepted), np.flatnonzero(~accepted)
    chosen = {
        "Most certain": yes[np.argsort(uncertainty[yes])],
        "Least certain": no[np.argsort(-uncertainty[no])],
        "Accepted, with the largest errors": yes[np.argsort(-losses[yes])],
        "Rejected, with the smallest errors": no[np.argsort(losses[no])],
    }
    return [
        (title, _shots(rejector, samples, evaluation, rows[order[:count]])) for title, order in chosen.items()
    ]


def _shots(
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    evaluation: FaceEvaluation,
    rows: NDArray[np.int64],
) -> list[FaceShot]:
    shots = []
    for row in rows:
        sample = samples[int(evaluation.table.sample[row])]
        try:
            image = sample.load()
            view = Views(image)
            faces = find_faces(rejector.detector, view)
            found = match_face(faces, sample.landmarks, points=rejector.points)
            if found is None:
                continue
            shown = view.shown_to(rejector.predictor)
            points = predict_landmarks(rejector.predictor, shown, found.box, rejector.n_points)
        except (ImageError, NoLandmarksError):
            # the file changed since it was evaluated: its picture is no evidence any more
            continue
        uncertainty = float(evaluation.uncertainty[row])
        lines = [
            f"error {evaluation.table.losses[row]:.1f} %",
            f"expected {rejector.calibration.expected_error(uncertainty):.1f} %",
            f"uncertainty {uncertainty:.3f}",
        ]
        taken = rejector.decide(uncertainty)
        crop = face_crop(image, points, taken, sample.landmarks)
        shots.append(FaceShot(crop, taken, sample.image_path.name, lines))
    return shots
