"""What videos, animations and cameras give: frames with their times."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import cv2

from facereject.faces.images.load import ImageArray

#: seconds from frame to frame where a video does not tell; FFmpeg assumes the same
DEFAULT_STEP = 1 / 25


class VideoError(ValueError):
    """The video cannot be read. The message starts with the name of the file."""


class Frame(NamedTuple):
    """One frame of a video or a camera.

    Attributes
    ----------
    index : int
        Counted from 0.
    time_s : float
        Seconds since the start of the video, or since the first frame of the camera.
    image : ndarray of shape (H, W, 3), uint8, RGB
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    time_s: float
    image: ImageArray


@contextmanager
def quiet_opencv() -> Iterator[None]:
    """OpenCV and its FFmpeg keep their remarks off stderr; what matters is raised as an error."""
    # FFmpeg reads it once, with the first video; somebody who asks for its messages gets them
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    level = cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
    try:
        yield
    finally:
        cv2.utils.logging.setLogLevel(level)
