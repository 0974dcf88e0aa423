"""An image or a video in, its faces out: POST /api/score, POST /api/video, frames of live clients."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import cv2
import numpy as np
import PIL.Image
from starlette.exceptions import HTTPException

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.images import (
    MAX_SCANS,
    SCAN_MARKER,
    TOO_MANY_SCANS,
    ImageArray,
    ImageError,
    is_heif,
    kind_of_file,
    load_rgb,
    read_image,
)
from facereject.serve.limits import ServeLimits
from facereject.serve.pool import WorkPool
from facereject.serve.responses import encode, frame_response, log_failure, unusable
from facereject.sources.frame import Frame
from facereject.sources.video import VideoError, open_video, prefetch
from facereject.tracking.tracker import FaceTracker

# seconds of work after which other clients get their turn, and rows are sent
_TURN_S = 0.1


def score_image(
    choose: Callable[[], FaceRejector], path: str, *, max_pixels: int, thumbnails: bool
) -> dict[str, Any]:
    """The faces of an image in a private file.

    Parameters
    ----------
    choose : callable
        Gives the rejector; called here, as it may have to be loaded.
    path : str
    max_pixels : int
        Larger images are refused before they are decoded.
    thumbnails : bool
        With a small JPEG of each face.

    Raises
    ------
    HTTPException
        415 for a video, 422 for a file that cannot be read.
    """
    rejector = choose()
    if kind_of_file(path) == "video":
        raise HTTPException(415, "this is a video or an animation; send it to /api/video")
    try:
        image = _read(path, max_pixels)
    except ImageError as error:
        raise unusable(without_name(str(error), path)) from None
    height, width = image.shape[:2]
    start = time.perf_counter()
    faces = rejector(image)
    seconds = round(time.perf_counter() - start, 4)
    return {
        "width": width,
        "height": height,
        "seconds": seconds,
        **frame_response(faces, thumbnails=thumbnails),
    }


def _read(path: str, max_pixels: int) -> ImageArray:
    try:
        return load_rgb(path, max_pixels=max_pixels)
    except ImageError:
        # `read_image` would explain by its name why a file is no image, and this one has none
        if not is_heif(path):
            raise
    return read_image(path, max_pixels=max_pixels)


def without_name(message: str, path: str) -> str:
    """A message of the library without the name of the private file in front."""
    return message.removeprefix(f"{display_name(path)}: ")


def decode_jpeg(data: bytes, max_pixels: int) -> ImageArray:
    """A JPEG image as RGB; its size is checked before it is decoded.

    Raises
    ------
    HTTPException
        422 if it is no JPEG, damaged, or too large.
    """
    try:
        with PIL.Image.open(io.BytesIO(data), formats=["JPEG"]) as header:
            width, height = header.size
    except Exception:
        # Pillow reports broken headers in many ways
        raise unusable("not a JPEG image") from None
    if width * height > max_pixels:
        raise unusable(f"{width} x {height} pixels are more than the limit of {max_pixels:,}")
    if data.count(SCAN_MARKER) > MAX_SCANS:
        raise unusable(TOO_MANY_SCANS)
    # several times as fast as Pillow, which counts at 30 frames per second
    image = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if image is None or min(image.shape[:2]) < 2:
        raise unusable("the JPEG image is damaged")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), dtype=np.uint8)


class VideoStream:
    """The frames of a video being scored, a few at a time.

    Parameters
    ----------
    choose : callable
        Gives the rejector.
    path : str
        A private file.
    limits : ServeLimits
        Videos with frames of more than ``frame_pixels`` are refused before they are decoded. The work ends
        with an error after ``video_s``, and when no frame can be decoded for ``stall_s``.

    Attributes
    ----------
    ended : bool
        The last line has been given.
    """

    def __init__(self, choose: Callable[[], FaceRejector], path: str, limits: ServeLimits) -> None:
        self._choose, self._path, self._limits = choose, path, limits
        self._resources = ExitStack()
        self._stopped = threading.Event()
        self._frames = self._accepted = 0
        self.ended = False

    def open(self) -> bytes:
        """The first line: size, rate, and the number of frames that the file announces.

        Raises
        ------
        HTTPException
            422 with a sentence if the video cannot be read.
        """
        rejector = self._choose()
        if kind_of_file(self._path) != "video":
            raise unusable("not a video in a format that can be read; send images to /api/score")
        self._end = time.monotonic() + self._limits.video_s
        self._last_frame = time.monotonic()
        try:
            reader = open_video(self._path, max_pixels=self._limits.frame_pixels, check=self._check)
        except VideoError as error:
            raise unusable(without_name(str(error), self._path)) from None
        self._reader = self._resources.enter_context(reader)
        frames = self._resources.enter_context(closing(prefetch(self._noted(reader))))
        self._scored = map(FaceTracker(rejector), frames)
        width, height = reader.size
        return _line({"width": width, "height": height, "fps": reader.fps, "frames": reader.frame_count_hint})

    def turn(self) -> bytes:
        """The next lines, one per frame, and after the last frame the counts or the error."""
        until = time.monotonic() + _TURN_S
        lines: list[bytes] = []
        try:
            while not self.ended and time.monotonic() < until:
                frame = next(self._scored, None)
                if frame is None:
                    lines.append(self._over(self._counts()))
                    break
                response = frame_response(frame.faces)
                lines.append(_line({"frame": frame.index, "time_s": frame.time_s, **response}))
                self._frames += 1
                self._accepted += response["accepted"]
                self._check_time()
        except VideoError as error:
            lines.append(self._over({"error": without_name(str(error), self._path)}))
        return b"".join(lines)

    def stop(self) -> None:
        """End the work that other threads do on this video, at the next packet."""
        self._stopped.set()

    def close(self) -> None:
        """Free the file and end the thread that reads ahead."""
        self.stop()
        self._resources.close()

    def _check(self) -> None:
        """Called for every packet: damaged ones may come by the million without a frame between them."""
        if self._stopped.is_set():
            raise VideoError("stopped")
        if time.monotonic() > self._last_frame + self._limits.stall_s:
            raise VideoError(f"given up: no frame could be decoded for {self._limits.stall_s:g} s")
        self._check_time()

    def _check_time(self) -> None:
        if time.monotonic() > self._end:
            seconds = self._limits.video_s
            raise VideoError(f"given up after {seconds:.0f} s; use `facereject score` for long videos")

    def _noted(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        """The same frames; the time that others take between two of them does not count as a stall."""
        for frame in frames:
            yield frame
            self._last_frame = time.monotonic()

    def _counts(self) -> dict[str, Any]:
        return {
            "done": True,
            "frames": self._frames,
            "accepted_frames": self._accepted,
            "undecodable": self._reader.undecodable,
        }

    def _over(self, last: dict[str, Any]) -> bytes:
        self.ended = True
        return _line(last)


async def lines_of(video: VideoStream, head: bytes, pool: WorkPool) -> AsyncGenerator[bytes, None]:
    """All lines of a video, turn by turn."""
    yield head
    try:
        while not video.ended:
            yield await pool.run(video.turn, stop=video.stop)
    except Exception as error:
        # the status has been sent
        log_failure("POST /api/video", error)
        yield _line({"error": "the server failed on this video"})


def _line(value: dict[str, Any]) -> bytes:
    return encode(value) + b"\n"
