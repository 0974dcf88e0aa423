"""OpenFace: a CSV per image or video, named after it, with the columns x_0 … x_67, y_0 … y_67 in pixels.

``FeatureExtraction`` writes a row per frame (``frame`` from 1, ``face_id``, ``success``), ``FaceLandmarkImg``
a row per face (``face``). Where ``success`` is 0 the landmarks are left over from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from facereject.sources.landmark_files.found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    csv_lines,
    named_after,
    number,
    pairs,
    separator_of,
)

SUFFIXES = (".csv",)


def knows(path: str, beginning: str) -> bool:
    """Whether a file has the columns of OpenFace."""
    head = beginning.split("\n", 1)[0]
    names = set(_names(head.split(separator_of(head))))
    return {"confidence", "x_0", "y_0"} <= names and bool({"frame", "face"} & names)


def read(path: str) -> Iterator[FoundFace]:
    """The faces of one CSV."""
    image = named_after(path)
    lines = csv_lines(path)
    names = _names(next(lines, []))
    column = {name: i for i, name in enumerate(names)}
    n_points = sum(name[:2] == "x_" and name[2:].isdecimal() for name in names)
    if not n_points or f"y_{n_points - 1}" not in column:
        raise LandmarkFileError(f"{path}: has no columns x_0, y_0, … of OpenFace")
    x, y = ([column[f"{axis}_{i}"] for i in range(n_points)] for axis in "xy")
    for cells in lines:
        if len(cells) < len(names):
            # a run that was stopped: the last line has only its beginning
            yield FoundFace(image, None, problem=f"{path}: a line is cut off")
            continue
        try:
            frame = int(float(cells[column["frame"]])) - 1 if "frame" in column else 0
            found = "success" not in column or number(cells[column["success"]]) == 1
            points = pairs([cells[i] for i in x], [cells[i] for i in y]) if found else None
        except DAMAGE as error:
            yield FoundFace(image, None, problem=f"{path}: a damaged line ({error})")
            continue
        confidence = number(cells[column["confidence"]]) if "confidence" in column else None
        yield FoundFace(image, points, max(frame, 0), confidence)


def _names(cells: list[str]) -> list[str]:
    # OpenFace puts a blank behind every comma
    return [cell.strip() for cell in cells]
