"""COCO: ``images`` and ``annotations`` with ``keypoints`` [x, y, v, …] in pixels, as MMPose has for WFLW.

``face_kpts`` of COCO-WholeBody are read as well, and the list of results that detectors write, where
``image_id`` is the name of the file or, with ``images`` missing, its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from facereject._files import suffix_of
from facereject.assess.found import FoundFace, LandmarkFileError, number, pairs, read_json

SUFFIXES = (".json",)

_POINTS = ("face_kpts", "keypoints")


def knows(path: str, beginning: str) -> bool:
    """Whether a file of JSON speaks of keypoints of images."""
    if suffix_of(path) not in SUFFIXES:
        return False
    listed = '"annotations"' in beginning or '"images"' in beginning
    return listed or ('"image_id"' in beginning and any(f'"{name}"' in beginning for name in _POINTS))


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all annotations, in the order of the images."""
    try:
        content = read_json(path)
        annotations = content if isinstance(content, list) else content["annotations"]
        listed = [] if isinstance(content, list) else content.get("images", [])
        names = {image["id"]: str(image["file_name"]) for image in listed}
        # stable: the faces of an image stay in their order
        order = {key: i for i, key in enumerate(names)}
        annotations = sorted(annotations, key=lambda a: order.get(a["image_id"], len(order)))
        for annotation in annotations:
            key = annotation["image_id"]
            yield FoundFace(names.get(key, str(key)), _points(annotation), 0, number(annotation.get("score")))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, LandmarkFileError):
            raise
        raise LandmarkFileError(f"{path}: not keypoints in the format of COCO ({error!r})") from None


def _points(annotation: dict[str, Any]) -> Any:
    if annotation.get("face_valid") is False:
        return None
    name = _POINTS[0] if _POINTS[0] in annotation else _POINTS[1]
    values = np.array(annotation[name], dtype=np.float64)
    triples = values.reshape(-1, 3) if values.ndim == 1 else values
    # v = 0: a point without a place, for which COCO writes x = y = 0
    if triples.shape[1] > 2 and (triples[:, 2] == 0).all():
        return None
    return pairs(triples[:, 0], triples[:, 1])
