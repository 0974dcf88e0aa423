"""Making the demonstration: write images and a video, score them, draw the results, write the page."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
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
from facereject.demo.page import ScoredFrame, ScoredImage, demo_page, overview
from facereject.faces import Face, FaceRejector
from facereject.faces.face import FaceFrame
from facereject.faces.images import ImageArray
from facereject.losses import landmark_nme
from facereject.outputs._video.writer import VideoWriter
from facereject.outputs.base import Output
from facereject.outputs.saved_video import SavedVideo
from facereject.outputs.table import Table
from facereject.pipeline.running import Running
from facereject.pipeline.score import score_files
from facereject.sources.video import open_video


class Demo(NamedTuple):
    """The files that were made, and the decisions.

    ``seconds`` is the length of the video; ``frames`` and ``accepted`` count all and the accepted frames.
    """

    page: Path
    picture: Path
    table: Path
    video: Path
    scored: list[ScoredImage]
    frames: int
    accepted: int
    seconds: float


def make_demo(folder: str | os.PathLike[str], rejector: FaceRejector, *, model: str = "default") -> Demo:
    """Score one photo, degraded versions of it and a video made from it; write everything to a folder.

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
        for frame in video_frames(clean):
            writer.write(frame)

    table, annotated = folder / "table.csv", folder / "annotated.mp4"
    found = _Collected()
    score_files(
        [*paths, video],
        [Table(table), SavedVideo(str(annotated), annotate=True), found],
        rejector=rejector,
        running=Running(overwrite=True),
    )
    scored = [
        _scored(picture, found.frames[str(path)][0]) for picture, path in zip(pictures, paths, strict=True)
    ]
    image = folder / "demo.png"
    write_whole(image, overview(scored))
    frames = _frames(video, annotated, found.frames[str(video)])
    page = folder / "index.html"
    regions = _by_region(covered_mouth(clean), rejector)
    write_whole(page, demo_page(scored, regions, frames, _animation(frames), rejector, model))
    accepted = sum(frame.accepted for frame in frames)
    return Demo(page, image, table, video, scored, len(frames), accepted, len(frames) / FPS)


def _by_region(picture: Picture, rejector: FaceRejector) -> list[ScoredImage]:
    """A face with a covered mouth, scored by eyes and by mouth; empty if the model has no regions."""
    if rejector.calibration.regions is None:
        return []
    return [
        ScoredImage(picture._replace(name=name), _nearest(rejector.for_region(name)(picture.image), picture))
        for name in ("eyes", "mouth")
    ]


def _nearest(faces: Sequence[Face], picture: Picture) -> Face | None:
    """The face where the astronaut's is; in a degraded image the detector may find others elsewhere."""
    center, reach = picture.landmarks.mean(axis=0), np.ptp(picture.landmarks[:, 0]) / 2
    near = [face for face in faces if math.dist(face.box.center, center) < reach]
    return near[0] if near else None


class _Collected(Output):
    """The frames of every input, by its name."""

    def __init__(self) -> None:
        self.frames: dict[str, list[FaceFrame]] = {}

    def write(self, frame: FaceFrame) -> None:
        self.frames.setdefault(frame.source, []).append(frame)


def _scored(picture: Picture, frame: FaceFrame) -> ScoredImage:
    face = _nearest(frame.faces, picture)
    if face is None or not np.isfinite(face.landmarks).all():
        return ScoredImage(picture, face)
    return ScoredImage(picture, face, float(landmark_nme(picture.landmarks, face.landmarks)))


def _frames(video: Path, annotated: Path, scored: Sequence[FaceFrame]) -> list[ScoredFrame]:
    """The frames of the video, with their decisions."""
    frames = []
    with open_video(video) as recorded, open_video(annotated) as drawn:
        for plain, shown, frame in zip(recorded, drawn, scored, strict=True):
            known = [face for face in frame.faces if math.isfinite(face.expected_error)]
            worst = max(known, key=lambda face: face.expected_error, default=None)
            frames.append(ScoredFrame(plain.image, shown.image, plain.time_s, frame.accepted(), worst))
    return frames


def _animation(frames: Sequence[ScoredFrame]) -> bytes:
    """The annotated video as an animated WebP: browsers show it where they do not play the .mp4."""
    first, *others = (PIL.Image.fromarray(np.ascontiguousarray(frame.annotated)) for frame in frames)
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
