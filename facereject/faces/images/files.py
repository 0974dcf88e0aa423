"""Read an image file as RGB within a pixel limit; files that cannot be read get one plain sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from facereject._files import display_name, is_special, suffix_of
from facereject.faces.images.kinds import MEDIA_SUFFIXES, is_heif
from facereject.faces.images.load import ImageArray, ImageError, load_rgb

if TYPE_CHECKING:
    import PIL.Image

__all__ = ["MAX_PIXELS", "ImageError", "read_image"]

#: images with more pixels are refused before they are decoded; the largest phone cameras make 200 megapixels
MAX_PIXELS = 200_000_000


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
        if not is_heif(path) or _reads_heif():
            raise _explained(path, error) from None
    _prepare_heif(path)
    return load_rgb(path, max_pixels=max_pixels, on_open=on_open)


def _explained(path: str | os.PathLike[str], error: ImageError) -> ImageError:
    """What inputs are taken for images although they are none (see `expand_inputs`) gets its own message."""
    name = display_name(path)
    if os.path.isdir(path):
        try:
            os.scandir(path).close()
        except OSError as refusal:
            reason = (refusal.strerror or str(refusal)).lower()
            return ImageError(f"{name}: a folder that cannot be listed ({reason})")
    elif os.path.isfile(path) and os.path.getsize(path) and suffix_of(os.fspath(path)) not in MEDIA_SUFFIXES:
        return ImageError(f"{name}: neither an image nor a video in a format that can be read")
    return error


def _reads_heif() -> bool:
    import PIL.Image

    return "HEIF" in PIL.Image.OPEN


def _prepare_heif(path: str | os.PathLike[str]) -> None:
    try:
        import pillow_heif
    except ImportError:
        raise ImageError(
            f"{display_name(path)}: HEIC images need the package pillow-heif; "
            "install it with: pip install pillow-heif"
        ) from None
    pillow_heif.register_heif_opener()
