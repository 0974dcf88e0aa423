"""Making the demonstration: write images and a video, judge them, draw the results, write the page."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import PIL.Image

from facereject._files import write_whole
from facereject.demo.material import (
    FPS,
    SIZE,
    Picture,
    clean_picture,
    covered_mouth,
    degraded_pictures,
    video_frames,
)
from facereject.demo.page import Judged, JudgedFrame, JudgedRegion, demo_page
from facereject.demo.picture import draw_picture
from facereject.faces import FaceRejector
from facereject.faces.images.load import ImageArray
from facereject.losses import landmark_nme
from facereject.outputs._video.writer import VideoWriter
from facereject.parallel import SerialEngine
from facereject.pipeline._old.saved_video import VideoOutput
from facereject.pipeline._store.sinks import StreamSink
from facereject.pipeline.run import score_inputs
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input
from facereject.sources.video import open_video
from facereject.tables.rows import Chunk, Row, frame_accepted


class Demo(NamedTuple):
    """The files that were made, and the decisions.

    ``seconds`` is the length of the video, ``frames`` how many it has and ``accepted`` how many of those.
    """

    page: Path
    picture: Path
    table: Path
    video: Path
    judged: list[Judged]
    frames: int
    accepted: int
    seconds: float


def make_demo(folder: str | os.PathLike[str], rejector: FaceRejector, *, model: str = "default") -> Demo:
    """Judge one photograph, degraded versions of it and a video made from it; write everything to a folder.

    Parameters
    ----------
    folder : path
        Made if missing; files of an earlier demonstration are replaced.
    rejector : FaceRejector
    model : str
        Its name, for the page.
    """
    folder = Path(folder)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    clean = clean_picture()
    pictures = degraded_pictures(clean)
    paths = [folder / "pictures" / f"{picture.name.replace(' ', '-')}.png" for picture in pictures]
    for path, picture in zip(paths, pictures, strict=True):
        write_whole(path, _png(picture.image))
    video = folder / "video.mp4"
    with VideoWriter(video, FPS, SIZE) as writer:
        for image in video_frames(clean):
            writer.write(image)

    table = folder / "table.csv"
    inputs = [*(Input(str(path), "image") for path in paths), Input(str(video), "video")]
    annotated = folder / "annotated.mp4"
    task = ScoreTask(rejector, video=VideoOutput(str(annotated), annotate=True))
    rows = _score(inputs, task, table)
    judged = [_judge(picture, rows[str(path)], clean) for picture, path in zip(pictures, paths, strict=True)]
    overview = folder / "demo.png"
    write_whole(overview, draw_picture(judged))
    frames = _frames(annotated, rows[str(video)])
    page = folder / "index.html"
    regions = _by_region(covered_mouth(clean), rejector)
    write_whole(page, demo_page(judged, regions, frames, _animation(frames), rejector, model))
    accepted = sum(frame.accepted for frame in frames)
    return Demo(page, overview, table, video, judged, len(frames), accepted, len(frames) / FPS)


def _by_region(picture: Picture, rejector: FaceRejector) -> list[JudgedRegion]:
    """What a covered mouth does to eyes and mouth; nothing if the model does not tell points apart."""
    if rejector.calibration.regions is None:
        return []
    found = []
    for name in ("eyes", "mouth"):
        faces = rejector.for_region(name)(picture.image)
        center = picture.landmarks.mean(axis=0)
        face = min(
            faces, key=lambda face: float(np.hypot(*np.subtract(face.box.center, center))), default=None
        )
        found.append(JudgedRegion(name, picture, face))
    return found


def _score(inputs: Sequence[Input], task: ScoreTask, table: Path) -> dict[str, list[Row]]:
    """The rows of every input, by its path; the same rows are written to the table, all at once."""
    rows: dict[str, list[Row]] = {item.path: [] for item in inputs}

    def collect(item: Input, chunk: Chunk, last: bool) -> None:
        rows[item.path].extend(chunk.rows)

    stream = io.BytesIO()
    with StreamSink(stream) as sink:
        score_inputs(inputs, task, sink, SerialEngine(), observers=[collect])
    write_whole(table, stream.getvalue())
    return rows


def _judge(picture: Picture, rows: Sequence[Row], clean: Picture) -> Judged:
    center = picture.landmarks.mean(axis=0)
    reach = np.ptp(clean.landmarks[:, 0]) / 2
    # a degraded photograph can make the detector see a second face elsewhere
    near = [row for row in rows if row.box and np.hypot(*np.subtract(row.box.center, center)) < reach]
    row = near[0] if near else None
    moved = float("nan")
    if row is not None and row.landmarks is not None:
        moved = float(landmark_nme(picture.landmarks, row.landmarks))
    return Judged(picture, row, moved)


def _frames(video: Path, rows: Sequence[Row]) -> list[JudgedFrame]:
    """The frames of the annotated video, with what the table says about them."""
    by_frame = {number: list(group) for number, group in groupby(rows, key=lambda row: row.frame)}
    frames = []
    with open_video(video) as reader:
        for frame in reader:
            found = by_frame[frame.index]
            faces = [row for row in found if row.box is not None]
            errors = [row.expected_error for row in faces if row.expected_error is not None]
            expected = max(errors, default=float("nan"))
            frames.append(
                JudgedFrame(frame.image, frame.time_s, bool(faces), frame_accepted(found), expected)
            )
    return frames


def _animation(frames: Sequence[JudgedFrame]) -> bytes:
    """The annotated video as an animated WebP: browsers show it where they do not play the .mp4."""
    first, *others = (PIL.Image.fromarray(np.ascontiguousarray(frame.image)) for frame in frames)
    stream = io.BytesIO()
    first.save(
        stream,
        "WEBP",
        save_all=True,
        append_images=others,
        duration=round(1000 / FPS),
        loop=0,
        quality=60,
        # the fastest: half a second less work for a tenth more bytes
        method=0,
    )
    return stream.getvalue()


def _png(image: ImageArray) -> bytes:
    stream = io.BytesIO()
    PIL.Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()
