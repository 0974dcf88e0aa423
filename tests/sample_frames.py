"""Frames of every kind, and stores that are written to their end or not."""

from __future__ import annotations

import math
import os

import numpy as np

from facereject._files import display_name
from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame, Pose
from facereject.outputs.summary import Counts
from facereject.pipeline.store import Store
from facereject.tables.packing import points_of, rows_of

SUFFIXES = ("csv", "jsonl", "parquet", "sqlite")
ODD_NAMES = (
    "plain.jpg",
    'comma, "quote".jpg',
    "line\nend\r.jpg",
    " space ",
    "ä☃.jpg",
    display_name(os.fsdecode(b"\xff.jpg")),
)


def photo(source, faces=(), problem="", index=0, time_s=math.nan):
    """A frame without pixels."""
    return FaceFrame(-1 if problem else index, time_s, NO_IMAGE, list(faces), source, problem)


BOX = Box(1.0, 2.0, 3.0, 4.0)


def face(uncertainty=0.5, landmarks=None, *, accepted=True, box=BOX, **options):
    """A face with 68 landmarks, unless others are given."""
    landmarks = np.arange(136.0).reshape(68, 2) if landmarks is None else landmarks
    return Face(box, 0.5, landmarks, uncertainty, 3.0, accepted, **options)


def sample_frames() -> list[FaceFrame]:
    """Seven inputs without a face and four frames with one."""
    rng = np.random.default_rng(0)
    frames = [photo(name) for name in ODD_NAMES]
    frames.append(photo("broken.jpg", problem="unreadable: not an image, it says"))
    for track in range(3):
        points = rng.normal(size=(68, 2)) * 300
        found = face(
            1e-300,
            points if track else np.rint(points),
            accepted=track == 1,
            box=Box(*(rng.random(4) * 500)),
            track=track,
            landmark_errors=None if track == 2 else rng.random(68),
            cause="dark",
            pose=Pose(-12.34, 0.0, 90.5) if track else None,
            **({"typicality": 0.25, "error_interval": (1.5, 4.25)} if track else {}),
        )
        frames.append(photo("video.mp4", [found], index=track, time_s=track / 29.97))
    # numpy's own floats must not show as such; what is not finite is missing
    nowhere = np.full((68, 2), np.nan)
    lost = Face(BOX, math.inf, nowhere, math.nan, -math.inf, False, track=np.int64(0))
    return [*frames, photo("n", [lost], index=1, time_s=np.float64(0.1))]


def expected_rows(frames) -> list[list[object]]:
    """The values of the table, row by row; what is missing is None."""
    rows = []
    for frame in frames:
        for row in rows_of(frame):
            numbers = points_of(row)
            numbers = [math.nan] * 204 if numbers is None else numbers.tolist()
            rows.append([*row[:-1], *(None if math.isnan(number) else number for number in numbers)])
    return rows


def write_table(path, frames, **options) -> None:
    """A finished table, each frame an input."""
    with Store(path, **options) as store:
        for frame in frames:
            store.write([frame])
            store.end_input(frame.source, Counts.of([frame]))


def write_and_die(store, finished, unfinished=()) -> None:
    """Write some inputs, called by their numbers, and frames of one more; then leave by an error."""
    with store:
        for number, frame in enumerate(finished):
            store.write([frame])
            store.end_input(str(number), Counts.of([frame]))
        store.write(unfinished)
        raise ZeroDivisionError
