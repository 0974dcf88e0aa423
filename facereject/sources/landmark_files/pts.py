"""300-W: a .pts file per face, named after its image, with 1-based points in pixels; any number of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from facereject._files import suffix_of
from facereject.faces.datasets import read_pts
from facereject.sources.landmark_files._found import FoundFace, named_after, opening, pairs

SUFFIXES = (".pts", ".txt")


def knows(path: str, beginning: str) -> bool:
    """Whether a file is named so, or begins like one."""
    return suffix_of(path) == ".pts" or (beginning.startswith("version") and "n_points" in beginning)


def read(path: str) -> Iterator[FoundFace]:
    """The one face of a file."""
    # a file that was cut off has fewer than it says
    stated = re.search(r"n_points:\s*(\d+)", opening(path))
    points = read_pts(path, int(stated[1]) if stated else None)
    yield FoundFace(named_after(path), pairs(points[:, 0], points[:, 1]))
