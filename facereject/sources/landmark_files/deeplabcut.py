"""DeepLabCut: CSV with the header lines scorer, (individuals,) bodyparts, coords, and x, y, likelihood each.

Rows are the frames of a video, which the file is named after (``clipDLC_resnet50….csv``), or images by their
path, in one column or in three (labeled-data, folder, file).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np

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
    """Whether the header lines are those of DeepLabCut."""
    lines = beginning.splitlines()[:4]
    starts = [line.split(separator_of(line), 1)[0].strip() for line in lines]
    return starts[:1] == ["scorer"] and "bodyparts" in starts and "coords" in starts


def read(path: str) -> Iterator[FoundFace]:
    """The faces of one CSV: one per row, or one per individual and row."""
    lines = csv_lines(path)
    header: dict[str, list[str]] = {}
    while "coords" not in header:
        cells = next(lines, None)
        if cells is None:
            raise LandmarkFileError(f"{path}: has no header line `coords` of DeepLabCut")
        header[cells[0].strip()] = cells
    coords = [cell.strip() for cell in header["coords"]]
    first = coords.index("x")
    owners = header.get("individuals", [""] * len(coords))
    columns = {
        owner: [[i for i in range(first, len(coords)) if coords[i] == kind and owners[i] == owner]
                for kind in ("x", "y", "likelihood")]
        for owner in dict.fromkeys(owners[first:])
    }  # fmt: skip
    for cells in lines:
        image, frame = _place(path, cells[:first])
        if len(cells) < len(coords):
            yield FoundFace(image, None, frame, problem=f"{path}: a line is cut off")
            continue
        for x, y, likely in columns.values():
            sure = [value for i in likely if (value := number(cells[i])) is not None]
            try:
                points = pairs([cells[i] for i in x], [cells[i] for i in y])
            except DAMAGE as error:
                yield FoundFace(image, None, frame, problem=f"{path}: a damaged line ({error})")
                continue
            yield FoundFace(image, points, frame, float(np.mean(sure)) if sure else None)


def _place(path: str, index: list[str]) -> tuple[str, int]:
    """Image and frame of a row: a frame of the video, or an image of its own."""
    if len(index) == 1 and index[0].strip().isdecimal():
        folder, name = os.path.split(named_after(path))
        return os.path.join(folder, re.split(r"DLC[_-]", name)[0]), int(index[0])
    return "/".join(part.strip() for part in index if part.strip()), 0
