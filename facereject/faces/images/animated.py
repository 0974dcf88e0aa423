"""Detect animated GIF, PNG, WebP and AVIF files from their structure, without decoding.

Listing a folder checks every such file, so only a bounded number of bytes is read. A file with an unknown
structure counts as a still image: reading it reports what is wrong.
"""

from __future__ import annotations

import os
from typing import IO

from facereject.faces.images.source import BoundedFile

File = BoundedFile | IO[bytes]

# chunks that are read: before the pixels of a PNG, or between the frames of a WebP
_MAX_CHUNKS = 4096
# bytes of a GIF that are read; its first frame may be longer
_MAX_GIF_BYTES = 8 << 20
# stray bytes tolerated between the blocks of a GIF
_MAX_GIF_PADDING = 1024


def has_frames(file: File) -> bool:
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


def _png_moves(file: File) -> bool:
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


def _webp_moves(file: File) -> bool:
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


def _gif_moves(file: File) -> bool:
    file.seek(0)
    blocks = _Blocks(file)
    blocks.palette(blocks.take(13)[10:11])
    n_frames, padding, repeats = 0, 0, False
    while not blocks.ended:
        mark = blocks.take(1)
        if mark == b",":
            n_frames += 1
            if n_frames > 1:
                return True
            blocks.palette(blocks.take(9)[8:9])
            blocks.take(1)
            blocks.skip()
        elif mark == b"!":
            # if the first frame is too long to see past it, a loop extension is the next best sign
            repeats |= blocks.take(1) == b"\xff" and blocks.take(12)[1:9] == b"NETSCAPE"
            blocks.skip()
        elif mark == b";":
            return False
        else:
            padding += 1
            if padding > _MAX_GIF_PADDING:
                return False
    return repeats and blocks.cut


class _Blocks:
    """Reads the start of a GIF block by block."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._data, self._position, self._taken = b"", 0, 0
        self.ended = self.cut = False

    def take(self, size: int) -> bytes:
        while len(self._data) - self._position < size and not self.ended:
            more = self._file.read(1 << 14)
            self._taken += len(more)
            self._data = self._data[self._position :] + more
            self._position = 0
            self.cut = self._taken > _MAX_GIF_BYTES
            self.ended = self.cut or not more
        piece = self._data[self._position : self._position + size]
        self._position += len(piece)
        return piece

    def palette(self, flags: bytes) -> None:
        if flags and flags[0] & 0x80:
            self.take(6 << (flags[0] & 7))

    def skip(self) -> None:
        """Skip sub-blocks (a length byte and that many bytes) up to the empty one."""
        while (length := self.take(1)) not in (b"", b"\0"):
            self.take(length[0])
