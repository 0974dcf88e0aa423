"""COCO: ``images`` and ``annotations`` with ``keypoints`` [x, y, v, …] in pixels, as MMPose has for WFLW.

``face_kpts`` of COCO-WholeBody are read as well, and the list of results that detectors write, where
``image_id`` is the name of the file or, with ``images`` missing, its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from facereject._files import suffix_of
from facereject.sources.landmark_files.found import FoundFace, LandmarkFileError, number, pairs, read_json

SUFFIXES = (".json",)

_POINTS = ("face_kpts", "keypoints")


def knows(path: str, beginning: str) -> bool:
    """Whether a file of JSON speaks of keypoints of images."""
    if suffix_of(path) not in SUFFIXES:
        return False
    listed = '"annotations"' in beginning or '"images"' in beginning
    return listed or ('"image_id"' in beginning and any(f'"{name}"' in beginning for name in _POINTS))


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all annotations, in the order of the images; images without any have none."""
    try:
        content = read_json(path)
        annotations = content if isinstance(content, list) else content["annotations"]
        listed = [] if isinstance(content, list) else content.get("images", [])
        names = {image["id"]: str(image["file_name"]) for image in listed}
        faces: dict[Any, list[dict[str, Any]]] = {key: [] for key in names}
        for annotation in annotations:
            faces.setdefault(annotation["image_id"], []).append(annotation)
        if annotations and not any(name in annotation for annotation in annotations for name in _POINTS):
            raise LandmarkFileError(f"{path}: none of its annotations has {' or '.join(_POINTS)}")
        for key, found in faces.items():
            image = names.get(key, str(key))
            for annotation in found:
                yield FoundFace(image, _points(annotation), 0, number(annotation.get("score")))
            if not found:
                yield FoundFace(image, None)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, LandmarkFileError):
            raise
        raise LandmarkFileError(f"{path}: not keypoints in the format of COCO ({error!r})") from None


def _points(annotation: dict[str, Any]) -> Any:
    name = next((name for name in _POINTS if name in annotation), None)
    if annotation.get("face_valid") is False or name is None:
        return None
    values = np.array(annotation[name], dtype=np.float64)
    triples = values.reshape(-1, 3) if values.ndim == 1 else values
    # v = 0: a point without a place, for which COCO writes x = y = 0
    if triples.shape[1] > 2 and (triples[:, 2] == 0).all():
        return None
    return pairs(triples[:, 0], triples[:, 1])
