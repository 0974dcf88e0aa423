"""Convert paths, PIL images and arrays to RGB uint8; anything else raises an `ImageError`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import cv2
import numpy as np
import PIL.Image
from numpy.typing import NDArray

from facereject._files import InputError, display_name
from facereject.faces.images.source import BoundedFile, open_picture

ImageArray: TypeAlias = NDArray[np.uint8]
ImageLike: TypeAlias = "str | os.PathLike[str] | PIL.Image.Image | NDArray[Any]"

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
        Files may have the formats in `facereject.faces.images.source.FORMATS`, under any name. No side
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
