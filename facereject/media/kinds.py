"""Image or film: by suffix, and by content where the suffix leaves it open."""

from __future__ import annotations

import os

import PIL.Image

#: files with these suffixes are images
IMAGE_SUFFIXES = frozenset(
    (
        ".jpg",
        ".jpeg",
        ".jpe",
        ".jfif",
        ".jp2",
        ".j2k",
        ".bmp",
        ".dib",
        ".tif",
        ".tiff",
        ".pgm",
        ".ppm",
        ".pnm",
        ".pbm",
        ".tga",
        ".ico",
        ".heic",
        ".heif",
        ".hif",
    )
)
#: files with these suffixes are films
VIDEO_SUFFIXES = frozenset(
    (
        ".mp4",
        ".m4v",
        ".mov",
        ".mkv",
        ".webm",
        ".avi",
        ".mpg",
        ".mpeg",
        ".m2v",
        ".ts",
        ".mts",
        ".m2ts",
        ".vob",
        ".wmv",
        ".asf",
        ".flv",
        ".f4v",
        ".3gp",
        ".3g2",
        ".ogv",
        ".mjpg",
        ".mjpeg",
        ".mxf",
        ".y4m",
    )
)
#: files with these suffixes are films if they hold more than one frame, otherwise images
ANIMATION_SUFFIXES = frozenset((".gif", ".webp", ".png", ".apng", ".avif"))
MEDIA_SUFFIXES = IMAGE_SUFFIXES | VIDEO_SUFFIXES | ANIMATION_SUFFIXES


def suffix_of(path: str) -> str:
    """The suffix in lower case, with its dot."""
    return os.path.splitext(path)[1].lower()


def kind_of_file(path: str) -> str:
    """ "image" or "video"; what cannot be told is "image"."""
    suffix = suffix_of(path)
    if suffix in VIDEO_SUFFIXES:
        return "video"
    if suffix in IMAGE_SUFFIXES:
        return "image"
    if suffix not in ANIMATION_SUFFIXES and _starts_like_film(path):
        return "video"
    return "video" if is_animation(path) else "image"


def is_animation(path: str) -> bool:
    """Whether Pillow finds more than one frame in a format that moves."""
    try:
        with PIL.Image.open(path) as picture:
            # the pictures of TIFF and MPO files are pages and views, not moments
            return picture.format in _MOVING and bool(getattr(picture, "is_animated", False))
    except Exception:
        # whatever is wrong with the file is reported when it is read
        return False


_MOVING = ("GIF", "WEBP", "PNG", "AVIF")


def _starts_like_film(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            head = file.read(16)
    except (OSError, ValueError):
        return False
    if head[4:8] == b"ftyp":
        # stills share the container of MP4
        return head[8:12] not in (b"heic", b"heix", b"mif1", b"msf1", b"avif", b"avis", b"hevc", b"hevx")
    riff = head[:4] == b"RIFF" and head[8:12] == b"AVI "
    return riff or head.startswith(_FILM_STARTS) or head[4:8] in (b"moov", b"mdat", b"wide", b"free")


_FILM_STARTS = (
    b"\x1a\x45\xdf\xa3",  # Matroska, WebM
    b"OggS",
    b"FLV\x01",
    b"\x00\x00\x01\xba",  # MPEG program stream
    b"\x00\x00\x01\xb3",  # MPEG video
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11",  # ASF, WMV
    b"YUV4MPEG2",
)
