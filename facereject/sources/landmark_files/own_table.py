"""Tables of this package: CSV, JSON lines, Parquet. Their landmarks are judged again, by another model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from facereject._files import suffix_of
from facereject.sources.landmark_files.found import FoundFace, LandmarkFileError
from facereject.tables.errors import TableFormatError
from facereject.tables.formats import (
    points_in_table,
    read_csv,
    read_jsonl,
    read_parquet,
)

SUFFIXES = (".csv", ".jsonl", ".parquet")


def knows(path: str, beginning: str) -> bool:
    """Whether a file is a table of this package."""
    return suffix_of(path) in SUFFIXES and points_in_table(path) is not None


def read(path: str) -> Iterator[FoundFace]:
    """The faces of a table; inputs and frames without a face have none."""
    reader = {".jsonl": read_jsonl, ".parquet": read_parquet}.get(suffix_of(path), read_csv)
    try:
        for row in reader(path, whole=True):
            lost = row.reason if row.reason.startswith(("unreadable", "failed")) else ""
            points = None if row.landmarks is None or np.isnan(row.landmarks).any() else row.landmarks
            problem = f"there it is {lost}" if lost else ""
            yield FoundFace(row.source, points, row.frame or 0, row.detector_score, False, row.box, problem)
    except (TableFormatError, OSError) as error:
        raise LandmarkFileError(str(error)) from None
