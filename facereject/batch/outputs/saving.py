"""Videos made while videos are read: the accepted frames only, or all of them with their faces drawn."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from types import TracebackType

from facereject._files import display_name
from facereject.drawing.faces import draw_frame
from facereject.faces.face import FaceFrame
from facereject.faces.images.load import ImageArray
from facereject.video.encoding import exact_time
from facereject.video.reader import VideoReader
from facereject.video.writer import CODECS, VideoWriteError, VideoWriter, check_video_path


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
    overwrite : bool
        Replace files that were not made here, too.
    """

    save: str
    base: str | None = None
    annotate: bool = False
    frame_rule: str = "all"
    audio: bool = True
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

    def open(self, reader: VideoReader) -> SavedVideo:
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
        return SavedVideo(writer, self, reader)


class SavedVideo:
    """One video being written; a context manager. After an exception nothing is left behind."""

    def __init__(self, writer: VideoWriter, output: VideoOutput, reader: VideoReader) -> None:
        self._writer, self._output, self._reader = writer, output, reader
        self._before: Fraction | None = None
        self._length = Fraction(0)
        self._stretches: list[tuple[Fraction, Fraction]] = []

    def write(self, frame: FaceFrame, accepted: bool) -> None:
        """Take the next frame of the video that is read."""
        if self._output.annotate:
            self._writer.write(annotated(frame, accepted), frame.time_s)
            return
        time_s = exact_time(frame.time_s, self._writer.rate)
        self._end_before(time_s)
        if accepted:
            self._writer.write(frame.image, float(self._length))
            self._before = time_s

    def __enter__(self) -> SavedVideo:
        self._writer.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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


def annotated(frame: FaceFrame, accepted: bool) -> ImageArray:
    """The frame with its faces, its time and the decision on it."""
    minutes, seconds = divmod(frame.time_s, 60)
    text = f"{int(minutes)}:{seconds:05.2f}  frame {frame.index}"
    return draw_frame(frame.image, frame.faces, accepted, text if frame.faces else f"no face  {text}")
