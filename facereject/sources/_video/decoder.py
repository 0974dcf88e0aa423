"""Videos through FFmpeg: every frame that can be decoded, upright, with its own time; the others counted."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from facereject._files import display_name
from facereject.faces.images import ImageArray
from facereject.sources._video.container import (
    MediaFile,
    announced_frames,
    decoder_options,
    length_of,
    rate_of,
    size_in_header,
    turn_of,
)
from facereject.sources._video.pyav import av
from facereject.sources.frame import DEFAULT_STEP, SteadyClock, VideoError, VideoReader

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

# the length of a file may be that of its sound; pictures that end earlier by less than this are not missed
_SILENT_TAIL_S = 1.0

# pictures whose memory is kept for the next ones; more of them wait for nobody
_KEPT = 8


# codecs with packets that show nothing, so that packets cannot tell how many frames there should be
_HIDDEN_PACKETS = ("vp8",)


class FrameCounts:
    """Packets sent to a decoder and frames it returned, between two time stamps."""

    def __init__(self, stream: VideoStream, start: int | None = None, stop: int | None = None) -> None:
        self._start, self._stop = start, stop
        self._countable = stream.codec_context.name not in _HIDDEN_PACKETS
        self.packets = self.hidden = self.frames = self.errors = 0
        self._late: list[int] = []

    def sent(self, packet: Packet[VideoStream]) -> None:
        stamp = packet.pts if packet.pts is not None else packet.dts
        if self._inside(stamp):
            self.packets += 1
            self.hidden += bool(packet.is_discard)
            if stamp is not None:
                self._late = [*self._late[-32:], stamp]

    def received(self, frame: VideoFrame) -> None:
        self.frames += self._inside(stamp_of(frame))
        # two packets may hold the two fields of one frame
        self._countable = self._countable and not frame.interlaced_frame

    def failed(self, stamp: int | None) -> None:
        self.errors += self._inside(stamp)

    def after(self, stamp: int) -> int:
        """Packets at the end of the file that came after the last frame."""
        return sum(late > stamp for late in self._late)

    @property
    def lost(self) -> int:
        """Packets that neither gave a frame nor an error."""
        return max(0, self.packets - self.hidden - self.frames - self.errors)

    @property
    def undecodable(self) -> int:
        return max(self.errors, self.packets - self.hidden - self.frames) if self._countable else self.errors

    def _inside(self, stamp: int | None) -> bool:
        if self._start is None or stamp is None:
            return True
        return self._start <= stamp and (self._stop is None or stamp < self._stop)


def stamp_of(frame: VideoFrame) -> int | None:
    """The time stamp of a frame, or else that of its packet."""
    return frame.pts if frame.pts is not None else frame.dts


class FrameRange(NamedTuple):
    """Frames of a video from one time stamp up to another, in ticks of the stream.

    Attributes
    ----------
    seek : int or None
        Decoding starts at the key frame at this time stamp of decoding; None is the start of the file.
    first : int
        The first frame that is given.
    start, stop : int or None
        Frames from ``start`` on belong to the segment, those before are only a run-up; the frame at ``stop``
        is the first that does not. None is the end of the video.
    origin : int
        The time stamp that counts as 0 seconds.
    missing : int
        Frames that the file announces behind its last one; only known for the last segment.
    number : int
        Number of the first frame in the whole video, if none before it is damaged.
    """

    seek: int | None
    first: int
    start: int
    stop: int | None
    origin: int = 0
    missing: int = 0
    number: int = 0


class DecodedVideo(VideoReader):
    """A video file, decoded as a whole, or a segment of it; ``origin`` is the time stamp of the start."""

    def __init__(
        self,
        path: str,
        max_pixels: int,
        segment: FrameRange | None = None,
        check: Callable[[], None] | None = None,
    ):
        super().__init__(path)
        name = display_name(path)
        self._check = check
        self._segment = segment
        self._max_pixels = max_pixels
        # a video may be closed while a thread reads ahead
        self._lock = threading.Lock()
        self._closed = False
        self._media = MediaFile(path, max_pixels)
        try:
            streams = self._media.container.streams.video
            if not streams:
                raise VideoError(f"{name}: there are no frames in this file, only sound or data")
            self._stream: VideoStream = streams[0]
            if self._stream.codec_context is None:
                raise VideoError(f"{name}: there is no decoder for its frames; convert it to H.264 first")
            width, height = self._stream.width, self._stream.height
            if not width:
                # a decoder that has refused a size does not tell which
                width, height = size_in_header(path)
            if width * height > max_pixels:
                raise VideoError(
                    f"{name}: frames of {width} x {height} pixels are more than the limit of "
                    f"{max_pixels:,}; make the video smaller or raise the limit"
                )
            self._stream.codec_context.options = decoder_options(max_pixels)
            self._stream.codec_context.thread_type = "AUTO" if segment is None else "SLICE"
            self._tick = Fraction(self._stream.time_base or 0) or Fraction(1, 1000)
            self.rate = rate_of(self._stream)
            self.fps = float(self.rate)
            self.frame_count_hint = announced_frames(self._media, self._stream, self.rate)
            self._reformatter = av.video.reformatter.VideoReformatter()
            self._images = _Images()
            self._decoded = self._decode()
            self._first = self._next()
            # a segment may be damaged as a whole; the video is readable all the same
            if self._first is None and segment is None:
                raise VideoError(f"{name}: no frame of the video can be decoded")
        except BaseException:
            self.close()
            raise
        self.size = (width, height)
        if self._first is not None:
            self.size = (int(self._first[1].shape[1]), int(self._first[1].shape[0]))
        self.origin = segment.origin if segment else self._start()
        self.start_s = float(self.origin * self._tick)
        #: time of the first frame that belongs to the segment
        self.begin_s = round(self.seconds(segment.start), 6) if segment else 0.0

    def _decoded_frames(self) -> Iterator[tuple[float, ImageArray]]:
        """Times in seconds and RGB images, which differ in size where the video does."""
        clock = SteadyClock(1 / self.fps if self.fps else DEFAULT_STEP)
        shown, self._first = self._first, None
        while shown is not None:
            stamp, image = shown
            yield clock.time(self.seconds(stamp)), image
            del shown, image
            shown = self._next()

    def seconds(self, stamp: int | None) -> float:
        """Seconds since the start of the video; NaN for a frame without a time stamp."""
        return math.nan if stamp is None else float((stamp - self.origin) * self._tick)

    def close(self) -> None:
        """Free the file; a thread that reads ahead comes to its end."""
        with self._lock:
            self._closed = True
            self._media.close()

    def _start(self) -> int:
        """The time stamp that counts as 0: that of the first frame, also if that one is damaged."""
        first = self._first[0] if self._first else None
        announced = self._stream.start_time
        if first is None or (self.undecodable and announced is not None and announced < first):
            return announced or 0
        return first

    def _next(self) -> tuple[int | None, ImageArray] | None:
        with self._lock:
            if self._closed:
                return None
            frame = next(self._decoded, None)
            if frame is None:
                return None
            return stamp_of(frame), self._upright(frame)

    def _decode(self) -> Iterator[VideoFrame]:
        """The frames in order; what is lost on the way is counted in ``failed``."""
        segment = self._segment
        if segment is None:
            counts = FrameCounts(self._stream)
            last = None
            for frame in self._decode_packets(counts):
                last = stamp_of(frame)
                yield frame
            if counts.lost and last is not None:
                # threads that meet damage at the very end give up what they were still working on
                yield from self._decode_tail(last, counts)
            missing = 0 if last is None else self.missing_behind(last, counts.packets, counts.after(last))
            self.undecodable = counts.undecodable + missing
            return
        counts = FrameCounts(self._stream, segment.start, segment.stop)
        if segment.seek is not None:
            self._seek(segment.seek)
        for frame in self._decode_packets(counts):
            stamp = stamp_of(frame)
            if stamp is None or stamp < segment.first:
                # pictures that lean on what lies before the key frame
                continue
            if segment.stop is not None and stamp >= segment.stop:
                break
            yield frame
        self.undecodable = counts.undecodable + segment.missing

    def _decode_packets(self, counts: FrameCounts) -> Iterator[VideoFrame]:
        """Feed the decoder up to the end of the file."""
        for packet in self._packets():
            counts.sent(packet)
            try:
                frames = self._stream.decode(packet)
            except (av.FFmpegError, ValueError):
                counts.failed(packet.pts if packet.pts is not None else packet.dts)
                self.undecodable = counts.errors
                continue
            yield from self._received(frames, counts)
        try:
            frames = self._stream.decode(None)
        except (av.FFmpegError, ValueError, EOFError):
            return
        yield from self._received(frames, counts)

    def _received(self, frames: Iterable[VideoFrame], counts: FrameCounts) -> Iterator[VideoFrame]:
        for frame in frames:
            if frame.width * frame.height > self._max_pixels:
                # the resolution may change at any frame
                counts.failed(stamp_of(frame))
                continue
            counts.received(frame)
            yield frame

    def _packets(self) -> Iterator[Packet[VideoStream]]:
        try:
            for packet in self._media.container.demux(self._stream):
                if self._check is not None:
                    self._check()
                # an empty packet repeats the last picture, and would end the decoding
                if packet.size:
                    yield packet
        except (av.FFmpegError, OSError):
            # the file ends in the middle of something
            return

    def _decode_tail(self, last: int, counts: FrameCounts) -> Iterator[VideoFrame]:
        """The frames behind a time stamp, by one thread; nothing is sent that was not sent before."""
        context = self._stream.codec_context
        try:
            tail = av.CodecContext.create(context.codec.name, "r")
            tail.extradata = context.extradata
            tail.thread_type = "SLICE"
            self._seek(last)
        except (av.FFmpegError, ValueError, OSError):
            return
        for packet in [*self._packets(), None]:
            try:
                frames = tail.decode(packet)  # type: ignore[attr-defined]
            except (av.FFmpegError, ValueError, EOFError):
                continue
            for frame in frames:
                stamp = stamp_of(frame)
                if stamp is not None and stamp > last:
                    counts.received(frame)
                    yield frame

    def _seek(self, stamp: int) -> None:
        self._media.container.seek(stamp, stream=self._stream, backward=True)

    def missing_behind(self, last: int, packets: int, late: int = 0) -> int:
        """Frames that the container announces behind its last packet.

        Parameters
        ----------
        last : int
            Time stamp of the last frame.
        packets, late : int
            Packets in the file, and those of them that are later than the last frame.
        """
        announced = self.frame_count_hint or 0
        name = self._media.container.format.name
        if name == "avi" or (name.startswith("mov") and self._stream.frames):
            entries = len(getattr(self._stream, "index_entries", ())) if name != "avi" else 0
            # an edit list leaves frames out of the index; these are hidden, not missing
            return max(0, (min(entries, announced) if entries else announced) - packets)
        length = length_of(self._stream, self._media)
        if not (self.fps and length):
            return 0
        seconds, sure = length
        missing = round((seconds - self.seconds(last)) * self.fps) - 1 - late
        return max(0, missing) if sure or missing > _SILENT_TAIL_S * self.fps else 0

    def _upright(self, frame: VideoFrame) -> ImageArray:
        turn = turn_of(frame)
        plane = self._reformatter.reformat(frame, format="rgb24", threads=1).planes[0]
        lines = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(-1, plane.line_size)
        shown = lines[: plane.height, : 3 * plane.width].reshape(plane.height, plane.width, 3)
        if turn is not None:
            swapped, left, up = turn
            shown = (shown.transpose(1, 0, 2) if swapped else shown)[:: -1 if up else 1, :: -1 if left else 1]
        image = self._images.take(shown.shape)
        np.copyto(image, shown)
        return image


class _Images:
    """Arrays for pictures, used again when nobody else has them any more.

    New memory for every frame would cost more than what is written to it: the system hands it out page by
    page, and takes it back with every frame that is dropped.
    """

    def __init__(self) -> None:
        self._arrays: list[ImageArray] = []

    def take(self, shape: tuple[int, ...]) -> ImageArray:
        for index in range(len(self._arrays)):
            # the list has one reference, the question itself another; a part in use has one, too
            if self._arrays[index].shape == shape and sys.getrefcount(self._arrays[index]) <= 2:
                return self._arrays[index]
        image: ImageArray = np.empty(shape, dtype=np.uint8)
        self._arrays = [*self._arrays[1 - _KEPT :], image]
        return image
