"""How long the store takes per face: writing, committing, and exporting the finished table.

python tools/bench/store.py [--frames 20000]

Each format is written from the same frames with one face each, all values given.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame, Pose
from facereject.outputs.counts import Counts
from facereject.pipeline.store import Store
from facereject.tables.writing import SUFFIXES


def make_frames(count: int) -> list[FaceFrame]:
    """Photos with one face each."""
    rng = np.random.default_rng(0)
    frames = []
    for i in range(count):
        face = Face(
            Box(*rng.random(4) * 500),
            float(rng.random()),
            rng.random((68, 2)) * 500,
            float(rng.random()),
            3.5,
            True,
            landmark_errors=rng.random(68) * 9,
            cause="dark",
            pose=Pose(*rng.normal(size=3)),
        )
        frames.append(FaceFrame(0, math.nan, NO_IMAGE, [face], f"photos/{i:06}.jpg"))
    return frames


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20_000)
    n_frames = parser.parse_args().frames
    frames = make_frames(n_frames)
    print(f"{n_frames:,} frames with one face; milliseconds per frame, MB of the table")
    print("format    write  finish  resume   in all      MB")
    with tempfile.TemporaryDirectory() as folder:
        for suffix in SUFFIXES:
            table = Path(folder) / f"t{suffix}"
            start = time.perf_counter()
            store = Store(table, settings={"model": "a"})
            for frame in frames:
                store.write([frame])
                store.end_input(frame.source, Counts(1, faces=1, accepted_faces=1, accepted_frames=1))
            written = time.perf_counter()
            store.finish()
            finished = time.perf_counter()
            with Store(table, settings={"model": "a"}, resume=True) as store:
                missing = [frame for frame in frames if not store.has(frame.source)]
            assert not missing
            resumed = time.perf_counter()
            times = [written - start, finished - written, resumed - finished, finished - start]
            figures = "".join(f"{1000 * seconds / n_frames:8.3f}" for seconds in times)
            print(f"{suffix:8}{figures}{table.stat().st_size / 1e6:8.1f}")


if __name__ == "__main__":
    main()
