"""Encoders by container: H.264 and AAC where browsers expect them, VP9 and Opus for WebM."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from facereject.sources._video.pyav import av

if TYPE_CHECKING:
    from av.container import OutputContainer


class Container(NamedTuple):
    """A video format that can be written.

    Attributes
    ----------
    format : str
        FFmpeg's muxer.
    video : tuple of str
        Video encoders, best first; the first one this FFmpeg has is used.
    audio : str
        Encoder for sound.
    copied : frozenset of str
        Audio codecs that are copied unchanged.
    """

    format: str
    video: tuple[str, ...]
    audio: str
    copied: frozenset[str]


_H264 = ("libx264", "libopenh264", "h264_videotoolbox", "mpeg4")
_MP4_SOUND = frozenset({"aac", "mp3"})

#: containers that can be written, by suffix
CONTAINERS = {
    ".mp4": Container("mp4", _H264, "aac", _MP4_SOUND),
    ".m4v": Container("mp4", _H264, "aac", _MP4_SOUND),
    ".mov": Container("mov", _H264, "aac", _MP4_SOUND),
    ".mkv": Container("matroska", _H264, "aac", frozenset({"aac", "mp3", "opus", "vorbis", "flac", "ac3"})),
    ".webm": Container("webm", ("libvpx-vp9", "libvpx"), "libopus", frozenset({"opus", "vorbis"})),
    # players mishandle H.264 in AVI, which cannot store the order of frames
    ".avi": Container("avi", ("mpeg4",), "libmp3lame", frozenset({"mp3"})),
}

_OPTIONS = {
    # write the frame rate into the stream, for containers without one; frames keep their own times
    "libx264": {"preset": "veryfast", "crf": "20", "x264-params": "force-cfr=1"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "6", "crf": "31", "b": "0", "row-mt": "1"},
    # constant quantiser 3, in FFmpeg's units of 1/118
    "mpeg4": {"flags": "+qscale", "global_quality": "354"},
    "libvpx": {"deadline": "realtime", "cpu-used": "6", "crf": "10"},
}
# a time this close (seconds) to a multiple of the frame duration was rounded: Matroska counts milliseconds
_ROUNDED_S = 6e-4

#: metadata comment that marks videos written by facereject
MADE_BY = "made by facereject"

# bits per pixel and frame for encoders without a constant-quality mode
_BITS = 0.25


def encoder_for(suffix: str) -> str | None:
    """The best available video encoder for a container; None if there is none."""
    for name in CONTAINERS[suffix].video:
        try:
            av.codec.Codec(name, "w")
        except av.codec.codec.UnknownCodecError:
            continue
        return name
    return None


def encoder_options(name: str, size: tuple[int, int], rate: Fraction, *, flushed: bool) -> dict[str, str]:
    """Options of an encoder; ``flushed`` for videos that must be playable at any moment."""
    options = dict(_OPTIONS.get(name, {}))
    if name not in _OPTIONS:
        options["b"] = str(int(_BITS * size[0] * size[1] * rate))
    if flushed:
        # a fragment is written at each key frame
        options |= {"g": str(max(1, round(rate))), "bf": "0"}
        if name == "libx264":
            options["tune"] = "zerolatency"
        elif name.startswith("libvpx"):
            options["lag-in-frames"] = "0"
    return options


def exact_rate(fps: float | Fraction) -> Fraction:
    """The exact fraction behind a rounded rate: 29.97 is 30000/1001."""
    if isinstance(fps, Fraction):
        return fps.limit_denominator(100_000)
    nearest = Fraction(round(fps * 1.001), 1) * Fraction(1000, 1001)
    if abs(fps - nearest) < 5e-4 * max(1.0, fps / 30) and abs(fps - round(fps)) > abs(fps - nearest):
        return nearest
    return Fraction(fps).limit_denominator(1000)


def exact_time(time_s: float, rate: Fraction) -> Fraction:
    """Time in seconds, without the container's rounding if near a multiple of the frame duration."""
    number = round(time_s * rate)
    if abs(time_s - number / rate) <= _ROUNDED_S:
        return number / rate
    return Fraction(time_s).limit_denominator(1_000_000)


def open_output(path: str, format_name: str, *, flushed: bool = False) -> OutputContainer:
    """Open an existing empty file for writing; ``flushed`` if it must be playable at any moment."""
    options: dict[str, str] = {}
    if format_name in ("mp4", "mov"):
        # fragments that are joined at the end, or the table of frames at the front, for playing while loading
        options["movflags"] = "hybrid_fragmented" if flushed else "faststart"
    if flushed:
        options["flush_packets"] = "1"
        if format_name in ("matroska", "webm"):
            options["cluster_time_limit"] = "1000"
    # absolute and with its protocol, as FFmpeg takes the start of "12:30.mp4" for one
    output = av.open(f"file:{os.path.abspath(path)}", "w", format=format_name, options=options)
    output.metadata["comment"] = MADE_BY
    return output
