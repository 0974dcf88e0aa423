"""Open image files: allowed formats only, decoded in this process, with limits on reading.

Pillow tries every format it knows for any file name, including PostScript, which it passes to
Ghostscript; and some of its parsers read byte by byte to the end of a file. Here only listed formats are
allowed, and a file that makes a parser read too much or too often raises an error.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import stat
import threading

import PIL.Image

#: Pillow formats that are allowed, regardless of file names; HEIF needs the package pillow-heif
FORMATS = (
    *("JPEG", "MPO", "PNG", "GIF", "WEBP", "BMP", "DIB"),
    *("TIFF", "PPM", "TGA", "JPEG2000", "AVIF", "HEIF"),
)

# no other Pillow plugin is ever called
for _name in ("Jpeg", "Mpo", "Png", "Gif", "WebP", "Bmp", "Tiff", "Ppm", "Tga", "Jpeg2K", "Avif"):
    with contextlib.suppress(ImportError):  # Pillow before 11.3 has no AVIF
        importlib.import_module(f"PIL.{_name}ImagePlugin")

# limit of header bytes, colour profiles and previews included, before the image size is known
_HEADER_BYTES = 64 << 20
# bytes of file for each pixel; uncompressed 16-bit RGBA has 8
_BYTES_PER_PIXEL = 16
# reads of a header, in small pieces, and of an image or frame, in a GIF blocks of 255 bytes: some seconds
_HEADER_READS, _READS = 1_000_000, 4_000_000

#: scans of a JPEG: each visits all pixels but may take less than a hundred bytes; photos have about ten
MAX_SCANS = 500
SCAN_MARKER = b"\xff\xda"
TOO_MANY_SCANS = f"a JPEG with more than {MAX_SCANS} scans, which would take for ever"

_limit_lock = threading.Lock()


class TooMuchToReadError(OSError):
    """A file whose header or data do not end."""


class BoundedFile:
    """A regular file, open for reading, with a limit on bytes and reads.

    Parameters
    ----------
    path : str

    Raises
    ------
    OSError
        As from `open`; pipes, devices and the like are refused at once.
    """

    def __init__(self, path: str) -> None:
        # a pipe would otherwise wait for its other end
        self._file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115
        status = os.fstat(self._file.fileno())
        if not stat.S_ISREG(status.st_mode):
            self._file.close()
            raise OSError(0, "not a regular file")
        self._size = status.st_size
        self._bytes, self._reads = _HEADER_BYTES, _HEADER_READS
        self._scans: int | None = None

    def allow(self, n_pixels: int) -> None:
        """Allow as much reading as an image or frame of this many pixels can need.

        The scans of a JPEG are counted as they are read: between markers no byte 0xff has another meaning.
        """
        position = self._file.tell()
        self._file.seek(0)
        self._scans = MAX_SCANS if self._file.read(2) == b"\xff\xd8" else None
        self._file.seek(position)
        self._bytes, self._reads = _HEADER_BYTES + _BYTES_PER_PIXEL * n_pixels, _READS

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._file.tell())
        wanted = left if size is None or size < 0 else min(size, left)
        self._reads -= 1
        self._bytes -= wanted
        if self._reads < 0 or self._bytes < 0:
            raise TooMuchToReadError("its header or data go on without an end")
        data = self._file.read(wanted)
        if self._scans is not None:
            self._scans -= data.count(SCAN_MARKER)
            if self._scans < 0:
                raise TooMuchToReadError(TOO_MANY_SCANS)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def fileno(self) -> int:
        return self._file.fileno()

    def flush(self) -> None:
        pass

    @property
    def closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> BoundedFile:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_picture(file: BoundedFile, *, unlimited: bool = True) -> PIL.Image.Image:
    """`PIL.Image.open` for the formats in `FORMATS`; only the header is read.

    Parameters
    ----------
    file : BoundedFile
        Stays open, as the pixels are read later; the caller closes it.
    unlimited : bool
        Without Pillow's limit of pixels, for callers that check the size themselves. The limit is a global of
        Pillow; it is off only for that moment.
    """
    formats = [name for name in FORMATS if name in PIL.Image.OPEN]
    if not unlimited:
        return PIL.Image.open(file, formats=formats)  # type: ignore[arg-type]
    with _limit_lock:
        limit = PIL.Image.MAX_IMAGE_PIXELS
        PIL.Image.MAX_IMAGE_PIXELS = None
        try:
            return PIL.Image.open(file, formats=formats)  # type: ignore[arg-type]
        finally:
            PIL.Image.MAX_IMAGE_PIXELS = limit


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
