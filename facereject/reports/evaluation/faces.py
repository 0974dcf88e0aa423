"""The most and the least certain faces of an evaluation, and the decisions that turned out worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces import FaceEvaluation, FaceRejector, FaceSample, ImageError
from facereject.faces.images import ImageArray, Views
from facereject.faces.plugins import color_of
from facereject.faces.training.extract import Extractor
from facereject.outputs._drawing.crops import face_crop

# faces of each group
_SHOWN = 6


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
) -> list[tuple[str, list[FaceShot]]]:
    """The most and the least certain faces, and the decisions that turned out worst, with crops.

    ``rows`` are rows of the evaluation's table, ``accepted`` the decisions on them.
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
        (title, _shots(rejector, samples, evaluation, rows[order[:_SHOWN]]))
        for title, order in chosen.items()
    ]


def _shots(
    rejector: FaceRejector,
    samples: Sequence[FaceSample],
    evaluation: FaceEvaluation,
    rows: NDArray[np.int64],
) -> list[FaceShot]:
    table, shots = evaluation.table, []
    for row in rows.tolist():
        index, variant = int(table.sample[row]), int(table.variant[row])
        image = _picture(evaluation.extractor, samples[index], index, variant)
        if image is None:
            continue
        uncertainty = float(evaluation.uncertainty[row])
        lines = [
            f"error {table.losses[row]:.1f} %",
            f"expected {rejector.calibration.expected_error(uncertainty):.1f} %",
            f"uncertainty {uncertainty:.3f}",
        ]
        if variant:
            lines.append(table.kinds[row].replace("_", " ").replace("+", ", "))
        taken = rejector.decide(uncertainty)
        points, truth = (each[row].astype(np.float64) for each in (table.landmarks, table.truth))
        crop = face_crop(image, points, taken, truth)
        shots.append(FaceShot(crop, taken, samples[index].image_path.name, lines))
    return shots


def _picture(extractor: Extractor | None, sample: FaceSample, index: int, variant: int) -> ImageArray | None:
    """The image of a row, degraded as it was; None if it cannot be made again."""
    if extractor is None:
        return None
    try:
        view = Views(sample.load())
    except ImageError:
        return None
    if sample.predicted is not None:
        # landmarks from a file are of the image as it is, and no detector is run
        return view.rgb
    gray = color_of(extractor.predictor) == color_of(extractor.detector) == "gray"
    made = extractor.picture(view.gray if gray else view.rgb, sample.landmarks, index, variant)
    # the file has changed since it was evaluated, so the crop would mislead
    if made is None:
        return None
    return made.view.rgb if variant else view.rgb
