"""What videos, animations and cameras give: frames with their times."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import NamedTuple

import cv2

from facereject._files import InputError
from facereject.faces.images import ImageArray

#: seconds from frame to frame where a video does not tell; FFmpeg assumes the same
DEFAULT_STEP = 1 / 25


class VideoError(InputError):
    """The video cannot be read. The message starts with the name of the file."""


class Frame(NamedTuple):
    """An image, or one frame of a video or camera.

    Attributes
    ----------
    index : int
        Counted from 0.
    time_s : float
        Seconds since the start of the video, or since the first frame of the camera; NaN for an image.
    image : ndarray of shape (H, W, 3), uint8, RGB
    source : str
        Name of the file or camera.

    See Also
    --------
    open_video : Yields frames.
    facereject.tracking.FaceTracker : Scores the faces of frames.

    Examples
    --------
    >>> import skimage.data
    >>> from facereject.sources import Frame
    >>> Frame(0, 0.0, skimage.data.astronaut(), "astronaut").image.shape
    (512, 512, 3)
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    time_s: float
    image: ImageArray
    source: str = ""


class VideoReader(ABC):
    """A video, read once from start to end: a context manager and an iterable of `Frame`.

    Attributes
    ----------
    path : str
    fps : float
        Frames per second as the container gives them, not rounded; 0 if it does not tell. For animations,
        whose frames have separate durations, that of the first frame.
    size : tuple of int
        Width and height in pixels of the first frame, turned upright as the video asks for. Where the
        resolution changes, later frames have other sizes.
    rate : Fraction
        The same as ``fps`` as an exact fraction: 30000/1001, not 29.97.
    start_s : float
        What the clock of the file shows at ``time_s`` 0, for its sound; 0 for animations.
    begin_s : float
        With a segment, the time of the first frame that belongs to it; earlier ones are only a run-up.
    frame_count_hint : int or None
        The number of frames that the container announces; often an estimate from length and rate.
    undecodable : int
        Frames so far that could not be decoded; when the iteration ends, together with those that gave
        nothing without an error, and those that are announced but missing, as in a truncated file.
    """

    fps: float
    size: tuple[int, int]
    rate: Fraction
    start_s = begin_s = 0.0
    frame_count_hint: int | None = None

    def __init__(self, path: str) -> None:
        self.path = path
        self.undecodable = 0
        self._frames = (Frame(index, *frame) for index, frame in enumerate(self._decoded_frames()))

    @abstractmethod
    def _decoded_frames(self) -> Iterator[tuple[float, ImageArray]]:
        """Times in seconds and RGB images."""

    @abstractmethod
    def close(self) -> None:
        """Free the file; nothing can be read afterwards."""

    def __iter__(self) -> Iterator[Frame]:
        return self._frames

    def __enter__(self) -> VideoReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@contextmanager
def quiet_opencv() -> Iterator[None]:
    """OpenCV and its FFmpeg keep their remarks off stderr; what matters is raised as an error."""
    # FFmpeg reads it once, with the first video; a user who sets it gets the messages
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        cv2.utils.logging.setLogLevel(level)


class SteadyClock:
    """Makes the times of a container increase: where they do not, the frame rate is used."""

    def __init__(self, step: float):
        self._step = step
        self._last = -math.inf
        self._offset = 0.0

    def time(self, stamp: float) -> float:
        if not math.isfinite(stamp) or stamp + self._offset <= self._last:
            before = -self._step if math.isinf(self._last) else self._last
            self._offset = before + self._step - (stamp if math.isfinite(stamp) else 0.0)
        self._last = (stamp if math.isfinite(stamp) else 0.0) + self._offset
        # stamps are multiples of a time base; the noise of their conversion is not
        return round(self._last, 6)
