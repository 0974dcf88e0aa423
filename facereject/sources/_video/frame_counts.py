"""Count packets and decoded frames, so that lost frames are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream


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
