"""A table as flat rows, one per face, or one that says why there is none: for tests that ask for cells."""

from __future__ import annotations

import math
from types import SimpleNamespace

from facereject.tables.reading import read_table


def rows_in(path) -> list[SimpleNamespace]:
    """The rows of a table file; what is unknown is None."""
    rows = []
    for frame in read_table(str(path)):
        where = {
            "source": frame.source,
            "frame": None if frame.index < 0 else frame.index,
            "time_s": _known(frame.time_s),
        }
        nobody = {
            "face": None,
            "box": None,
            "detector_score": None,
            "uncertainty": None,
            "expected_error": None,
            "accepted": False,
            "reason": frame.problem or "no_face",
            "landmarks": None,
        }
        if not frame.faces:
            rows.append(SimpleNamespace(**where, **nobody))
        for number, face in enumerate(frame.faces):
            values = {name: getattr(face, name) for name in nobody if name != "face"}
            for name in ("detector_score", "uncertainty", "expected_error"):
                values[name] = _known(values[name])
            rows.append(SimpleNamespace(**where, face=number, **values))
    return rows


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
