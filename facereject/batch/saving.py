"""Videos made while videos are read: the accepted frames only, or all of them with their faces drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

from facereject._files import display_name
from facereject.drawing.faces import draw_frame
from facereject.faces.images import ImageArray
from facereject.video.frames import Frame
from facereject.video.tracker import TrackedFace
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
    """

    save: str
    base: str | None = None
    annotate: bool = False
    frame_rule: str = "all"

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
            check_video_path(self.save)
        elif os.path.lexists(self.save) and not os.path.isdir(self.save):
            raise VideoWriteError(
                f"{display_name(self.save)}: this is a file; name a folder, or a video for one input"
            )

    def open(self, path: str, fps: float, size: tuple[int, int]) -> SavedVideo:
        """Start the video that is made of the video at ``path``."""
        target = self.target(path)
        if os.path.exists(target) and os.path.samefile(target, path):
            raise VideoWriteError(
                f"{display_name(target)}: this is the video that is read; save it under another name"
            )
        try:
            if self.base is not None:
                os.makedirs(os.path.dirname(target), exist_ok=True)
        except OSError as error:
            raise VideoWriteError(f"{display_name(target)}: cannot be written ({error.strerror})") from None
        return SavedVideo(VideoWriter(target, fps, size), self.annotate, self.frame_rule)


class SavedVideo:
    """One video being written; a context manager. After an exception nothing is left behind."""

    def __init__(self, writer: VideoWriter, annotate: bool, frame_rule: str) -> None:
        self.frame_rule = frame_rule
        self._writer = writer
        self._annotate = annotate

    def write(self, frame: Frame, faces: Sequence[TrackedFace], accepted: bool) -> None:
        """Take the next frame of the video that is read."""
        if self._annotate:
            self._writer.write(annotated(frame, faces, accepted))
        elif accepted:
            self._writer.write(frame.image)

    def __enter__(self) -> SavedVideo:
        self._writer.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.__exit__(kind, error, trace)


def annotated(frame: Frame, faces: Sequence[TrackedFace], accepted: bool) -> ImageArray:
    """The frame with its faces, its time and the decision on it."""
    minutes, seconds = divmod(frame.time_s, 60)
    text = f"{int(minutes)}:{seconds:05.2f}  frame {frame.index}"
    return draw_frame(
        frame.image,
        [tracked.face for tracked in faces],
        accepted,
        text if faces else f"no face  {text}",
        tracks=[tracked.track for tracked in faces],
    )
