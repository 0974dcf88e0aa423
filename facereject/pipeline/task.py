"""What is done with one input, in whichever process: open it, score its frames, feed the outputs there."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.face import NO_IMAGE, FaceFrame, changed
from facereject.faces.geometry import FloatArray
from facereject.faces.images import MAX_PIXELS, ImageError, read_image
from facereject.faces.plugins import definition_of, fingerprint_of, name_of
from facereject.outputs.base import Media, Output
from facereject.sources.frame import Frame, VideoError
from facereject.sources.inputs import Input
from facereject.sources.video import VideoReader, open_video, prefetch
from facereject.sources.video_parts import PART_FRAMES
from facereject.tracking.tracker import FaceTracker, Tracking

#: placeholder where no output needs the mean shape
NO_SHAPE: FloatArray = np.empty((0, 2))

#: frames of a video in one chunk
CHUNK_FRAMES = 64


#: finds and scores the faces of a frame; a `FaceTracker` does so for the frames of a video
Scorer: TypeAlias = Callable[[Frame], FaceFrame]


class Chunk(NamedTuple):
    """Some frames of one input, in order, without their pixels.

    Attributes
    ----------
    frames : list of FaceFrame
    undecodable : int
        Frames that could not be decoded and are missing here.
    """

    frames: list[FaceFrame]
    undecodable: int = 0


@dataclass(frozen=True)
class ScoreTask:
    """Turns an `Input` into frames with faces, a chunk at a time. It pickles, so any engine can run it.

    Parameters
    ----------
    rejector : FaceRejector
    tracking : Tracking
        For videos.
    outputs : tuple of Output
        Those that run beside the pixels.
    max_pixels : int
        Images and videos with larger frames are refused before they are decoded.
    part_frames : int
        Videos of at least twice this many frames are cut into parts of about this many, which workers score
        side by side; see `facereject.sources.video_parts`. 0 scores every video in one piece, and so do
        ``outputs``, which need all frames of a video in order.
    folder : str
        Relative paths are taken from here, which matters where the task runs on another machine; empty for
        the current folder.
    """

    rejector: FaceRejector
    tracking: Tracking = field(default_factory=Tracking)
    outputs: tuple[Output, ...] = ()
    max_pixels: int = MAX_PIXELS
    part_frames: int = PART_FRAMES
    # the frames do not depend on it: they name inputs as these were given
    folder: str = field(default="", compare=False)

    def __call__(self, item: Input) -> Iterator[Chunk]:
        source, path = display_name(item.path), os.path.join(self.folder, item.path)
        try:
            if item.kind == "image":
                image = read_image(path, max_pixels=self.max_pixels)
            else:
                reader = open_video(path, max_pixels=self.max_pixels, segment=item.part and item.part.segment)
        except (ImageError, VideoError) as error:
            if item.part is not None:
                # it could be read when it was cut
                raise
            yield Chunk([unreadable(source, path, error)])
            return
        if item.kind == "image":
            frames = map(self._image, [Frame(0, math.nan, image, source)])
            yield from self._chunks(frames, self._media(path, item))
        else:
            first_frame = item.part.segment.number if item.part else 0
            tracker = FaceTracker(self.rejector, self.tracking, first_frame=first_frame)
            yield from self._video(reader, tracker, self._media(path, item, reader))

    def missing(self, item: Input) -> bool:
        """Whether this machine does not see the file; another one of a cluster may."""
        return not os.path.lexists(os.path.join(self.folder, item.path))

    def fingerprint(self) -> str:
        """A digest of model, landmark predictor and detector, for comparison with another machine.

        Empty if the rejector is not a FaceRejector.
        """
        if not isinstance(self.rejector, FaceRejector):
            return ""
        return hashlib.sha256(repr(sorted(settings_of(self).items())).encode()).hexdigest()

    def _image(self, frame: Frame) -> FaceFrame:
        return FaceFrame(frame.index, frame.time_s, frame.image, self.rejector(frame.image), frame.source)

    def _media(self, path: str, item: Input, reader: VideoReader | None = None) -> Media:
        shape = mean_shape_of(self.rejector) if self.outputs else NO_SHAPE
        return Media(path, display_name(item.path), item.kind, shape, reader)

    def _video(self, reader: VideoReader, scorer: Scorer, media: Media) -> Iterator[Chunk]:
        # decoding goes on in a thread while faces are scored here
        with reader, closing(prefetch(reader)) as frames:
            named = (frame._replace(source=media.source) for frame in frames)
            run_up: list[FaceFrame] = []
            scored = _without_run_up(map(scorer, named), reader.begin_s, run_up)
            yield from self._chunks(scored, media, reader, run_up)

    def _chunks(
        self,
        frames: Iterable[FaceFrame],
        media: Media,
        reader: VideoReader | None = None,
        run_up: Sequence[FaceFrame] = (),
    ) -> Iterator[Chunk]:
        """Feed the outputs, and pass the frames on without their pixels."""
        waiting: list[FaceFrame] = []
        reported = 0
        with ExitStack() as stack:
            for output in self.outputs:
                output.begin(media)
                stack.push(partial(_end, output))
            for frame in feed(frames, self.outputs):
                if run_up and frame.index == 0:
                    yield Chunk([each._replace(index=n - len(run_up)) for n, each in enumerate(run_up)])
                # outputs elsewhere show no thumbnails, and pickling would encode them
                faces = [changed(face, thumbnail=b"") for face in frame.faces]
                waiting.append(frame._replace(image=NO_IMAGE, faces=faces))
                if len(waiting) == CHUNK_FRAMES:
                    failed = reader.undecodable if reader is not None else 0
                    yield Chunk(waiting, failed - reported)
                    waiting, reported = [], failed
        # frames missing at the end are known only now, and what the outputs wrote is complete
        failed = reader.undecodable if reader is not None else 0
        if waiting or failed > reported:
            yield Chunk(waiting, failed - reported)


def feed(frames: Iterable[FaceFrame], outputs: Iterable[Output]) -> Iterator[FaceFrame]:
    """Write frames to all outputs and pass them on."""
    outputs = list(outputs)
    for frame in frames:
        for output in outputs:
            output.write(frame)
        yield frame


def _end(output: Output, kind: type[BaseException] | None, *rest: object) -> None:
    """End the input of an output on the way out of a block, by an exception or not."""
    output.end(failed=kind is not None)


def mean_shape_of(rejector: FaceRejector) -> FloatArray:
    """The mean shape of the landmarks; zeros for a rejector that has none."""
    points = getattr(rejector, "points", None)
    return np.zeros((rejector.n_points, 2)) if points is None else points.mean_shape


def problem_frame(source: str, problem: str) -> FaceFrame:
    """The frame of an input, or of the rest of one, that could not be scored."""
    return FaceFrame(-1, math.nan, NO_IMAGE, [], source, " ".join(problem.split()))


def unreadable(source: str, path: str, error: Exception) -> FaceFrame:
    """The frame of an input that could not be decoded."""
    # the messages of readers begin with the name, which the frame has already
    return problem_frame(source, f"unreadable: {str(error).removeprefix(f'{display_name(path)}: ')}")


def settings_of(task: ScoreTask) -> dict[str, str]:
    """What the frames of a task depend on, each in a readable form: model, target, detector, options."""
    settings: dict[str, str] = {}
    for part in dataclasses.fields(task):
        if not part.compare:
            continue
        value = getattr(task, part.name)
        if isinstance(value, FaceRejector):
            settings |= _rejector_settings(value)
        elif isinstance(value, Tracking):
            settings |= {name: str(option) for name, option in dataclasses.asdict(value).items()}
        elif part.name == "outputs":
            # what workers have written for finished inputs is not written again on resuming
            settings["outputs"] = "; ".join(map(repr, value)) or "none"
        elif part.name != "rejector":
            settings[part.name] = str(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            # not a FaceRejector
            settings |= {each.name: str(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return settings


def _without_run_up(
    frames: Iterable[FaceFrame], begin_s: float, run_up: list[FaceFrame]
) -> Iterator[FaceFrame]:
    """The frames from a time on, counted from 0 there; those before go to ``run_up`` without pixels."""
    for frame in frames:
        if frame.time_s < begin_s:
            run_up.append(frame._replace(image=NO_IMAGE))
        else:
            yield frame._replace(index=frame.index - len(run_up))


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
