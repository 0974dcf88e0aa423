"""Landmarks in text files: the .pts files of 300-W, the lists of WFLW, the tables of OpenFace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from facereject._files import suffix_of
from facereject.faces.datasets import read_pts
from facereject.faces.face import Box
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    grouped,
    named_after,
    number,
    opening,
    pairs,
)
from facereject.sources.landmark_files.plain import face_of, header_of, lines_of

_WFLW_VALUES = 2 * 98
# box (left, top, right, bottom) and pose, expression, illumination, make-up, occlusion, blur
_WFLW_MORE = (0, 4, 10)


def knows_pts(path: str, beginning: str) -> bool:
    """Whether a file is named so, or begins like one."""
    return suffix_of(path) == ".pts" or (beginning.startswith("version") and "n_points" in beginning)


def read_300w(path: str) -> Iterator[FoundFace]:
    """The one face of a .pts file, named after its image: any number of 1-based points in pixels."""
    # a file that was cut off has fewer than it says
    stated = re.search(r"n_points:\s*(\d+)", opening(path))
    points = read_pts(path, int(stated[1]) if stated else None)
    yield FoundFace(named_after(path), pairs(points[:, 0], points[:, 1]))


def knows_wflw(path: str, beginning: str) -> bool:
    """Whether the first line has the number of values of a WFLW list."""
    return len(beginning.partition("\n")[0].split()) - 1 - _WFLW_VALUES in _WFLW_MORE


def read_wflw(path: str) -> Iterator[FoundFace]:
    """A line per face: 98 points x0 y0 x1 y1 …, (box and six attributes,) and the name of the image."""
    yield from grouped(_wflw(path))


def _wflw(path: str) -> Iterator[FoundFace]:
    with open(path, encoding="utf-8-sig") as lines:
        for line_number, line in enumerate(lines, 1):
            words = line.split()
            if not words:
                continue
            entry = f"line {line_number}"
            try:
                if len(words) - 1 - _WFLW_VALUES not in _WFLW_MORE:
                    raise ValueError(f"{len(words)} values")
                points = pairs(words[:_WFLW_VALUES:2], words[1:_WFLW_VALUES:2])
                left, top, right, bottom = map(
                    float, words[_WFLW_VALUES : _WFLW_VALUES + 4] if len(words) > 200 else [0] * 4
                )
                box = Box(left, top, right - left, bottom - top) if right > left and bottom > top else None
            except DAMAGE as error:
                yield FoundFace(words[-1], None, problem=f"{path}: a damaged line ({error})", entry=entry)
                continue
            yield FoundFace(words[-1], points, 0, None, False, box, entry=entry)


def knows_openface(path: str, beginning: str) -> bool:
    """Whether a file has the columns of OpenFace."""
    names = set(header_of(path, beginning))
    return {"confidence", "x_0", "y_0"} <= names and bool({"frame", "face"} & names)


def read_openface(path: str) -> Iterator[FoundFace]:
    """A CSV per image or video, named after it, with the columns x_0 … x_67, y_0 … y_67 in pixels.

    ``FeatureExtraction`` writes a row per frame (``frame`` from 1, ``face_id``, ``success``),
    ``FaceLandmarkImg`` a row per face (``face``). Where ``success`` is 0 the landmarks are left over from
    elsewhere.
    """
    for row in lines_of(path):
        face = face_of(path, row)
        found = number(row.get("success", 1)) == 1
        yield face._replace(frame=max(face.frame - 1, 0), landmarks=face.landmarks if found else None)
