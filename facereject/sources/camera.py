"""A live camera, from a device, an address or a video: the latest frame wins, none waits in a queue."""

from __future__ import annotations

import glob
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import cv2
import numpy as np

from facereject._files import display_name
from facereject.faces.face import FaceFrame
from facereject.faces.images import ImageArray
from facereject.sources.frame import Frame, VideoError, quiet_opencv
from facereject.sources.video import open_video

__all__ = ["Camera", "CameraError"]

# pixels of the shorter side; no face could be seen on less
_SMALLEST = 16


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


@dataclass(eq=False, repr=False)
class Camera:
    """A camera as a context manager and an iterator of `Frame`.

    A thread reads the device without pause and keeps the newest frame only. A consumer that is slower than
    the camera misses frames, counted in ``dropped``; a frame it gets is never older than one frame interval.
    ``Frame.index`` counts the frames of the camera, so that gaps show what was missed. ``Frame.time_s`` is
    the time of capture.

    If the device stops giving images, it is reopened a few times before `CameraError` is raised.

    Parameters
    ----------
    source : int or str
        A number, a device, the address of a stream, or a video, which plays in its own time and then ends.
    size : tuple of int, optional
        Width and height to ask a device for, in pixels.
    max_failures : int
        Number of failed attempts to read in a row, ...
    patience_s : float
        ... or seconds without a frame, after which the device counts as gone.
    reconnects, retry_s : int, float
        A device that has worked before is reopened up to this many times, after this many seconds each.
    open_device : callable
        Takes ``source`` and ``size``, returns a `Device` or raises CameraError.
    clock : callable
        Seconds that never go back.

    Attributes
    ----------
    dropped : int
        Frames so far that were not read in time.
    too_small : int
        Frames so far that were skipped because a side has less than 16 pixels, as broken drivers give them.
    black : int
        Completely black frames in a row, up to the newest one: a covered lens or a closed shutter.
    reconnected : int
        How often the device was reopened.
    """

    source: int | str = 0
    _: KW_ONLY
    size: tuple[int, int] | None = None
    max_failures: int = 30
    patience_s: float = 5.0
    reconnects: int = 5
    retry_s: float = 1.0
    open_device: Callable[[int | str, tuple[int, int] | None], Device] = open_device
    clock: Callable[[], float] = time.monotonic

    dropped: int = field(default=0, init=False)
    too_small: int = field(default=0, init=False)
    black: int = field(default=0, init=False)
    reconnected: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._latest: Frame | None = None
        self._n_captured = self._n_attempts = 0
        self._start_s: float | None = None
        self._ended = False
        self._error: Exception | None = None

    def open(self) -> Camera:
        """Open the device and start reading; CameraError says what to do if that fails."""
        if self._thread is not None:
            raise CameraError(f"{camera_name(self.source)} is open already")
        device = self.open_device(self.source, self.size)
        self._thread = threading.Thread(target=self._work, args=(device,), name="camera", daemon=True)
        self._thread.start()
        return self

    def read(self, timeout_s: float | None = None) -> Frame | None:
        """The newest frame that was not read yet; waits for one, but not longer than ``timeout_s``.

        Returns
        -------
        Frame or None
            None after the timeout, and at the end (see `ended`).

        Raises
        ------
        CameraError
            The camera has stopped giving images.
        """
        if self._thread is None:
            raise CameraError(f"{camera_name(self.source)} is not open; use it in a with statement")
        with self._changed:
            self._changed.wait_for(lambda: self._latest is not None or self._ended, timeout_s)
            frame, self._latest = self._latest, None
            if frame is None and self._ended and self._error is not None:
                raise self._error
            return frame

    def age_of(self, frame: Frame | FaceFrame) -> float:
        """Seconds since a frame of this camera was taken."""
        return self.clock() - (self._start_s or 0.0) - frame.time_s

    @property
    def ended(self) -> bool:
        """Whether no frame will come any more: the video is over, or the camera was closed."""
        with self._changed:
            return self._ended and self._latest is None

    def __iter__(self) -> Iterator[Frame]:
        while (frame := self.read()) is not None:
            yield frame

    def close(self) -> None:
        """Stop reading and free the device."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            # a driver may hang in a read; the thread is a daemon and frees the device when it returns
            self._thread.join(timeout=self.patience_s)
        with self._changed:
            self._ended = True
            self._latest = None
            self._changed.notify_all()

    def __enter__(self) -> Camera:
        return self.open()

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _work(self, device: Device | None) -> None:
        try:
            while device is not None and not self._stop.is_set():
                self._capture_until_silent(device)
                device.close()
                device = None if self._stop.is_set() else self._open_again()
        except EOFError:
            pass
        except Exception as error:
            self._error = error if isinstance(error, CameraError) else self._stopped(error)
        finally:
            if device is not None:
                device.close()
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _capture_until_silent(self, device: Device) -> None:
        """Hand on images until the device gives none any more, or the camera is closed."""
        failures, last_s = 0, self.clock()
        while not self._stop.is_set():
            shot = device.read()
            now_s = self.clock()
            if shot is not None and min(shot.image.shape[:2]) >= _SMALLEST:
                self._hand_on(shot, now_s)
                failures, last_s = 0, self.clock()
                continue
            self.too_small += shot is not None
            failures += 1
            if failures >= self.max_failures or now_s - last_s >= self.patience_s:
                return

    def _hand_on(self, shot: Shot, now_s: float) -> None:
        if self._start_s is None:
            self._start_s = now_s
        if shot.due_s is not None:
            wait_s = self._start_s + shot.due_s - now_s
            if wait_s > 0:
                self._stop.wait(wait_s)
                now_s = self.clock()
        self._n_attempts = 0
        with self._changed:
            if self._latest is not None:
                self.dropped += 1
            self.black = 0 if shot.image.any() else self.black + 1
            time_s = round(now_s - self._start_s, 6)
            self._latest = Frame(self._n_captured, time_s, shot.image, camera_name(self.source))
            self._n_captured += 1
            self._changed.notify_all()

    def _open_again(self) -> Device | None:
        name = camera_name(self.source)
        if self._n_captured == 0:
            raise CameraError(
                f"{name} opens but gives no images: another program may be using it, so close video calls "
                "and browsers; or try another number, such as --camera 1"
            )
        # counted until an image comes: a device may open and give none
        while self._n_attempts < self.reconnects:
            self._n_attempts += 1
            if self._stop.wait(self.retry_s):
                return None
            try:
                device = self.open_device(self.source, self.size)
            except CameraError:
                continue
            self.reconnected += 1
            return device
        raise self._stopped(None)

    def _stopped(self, error: Exception | None) -> CameraError:
        detail = f" ({error})" if error is not None and str(error) else ""
        return CameraError(
            f"{camera_name(self.source)} has stopped giving images after {self._n_captured} frames"
            f"{detail}: check its cable, or the network for a stream, and start again"
        )
