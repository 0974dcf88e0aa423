"""Films: frames in order with their times, whatever the container."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import cv2
import numpy as np

from ..faces.images import ImageArray
from .table import display_name

T = TypeVar("T")


class VideoError(ValueError):
    """The film cannot be read. The message names the file."""


class Frame(NamedTuple):
    """One frame: its number from 0, its time in seconds since the start, its RGB pixels."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    time_s: float
    image: ImageArray


class VideoReader:
    """A film as an iterator of `Frame`; use it as a context manager.

    Attributes
    ----------
    fps : float
        Frames per second, not rounded; 0 if the container does not tell.
    size : tuple of int
        Width and height of the first frame, upright, in pixels.
    frame_count_hint : int or None
        What the container claims.
    undecodable : int
        Frames so far that could not be decoded.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        self._capture: Any = cv2.VideoCapture(self.path, cv2.CAP_FFMPEG)
        ok, self._first = self._capture.read()
        if not ok:
            self._capture.release()
            raise VideoError(f"{display_name(self.path)}: not a readable film")
        self.fps = float(self._capture.get(cv2.CAP_PROP_FPS))
        self.size = (int(self._first.shape[1]), int(self._first.shape[0]))
        count = int(self._capture.get(cv2.CAP_PROP_FRAME_COUNT))
        self.frame_count_hint = count if count > 0 else None
        self.undecodable = 0

    def __iter__(self) -> Iterator[Frame]:
        index, ok, image = 0, True, self._first
        while ok:
            time_s = round(self._capture.get(cv2.CAP_PROP_POS_MSEC) / 1000, 6)
            rgb = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), dtype=np.uint8)
            yield Frame(index, time_s, rgb)
            index += 1
            ok, image = self._capture.read()

    def close(self) -> None:
        self._capture.release()

    def __enter__(self) -> VideoReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_video(path: str | os.PathLike[str]) -> VideoReader:
    """Open a film.

    Raises
    ------
    VideoError
        Nothing in the file can be decoded as a film.
    """
    return VideoReader(path)


def prefetch(frames: Iterator[T], depth: int = 4) -> Iterator[T]:
    """Run an iterator in a thread of its own, at most ``depth`` items ahead."""
    items: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
    closed = threading.Event()

    def put(item: tuple[str, Any]) -> bool:
        while not closed.is_set():
            try:
                items.put(item, timeout=0.1)
                return True
            except queue.Full:
                pass
        return False

    def work() -> None:
        try:
            for frame in frames:
                if not put(("item", frame)):
                    return
            put(("end", None))
        except BaseException as error:
            put(("error", error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            what, value = items.get()
            if what == "end":
                return
            if what == "error":
                raise value
            yield value
    finally:
        closed.set()
        thread.join()
