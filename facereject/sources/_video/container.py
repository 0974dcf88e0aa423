"""Open a video file and nothing else, in formats that cannot refer to other files; facts of its stream."""

from __future__ import annotations

import os
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from facereject._files import display_name, suffix_of
from facereject.sources._video.pyav import av
from facereject.sources.frame import VideoError

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

# a header that claims more frames than the file has room for is damaged
_LEAST_BYTES = 8


#: demuxers that may be used: containers and plain streams of pictures. None of them opens other files; those
#: that do (concat, hls, dash, sdp, image2), and those that make videos of text, are left out.
FORMATS = (
    *("mov", "mp4", "m4a", "3gp", "3g2", "mj2", "matroska", "webm", "avi", "mpeg", "mpegvideo", "mpegts"),
    *("asf", "flv", "ogg", "mxf", "yuv4mpegpipe", "mjpeg", "ivf", "dv", "h264", "hevc", "m4v", "obu", "gif"),
)

_NO_VIDEO = "not a video in a format that can be read, or one without any frames"
_PLAYLIST = "a playlist, which names other files or addresses, is not followed; name the video itself"
_PLAYLIST_STARTS = (b"ffconcat", b"#EXTM3U", b"<MPD", b"v=0")

# bytes per read; FFmpeg's default of 32 KiB would call Python eight times as often
_BUFFER = 1 << 18


class MediaFile:
    """A video file, opened for demuxing; a context manager.

    The file is opened here and FFmpeg is handed its bytes, so that names of any bytes work and no protocol is
    needed: none is allowed.

    Parameters
    ----------
    path : str
    max_pixels : int or None
        Decoders refuse pictures that are clearly larger before they reserve memory for them.
    decode : bool, default=True
        False keeps FFmpeg from decoding anything while it looks for streams: only headers are believed.

    Raises
    ------
    VideoError
        Its message starts with the name of the file.
    OSError
        The file cannot be opened.
    """

    def __init__(self, path: str, max_pixels: int | None = None, *, decode: bool = True) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        self.size_bytes = os.fstat(self._file.fileno()).st_size
        options = {"format_whitelist": ",".join(FORMATS), "protocol_whitelist": "none"}
        if max_pixels is not None:
            options |= decoder_options(max_pixels)
        if not decode:
            options["codec_whitelist"] = "none"
        suffix = suffix_of(path)
        # raw streams are recognised by suffix
        named = "video" + (suffix if suffix.isascii() else "")
        source: Any = SimpleNamespace(
            read=self._file.read, seek=self._file.seek, tell=self._file.tell, name=named
        )
        try:
            self.container: InputContainer = av.open(
                source,
                "r",
                # by content it would be a single image
                format="mjpeg" if suffix in (".mjpg", ".mjpeg") else None,
                options=options,
                buffer_size=_BUFFER,
                metadata_errors="replace",
            )
        except (av.FFmpegError, ValueError, EOFError):
            name, reason = display_name(path), _PLAYLIST if self._is_playlist() else _NO_VIDEO
            self._file.close()
            raise VideoError(f"{name}: {reason}") from None
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.container.close()
        self._file.close()

    def __enter__(self) -> MediaFile:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _is_playlist(self) -> bool:
        self._file.seek(0)
        head = self._file.read(1000).lstrip(b"\xef\xbb\xbf \t\r\n")
        return head.startswith(_PLAYLIST_STARTS) or (head.startswith(b"<?xml") and b"<MPD" in head)


def decoder_options(max_pixels: int) -> dict[str, str]:
    """Options that keep a decoder from allocating memory for absurd frame sizes."""
    # decoders allocate whole blocks, so they may ask for more than the frame size
    return {"max_pixels": str(2 * max_pixels + (1 << 16))}


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
