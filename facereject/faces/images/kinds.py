"""Tell images from videos by suffix, and by content where the suffix is ambiguous."""

from __future__ import annotations

import os

from facereject._files import suffix_of
from facereject.faces.images.animated import has_frames
from facereject.faces.images.source import BoundedFile


def _suffixes(text: str) -> frozenset[str]:
    return frozenset("." + suffix for suffix in text.split())


#: files with these suffixes are images
IMAGE_SUFFIXES = _suffixes("jpg jpeg jpe jfif mpo jp2 j2k bmp dib tif tiff pgm ppm pnm pbm tga heic heif hif")
#: files with these suffixes are videos; "ts" is not among them, as most such files are TypeScript
VIDEO_SUFFIXES = _suffixes(
    "mp4 m4v mov mkv webm avi mpg mpeg m2v mts m2ts vob wmv asf flv f4v 3gp 3g2 ogv mjpg mjpeg mxf y4m"
)
#: files with these suffixes are videos if they hold more than one frame, otherwise images
ANIMATION_SUFFIXES = _suffixes("gif webp png apng avif")
MEDIA_SUFFIXES = IMAGE_SUFFIXES | VIDEO_SUFFIXES | ANIMATION_SUFFIXES

# brands of the stills that share the container of MP4
_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_AVIF_BRANDS = (b"avif", b"avis")
_VIDEO_STARTS = (
    b"\x1a\x45\xdf\xa3",  # Matroska, WebM
    b"OggS",
    b"FLV\x01",
    b"\x00\x00\x01\xba",  # MPEG program stream
    b"\x00\x00\x01\xb3",  # MPEG video
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",  # ASF, WMV
    b"YUV4MPEG2",
)
# distance of the sync bytes in an MPEG transport stream
_PACKET = 188


def kind_of_file(path: str) -> str:
    """Either "image" or "video"; unknown content is "image"."""
    suffix = suffix_of(path)
    if suffix in VIDEO_SUFFIXES:
        return "video"
    if suffix in IMAGE_SUFFIXES:
        return "image"
    if not os.path.isfile(path):
        # opening a pipe would wait for its other end
        return "image"
    if suffix not in ANIMATION_SUFFIXES and starts_like_video(path):
        return "video"
    return "video" if is_animation(path) else "image"


def is_animation(path: str) -> bool:
    """Whether a file holds more than one frame in a format that moves; see `animated.has_frames`.

    TIFF and MPO files hold pages and views, not moments in time.
    """
    try:
        with BoundedFile(path) as file:
            return has_frames(file)
    except (OSError, ValueError):
        # reading the file reports what is wrong with it
        return False


def is_heif(path: str | os.PathLike[str]) -> bool:
    """Whether the file starts like a HEIC or HEIF image."""
    head = _head(path)
    return head[4:8] == b"ftyp" and head[8:12] in _HEIF_BRANDS


def starts_like_video(path: str) -> bool:
    """Whether the first bytes are those of a video container."""
    head = _head(path)
    if head[4:8] == b"ftyp":
        return head[8:12] not in _HEIF_BRANDS + _AVIF_BRANDS
    if head[:4] == b"RIFF":
        return head[8:12] == b"AVI "
    if head[::_PACKET] == b"GGG":
        return True
    return head.startswith(_VIDEO_STARTS) or head[4:8] in (b"moov", b"mdat", b"wide", b"free")


def _head(path: str | os.PathLike[str]) -> bytes:
    try:
        with BoundedFile(os.fspath(path)) as file:
            return file.read(3 * _PACKET)
    except (OSError, ValueError):
        return b""
