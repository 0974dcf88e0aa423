"""Metadata of a video stream: size, frame rate, duration, number of frames, rotation."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from facereject.sources._video.container import MediaFile
from facereject.sources._video.pyav import av

if TYPE_CHECKING:
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

# a header that claims more frames than the file has room for is damaged
_LEAST_BYTES = 8


def size_in_header(path: str) -> tuple[int, int]:
    """Width and height, without decoding anything; zeros if there is no video."""
    with MediaFile(path, decode=False) as media:
        streams = media.container.streams.video
        return (streams[0].width, streams[0].height) if streams else (0, 0)


def rate_of(stream: VideoStream) -> Fraction:
    """Frames per second; 0 if the container does not state them."""
    for rate in (stream.average_rate, stream.guessed_rate):
        if rate and 0 < rate <= 1000:
            return Fraction(rate)
    return Fraction(0)


def announced_frames(media: MediaFile, stream: VideoStream, rate: Fraction) -> int | None:
    """The number of frames: as the container counts, or duration times rate."""
    number: float = stream.frames
    if number <= 0:
        length = length_of(stream, media)
        number = length[0] * float(rate) if length else 0
    plausible = 0 < number <= media.size_bytes / _LEAST_BYTES
    return max(1, round(number)) if plausible else None


def length_of(stream: VideoStream, media: MediaFile) -> tuple[float, bool] | None:
    """Duration in seconds, and whether it is that of the video stream rather than of the whole file."""
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base), True
    with_start = 0.0
    if stream.start_time and stream.time_base:
        with_start = float(stream.start_time * stream.time_base)
    try:
        hours, minutes, seconds = stream.metadata["DURATION"].split(":")
        # Matroska counts from the start of the file
        return 3600 * int(hours) + 60 * int(minutes) + float(seconds) - with_start, True
    except (KeyError, ValueError):
        pass
    duration = media.container.duration
    return (duration / av.time_base, False) if duration else None


def turn_of(frame: VideoFrame) -> tuple[bool, bool, bool] | None:
    """How to turn the image upright: swap axes, then flip left to right, then upside down."""
    try:
        matrix = np.frombuffer(bytes(cast(Any, frame.side_data)["DISPLAYMATRIX"]), dtype=np.int32)
    except KeyError:
        return None
    a, b, c, d = (int(matrix[i]) for i in (0, 1, 3, 4))
    if not (a or b or c or d) or (a > abs(b) and d > abs(c)):
        return None
    # any other angle counts as the nearest quarter turn
    return (True, c < 0, b < 0) if abs(b) > abs(a) else (False, a < 0, d < 0)
