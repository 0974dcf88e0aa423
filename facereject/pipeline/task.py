"""What is done with one input: decode it, find and judge its faces, give the rows of the table."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.face import FaceFrame
from facereject.faces.images.files import MAX_PIXELS, read_image
from facereject.faces.images.load import ImageArray, ImageError
from facereject.faces.plugins import definition_of, fingerprint_of, name_of
from facereject.pipeline._old.crops import PictureOutput
from facereject.pipeline._old.saved_video import VideoOutput
from facereject.pipeline.loop import scored_frames
from facereject.sources._video.decoder import FrameRange
from facereject.sources.inputs import Input
from facereject.sources.video import VideoError, open_video, prefetch
from facereject.sources.video_parts import PART_FRAMES
from facereject.tables.rows import Chunk, Row, frame_accepted, rows_of_frame, unreadable_row
from facereject.tracking.tracker import DETECT_EVERY, FaceTracker, Tracking

_NO_IMAGE: ImageArray = np.empty((0, 0, 3), dtype=np.uint8)

#: frames of a video in one chunk
CHUNK_FRAMES = 64


@dataclass(frozen=True)
class ScoreTask:
    """Turns an `Input` into rows, a chunk at a time. It pickles, so any engine can run it anywhere.

    Parameters
    ----------
    rejector : FaceRejector
    max_pixels : int
        Images and videos with larger frames are refused before they are decoded.
    detect_every, every_frame, smooth_s, smooth_landmarks
        For videos; see `FaceTracker`, where the first is called ``every``.
    video : VideoOutput or None
        Videos to be written while the rows are made.
    pictures : PictureOutput or None
        Pictures to be written then.
    part_frames : int
        Videos of at least two times so many frames are cut into parts of about so many at most, which
        workers judge side by side; see `facereject.sources.video_parts`. 0 judges every video in one
        go, and so does
        ``video`` and ``pictures``, as what is saved is made in one go.
    folder : str
        Relative paths of inputs are taken from here, which matters where the task runs on another machine;
        empty for the current folder.
    """

    rejector: FaceRejector
    max_pixels: int = MAX_PIXELS
    detect_every: int = DETECT_EVERY
    every_frame: bool = False
    smooth_s: float = 0.0
    smooth_landmarks: bool = False
    video: VideoOutput | None = None
    pictures: PictureOutput | None = None
    part_frames: int = PART_FRAMES
    # the rows do not depend on it: they name inputs as these are given
    folder: str = field(default="", compare=False)

    def __call__(self, item: Input) -> Iterator[Chunk]:
        source, path = display_name(item.path), os.path.join(self.folder, item.path)
        if item.kind == "video":
            yield from self._video(path, source, item.part.stretch if item.part else None)
            return
        try:
            image = read_image(path, max_pixels=self.max_pixels)
        except ImageError as error:
            yield Chunk([_unreadable(source, path, error)])
            return
        faces = self.rejector(image)
        if self.pictures is not None:
            self.pictures.write_still(path, image, faces, self.rejector.points.mean_shape)
        yield Chunk(rows_of_frame(source, faces), frames=1)

    def missing(self, item: Input) -> bool:
        """Whether this machine does not see the file: another one of a cluster may."""
        return not os.path.lexists(os.path.join(self.folder, item.path))

    def fingerprint(self) -> str:
        """A digest of model, landmark predictor and detector, for comparison with another machine.

        Empty for a rejector of another kind, of which nothing is known.
        """
        if not isinstance(self.rejector, FaceRejector):
            return ""
        return hashlib.sha256(repr(sorted(settings_of(self).items())).encode()).hexdigest()

    def tracker(self, first_frame: int = 0) -> FaceTracker:
        """A tracker for one video, from a frame on, with the options of this task."""
        return FaceTracker(
            self.rejector,
            Tracking(self.detect_every, self.every_frame, self.smooth_s, self.smooth_landmarks),
            first_frame=first_frame,
        )

    def _video(self, path: str, source: str, stretch: FrameRange | None) -> Iterator[Chunk]:
        try:
            reader = open_video(path, max_pixels=self.max_pixels, stretch=stretch)
        except VideoError as error:
            if stretch is not None:
                # it could be read when it was cut
                raise
            yield Chunk([_unreadable(source, path, error)])
            return
        tracker = self.tracker(stretch.number if stretch else 0)
        rows: list[Row] = []
        n_frames = reported = 0
        run_up: list[FaceFrame] = []
        with ExitStack() as stack:
            stack.enter_context(reader)
            # decoding goes on in a thread while faces are looked at here, encoding in another one
            frames = stack.enter_context(closing(prefetch(reader)))
            saved = None
            if self.video is not None:
                saved = stack.enter_context(self.video.open(reader))
            shots = None
            if self.pictures is not None:
                shots = stack.enter_context(self.pictures.open(path, self.rejector.points.mean_shape))
            for frame in scored_frames(frames, tracker):
                if frame.time_s < reader.begin_s:
                    run_up.append(frame._replace(image=_NO_IMAGE))
                    continue
                number = frame.index - len(run_up)
                if number == 0 and run_up:
                    yield Chunk(_rows_before(source, run_up))
                shown = rows_of_frame(source, frame.faces, frame=number, time_s=frame.time_s)
                if saved is not None and self.video is not None:
                    saved.write(frame, frame_accepted(shown, self.video.frame_rule))
                if shots is not None:
                    shots.write(frame)
                rows += shown
                n_frames += 1
                if n_frames == CHUNK_FRAMES:
                    failed = reader.undecodable
                    yield Chunk(rows, n_frames, failed - reported)
                    rows, n_frames, reported = [], 0, failed
        # what is missing at the end is known only now, and the saved video is whole
        if rows or reader.undecodable > reported:
            yield Chunk(rows, n_frames, reader.undecodable - reported)


def settings_of(task: ScoreTask) -> dict[str, str]:
    """What the rows of a task depend on, each in a readable form: model, target, detector, options."""
    settings: dict[str, str] = {}
    for part in dataclasses.fields(task):
        if not part.compare:
            continue
        value = getattr(task, part.name)
        if isinstance(value, FaceRejector):
            settings |= _rejector_settings(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [each.name for each in dataclasses.fields(value) if each.compare]
            settings |= {name: str(getattr(value, name)) for name in names}
        else:
            settings[part.name] = str(value)
    return settings


def _rows_before(source: str, run_up: Sequence[FaceFrame]) -> list[Row]:
    """The rows of the frames before a part, with numbers below 0."""
    return [
        row
        for number, frame in enumerate(run_up, start=-len(run_up))
        for row in rows_of_frame(source, frame.faces, frame=number, time_s=frame.time_s)
    ]


def _unreadable(source: str, path: str, error: ImageError | VideoError) -> Row:
    # the messages of readers begin with the name, which stands in the row already
    return unreadable_row(source, str(error).removeprefix(f"{display_name(path)}: "))


def _rejector_settings(rejector: FaceRejector) -> dict[str, str]:
    digest = hashlib.sha256()
    definition: list[Any] = [rejector.score.kind, rejector.features.definition]
    digest.update(json.dumps(definition, sort_keys=True, default=str).encode())
    for name, array in sorted(rejector.score.arrays().items()):
        digest.update(name.encode() + array.tobytes())
    digest.update(rejector.calibration.uncertainty.tobytes() + rejector.calibration.losses.tobytes())
    predictor = fingerprint_of(rejector.predictor)
    detector = definition_of(rejector.detector) or {"name": name_of(rejector.detector)}
    return {
        "model": digest.hexdigest()[:12],
        "target": f"{rejector.target.kind} {rejector.target.value:g}",
        "pose limits": ", ".join("any" if limit is None else f"{limit:g}" for limit in rejector.pose_limits),
        "landmark predictor": predictor[:12] if predictor else name_of(rejector.predictor),
        "detector": ", ".join(f"{name} {value}" for name, value in detector.items()),
    }
