"""One video in, a line of JSON for each frame out, as soon as it is judged: POST /api/video."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, closing
from typing import Any

from facereject.faces import FaceRejector
from facereject.faces.images.kinds import kind_of_file
from facereject.pipeline.loop import scored_frames
from facereject.serve.answers import frame_answer
from facereject.serve.pictures import without_name
from facereject.serve.pool import WorkPool
from facereject.serve.refusals import encode, unusable
from facereject.sources.prefetch import prefetch
from facereject.sources.video import VideoError, open_video
from facereject.tracking.tracker import FaceTracker

# seconds of work after which other clients get their turn, and rows are sent
_TURN_S = 0.1


class VideoStream:
    """A video being judged, a few frames at a time.

    Parameters
    ----------
    choose : callable
        Gives the rejector.
    path : str
        A private file.
    max_pixels : int
        Videos with larger frames are refused before they are decoded.
    max_seconds : float
        The work ends with an error when it has taken so long.

    Raises
    ------
    Refusal
        422 with a sentence if the video cannot be read.
    """

    def __init__(
        self, choose: Callable[[], FaceRejector], path: str, *, max_pixels: int, max_seconds: float
    ) -> None:
        rejector = choose()
        if kind_of_file(path) != "video":
            raise unusable("not a video in a format that can be read; send pictures to /api/score")
        try:
            reader = open_video(path, max_pixels=max_pixels)
        except VideoError as error:
            raise unusable(without_name(str(error), path)) from None
        self._resources = ExitStack()
        self._reader = self._resources.enter_context(reader)
        frames = self._resources.enter_context(closing(prefetch(reader)))
        self._frames = scored_frames(frames, FaceTracker(rejector))
        self._max_seconds = max_seconds
        self._end = time.monotonic() + max_seconds
        self.frames = self.accepted = 0
        self.ended = False

    def head(self) -> bytes:
        """The first line: size, rate, and the number of frames that the file announces."""
        width, height = self._reader.size
        announced = self._reader.frame_count_hint
        return _line({"width": width, "height": height, "fps": self._reader.fps, "frames": announced})

    def turn(self) -> bytes:
        """The next lines, one per frame, and behind the last frame the counts or the error."""
        until = time.monotonic() + _TURN_S
        lines: list[bytes] = []
        while not self.ended and time.monotonic() < until:
            try:
                frame = next(self._frames, None)
            except VideoError as error:
                return b"".join([*lines, self._over({"error": without_name(str(error), self._reader.path)})])
            if frame is None:
                return b"".join([*lines, self._over(self._counts())])
            answer = frame_answer(frame.faces)
            lines.append(_line({"frame": frame.index, "time_s": frame.time_s, **answer}))
            self.frames += 1
            self.accepted += answer["accepted"]
            if time.monotonic() > self._end:
                sentence = f"given up after {self._max_seconds:.0f} s; use `facereject score` for long videos"
                lines.append(self._over({"error": sentence}))
        return b"".join(lines)

    def close(self) -> None:
        """Free the file and end the thread that reads ahead."""
        self._resources.close()

    def _counts(self) -> dict[str, Any]:
        return {
            "done": True,
            "frames": self.frames,
            "accepted_frames": self.accepted,
            "undecodable": self._reader.undecodable,
        }

    def _over(self, last: dict[str, Any]) -> bytes:
        self.ended = True
        return _line(last)


async def lines_of(video: VideoStream, pool: WorkPool) -> AsyncGenerator[bytes, None]:
    """All lines of a video, turn by turn."""
    yield video.head()
    try:
        while not video.ended:
            yield await pool.run(video.turn)
    except Exception:
        # the status has been sent; what went wrong stays here
        yield _line({"error": "the server failed on this video"})


def _line(value: dict[str, Any]) -> bytes:
    return encode(value) + b"\n"
