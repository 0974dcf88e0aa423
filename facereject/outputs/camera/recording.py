"""Recordings of a camera: a video in real time, with landmarks and decisions drawn."""

from __future__ import annotations

import os
from dataclasses import MISSING, dataclass, field

from facereject._options import OptionError, option
from facereject.faces.face import FaceFrame
from facereject.faces.images import ImageArray
from facereject.outputs._video.writer import VideoWriteError, VideoWriter, check_video_path
from facereject.outputs.base import Output, RunInfo
from facereject.outputs.saved_video import draw_decision

# frames per second; a frame is repeated until the next one comes
_FPS = 30.0


@dataclass
class Recording(Output):
    """Record a camera in real time, with landmarks and decisions drawn.

    The video is finished however the session ends; if the process is killed, a file beside it that ends in
    ``.partial`` and the suffix plays up to the last second.

    Parameters
    ----------
    path : path
        A video, such as ``session.mp4``.

    See Also
    --------
    SavedVideo : Videos made from video files.

    Examples
    --------
    >>> from facereject.outputs.camera.recording import Recording
    >>> Recording("session.mp4").files()
    ['session.mp4']
    """

    path: str = option(
        MISSING,
        "--record",
        metavar="VIDEO",
        help="Record with landmarks and decisions drawn: .mp4, .mov, .mkv, .webm or .avi.",
    )

    _run: RunInfo = field(init=False, repr=False)
    _writer: VideoWriter | None = field(default=None, init=False, repr=False)
    _start: float = field(default=0.0, init=False, repr=False)
    _image: ImageArray | None = field(default=None, init=False, repr=False)
    _saved: bool = field(default=False, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check the name of the video."""
        try:
            check_video_path(os.fspath(self.path), overwrite=run.overwrite)
        except VideoWriteError as error:
            raise OptionError(f"`Recording.path` {error}") from None
        self._run = run

    def files(self) -> list[str]:
        """The video."""
        return [os.fspath(self.path)]

    def write(self, frame: FaceFrame) -> None:
        """Show a frame from its time on; the frame before is shown until then."""
        image = draw_decision(frame, frame.accepted(self._run.frame_rule))
        if self._writer is None:
            height, width = image.shape[:2]
            self._writer = VideoWriter(
                self.path, _FPS, (width, height), fragmented=True, overwrite=self._run.overwrite
            )
            self._start = frame.time_s
        elif self._image is not None:
            for _ in range(int((frame.time_s - self._start) * _FPS) - self._writer.frames):
                self._writer.write(self._image)
        self._image = image

    def close(self) -> None:
        """Finish the video."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            if self._image is not None:
                writer.write(self._image)
        finally:
            writer.close()
        self._saved = True

    def report(self) -> list[str]:
        """Where the video is."""
        return [f"Saved: {self.path}"] if self._saved else []
