"""The 10 least and the 10 most uncertain test faces with true and predicted landmarks.

The picture shows photographs of 300-W, whose licence does not allow publishing them: it stays in the work
folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from facereject.faces import FaceDetector, LandmarkPredictor
from facereject.faces.datasets import match_face
from facereject.faces.geometry import bounding_box
from facereject.faces.images import to_gray
from tools.reproduce.landmark_scores import SELE, split_rows, unpack
from tools.reproduce.landmark_tables import CROSS_FITTED, Faces

# drawn beyond the landmarks on every side, as a share of the face
_MARGIN = 0.35


def draw_faces(faces: Faces, result: dict[str, Any], work: Path, method: str = SELE, each: int = 10) -> Path:
    """Draw the faces of one split, ranked by ``method``, with the predictors that have not seen them.

    Parameters
    ----------
    faces : Faces
    result : dict
        A stored result of the cross-fitted predictors.
    work : folder
        Where the picture is written.
    method : str
    each : int
        Faces at either end of the ranking.
    """
    table = faces.tables[CROSS_FITTED]
    test = split_rows([faces.groups[i] for i in table.sample], result["split"]).test
    part = unpack(result["test"])
    order = np.argsort(part.scores[method], kind="stable")
    each = min(each, len(order) // 2)
    chosen = [*order[:each], *order[len(order) - each :]]
    columns = 5
    rows = 2 * -(-each // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.4 * columns, 2.7 * rows), layout="constrained")
    for ax in axes.flat:
        ax.set_axis_off()
    # least uncertain faces fill the upper half
    places = [*range(each), *range(rows * columns // 2, rows * columns // 2 + each)]
    for place, i in zip(places, chosen, strict=True):
        sample = int(table.sample[test[i]])
        rank = int(np.flatnonzero(order == i)[0]) + 1
        error, detector = part.losses[i], table.detector_scores[test[i]]
        title = f"rank {rank} of {len(order)}, error {error:.1f} %\ndetector score {detector:.2f}"
        _draw_face(axes.flat[place], faces, sample, title)
    figure.suptitle(f"{method}: least uncertain above, most uncertain below; truth green, predicted orange")
    path = work / "faces-by-uncertainty.png"
    figure.savefig(path, dpi=80)
    plt.close(figure)
    return path


def _draw_face(ax: Any, faces: Faces, index: int, title: str) -> None:
    sample = faces.samples[index]
    image = sample.load()
    gray = to_gray(image)
    found = match_face(FaceDetector(threshold=-1.0).detect(gray), sample.landmarks)
    assert found is not None, "only detected faces have a rank"
    predicted = LandmarkPredictor(faces.predictors[faces.fold[index]])(gray, found.box)
    box = bounding_box(np.vstack([sample.landmarks, predicted]))
    ax.imshow(image)
    for points, color in ((sample.landmarks, "#19c319"), (predicted, "#ff8c00")):
        ax.plot(*points.T, ".", markersize=3, color=color)
    ax.set_xlim(box.x - _MARGIN * box.width, box.x + (1 + _MARGIN) * box.width)
    ax.set_ylim(box.y + (1 + _MARGIN) * box.height, box.y - _MARGIN * box.height)
    ax.set_title(title, fontsize=7)
