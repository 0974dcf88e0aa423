"""Writing videos: frames are encoded in a separate thread, and a video gets its name when it is complete."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import threading
from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING

import cv2
import numpy as np

from facereject._files import NOT_MADE_HERE, display_name, output_problem, suffix_of, sync_folder, unfinished
from facereject._words import counted
from facereject.faces.images import ImageArray
from facereject.outputs._video.encoding import (
    CONTAINERS,
    MADE_BY,
    encoder_for,
    encoder_options,
    exact_rate,
    exact_time,
    open_output,
)
from facereject.outputs._video.sound import add_sound
from facereject.sources._video.container import MediaFile
from facereject.sources._video.pyav import av
from facereject.sources.frame import VideoError

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.stream import VideoStream

#: containers that can be written, each with its encoders, the preferred one first
CODECS = {suffix: container.video for suffix, container in CONTAINERS.items()}

#: frames per second if the source does not state them
DEFAULT_FPS = Fraction(25)

# frames that may wait for the encoder; more would only take memory
_WAITING = 8

# ticks per second, at least: fine enough for frames that come at any time
_FINE = 90_000

# height from which players assume the colours of HD
_HD = 720


class VideoWriteError(ValueError):
    """A video cannot be written. The message names the file and says what to do."""


class VideoWriter:
    """Writes one video; a context manager.

    The video is written under a temporary name beside ``path`` and renamed when the block ends; if it ends by
    an exception, or without any frame, nothing is left behind and a video of that name from before stays.

    Parameters
    ----------
    path : path
        The suffix decides the container, see `facereject.outputs._video.encoding.CONTAINERS`.
    fps : float or Fraction
        Frames per second, exact: 29.97 counts as 30000/1001; 0 or less as `DEFAULT_FPS`.
    size : tuple of int
        Width and height in pixels; an odd side loses its last pixel, as the codecs ask for. Frames of another
        size are scaled to fit, with black bars at the sides where the shape differs.
    fragmented : bool, default=False
        Write so that the temporary file, which is then not hidden, can be played whenever the process is
        killed; at most the last second is lost. It stays if the video cannot be finished. For recordings.
    overwrite : bool, default=False
        Replace any file of that name; by default only a video that this class has written.

    Attributes
    ----------
    frames : int
        Frames taken so far.

    See Also
    --------
    SavedVideo : Save the accepted frames of videos.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.outputs import VideoWriter
    >>> with VideoWriter("black.mp4", fps=25, size=(64, 48)) as writer:
    ...     writer.write(np.zeros((48, 64, 3), dtype=np.uint8))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fps: float | Fraction,
        size: tuple[int, int],
        *,
        fragmented: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        self.frames = 0
        check_video_path(self.path, overwrite=overwrite)
        self.rate = exact_rate(fps) if fps > 0 else DEFAULT_FPS
        self._size = (size[0] // 2 * 2, size[1] // 2 * 2)
        if min(self._size) < 2:
            raise VideoWriteError(
                f"{display_name(self.path)}: frames of {size[0]} x {size[1]} pixels are too small"
            )
        self._sound: tuple[str, float, Sequence[tuple[float, float]] | None] | None = None
        self._temporary: list[str] = []
        self._unfinished = contextlib.ExitStack()
        self._last = -1
        self._written = 0
        self._reformatter = av.video.reformatter.VideoReformatter()
        try:
            self._partial = self._new_file(hidden=not fragmented)
            self._open(fragmented)
        except BaseException:
            self._remove()
            raise
        self._waiting: queue.Queue[tuple[ImageArray, float | None] | None] = queue.Queue(_WAITING)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="video writer", daemon=True)
        self._thread.start()

    def write(self, image: ImageArray, time_s: float | None = None) -> None:
        """Append an RGB frame, which must not be modified afterwards.

        Parameters
        ----------
        image : ndarray of shape (H, W, 3), uint8
            Scaled if it has another size than the video.
        time_s : float or None
            When it is shown, in seconds from the start of this video; None is in the beat of the frame rate.
        """
        if self._error is not None:
            raise self._failure()
        self._waiting.put((image, time_s))
        # not before: an interrupt may come while a frame waits for its place in the queue
        self.frames += 1

    def keep_sound(
        self, source: str, start_s: float = 0.0, stretches: Sequence[tuple[float, float]] | None = None
    ) -> None:
        """Add the sound of another video, if it has any.

        Parameters
        ----------
        source : str
            The video that the frames come from.
        start_s : float
            What its clock shows at its first frame, see `VideoReader.start_s`.
        stretches : sequence of (start, end) or None
            The seconds of it that follow each other here; None is all of it.
        """
        self._sound = (source, start_s, stretches)

    def close(self) -> None:
        """Finish the video and rename it into place; without a frame there is no file."""
        self._stop()
        try:
            if self._error is not None:
                raise self._failure()
            if self._written or self.frames:
                # an interrupt may also come before a queued frame is counted
                if self._written < self.frames:
                    written = f"{self._written} of {counted(self.frames, 'frame')}"
                    raise self._failure(
                        f"only {written} could be written; make sure that the disk is not full"
                    )
                made = self._with_sound()
                with open(made, "rb") as file:
                    os.fsync(file.fileno())
                os.replace(made, self.path)
                sync_folder(os.path.dirname(self.path) or os.curdir)
        except (OSError, av.FFmpegError) as error:
            raise self._failure(error) from None
        finally:
            self._remove()

    def discard(self) -> None:
        """Stop and remove the unfinished file."""
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

    def _open(self, fragmented: bool) -> None:
        suffix = suffix_of(self.path)
        name, shown, container = encoder_for(suffix), display_name(self.path), CONTAINERS[suffix]
        if name is None:
            raise VideoWriteError(
                f"{shown}: no encoder for {suffix} is there ({', '.join(container.video)}); try another "
                f"suffix: {', '.join(CODECS)}"
            )
        # AVI and MPEG-4 count frames, not time
        beat = 1 if name == "mpeg4" else -(-_FINE // self.rate.numerator)
        self._tick = 1 / (self.rate * beat) if name == "mpeg4" else Fraction(1, self.rate.numerator * beat)
        try:
            self._video = open_output(self._partial, container.format, flushed=fragmented)
            options = encoder_options(name, self._size, self.rate, flushed=fragmented)
            stream = self._video.add_stream(name, rate=self.rate, options=options)
            assert isinstance(stream, av.video.stream.VideoStream)
            self._stream = stream
            stream.width, stream.height = self._size
            stream.pix_fmt = "yuv420p"
            context = stream.codec_context
            context.time_base = self._tick
            spaces = av.video.reformatter.Colorspace
            self._matrix = spaces.ITU709 if self._size[1] >= _HD else spaces.ITU601
            # players are told: 1 and 6 are BT.709 and BT.601 in ISO/IEC 23091-2, range 1 is limited
            context.colorspace = 1 if self._size[1] >= _HD else 6
            context.color_range = 1
            context.open()
        except (OSError, av.FFmpegError, ValueError) as error:
            raise VideoWriteError(
                f"{shown}: no {suffix} video can be written here with the codec {name} in "
                f"{self._size[0]} x {self._size[1]} pixels ({error}); try another suffix: {', '.join(CODECS)}"
            ) from None

    def _work(self) -> None:
        while (item := self._waiting.get()) is not None:
            # after an error the queue is still drained, so that the producer never blocks
            if self._error is None:
                try:
                    self._encode(*item)
                except BaseException as error:
                    self._error = error

    def _encode(self, image: ImageArray, time_s: float | None) -> None:
        frame = av.VideoFrame.from_ndarray(fit(image, self._size), format="rgb24")
        shown = self._reformatter.reformat(
            frame, format="yuv420p", dst_colorspace=self._matrix, dst_color_range="MPEG"
        )
        shown.time_base = self._tick
        shown.pts = self._last = self._stamp(time_s)
        self._mux(self._stream.encode(shown))

    def _stamp(self, time_s: float | None) -> int:
        """The time in ticks, on the beat of the frame rate if it is meant to be, and later than the last."""
        if time_s is None:
            return self._last + int(1 / (self.rate * self._tick)) if self._last >= 0 else 0
        return max(round(exact_time(time_s, self.rate) / self._tick), self._last + 1)

    def _mux(self, packets: Iterable[Packet[VideoStream]]) -> None:
        for packet in packets:
            if not packet.duration:
                packet.duration = int(1 / (self.rate * self._tick))
            self._video.mux(packet)
            self._written += 1

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
            try:
                if self._error is None:
                    self._mux(self._stream.encode(None))
            except BaseException as error:
                self._error = error
            # without a frame no header was written, and so no end can be
            if self._written or self.frames:
                try:
                    self._video.close()
                except BaseException as error:
                    self._error = self._error or error

    def _with_sound(self) -> str:
        """The finished video, with its sound if there is any."""
        if self._sound is None:
            return self._partial
        target = self._new_file()
        source, start_s, stretches = self._sound
        made = add_sound(
            self._partial,
            source,
            target,
            CONTAINERS[suffix_of(self.path)],
            start_s=start_s,
            stretches=stretches,
        )
        return target if made else self._partial

    def _failure(self, error: BaseException | str | None = None) -> VideoWriteError:
        error = error or self._error
        name = display_name(self.path)
        text = str(error) if isinstance(error, str) else f"a frame could not be encoded ({error})"
        if isinstance(error, OSError):
            text = f"cannot be written ({error.strerror or error})"
        kept = f"; what was recorded is in {display_name(self._partial)}" if self._stays() else ""
        return VideoWriteError(f"{name}: {text}{kept}")

    def _new_file(self, *, hidden: bool = True) -> str:
        try:
            if hidden:
                # the suffix, by which the encoder is chosen, stays at the end
                file = self._unfinished.enter_context(unfinished(self.path, suffix=suffix_of(self.path)))
                return str(file.name)
            path = temporary_name(self.path)
            # create exclusively: an existing file or link of that name is never followed
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except OSError as error:
            raise self._failure(error) from None
        self._temporary.append(path)
        return path

    def _stays(self) -> bool:
        """Whether a playable recording exists; those are never removed."""
        return bool(self._temporary and self._written)

    def _remove(self) -> None:
        for path in [] if self._stays() else self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._unfinished.close()


def temporary_name(path: str) -> str:
    """A new name beside ``path`` that a user recognises if the recording is killed."""
    folder, name = os.path.split(path)
    stem, suffix = os.path.splitext(name)
    return os.path.join(folder, f"{stem[:180]}.{secrets.token_hex(6)}.partial{suffix}")


def made_here(path: str) -> bool:
    """Whether a file is empty or was written by `VideoWriter`; others are not replaced."""
    try:
        with MediaFile(path, decode=False) as media:
            tags = media.container.metadata
            return any(name.lower() == "comment" and text == MADE_BY for name, text in tags.items())
    except (VideoError, OSError):
        return os.path.isfile(path) and os.path.getsize(path) == 0


def check_video_path(path: str, *, overwrite: bool = False) -> None:
    """Raise VideoWriteError if no video can be written under this name.

    Parameters
    ----------
    path : str
    overwrite : bool, default=False
        Files that were not made here may be replaced.
    """
    name, suffix = display_name(path), os.path.splitext(path)[1].lower()
    if suffix not in CODECS:
        raise VideoWriteError(
            f"{name}: videos are written as {', '.join(CODECS)}; choose one of these suffixes"
        )
    if problem := output_problem(path):
        raise VideoWriteError(f"{name}: {problem}")
    if os.path.lexists(path) and not overwrite and not made_here(path):
        raise VideoWriteError(f"{name}: {NOT_MADE_HERE}")


def fit(image: ImageArray, size: tuple[int, int]) -> ImageArray:
    """Fit an image to (width, height), with black bars to keep its aspect ratio; odd last pixels are cut."""
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
