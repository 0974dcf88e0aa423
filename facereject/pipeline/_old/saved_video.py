"""Videos made while videos are read: the accepted frames only, or all of them with their faces drawn."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from types import TracebackType

from facereject._files import display_name
from facereject.faces.face import FaceFrame
from facereject.faces.images.load import ImageArray
from facereject.outputs._video.encoding import exact_time
from facereject.outputs._video.writer import CODECS, VideoWriteError, VideoWriter, check_video_path
from facereject.outputs.saved_video import draw_decision
from facereject.pipeline._old.segments import AS_THEY_ARE, Steadiness
from facereject.sources.video import VideoReader, open_video


@dataclass(frozen=True)
class VideoOutput:
    """Where videos go and what they show.

    Parameters
    ----------
    save : str
        A video, or a folder if ``base`` is given.
    base : str or None
        Below the folder, videos keep their subfolders from here on, and their names; a container that cannot
        be written is followed by ``.mp4``.
    annotate : bool
        Every frame, with landmarks, score and decision; else the accepted frames as they are.
    frame_rule : {"all", "any", "largest"}
        When a frame with several faces is accepted; see `facereject.tables.rows.frame_accepted`.
    audio : bool
        Keep the sound: all of it with ``annotate``, else that of the accepted frames.
    steadiness : Steadiness
        Gaps that are kept and stretches that are dropped, unless ``annotate`` keeps all. What is kept is then
        known only at the end, and the video is read a second time.
    overwrite : bool
        Replace files that were not made here, too.
    """

    save: str
    base: str | None = None
    annotate: bool = False
    frame_rule: str = "all"
    audio: bool = True
    steadiness: Steadiness = AS_THEY_ARE
    overwrite: bool = field(default=False, compare=False)

    def target(self, path: str) -> str:
        """The video that is made of the video at ``path``."""
        if self.base is None:
            return self.save
        whole = os.path.abspath(path)
        inside = os.path.relpath(whole, self.base)
        if inside.startswith(os.pardir):
            # from elsewhere: the whole path, so that equal names stay apart
            inside = os.path.splitdrive(whole)[1].lstrip(os.sep)
        if os.path.splitext(inside)[1].lower() not in CODECS:
            inside += ".mp4"
        return os.path.join(self.save, inside)

    def check(self) -> None:
        """Raise VideoWriteError if nothing can be written there."""
        if self.base is None:
            check_video_path(self.save, overwrite=self.overwrite)
        elif os.path.lexists(self.save) and not os.path.isdir(self.save):
            raise VideoWriteError(
                f"{display_name(self.save)}: this is a file; name a folder, or a video for one input"
            )

    def open(self, reader: VideoReader) -> VideoBeingSaved:
        """Start the video that is made of another one."""
        path, target = reader.path, self.target(reader.path)
        if os.path.exists(target) and os.path.samefile(target, path):
            raise VideoWriteError(
                f"{display_name(target)}: this is the video that is read; save it under another name"
            )
        try:
            if self.base is not None:
                os.makedirs(os.path.dirname(target), exist_ok=True)
        except OSError as error:
            raise VideoWriteError(f"{display_name(target)}: cannot be written ({error.strerror})") from None
        writer = VideoWriter(target, reader.rate, reader.size, overwrite=self.overwrite)
        return VideoBeingSaved(writer, self, reader)


class VideoBeingSaved:
    """One video being written; a context manager. After an exception nothing is left behind."""

    def __init__(self, writer: VideoWriter, output: VideoOutput, reader: VideoReader) -> None:
        self._writer, self._output, self._reader = writer, output, reader
        self._before: Fraction | None = None
        self._length = Fraction(0)
        self._stretches: list[tuple[Fraction, Fraction]] = []
        self._later = output.steadiness != AS_THEY_ARE and not output.annotate
        self._decided: list[tuple[float, bool]] = []
        self._pixels = 0

    def write(self, frame: FaceFrame, accepted: bool) -> None:
        """Take the next frame of the video that is read."""
        if self._output.annotate:
            self._writer.write(draw_decision(frame, accepted), frame.time_s)
            return
        if self._later:
            self._decided.append((frame.time_s, accepted))
            self._pixels = max(self._pixels, frame.image.shape[0] * frame.image.shape[1])
        else:
            self._keep(frame.image, frame.time_s, accepted)

    def _keep(self, image: ImageArray, time: float, accepted: bool) -> None:
        time_s = exact_time(time, self._writer.rate)
        self._end_before(time_s)
        if accepted:
            self._writer.write(image, float(self._length))
            self._before = time_s

    def _read_again(self) -> None:
        """Write the frames of the steadied stretches."""
        runs = [list(group) for _, group in groupby(self._decided, key=lambda pair: pair[1])]
        # a run lasts until the next one begins, the last one for as long as a frame does
        ends = [run[0][0] for run in runs[1:]] + [self._decided[-1][0] + 1 / float(self._writer.rate)]
        lengths = [(end - run[0][0], run[0][1]) for run, end in zip(runs, ends, strict=True)]
        steady = self._output.steadiness.decisions(lengths)
        kept = [accepted for run, accepted in zip(runs, steady, strict=True) for _ in run]
        with open_video(self._reader.path, max_pixels=self._pixels) as frames:
            for frame, accepted in zip(frames, kept, strict=False):
                self._keep(frame.image, frame.time_s, accepted)

    def __enter__(self) -> VideoBeingSaved:
        self._writer.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._decided:
                self._read_again()
        except BaseException as problem:
            self._writer.__exit__(type(problem), problem, None)
            raise
        if kind is None and self._output.audio:
            if self._before is not None:
                self._end_before(self._before + 1 / self._writer.rate)
            cut = [(float(start), float(end)) for start, end in self._stretches]
            kept = None if self._output.annotate else cut
            self._writer.keep_sound(self._reader.path, self._reader.start_s, kept)
        self._writer.__exit__(kind, error, trace)

    def _end_before(self, time_s: Fraction) -> None:
        """A kept frame lasts until the next frame of its video, kept or not."""
        if self._before is None:
            return
        start, self._before = self._before, None
        self._length += time_s - start
        if self._stretches and self._stretches[-1][1] == start:
            start = self._stretches.pop()[0]
        self._stretches.append((start, time_s))
