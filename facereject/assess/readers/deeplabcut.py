"""DeepLabCut: CSV with the header lines scorer, (individuals,) bodyparts, coords, and x, y, likelihood each.

Rows are the frames of a video, which the file is named after (``clipDLC_resnet50….csv``), or images by their
path, in one column or in three (labeled-data, folder, file).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

import numpy as np

from facereject.assess.found import FoundFace, LandmarkFileError, pairs, stem

SUFFIXES = (".csv",)


def knows(path: str, beginning: str) -> bool:
    """Whether the header lines are those of DeepLabCut."""
    starts = [line.split(",", 1)[0].strip() for line in beginning.splitlines()[:4]]
    return starts[:1] == ["scorer"] and "bodyparts" in starts and "coords" in starts


def read(path: str) -> Iterator[FoundFace]:
    """The faces of one CSV: one per row, or one per individual and row."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file)
            header: dict[str, list[str]] = {}
            while "coords" not in header:
                cells = next(lines)
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
                if not cells:
                    continue
                image, frame = _place(path, cells[:first])
                for x, y, likely in columns.values():
                    sure = [float(cells[i]) for i in likely if cells[i].strip()]
                    whole = all(cells[i].strip() for i in (*x, *y))
                    points = pairs([cells[i] for i in x], [cells[i] for i in y]) if whole else None
                    confidence = float(np.mean(sure)) if sure else None
                    yield FoundFace(image, points, frame, confidence)
    except (OSError, csv.Error, UnicodeDecodeError, StopIteration, IndexError, ValueError) as error:
        raise LandmarkFileError(f"{path}: damaged or not by DeepLabCut ({error!r})") from None


def _place(path: str, index: list[str]) -> tuple[str, int]:
    """Image and frame of a row: a frame of the video, or an image of its own."""
    if len(index) == 1 and index[0].strip().isdigit():
        return re.split(r"DLC[_-]", stem(path))[0], int(index[0])
    return "/".join(part.strip() for part in index if part.strip()), 0
