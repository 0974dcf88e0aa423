"""How long the store takes per face: writing, committing, exporting the finished table, resuming it.

python tools/bench/store.py [--frames 20000]

Each format is written from the same frames with one face each, all values given. The baseline is CSV that is
written without a store. The last line compares with finding and scoring the face of a photo of 640 x 480,
read from a JPEG file: what a run over photos spends on the store.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from pathlib import Path

import numpy as np

from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame, Pose
from facereject.outputs.summary import Counts
from facereject.pipeline.store import Store
from facereject.tables.packing import rows_of
from facereject.tables.writing import SUFFIXES, text_format


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


def plain(frames: list[FaceFrame], table: Path) -> float:
    """CPU seconds of writing the rows as CSV, and nothing else."""
    start = time.process_time()
    text = text_format(".csv")
    with open(table, "wb") as file:
        file.write(text.header)
        for frame in frames:
            file.write(text.encode(rows_of(frame)))
    return time.process_time() - start


def stored(frames: list[FaceFrame], table: Path) -> list[float]:
    """CPU seconds of writing to a store, exporting the table, and asking it for every input again."""
    times = [time.process_time()]
    store = Store(table, settings={"model": "a"})
    for frame in frames:
        store.write([frame])
        store.end_input(frame.source, Counts(1, faces=1, accepted_faces=1, accepted_frames=1))
    times.append(time.process_time())
    store.finish()
    times.append(time.process_time())
    with Store(table, settings={"model": "a"}, resume=True) as store:
        assert all(store.has(frame.source) for frame in frames)
    times.append(time.process_time())
    return [after - before for before, after in itertools.pairwise(times)]


def scoring(folder: Path, count: int = 60) -> float:
    """CPU seconds of reading, finding and scoring one photo."""
    import cv2
    import skimage.data

    from facereject import FaceRejector
    from facereject.faces.images import read_image

    photo = cv2.resize(skimage.data.astronaut(), (640, 640))[:480, :, ::-1]
    cv2.imwrite(str(folder / "photo.jpg"), photo)
    rejector = FaceRejector.pretrained()
    rejector(read_image(str(folder / "photo.jpg")))
    start = time.process_time()
    for _ in range(count):
        (face,) = rejector(read_image(str(folder / "photo.jpg")))
        # a table reads all values
        face.to_dict()
    return (time.process_time() - start) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20_000)
    n_frames = parser.parse_args().frames
    frames = make_frames(n_frames)
    print(f"{n_frames:,} frames with one face; CPU milliseconds per frame, and MB of the table")
    print("format      write  finish   total  resume      MB")
    totals = []
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "plain.csv"
        seconds = 1000 * plain(frames, table) / n_frames
        print(f"CSV alone{seconds:8.3f}{'':8}{seconds:8.3f}{'':8}{table.stat().st_size / 1e6:8.1f}")
        for suffix in SUFFIXES:
            table = Path(folder) / f"t{suffix}"
            write, finish, resume = (1000 * seconds / n_frames for seconds in stored(frames, table))
            size = table.stat().st_size / 1e6
            print(f"{suffix:9}{write:8.3f}{finish:8.3f}{write + finish:8.3f}{resume:8.3f}{size:8.1f}")
            totals.append(write + finish)
        photo = 1000 * scoring(Path(folder))
    shares = ", ".join(
        f"{100 * total / photo:.2f} % in {suffix}" for suffix, total in zip(SUFFIXES, totals, strict=True)
    )
    print(f"scoring a photo takes {photo:.1f} ms; the store adds {shares}")


if __name__ == "__main__":
    main()
