"""DeepLabCut: CSV with the header lines scorer, (individuals,) bodyparts, coords, or the same as HDF5.

Rows are the frames of a video, which the file is named after (``clipDLC_resnet50….csv``), or images by their
path, in one column or in three (labeled-data, folder, file).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from facereject._files import suffix_of
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    named_after,
    number,
    numbered_lines,
    pairs,
    separator_of,
)
from facereject.sources.landmark_files._h5 import SIGNATURE, open_h5, pandas_frame

_H5 = (".h5", ".hdf5")
SUFFIXES = (".csv", *_H5)


def knows(path: str, beginning: str) -> bool:
    """Whether the header lines are those of DeepLabCut, or a file of HDF5 has a table of pandas."""
    if suffix_of(path) in _H5:
        # what SLEAP writes is recognised before
        return beginning.startswith(SIGNATURE)
    lines = beginning.splitlines()[:4]
    starts = [line.split(separator_of(line), 1)[0].strip() for line in lines]
    return starts[:1] == ["scorer"] and "bodyparts" in starts and "coords" in starts


def read(path: str) -> Iterator[FoundFace]:
    """The faces of one file: one per row, or one per individual and row."""
    if suffix_of(path) in _H5:
        with open_h5(path) as file:
            try:
                frame = pandas_frame(file)
            except DAMAGE as error:
                raise LandmarkFileError(f"{path}: {error}") from None
        owners = ["/".join(column[1:-2]) for column in frame.columns]
        rows = zip(frame.rows, frame.values, strict=True)
        yield from _faces(path, owners, [column[-1] for column in frame.columns], rows)
        return
    lines = (cells for _, cells in numbered_lines(path))
    header: dict[str, list[str]] = {}
    while "coords" not in header:
        cells = next(lines, None)
        if cells is None:
            raise LandmarkFileError(f"{path}: has no header line `coords` of DeepLabCut")
        header[cells[0].strip()] = cells
    coords = [cell.strip() for cell in header["coords"]]
    first = coords.index("x")
    owners = header.get("individuals", [""] * len(coords))[first:]
    yield from _faces(path, owners, coords[first:], ((cells[:first], cells[first:]) for cells in lines))


def _faces(
    path: str, owners: Sequence[str], coords: Sequence[str], rows: Iterator[tuple[Sequence[str], Any]]
) -> Iterator[FoundFace]:
    """The faces of rows of values, of which each has an individual and is an x, a y or a likelihood."""
    places = [
        [
            [i for i, c in enumerate(coords) if c == kind and owners[i] == owner]
            for kind in ("x", "y", "likelihood")
        ]
        for owner in dict.fromkeys(owners)
    ]
    for index, values in rows:
        image, frame = _place(path, index)
        if len(values) < len(coords):
            yield FoundFace(image, None, frame, problem=f"{path}: a line is cut off")
            continue
        for x, y, likely in places:
            sure = [value for i in likely if (value := number(values[i])) is not None]
            try:
                points = pairs([values[i] for i in x], [values[i] for i in y])
            except DAMAGE as error:
                yield FoundFace(image, None, frame, problem=f"{path}: a damaged line ({error})")
                continue
            yield FoundFace(image, points, frame, float(np.mean(sure)) if sure else None)


def _place(path: str, index: Sequence[str]) -> tuple[str, int]:
    """Image and frame of a row: a frame of the video, or a separate image."""
    if len(index) == 1 and index[0].strip().isdecimal():
        folder, name = os.path.split(named_after(path))
        return os.path.join(folder, re.split(r"DLC[_-]", name)[0]), int(index[0])
    return "/".join(part.strip() for part in index if part.strip()), 0
