"""Tables of facereject. Their landmarks are scored again, by another model."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from facereject.sources.landmark_files._found import FoundFace, LandmarkFileError
from facereject.tables.errors import TableFormatError
from facereject.tables.reading import read_table


def read_own_table(path: str) -> Iterator[FoundFace]:
    """The faces of a table; inputs and frames without a face have one without landmarks."""
    try:
        for frame in read_table(path):
            index = max(frame.index, 0)
            for face in frame.faces:
                points = None if np.isnan(face.landmarks).all() else face.landmarks
                score = None if math.isnan(face.detector_score) else face.detector_score
                yield FoundFace(frame.source, points, index, score, False, face.box)
            if not frame.faces:
                problem = f"the table says: {frame.problem}" if frame.problem else ""
                yield FoundFace(frame.source, None, index, problem=problem)
    except (TableFormatError, OSError) as error:
        raise LandmarkFileError(str(error)) from None
