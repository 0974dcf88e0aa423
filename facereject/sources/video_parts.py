"""Cutting long videos at key frames, so that several workers can score one video in parallel.

Every part but the first begins `WARM_UP` frames early: its tracker finds the faces that are already there,
and by these frames, which two parts have scored, the tracks of both are joined. The table has each frame
once, by the part it belongs to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from facereject.faces.images import MAX_PIXELS
from facereject.sources._video.container import MediaFile
from facereject.sources._video.decoder import DecodedVideo, FrameRange
from facereject.sources._video.pyav import av

#: about the most frames of a part, a minute of most videos; videos of less than two of them are left whole
PART_FRAMES = 1800

#: frames that a part scores before its first one; faces lost for longer are forgotten by the tracker, too
WARM_UP = 60

# parts come in such numbers, so that two or four workers finish together
_EVEN = 4

# containers with an index, in which seeking leads to the frame that was asked for
_SEEKABLE = ("mov", "matroska", "avi")


class _Scan(NamedTuple):
    """The time stamps of all packets, sorted, and those of the key frames with the stamps to seek by."""

    stamps: list[int]
    keys: list[tuple[int, int]]


def find_parts(
    path: str, *, part_frames: int = PART_FRAMES, warm_up: int = WARM_UP, max_pixels: int = MAX_PIXELS
) -> list[FrameRange]:
    """Where to cut a video: segments that begin at key frames, or none if it is to be left whole.

    Parameters
    ----------
    path : str
    part_frames : int
        About the most frames of a part, as far as there are key frames. A video of less than two of them is
        left whole, and so is one with damaged time stamps or in a container that cannot be searched.
    warm_up : int
        Frames before a part that are given with it.
    max_pixels : int
        As in `open_video`.

    Raises
    ------
    VideoError, OSError
        The video cannot be read.
    """
    scan = _scan(path)
    if scan is None or len(scan.stamps) < 2 * part_frames:
        return []
    stamps = scan.stamps
    cuts = _cuts([bisect_right(stamps, key) - 1 for key, _ in scan.keys], len(stamps), part_frames)
    if len(cuts) == 1:
        return []
    video = DecodedVideo(path, max_pixels)
    try:
        missing = video.missing_behind(stamps[-1], len(stamps))
        origin = video.origin
    finally:
        video.close()
    parts = []
    for number, cut in enumerate(cuts):
        early = max(0, cut - warm_up)
        first = stamps[early]
        last = number + 1 == len(cuts)
        key = bisect_right(scan.keys, (first, 1 << 62)) - 1
        parts.append(
            FrameRange(
                # a decoder that starts with the file copes better with a damaged first key frame
                seek=scan.keys[key][1] if key > 0 else None,
                first=first,
                start=stamps[cut],
                stop=None if last else stamps[cuts[number + 1]],
                origin=origin,
                missing=missing if last else 0,
                number=early,
            )
        )
    return parts


def _cuts(keys: Sequence[int], n_frames: int, part_frames: int) -> list[int]:
    """The key frames next to equal parts; never two cuts within half a part."""
    count = _EVEN * -(-n_frames // (_EVEN * part_frames))
    length = n_frames / count
    cuts = [0]
    for number in range(1, count):
        nearest = min(keys, key=lambda key: abs(key - number * length))
        if length / 2 <= nearest - cuts[-1] and length / 2 <= n_frames - nearest:
            cuts.append(nearest)
    return cuts


def _scan(path: str) -> _Scan | None:
    """Look at all packets without decoding any; None if the video cannot be cut."""
    stamps: list[int] = []
    keys: list[tuple[int, int]] = []
    with MediaFile(path, decode=False) as media:
        container = media.container
        if not container.format.name.startswith(_SEEKABLE) or not container.streams.video:
            return None
        try:
            for packet in container.demux(container.streams.video[0]):
                if not packet.size:
                    continue
                if packet.pts is None:
                    return None
                stamps.append(packet.pts)
                if packet.is_keyframe and not packet.is_discard:
                    keys.append((packet.pts, packet.pts if packet.dts is None else packet.dts))
        except (av.FFmpegError, OSError):
            # the file ends in the middle of something
            pass
    stamps.sort()
    # a clock that stops is repaired frame by frame, which a part in the middle could not do
    steady = all(a < b for a, b in pairwise(stamps))
    return _Scan(stamps, keys) if steady and keys == sorted(keys) and stamps and keys else None
