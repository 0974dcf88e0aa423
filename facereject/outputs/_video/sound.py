"""The sound of the kept parts of a video: copied whole, or cut where the frames are cut."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facereject.outputs._video.encoding import Container, open_output
from facereject.sources._video.container import MediaFile
from facereject.sources._video.pyav import av
from facereject.sources.frame import VideoError

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import OutputContainer
    from av.packet import Packet

# sample rates supported by every encoder used here
_RATES = (48_000, 24_000, 16_000, 12_000, 8_000)
# AAC and MP3 also support these
_OTHER_RATES = (44_100, 32_000, 22_050)

# containers round time stamps; a jump smaller than this (seconds) is not a gap
_JITTER_S = 0.02

_Samples = NDArray[np.float32]


def add_sound(
    video: str,
    source: str,
    target: str,
    container: Container,
    *,
    start_s: float = 0.0,
    stretches: Sequence[tuple[float, float]] | None = None,
) -> bool:
    """Remux a video with the sound of another one.

    Parameters
    ----------
    video : str
        The video without sound.
    source : str
        Where the sound comes from.
    target : str
        An empty file for both.
    container : Container
        The kind of ``video`` and ``target``.
    start_s : float
        What the clock of ``source`` shows where ``video`` starts.
    stretches : sequence of (start, end) or None
        Seconds from there that follow each other in ``video``, in order; None is all.

    Returns
    -------
    bool
        False if the source has no sound that can be read; ``target`` is still empty then.
    """
    try:
        media = MediaFile(source)
    except (VideoError, OSError):
        return False
    with media:
        sound: Any = media.container.streams.best("audio")
        if sound is None or sound.codec_context is None:
            return False
        with MediaFile(video) as pictures, open_output(target, container.format) as output:
            shown = pictures.container.streams.video[0]
            out_video = output.add_stream_from_template(shown)
            packets: Iterator[Packet[Any]]
            if stretches is None and sound.codec_context.name in container.copied:
                packets = _copied(media, sound, output.add_stream_from_template(sound), start_s)
            else:
                stream = _new_stream(output, sound, container.audio)
                packets = _encoded(media, sound, stream, start_s, stretches, container.format != "avi")
            both = heapq.merge(_moved(pictures, shown, out_video), packets, key=_seconds)
            for packet in both:
                output.mux(packet)
    return True


def _seconds(packet: Packet[Any]) -> float:
    stamp = packet.dts if packet.dts is not None else packet.pts
    return float((stamp or 0) * packet.time_base) if packet.time_base else 0.0


def _moved(media: MediaFile, stream: Any, target: Any) -> Iterator[Packet[Any]]:
    for packet in media.container.demux(stream):
        if packet.size:
            packet.stream = target
            yield packet


def _copied(media: MediaFile, stream: AudioStream, target: Any, start_s: float) -> Iterator[Packet[Any]]:
    """Copy the packets to the clock of the new video, without those before its start."""
    start = round(start_s / stream.time_base) if stream.time_base else 0
    for packet in _sound_packets(media, stream):
        stamp = packet.pts if packet.pts is not None else packet.dts
        if stamp is None or stamp < start:
            continue
        packet.pts = stamp - start
        packet.dts = packet.pts
        packet.stream = target
        yield packet


def _new_stream(output: OutputContainer, source: AudioStream, encoder: str) -> AudioStream:
    rates = _RATES if encoder == "libopus" else _RATES + _OTHER_RATES
    rate = source.rate if source.rate in rates else _RATES[0]
    stream = output.add_stream(encoder, rate=rate)
    assert isinstance(stream, av.audio.stream.AudioStream)
    stream.layout = _layout(source)
    return stream


def _layout(stream: AudioStream) -> str:
    return "mono" if stream.layout.nb_channels == 1 else "stereo"


def _encoded(
    media: MediaFile,
    stream: AudioStream,
    target: AudioStream,
    start_s: float,
    stretches: Sequence[tuple[float, float]] | None,
    early: bool,
) -> Iterator[Packet[Any]]:
    position = 0
    for samples in _cut(_decoded(media, stream, start_s), stream.rate, stretches):
        frame = av.AudioFrame.from_ndarray(
            np.ascontiguousarray(samples), format="fltp", layout=_layout(stream)
        )
        frame.sample_rate = stream.rate
        frame.time_base = Fraction(1, stream.rate)
        frame.pts = position
        position += samples.shape[1]
        yield from _from_zero(target.encode(frame), early)
    yield from _from_zero(target.encode(None), early)


def _from_zero(packets: Sequence[Packet[Any]], early: bool) -> Iterator[Packet[Any]]:
    """Encoders begin with a little silence before time 0, for which not every container has a place."""
    return (packet for packet in packets if early or packet.pts is None or packet.pts >= 0)


def _decoded(media: MediaFile, stream: AudioStream, start_s: float) -> Iterator[tuple[int, _Samples]]:
    """Blocks of samples with the index of their first sample in the new video."""
    resampler = av.AudioResampler(format="fltp", layout=_layout(stream), rate=stream.rate)
    following: int | None = None
    for packet in _sound_packets(media, stream):
        try:
            frames = stream.decode(packet)
        except (av.FFmpegError, ValueError):
            # a damaged piece becomes a gap
            continue
        for frame in frames:
            first = following
            if frame.pts is not None and frame.time_base is not None:
                first = round((float(frame.pts * frame.time_base) - start_s) * stream.rate)
                if following is not None and abs(first - following) < _JITTER_S * stream.rate:
                    first = following
            frame.pts = None
            for piece in resampler.resample(frame):
                samples = np.asarray(piece.to_ndarray(), dtype=np.float32)
                yield first or 0, samples
                first = following = (first or 0) + samples.shape[1]


def _cut(
    pieces: Iterator[tuple[int, _Samples]], rate: int, stretches: Sequence[tuple[float, float]] | None
) -> Iterator[_Samples]:
    """The samples of the segments one after the other, with silence where the source has none."""
    written = 0
    plan = _plan(rate, stretches)
    place = next(plan, None)
    for first, samples in pieces:
        end = first + samples.shape[1]
        while place is not None:
            start, stop, target = place
            low, high = max(first, start), min(end, stop)
            if low < high:
                gap = target + low - start - written
                if gap > 0:
                    yield np.zeros((samples.shape[0], gap), dtype=np.float32)
                    written += gap
                # skip samples that overlap the previous block
                low -= min(gap, 0)
                if low < high:
                    yield samples[:, low - first : high - first]
                    written += high - low
            if end < stop:
                break
            place = next(plan, None)
        if place is None:
            return


def _plan(rate: int, stretches: Sequence[tuple[float, float]] | None) -> Iterator[tuple[int, int, int]]:
    """Samples of the source from, to, and where they go; rounded so that nothing adds up."""
    if stretches is None:
        yield 0, 1 << 62, 0
        return
    length = 0.0
    for start, end in stretches:
        first, target = round(start * rate), round(length * rate)
        length += end - start
        yield first, first + round(length * rate) - target, target


def _sound_packets(media: MediaFile, stream: AudioStream) -> Iterator[Packet[Any]]:
    try:
        for packet in media.container.demux(stream):
            if packet.size:
                yield packet
    except (av.FFmpegError, OSError):
        # the file ends in the middle of something
        return
