"""COCO: ``images`` and ``annotations`` with ``keypoints`` [x, y, v, …] in pixels, as MMPose has for WFLW.

``face_kpts`` of COCO-WholeBody are read as well, and the list of results that detectors write, where
``image_id`` is the name of the file or, with ``images`` missing, its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from facereject.faces.geometry import FloatArray
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    json_parts,
    number,
    pairs,
)

SUFFIXES = (".json",)

_POINTS = ("face_kpts", "keypoints")


def knows(path: str, beginning: str) -> bool:
    """Whether the JSON lists images, annotations or results with keypoints."""
    listed = '"annotations"' in beginning or '"images"' in beginning
    return listed or ('"image_id"' in beginning and any(f'"{name}"' in beginning for name in _POINTS))


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all annotations, in the order of the images; images without any have none."""
    names: dict[Any, tuple[str, int]] = {}
    faces: dict[Any, list[FoundFace]] = {}
    for key, part in json_parts(path, ("images", "annotations")):
        if key == "images":
            # files of facereject have frames of videos
            names[part["id"]] = str(part["file_name"]), int(part.get("frame", 0))
        elif key in ("annotations", ""):
            faces.setdefault(part["image_id"], []).append(_face(path, part))
    if faces and not any(
        face.landmarks is not None or face.problem for found in faces.values() for face in found
    ):
        raise LandmarkFileError(f"{path}: none of its annotations has {' or '.join(_POINTS)}")
    for key in dict.fromkeys([*names, *faces]):
        image, frame = names.get(key, (str(key), 0))
        for face in faces.get(key, [FoundFace("", None)]):
            yield face._replace(image=image, frame=frame)


def _face(path: str, annotation: dict[str, Any]) -> FoundFace:
    try:
        return FoundFace("", _points(annotation), 0, number(annotation.get("score")))
    except DAMAGE as error:
        return FoundFace("", None, problem=f"{path}: damaged keypoints ({error})")


def _points(annotation: dict[str, Any]) -> FloatArray | None:
    name = next((name for name in _POINTS if name in annotation), None)
    if annotation.get("face_valid") is False or name is None:
        return None
    values = np.array(annotation[name], dtype=np.float64)
    triples = values.reshape(-1, 3) if values.ndim == 1 else values
    if triples.ndim != 2 or triples.shape[1] < 2:
        raise ValueError(f"an array of shape {values.shape}")
    if triples.shape[1] > 2 and name == "keypoints" and "score" not in annotation:
        # v = 0: a point without a place, for which COCO writes x = y = 0; in results it is a confidence
        triples[(triples[:, 2] == 0) & (triples[:, :2] == 0).all(axis=1)] = np.nan
    return pairs(triples[:, 0], triples[:, 1])
