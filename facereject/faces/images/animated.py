"""Detect animated GIF, PNG, WebP and AVIF files from their structure, without decoding.

Listing a folder checks every such file, so only a bounded number of bytes is read. A file with an unknown
structure counts as a still image: reading it reports what is wrong.
"""

from __future__ import annotations

import os

from facereject.faces.images.source import BoundedFile, open_picture

# chunks that are read: before the pixels of a PNG, or between the frames of a WebP
_MAX_CHUNKS = 4096


def has_frames(file: BoundedFile) -> bool:
    """Whether an open file is an animation with more than one frame."""
    head = file.read(16)
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png_moves(file)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp_moves(file)
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return _gif_moves(file)
    # the frame count of an image sequence is deep inside the file; a single frame reads as a video, too
    return head[4:12] == b"ftypavis"


def _png_moves(file: BoundedFile) -> bool:
    file.seek(8)
    announced, default_is_frame = 0, False
    for _ in range(_MAX_CHUNKS):
        head = file.read(8)
        length, kind = int.from_bytes(head[:4], "big"), head[4:]
        if len(head) < 8 or kind in (b"IDAT", b"IEND"):
            break
        if kind == b"acTL":
            announced = int.from_bytes(file.read(4), "big")
            file.seek(-4, os.SEEK_CUR)
        default_is_frame |= kind == b"fcTL"
        file.seek(length + 4, os.SEEK_CUR)
    # a still image for readers without animation support precedes the frames
    return announced + (announced > 0 and not default_is_frame) > 1


def _webp_moves(file: BoundedFile) -> bool:
    file.seek(12)
    n_frames = 0
    for _ in range(_MAX_CHUNKS):
        head = file.read(8)
        if len(head) < 8:
            break
        n_frames += head[:4] == b"ANMF"
        if n_frames > 1:
            return True
        length = int.from_bytes(head[4:], "little")
        file.seek(length + length % 2, os.SEEK_CUR)
    return False


def _gif_moves(file: BoundedFile) -> bool:
    file.seek(0)
    try:
        # blocks are read up to the second frame, nothing is decoded
        return bool(getattr(open_picture(file), "is_animated", False))
    except Exception:
        # a damaged file
        return False
