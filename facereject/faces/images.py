"""Image files and arrays: recognise, open safely and decode them to RGB, or to grey.

Pillow tries every format it knows for any file name, including PostScript, which it passes to
Ghostscript; and some of its parsers read byte by byte to the end of a file. Here only listed formats are
allowed, and a file that makes a parser read too much or too often raises an error.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import cv2
import numpy as np
import PIL.Image
from numpy.typing import NDArray

from facereject._files import InputError, display_name, is_special, suffix_of
from facereject.faces.plugins import color_of

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


ImageArray: TypeAlias = NDArray[np.uint8]
ImageLike: TypeAlias = "str | os.PathLike[str] | PIL.Image.Image | NDArray[Any]"

#: images with more pixels are refused before they are decoded; the largest phone cameras make 200 megapixels
MAX_PIXELS = 200_000_000

#: smallest image side in pixels
MIN_SIDE = 2

# float images may overshoot [0, 1] by rounding
_OVERSHOOT = 1e-4

#: largest image side in pixels: OpenCV counts pixels of a row in 16 bits
MAX_SIDE = 32_767

# pixels converted at a time, to bound the memory of intermediate copies
_STRIP_PIXELS = 1 << 20

_ORIENTATION = 0x0112
# the stored image as a view of the upright one, by EXIF orientation
_STORED: dict[int, Callable[[ImageArray], ImageArray]] = {
    2: lambda upright: upright[:, ::-1],
    3: lambda upright: upright[::-1, ::-1],
    4: lambda upright: upright[::-1],
    5: lambda upright: upright.swapaxes(0, 1),
    6: lambda upright: np.rot90(upright),
    7: lambda upright: upright.swapaxes(0, 1)[::-1, ::-1],
    8: lambda upright: np.rot90(upright, -1),
}


class ImageError(InputError):
    """The image cannot be read or has a form this package does not handle."""


def load_rgb(
    image: ImageLike,
    *,
    max_pixels: int | None = None,
    on_open: Callable[[PIL.Image.Image], None] | None = None,
) -> ImageArray:
    """Return ``image`` as an (H, W, 3) uint8 RGB array.

    Parameters
    ----------
    image : path, PIL image or array
        Arrays are read as RGB. Handled: (H, W), (H, W, 1), (H, W, 3) and (H, W, 4), where alpha is
        composited on black; dtype uint8, uint16 (divided by 257), bool, and float with values in [0, 1].
        16-bit values that all lie below 256 are refused, as they are most likely 8-bit levels.
        Files and PIL images are turned upright by their EXIF orientation.
        Files may have the formats in `facereject.faces.images.FORMATS`, under any name. No side
        may be longer than `MAX_SIDE`.
    max_pixels : int, optional
        Files with more pixels are refused before they are decoded; decoding takes up to 7 bytes of memory for
        each. Without it Pillow's own limit holds
        (`PIL.Image.MAX_IMAGE_PIXELS`: a warning above it, an error above twice as many).
    on_open : callable, optional
        Called with the image of a file before its pixels are decoded, for example to call its ``draft``.

    Returns
    -------
    ndarray of shape (H, W, 3), uint8

    Raises
    ------
    ImageError
        The message names the file or the property of the array that is not handled.

    See Also
    --------
    facereject.sources.open_video : The frames of a video.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.faces import load_rgb
    >>> load_rgb(np.zeros((4, 5), dtype=np.uint8)).shape
    (4, 5, 3)
    """
    if isinstance(image, str | os.PathLike):
        return _read_file(os.fspath(image), max_pixels, on_open)
    if isinstance(image, PIL.Image.Image):
        try:
            return _from_pil(image)
        except ImageError:
            raise
        except Exception as error:
            # PIL reads the pixels only now, and reports broken files in many ways
            raise ImageError(f"the PIL image cannot be read ({error})") from None
    if isinstance(image, np.ndarray):
        return _from_array(image)
    raise ImageError(f"an image must be a path, a PIL image or a numpy array, got {type(image).__name__}")


def to_gray(image: ImageArray) -> ImageArray:
    """Grey levels of an RGB array (luma 0.299 R + 0.587 G + 0.114 B); a grey array is returned as it is."""
    if image.ndim == 2:
        return image
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def _read_file(
    path: str, max_pixels: int | None, on_open: Callable[[PIL.Image.Image], None] | None
) -> ImageArray:
    # a name that is not valid UTF-8 must not make the message unprintable
    name = display_name(path)
    try:
        with BoundedFile(path) as file:
            picture = open_picture(file, unlimited=max_pixels is not None)
            width, height = picture.size
            if max_pixels is not None and width * height > max_pixels:
                raise ImageError(
                    f"{name}: {width} x {height} pixels are more than the limit of {max_pixels:,}; "
                    "make the image smaller or raise the limit"
                )
            _check_sides(height, width)
            file.allow(width * height)
            if on_open is not None:
                on_open(picture)
            return _from_pil(picture)
    except ImageError as error:
        message = str(error)
        raise ImageError(message if message.startswith(name) else f"{name}: {message}") from None
    except Exception as error:
        # Pillow and its decoders report broken files in many ways, also as TypeError, KeyError, RuntimeError
        raise ImageError(f"{name}: {_why_unreadable(path, error)}") from None


def _why_unreadable(path: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, PermissionError):
        return "the file may not be read (permission denied)"
    if isinstance(error, IsADirectoryError):
        return "a folder, not an image"
    if isinstance(error, MemoryError):
        return "not enough memory for this image"
    if isinstance(error, PIL.UnidentifiedImageError):
        empty = os.path.getsize(path) == 0
        return "the file is empty" if empty else "not an image in a format that can be read"
    if isinstance(error, OSError) and error.strerror:
        return f"the file cannot be read ({error.strerror.lower()})"
    return f"not a readable image ({error})"


def _from_pil(picture: PIL.Image.Image) -> ImageArray:
    """Convert an image to upright RGB in strips: whole intermediate copies would cost more than the image."""
    _check_sides(picture.height, picture.width)
    # the orientation of a PNG may be stored after its pixels
    picture.load()
    stored = _STORED.get(_orientation(picture))
    height, width = picture.height, picture.width
    if stored is None:
        upright = view = np.empty((height, width, 3), dtype=np.uint8)
    else:
        swapped = stored(np.empty((1, 2, 3), dtype=np.uint8)).shape[:2] == (2, 1)
        upright = np.empty((width, height, 3) if swapped else (height, width, 3), dtype=np.uint8)
        view = stored(upright)
    deep = picture.mode.startswith(("I", "F"))
    if deep:
        _check_levels(picture)
    for top, strip in _strips(picture):
        values = _levels(strip) if deep else np.asarray(_with_rgb(strip))
        view[top : top + len(values)] = _to_rgb(values)
    return upright


def _orientation(picture: PIL.Image.Image) -> int:
    try:
        return int(picture.getexif().get(_ORIENTATION, 1))
    except Exception:
        # ignore damaged EXIF data; the pixels are fine
        return 1


def _strips(picture: PIL.Image.Image) -> Iterator[tuple[int, PIL.Image.Image]]:
    rows = max(1, _STRIP_PIXELS // picture.width)
    if picture.height <= rows:
        yield 0, picture
        return
    for top in range(0, picture.height, rows):
        yield top, picture.crop((0, top, picture.width, min(top + rows, picture.height)))


def _with_rgb(picture: PIL.Image.Image) -> PIL.Image.Image:
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        return picture.convert("RGBA")
    # converting to the mode it has would copy the image
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def _levels(picture: PIL.Image.Image) -> NDArray[Any]:
    """Convert 16-bit grey, which PIL keeps as 32-bit integers."""
    values = np.asarray(picture)
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    return _scaled(values.astype(np.uint16) if values.dtype.kind == "i" else values)


def _check_levels(picture: PIL.Image.Image) -> None:
    """Check the value range over the whole image, as a strip may hide a problem."""
    lowest, highest = np.inf, -np.inf
    kind = "u"
    for _, strip in _strips(picture):
        values = np.asarray(strip)
        kind = values.dtype.kind
        # NaN stays NaN
        lowest, highest = np.minimum(lowest, values.min()), np.maximum(highest, values.max())
    if kind == "i" and not (lowest >= 0 and highest <= 65535):
        raise ImageError("images of dtype int32 are not handled; convert to uint8 (0 to 255)")
    _check_range("f" if kind == "f" else "u", float(lowest), float(highest))


def _from_array(array: NDArray[Any]) -> ImageArray:
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise ImageError(f"an image array must be (H, W), (H, W, 3) or (H, W, 4), got shape {array.shape}")
    _check_sides(*array.shape[:2])
    # the byte order of another machine
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == np.uint16 or array.dtype.kind == "f":
        _check_range(array.dtype.kind, float(array.min()), float(array.max()))
    return np.ascontiguousarray(_to_rgb(_scaled(array)))


def _check_sides(height: int, width: int) -> None:
    if min(height, width) < MIN_SIDE:
        raise ImageError(f"an image must be at least {MIN_SIDE} pixels wide and high, got {width} x {height}")
    if max(height, width) > MAX_SIDE:
        raise ImageError(
            f"{width} x {height} pixels: no side may be longer than {MAX_SIDE:,}; "
            "cut the image into parts or make it smaller"
        )


def _to_rgb(values: ImageArray) -> ImageArray:
    if values.ndim == 2:
        return np.asarray(cv2.cvtColor(values, cv2.COLOR_GRAY2RGB), dtype=np.uint8)
    if values.shape[2] == 4:
        opacity = values[:, :, 3:].astype(np.uint16)
        return (values[:, :, :3] * opacity // 255).astype(np.uint8)
    return values


def _check_range(kind: str, lowest: float, highest: float) -> None:
    """Raise for 16-bit images with 8-bit values, and for floats outside [0, 1]."""
    if kind == "u" and 0 < highest <= 255:
        raise ImageError(
            f"a 16-bit image has values up to 65535, this one only up to {highest:.0f}: "
            "if these are 8-bit levels, convert it to uint8"
        )
    # this form also rejects NaN
    if kind == "f" and not (lowest >= -_OVERSHOOT and highest <= 1 + _OVERSHOOT):
        raise ImageError("a float image must hold finite values in [0, 1]; if yours go to 255, pass uint8")


def _scaled(array: NDArray[Any]) -> ImageArray:
    """Scale values that passed `_check_range` to 8 bits."""
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.uint16:
        return (array // 257).astype(np.uint8)
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype.kind == "f":
        return np.asarray(np.rint(np.clip(array, 0, 1) * 255), dtype=np.uint8)
    raise ImageError(f"images of dtype {array.dtype} are not handled; convert to uint8 (0 to 255)")


def read_image(
    path: str | os.PathLike[str],
    *,
    max_pixels: int = MAX_PIXELS,
    on_open: Callable[[PIL.Image.Image], None] | None = None,
) -> ImageArray:
    """Read an image file as an (H, W, 3) uint8 RGB array, turned upright by its EXIF orientation.

    Parameters
    ----------
    path : path
        Any format that Pillow reads; HEIC if the package pillow-heif is installed. Of files with several
        pictures the first is read.
    max_pixels : int
        Width times height; larger images are refused before they are decoded, which would need about ten
        bytes of memory for each pixel. It replaces the limit of Pillow.
    on_open : callable, optional
        As in `load_rgb`.

    Raises
    ------
    ImageError
        The message starts with the name of the file and says in one sentence why it cannot be read.
    """
    if is_special(path):
        raise ImageError(f"{display_name(path)}: not a regular file; save the data to a file first")
    try:
        return load_rgb(path, max_pixels=max_pixels, on_open=on_open)
    except ImageError as error:
        # checked only after a failure: readable files need not wait for it
        if not is_heif(path) or "HEIF" in PIL.Image.OPEN:
            raise _explained(path, error) from None
    _prepare_heif(path)
    return load_rgb(path, max_pixels=max_pixels, on_open=on_open)


def _explained(path: str | os.PathLike[str], error: ImageError) -> ImageError:
    """What inputs are taken for images although they are none (see `expand_inputs`) gets its own message."""
    name = display_name(path)
    if os.path.isdir(path):
        try:
            os.scandir(path).close()
        except OSError as denied:
            reason = (denied.strerror or str(denied)).lower()
            return ImageError(f"{name}: a folder that cannot be listed ({reason})")
    elif os.path.isfile(path) and os.path.getsize(path) and suffix_of(os.fspath(path)) not in MEDIA_SUFFIXES:
        return ImageError(f"{name}: neither an image nor a video in a format that can be read")
    return error


def _prepare_heif(path: str | os.PathLike[str]) -> None:
    try:
        import pillow_heif
    except ImportError:
        raise ImageError(
            f"{display_name(path)}: HEIC images need the package pillow-heif; "
            "install it with: pip install pillow-heif"
        ) from None
    pillow_heif.register_heif_opener()


class Views:
    """An image in colour and in grey.

    Parameters
    ----------
    image : path, PIL image or array
        As `facereject.faces.load_rgb` takes it. A grey uint8 array is turned into colour only when colour is
        asked for: in every frame of a video, that would cost as much as the score.
    """

    def __init__(self, image: ImageLike) -> None:
        self._image: ImageArray
        if (
            isinstance(image, np.ndarray)
            and image.ndim == 2
            and image.dtype == np.uint8
            and min(image.shape) >= MIN_SIDE
        ):
            self._image = image
        else:
            self._image = load_rgb(image)

    @functools.cached_property
    def rgb(self) -> ImageArray:
        """(H, W, 3) uint8."""
        return self._image if self._image.ndim == 3 else load_rgb(self._image)

    @functools.cached_property
    def gray(self) -> ImageArray:
        """(H, W) uint8."""
        return to_gray(self._image)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self._image.shape[:2]
        return width, height

    def shown_to(self, plugin: object) -> ImageArray:
        """The image in the colours that a detector or predictor asks for."""
        return self.gray if color_of(plugin) == "gray" else self.rgb


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
    """Whether a file holds more than one frame in a format that moves; see `has_frames`.

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
