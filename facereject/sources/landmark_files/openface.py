"""OpenFace: a CSV per image or video, named after it, with the columns x_0 … x_67, y_0 … y_67 in pixels.

``FeatureExtraction`` writes a row per frame (``frame`` from 1, ``face_id``, ``success``), ``FaceLandmarkImg``
a row per face (``face``). Where ``success`` is 0 the landmarks are left over from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from facereject.sources.landmark_files._found import FoundFace, number
from facereject.sources.landmark_files.plain import face_of, header_of, lines_of

SUFFIXES = (".csv",)


def knows(path: str, beginning: str) -> bool:
    """Whether a file has the columns of OpenFace."""
    names = set(header_of(path, beginning))
    return {"confidence", "x_0", "y_0"} <= names and bool({"frame", "face"} & names)


def read(path: str) -> Iterator[FoundFace]:
    """The faces of one CSV."""
    for row in lines_of(path):
        face = face_of(path, row)
        found = number(row.get("success", 1)) == 1
        yield face._replace(frame=max(face.frame - 1, 0), landmarks=face.landmarks if found else None)
