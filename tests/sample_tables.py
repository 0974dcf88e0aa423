"""Rows of every kind, and sinks that are written to their end or not."""

from __future__ import annotations

import math
import os

import numpy as np

from facereject._files import display_name
from facereject.faces.face import Box
from facereject.outputs.summary import Tally
from facereject.pipeline._store.sinks import TableSink
from facereject.tables.rows import Row

SUFFIXES = ("csv", "jsonl", "parquet")
ODD_NAMES = (
    "plain.jpg",
    'comma, "quote".jpg',
    "line\nend\r.jpg",
    " space ",
    "ä☃.jpg",
    display_name(os.fsdecode(b"\xff.jpg")),
)


def sample_rows() -> list[Row]:
    rng = np.random.default_rng(0)
    rows = [Row(name, 0, reason="no_face") for name in ODD_NAMES]
    rows.append(Row("broken.jpg", reason="unreadable: not an image, it says"))
    for track in range(3):
        box = Box(*(rng.random(4) * 500))
        scores = (float(rng.normal()), 1e-300, 5e22)
        points = rng.normal(size=(68, 2)) * 300 if track else np.rint(rng.normal(size=(68, 2)) * 300)
        rows.append(
            Row("video.mp4", track, track / 29.97, 0, track, box, *scores, track == 1, "uncertain", points)
        )
    # numpy's own floats must not show as such; what is not finite is missing
    rows.append(Row("n", 1, np.float64(0.1), 0, 0, Box(1.0, 2.0, 3.0, 4.0), math.inf, math.nan, -math.inf))
    return rows


def write_table(path, rows, **options) -> None:
    with TableSink(path, **options) as sink:
        for row in rows:
            sink.write([row])
            sink.end_input(row.source, Tally(1))


def write_and_die(sink, finished, unfinished=()) -> None:
    """Write some inputs, called by their numbers, and rows of one more; then leave by an error."""
    with sink:
        for number, row in enumerate(finished):
            sink.write([row])
            sink.end_input(str(number), Tally(1, no_face=1))
        sink.write(unfinished)
        raise ZeroDivisionError
