"""MediaPipe: the result of its face landmarker as JSON, points as shares of width and height.

``faceLandmarks`` (as its JavaScript names it, ``face_landmarks`` in Python) or ``multi_face_landmarks`` of
older versions: a list of faces, each a list of ``{"x": …, "y": …, "z": …}``. A file has one result, named
after its image; or a list of results with ``image`` (and ``frame``), one per line at will; or an object from
image to result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from facereject._files import suffix_of
from facereject.sources.landmark_files.found import (
    FoundFace,
    LandmarkFileError,
    named_after,
    pairs,
    read_json,
)

SUFFIXES = (".json", ".jsonl")

_FACES = ("faceLandmarks", "face_landmarks", "multi_face_landmarks", "multiFaceLandmarks")
_IMAGES = ("image", "file_name", "file", "image_path")


def knows(path: str, beginning: str) -> bool:
    """Whether a file of JSON speaks of such faces."""
    return suffix_of(path) in SUFFIXES and any(f'"{name}"' in beginning for name in _FACES)


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all results of a file, those of an image together."""
    try:
        found = list(_results(read_json(path), named_after(path)))
        order = {name: i for i, name in enumerate(dict.fromkeys(face.image for face in found))}
        yield from sorted(found, key=lambda face: order[face.image])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        if isinstance(error, LandmarkFileError):
            raise
        raise LandmarkFileError(f"{path}: not a result of MediaPipe's face landmarker ({error!r})") from None


def _results(content: Any, image: str) -> Iterator[FoundFace]:
    if isinstance(content, list):
        for entry in content:
            yield from _results(entry, image)
        return
    name = next((key for key in _FACES if key in content), None)
    if name is None:
        for key, entry in content.items():
            yield from _results(entry, key)
        return
    image = next((str(content[key]) for key in _IMAGES if key in content), image)
    frame = int(content.get("frame", 0))
    faces = content[name] or []
    for face in faces:
        landmarks = (face.get("landmark") or face["landmarks"]) if isinstance(face, dict) else face
        xy = [(p["x"], p["y"]) if isinstance(p, dict) else p[:2] for p in landmarks]
        points = np.array(xy, dtype=np.float64).reshape(-1, 2)
        yield FoundFace(image, pairs(points[:, 0], points[:, 1]), frame, None, True)
    if not faces:
        yield FoundFace(image, None, frame)
