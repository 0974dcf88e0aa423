"""One video in, a line of JSON for each frame out as soon as it is scored: POST /api/video."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from typing import Any

from facereject.faces import FaceRejector
from facereject.faces.images import kind_of_file
from facereject.serve.images import without_name
from facereject.serve.limits import ServeLimits
from facereject.serve.pool import WorkPool
from facereject.serve.responses import encode, frame_response, log_failure, unusable
from facereject.sources.frame import Frame
from facereject.sources.prefetch import prefetch
from facereject.sources.video import VideoError, open_video
from facereject.tracking.tracker import FaceTracker

# seconds of work after which other clients get their turn, and rows are sent
_TURN_S = 0.1


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
