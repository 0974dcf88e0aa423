"""MediaPipe: the result of its face landmarker as JSON, points as shares of width and height.

``faceLandmarks`` (as its JavaScript names it, ``face_landmarks`` in Python) or ``multi_face_landmarks`` of
older versions: a list of faces, each a list of ``{"x": …, "y": …, "z": …}``. A file has one result, named
after its image; or several with ``image`` (and ``frame``), in a JSON list or one per line; or an object from
image to result; or the list of faces alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from facereject.faces.geometry import FloatArray
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    grouped,
    json_parts,
    named_after,
    pairs,
)

SUFFIXES = (".json", ".jsonl")

_FACES = ("faceLandmarks", "face_landmarks", "multi_face_landmarks", "multiFaceLandmarks")
_IMAGES = ("image", "file_name", "file", "image_path")
# a list of faces, each a list of points
_BARE = re.compile(r'\s*\[\s*\[\s*\{\s*"x"')


def knows(path: str, beginning: str) -> bool:
    """Whether the JSON has faces of MediaPipe."""
    return any(f'"{name}"' in beginning for name in _FACES) or bool(_BARE.match(beginning))


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all results of a file, those of an image together."""
    yield from grouped(_read(path))


def _read(path: str) -> Iterator[FoundFace]:
    image, whole = named_after(path), {}
    for key, part in json_parts(path):
        if not key:
            yield from _results(part, image, path)
        elif isinstance(part, dict) and any(name in part for name in _FACES):
            # read at once, so that a large file is never in memory as a whole
            yield from _results(part, key, path)
        else:
            # part of a single result, or an object around results
            whole[key] = part
    yield from _results(whole, image, path)


def _results(content: Any, image: str, path: str) -> Iterator[FoundFace]:
    if isinstance(content, list) and content and isinstance(content[0], dict) and "x" in content[0]:
        content = {_FACES[0]: [content]}
    if isinstance(content, list):
        for entry in content:
            yield from _results(entry, image, path)
    if not isinstance(content, dict):
        return
    name = next((key for key in _FACES if key in content), None)
    if name is None:
        for key, entry in content.items():
            yield from _results(entry, key, path)
        return
    image = next((str(content[key]) for key in _IMAGES if key in content), image)
    try:
        frame = int(content.get("frame", 0))
        faces = [_points(face) for face in content[name] or [None]]
    except DAMAGE as error:
        yield FoundFace(image, None, problem=f"{path}: a damaged result ({error})")
        return
    for points in faces:
        yield FoundFace(image, points, frame, None, points is not None)


def _points(face: Any) -> FloatArray | None:
    if face is None:
        return None
    landmarks = (face.get("landmark") or face["landmarks"]) if isinstance(face, dict) else face
    xy = [(p["x"], p["y"]) if isinstance(p, dict) else p[:2] for p in landmarks]
    points = np.array(xy, dtype=np.float64).reshape(-1, 2)
    return pairs(points[:, 0], points[:, 1])
