"""Images at the boundary: path, PIL or numpy in; RGB uint8 inside; the rest is refused with a sentence."""

from __future__ import annotations

import os
import struct
import threading
from typing import Any, TypeAlias

import cv2
import numpy as np
import PIL.Image
from numpy.typing import NDArray

ImageArray: TypeAlias = NDArray[np.uint8]
ImageLike: TypeAlias = "str | os.PathLike[str] | PIL.Image.Image | NDArray[Any]"

#: smallest image side in pixels
MIN_SIDE = 2

# float images may overshoot [0, 1] by rounding
_OVERSHOOT = 1e-4

# PIL reports broken files by all of these, depending on the format
_PIL_ERRORS: tuple[type[Exception], ...] = (OSError, ValueError, SyntaxError, EOFError, MemoryError)
_PIL_ERRORS += (PIL.Image.DecompressionBombError, struct.error, TypeError, KeyError, IndexError)

_ORIENTATION = 0x0112
_TURNS = {
    2: PIL.Image.Transpose.FLIP_LEFT_RIGHT,
    3: PIL.Image.Transpose.ROTATE_180,
    4: PIL.Image.Transpose.FLIP_TOP_BOTTOM,
    5: PIL.Image.Transpose.TRANSPOSE,
    6: PIL.Image.Transpose.ROTATE_270,
    7: PIL.Image.Transpose.TRANSVERSE,
    8: PIL.Image.Transpose.ROTATE_90,
}
_limit_lock = threading.Lock()


class ImageError(ValueError):
    """The image cannot be read or has a form this package does not handle."""


def load_rgb(image: ImageLike, *, max_pixels: int | None = None) -> ImageArray:
    """Return ``image`` as an (H, W, 3) uint8 RGB array.

    Parameters
    ----------
    image : path, PIL image or array
        Arrays are read as RGB. Handled: (H, W), (H, W, 1), (H, W, 3) and (H, W, 4), where alpha is
        composited on black; dtype uint8, uint16 (divided by 257), bool, and float with values in [0, 1].
        16-bit values that all lie below 256 are refused, as they are most likely 8-bit levels.
        Files and PIL images are turned upright by their EXIF orientation.
    max_pixels : int, optional
        Files with more pixels are refused before they are decoded. Without it Pillow's own limit holds
        (`PIL.Image.MAX_IMAGE_PIXELS`: a warning above it, a refusal above twice as many).

    Raises
    ------
    ImageError
        The message names the file or the property of the array that is not handled.
    """
    if isinstance(image, str | os.PathLike):
        return _read_file(os.fspath(image), max_pixels)
    if isinstance(image, PIL.Image.Image):
        try:
            return _from_pil(image)
        except ImageError:
            raise
        except _PIL_ERRORS as error:
            # PIL reads the file of an opened image only now
            raise ImageError(f"the PIL image cannot be read ({error})") from None
    if isinstance(image, np.ndarray):
        return _from_array(image)
    raise ImageError(f"an image must be a path, a PIL image or a numpy array, got {type(image).__name__}")


def to_gray(image: ImageArray) -> ImageArray:
    """Grey levels of an RGB array (luma 0.299 R + 0.587 G + 0.114 B); a grey array is returned as it is."""
    if image.ndim == 2:
        return image
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def open_unlimited(path: str) -> PIL.Image.Image:
    """`PIL.Image.open` without Pillow's limit of pixels, for callers that check the size themselves.

    Only the header is read. The limit is a global of Pillow; it is off only for that moment.
    """
    with _limit_lock:
        limit = PIL.Image.MAX_IMAGE_PIXELS
        PIL.Image.MAX_IMAGE_PIXELS = None
        try:
            return PIL.Image.open(path)
        finally:
            PIL.Image.MAX_IMAGE_PIXELS = limit


def _read_file(path: str, max_pixels: int | None) -> ImageArray:
    # bytes of the name that are no UTF-8 must not make the message unprintable
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    try:
        with PIL.Image.open(path) if max_pixels is None else open_unlimited(path) as picture:
            width, height = picture.size
            if max_pixels is not None and width * height > max_pixels:
                raise ImageError(
                    f"{name}: {width} x {height} pixels are more than the limit of {max_pixels:,}; "
                    "make the image smaller or raise the limit"
                )
            return _from_pil(picture)
    except ImageError as error:
        message = str(error)
        raise ImageError(message if message.startswith(name) else f"{name}: {message}") from None
    except _PIL_ERRORS as error:
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
    upright = _turned_upright(picture)
    # converting to the mode it has would copy the image
    if upright.mode == "RGB" and "transparency" not in upright.info:
        return _from_array(np.asarray(upright))
    if upright.mode.startswith(("I", "F")):
        values = np.asarray(upright)
        # PIL keeps 16-bit grey as 32-bit integers
        if values.dtype.kind == "i" and values.size and values.min() >= 0 and values.max() <= 65535:
            values = values.astype(np.uint16)
        return _from_array(values)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        return _from_array(np.asarray(upright.convert("RGBA")))
    return _from_array(np.asarray(upright.convert("RGB")))


def _turned_upright(picture: PIL.Image.Image) -> PIL.Image.Image:
    # the orientation of a PNG may stand behind its pixels
    picture.load()
    try:
        turn = _TURNS.get(picture.getexif().get(_ORIENTATION, 1))
    except _PIL_ERRORS:
        # damaged EXIF data says nothing; the pixels are fine
        turn = None
    # ImageOps.exif_transpose would copy images that are upright already
    return picture if turn is None else picture.transpose(turn)


def _from_array(array: NDArray[Any]) -> ImageArray:
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise ImageError(f"an image array must be (H, W), (H, W, 3) or (H, W, 4), got shape {array.shape}")
    if min(array.shape[:2]) < MIN_SIDE:
        raise ImageError(f"an image must be at least {MIN_SIDE} pixels wide and high, got {array.shape}")
    # the byte order of another machine
    values = _to_uint8(array.astype(array.dtype.newbyteorder("="), copy=False))
    if values.ndim == 2:
        return np.asarray(cv2.cvtColor(values, cv2.COLOR_GRAY2RGB), dtype=np.uint8)
    if values.shape[2] == 4:
        opacity = values[:, :, 3:].astype(np.uint16)
        values = (values[:, :, :3] * opacity // 255).astype(np.uint8)
    return np.ascontiguousarray(values)


def _to_uint8(array: NDArray[Any]) -> ImageArray:
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.uint16:
        if 0 < array.max() <= 255:
            raise ImageError(
                f"a 16-bit image has values up to 65535, this one only up to {array.max()}: "
                "if these are 8-bit levels, convert it to uint8"
            )
        return (array // 257).astype(np.uint8)
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * np.uint8(255)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or array.min() < -_OVERSHOOT or array.max() > 1 + _OVERSHOOT:
            raise ImageError(
                "a float image must hold finite values in [0, 1]; if yours go to 255, pass uint8"
            )
        return np.rint(np.clip(array, 0, 1) * 255).astype(np.uint8)
    raise ImageError(f"images of dtype {array.dtype} are not handled; convert to uint8 (0 to 255)")
