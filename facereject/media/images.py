"""One image file into RGB, within a limit of pixels, with a plain sentence for what cannot be read."""

from __future__ import annotations

import os

from ..faces.images import ImageArray, ImageError, load_rgb

#: images with more pixels are refused before they are decoded
MAX_PIXELS = 200_000_000

__all__ = ["MAX_PIXELS", "ImageError", "read_image"]


def read_image(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS) -> ImageArray:
    """Read an image file as an (H, W, 3) uint8 RGB array, turned upright by its EXIF orientation."""
    return load_rgb(path)
