"""What a file of another tool says about one face, and the small helpers that all readers share."""

from __future__ import annotations

import json
import os
from pathlib import Path
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
        x, y in pixels, 0-based; None where the tool says that it found nothing.
    frame : int
        Number of the frame in a video, from 0.
    confidence : float or None
        The tool's own.
    relative : bool
        Points are shares of width and height, as MediaPipe has them, instead of pixels.
    box : Box or None
        The detector's box in pixels, where the file has it.
    """

    image: str
    points: FloatArray | None
    frame: int = 0
    confidence: float | None = None
    relative: bool = False
    box: Box | None = None


def stem(path: str | os.PathLike[str]) -> str:
    """Name of a file without folder and suffix: tools name their results by the image."""
    return Path(path).stem


def pairs(x: Any, y: Any) -> FloatArray | None:
    """Points from their coordinates; None if one is missing."""
    points = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    return points if np.isfinite(points).all() else None


def number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None


def read_json(path: str) -> Any:
    """What a file of JSON, or of one object per line, holds; a list for the latter."""
    try:
        if os.path.getsize(path) > _MAX_JSON:
            raise LandmarkFileError(f"{path}: more than {_MAX_JSON >> 20} MB of JSON; split it")
        with open(path, encoding="utf-8") as file:
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
            return file.read(size).decode("utf-8-sig", "replace")
    except OSError as error:
        raise LandmarkFileError(f"{path}: cannot be read ({error.strerror})") from None
