"""Writing videos: frames are encoded in a thread of their own, and a video gets its name when it is whole."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from types import TracebackType
from typing import Any

import cv2
import numpy as np

from facereject._files import display_name, unfinished
from facereject.faces.images import ImageArray

#: containers that can be written, each with its codec; all of these are in OpenCV's wheels
CODECS = {".mp4": "mp4v", ".m4v": "mp4v", ".mov": "mp4v", ".mkv": "mp4v", ".avi": "XVID"}

#: frames per second where the source does not tell
DEFAULT_FPS = 25.0

# frames that may wait for the encoder; more would only take memory
_WAITING = 8


class VideoWriteError(ValueError):
    """A video cannot be written. The message names the file and says what to do."""


class VideoWriter:
    """Writes one video; a context manager.

    The video is written under a temporary name beside ``path`` and renamed when the block ends; if it ends by
    an exception, or without any frame, nothing is left behind and a video of that name from before stays.

    Parameters
    ----------
    path : path
        The suffix decides the container, see `CODECS`.
    fps : float
        Frames per second, not rounded; 0 or less counts as `DEFAULT_FPS`.
    size : tuple of int
        Width and height in pixels; an odd side loses its last pixel, as the codecs ask for. Frames of another
        size are scaled to fit, with black bars at the sides where the shape differs.

    Attributes
    ----------
    frames : int
        Frames taken so far.
    """

    def __init__(self, path: str | os.PathLike[str], fps: float, size: tuple[int, int]) -> None:
        self.path = os.fspath(path)
        self.frames = 0
        check_video_path(self.path)
        suffix = os.path.splitext(self.path)[1]
        self._size = (size[0] // 2 * 2, size[1] // 2 * 2)
        if min(self._size) < 2:
            raise VideoWriteError(
                f"{display_name(self.path)}: frames of {size[0]} x {size[1]} pixels are too small"
            )
        codec = CODECS[suffix.lower()]
        self._unfinished = contextlib.ExitStack()
        # the encoder goes by the suffix, so that stays at the end
        self._file = self._unfinished.enter_context(unfinished(self.path, suffix=suffix))
        self._partial = self._file.name
        code = cv2.VideoWriter.fourcc(*codec)
        rate = fps if fps > 0 else DEFAULT_FPS
        self._video: Any = cv2.VideoWriter(self._partial, cv2.CAP_FFMPEG, code, rate, self._size)
        if not self._video.isOpened():
            self._remove()
            raise VideoWriteError(
                f"{display_name(self.path)}: no {suffix} video can be written here with the codec {codec} in "
                f"{self._size[0]} x {self._size[1]} pixels; try another suffix: {', '.join(CODECS)}"
            )
        self._waiting: queue.Queue[ImageArray | None] = queue.Queue(_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="video writer", daemon=True)
        self._thread.start()

    def write(self, image: ImageArray) -> None:
        """Append an RGB frame; it must not be changed afterwards."""
        if self._error is not None:
            raise self._failure()
        self.frames += 1
        self._waiting.put(image)

    def close(self) -> None:
        """Finish the video and give it its name; without a frame there is none."""
        self._stop()
        try:
            if self._error is not None:
                raise self._failure()
            if self.frames:
                self._check()
                os.fsync(self._file.fileno())
                os.replace(self._partial, self.path)
        except OSError as error:
            raise VideoWriteError(
                f"{display_name(self.path)}: cannot be written ({error.strerror})"
            ) from None
        finally:
            self._remove()

    def discard(self) -> None:
        """Stop and leave nothing behind."""
        self._stop()
        self._remove()

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def _work(self) -> None:
        while (image := self._waiting.get()) is not None:
            # after an error the queue is still emptied, so that nobody waits for room in it
            if self._error is None:
                try:
                    fitted = cv2.cvtColor(fit(image, self._size), cv2.COLOR_RGB2BGR)
                    self._video.write(fitted)
                except BaseException as error:
                    self._error = error

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
        self._video.release()

    def _check(self) -> None:
        """OpenCV does not tell when the disk is full: look whether the video is readable and long enough."""
        video = cv2.VideoCapture(self._partial, cv2.CAP_FFMPEG)
        count = int(video.get(cv2.CAP_PROP_FRAME_COUNT)) if video.isOpened() else 0
        video.release()
        if count < self.frames - 1:
            raise VideoWriteError(
                f"{display_name(self.path)}: only {max(count, 0)} of {self.frames} frames were written; "
                "make sure that the disk is not full"
            )

    def _failure(self) -> VideoWriteError:
        return VideoWriteError(f"{display_name(self.path)}: a frame could not be encoded ({self._error})")

    def _remove(self) -> None:
        self._unfinished.close()


def check_video_path(path: str) -> None:
    """Raise VideoWriteError if no video can be written under this name."""
    name, suffix = display_name(path), os.path.splitext(path)[1].lower()
    if suffix not in CODECS:
        raise VideoWriteError(
            f"{name}: videos are written as {', '.join(CODECS)}; choose one of these suffixes"
        )
    if os.path.isdir(path):
        raise VideoWriteError(f"{name}: this is a folder")
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        raise VideoWriteError(f"{name}: the folder {display_name(folder)} does not exist; make it first")
    if not os.access(folder, os.W_OK):
        raise VideoWriteError(f"{name}: nothing may be written to the folder {display_name(folder)}")


def fit(image: ImageArray, size: tuple[int, int]) -> ImageArray:
    """The picture in another size (width, height), its shape kept by black bars; odd last pixels are cut."""
    width, height = size
    image = image[
        : height if image.shape[0] == height + 1 else None, : width if image.shape[1] == width + 1 else None
    ]
    if image.shape[:2] == (height, width):
        return np.ascontiguousarray(image)
    scale = min(width / image.shape[1], height / image.shape[0])
    inner = (max(1, round(scale * image.shape[1])), max(1, round(scale * image.shape[0])))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    canvas = np.zeros((height, width, 3), dtype=np.uint8)
    x, y = (width - inner[0]) // 2, (height - inner[1]) // 2
    canvas[y : y + inner[1], x : x + inner[0]] = cv2.resize(image, inner, interpolation=method)
    return canvas
