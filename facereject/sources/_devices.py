"""What a camera reads from: a capture device, an address or a file that plays in its own time."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import cv2
import numpy as np

from facereject._files import display_name
from facereject.faces.images import ImageArray
from facereject.sources.frame import Frame, VideoError, quiet_opencv
from facereject.sources.video import open_video

# OpenCV takes no larger number
_LAST_CAMERA = 2**31 - 1


class CameraError(RuntimeError):
    """The camera cannot be opened or has stopped. The message says what to do."""


class Shot(NamedTuple):
    """An RGB image and, for videos that play as a camera, the seconds after the first when it is due."""

    image: ImageArray
    due_s: float | None = None


class CaptureDevice:
    """A device or stream through OpenCV; used by one thread."""

    def __init__(self, capture: Any):
        self._capture = capture

    def read(self) -> Shot | None:
        """The next image; None if this attempt gave none."""
        done, image = self._capture.read()
        if not done or image is None or image.size == 0:
            return None
        code = {2: cv2.COLOR_GRAY2RGB, 3: cv2.COLOR_BGR2RGB}[image.ndim]
        return Shot(np.asarray(cv2.cvtColor(image, code), dtype=np.uint8))

    def close(self) -> None:
        self._capture.release()


class VideoDevice:
    """A video that stands in for a camera: its frames are due at their times."""

    def __init__(self, path: str):
        self._video = open_video(path)
        self._frames: Iterator[Frame] = iter(self._video)

    def read(self) -> Shot | None:
        """The next image; EOFError when no more will come."""
        frame = next(self._frames, None)
        if frame is None:
            raise EOFError
        return Shot(frame.image, frame.time_s)

    def close(self) -> None:
        self._video.close()


Device = CaptureDevice | VideoDevice


def open_device(source: int | str, size: tuple[int, int] | None = None) -> Device:
    """Open a camera by its number, a stream by its address, or a video by its path.

    Parameters
    ----------
    source : int or str
        A number ("0" too), a device such as ``/dev/video0``, an address with ``://``, or a video.
    size : tuple of int, optional
        Width and height to ask the device for, in pixels; it may choose others.

    Raises
    ------
    CameraError
    """
    if isinstance(source, str) and source.strip().isdecimal():
        source = int(source)
    if isinstance(source, int):
        if source > _LAST_CAMERA:
            raise CameraError(f"{camera_name(source)} does not exist: a camera has a small number, such as 0")
        return _open_capture(source, cv2.CAP_ANY, size)
    if "://" in source:
        return _open_capture(source, cv2.CAP_FFMPEG, None)
    if source.startswith("/dev/") and not os.path.isfile(source):
        return _open_capture(source, cv2.CAP_ANY, size)
    try:
        return VideoDevice(source)
    except VideoError as error:
        raise CameraError(f"{error}; --camera takes a number, an address or a video") from None


def _open_capture(source: int | str, backend: int, size: tuple[int, int] | None) -> CaptureDevice:
    with quiet_opencv():
        capture = cv2.VideoCapture(source, backend)
        if not capture.isOpened():
            capture.release()
            raise CameraError(why_not_opened(source))
        # an image from the buffer of the driver would be an old one
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        if size is not None:
            # uncompressed, USB carries large frames a few times per second only
            capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*"MJPG"))
            capture.set(cv2.CAP_PROP_FRAME_WIDTH, size[0])
            capture.set(cv2.CAP_PROP_FRAME_HEIGHT, size[1])
    return CaptureDevice(capture)


def camera_name(source: int | str) -> str:
    """How messages call a source; the password of an address is left out."""
    if isinstance(source, int) or source.strip().isdecimal():
        return f"camera {source}"
    return re.sub(r"://[^/@]*@", "://", display_name(source))


def why_not_opened(source: int | str) -> str:
    """The message for a source that does not open: what is probably wrong, and what to do."""
    name = camera_name(source)
    if isinstance(source, str) and "://" in source:
        return f"{name}: the stream cannot be opened; check the address, the network and the password"
    if not sys.platform.startswith("linux"):
        return (
            f"{name} cannot be opened: connect it, close other programs that use it, allow the terminal to "
            "use the camera in the privacy settings, or try another number, such as --camera 1"
        )
    path = f"/dev/video{source}" if isinstance(source, int) else source
    found = sorted(glob.glob("/dev/video*"))
    if not found:
        return (
            f"{name} cannot be opened: this computer shows no camera (there is no /dev/video*); "
            "connect one, or name a video or the address of a stream with --camera"
        )
    if not os.path.exists(path):
        return f"{name} does not exist; found: {', '.join(found)}; choose one with --camera"
    if not os.access(path, os.R_OK | os.W_OK):
        return (
            f"{name}: you may not use {path}; add yourself to its group with "
            "'sudo usermod -aG video $USER' and log in again"
        )
    others = [other for other in found if other != path]
    hint = f"; other devices: {', '.join(others)}" if others else ""
    return (
        f"{name} cannot be opened: another program may be using it, so close video calls and browsers, "
        f"or {path} gives no images{hint}"
    )
