"""What a file of another tool says about one face, and the small helpers that all readers share."""

from __future__ import annotations

import codecs
import csv
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray

# bytes; a larger file of landmarks in JSON would not fit into memory as Python objects
_MAX_JSON = 1 << 29


class LandmarkFileError(ValueError):
    """A file holds no landmarks that can be read; the message names it."""


class FoundFace(NamedTuple):
    """One face as another tool found it.

    Attributes
    ----------
    image : str
        Name of its image or video as the file has it, perhaps without a suffix.
    points : ndarray of shape (n, 2) or None
        x, y in pixels, 0-based; None where the tool found nothing, or not all points.
    frame : int
        Number of the frame in a video, from 0.
    confidence : float or None
        The tool's own.
    relative : bool
        Points are shares of width and height, as MediaPipe has them, instead of pixels.
    box : Box or None
        The detector's box in pixels, where the file has it.
    problem : str
        Why there is nothing to judge although there should be: a damaged file or line. Empty if there is.
    """

    image: str
    points: FloatArray | None
    frame: int = 0
    confidence: float | None = None
    relative: bool = False
    box: Box | None = None
    problem: str = ""


def named_after(path: str) -> str:
    """A file without its suffix: tools name their results by the image, often in folders like its own."""
    return os.path.splitext(path)[0]


def pairs(x: Any, y: Any) -> FloatArray | None:
    """Points from their coordinates; None if one is missing."""
    points = np.column_stack([_values(x), _values(y)])
    return points if np.isfinite(points).all() else None


def _values(cells: Sequence[Any]) -> FloatArray:
    try:
        return np.asarray(cells, dtype=np.float64)
    except ValueError:
        # empty cells and decimal commas
        texts = (str(cell).strip().replace(",", ".") for cell in cells)
        return np.array([float(text) if text else np.nan for text in texts])


def number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        found = float(value.replace(",", ".") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None


def csv_lines(path: str) -> Iterator[list[str]]:
    """The cells of all lines but empty ones; commas, semicolons or tabs are between them."""
    with open(path, encoding=_encoding(path), newline="") as file:
        separator = separator_of(file.readline())
        file.seek(0)
        yield from filter(None, csv.reader(file, delimiter=separator))


def separator_of(line: str) -> str:
    """What separates the cells of a line."""
    return max(",;\t", key=line.count)


def read_json(path: str) -> Any:
    """What a file of JSON, or of one object per line, holds; a list for the latter."""
    try:
        if os.path.getsize(path) > _MAX_JSON:
            raise LandmarkFileError(f"{path}: more than {_MAX_JSON >> 20} MB of JSON; split it")
        with open(path, encoding=_encoding(path)) as file:
            text = file.read()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, LandmarkFileError):
            raise
        raise LandmarkFileError(f"{path}: cannot be read as JSON ({error})") from None


def opening(path: str, size: int = 1 << 16) -> str:
    """The beginning of a file as text."""
    try:
        with open(path, "rb") as file:
            return file.read(size).decode(_encoding(path), "replace")
    except OSError as error:
        raise LandmarkFileError(f"{path}: cannot be read ({error.strerror})") from None


def _encoding(path: str) -> str:
    """UTF-8, or UTF-16 where its mark is at the beginning, as Windows writes what is redirected to a file."""
    with open(path, "rb") as file:
        start = file.read(2)
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
