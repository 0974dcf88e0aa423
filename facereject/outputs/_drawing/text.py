"""Draw smooth text and panels of any size on an image, in place."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from facereject.faces.images import ImageArray

Color: TypeAlias = tuple[int, int, int]

WHITE: Color = (255, 255, 255)
DARK: Color = (24, 26, 30)


@functools.lru_cache(maxsize=16)
def _font(size: int) -> Any:
    # the font that comes with Pillow: the same on every machine
    return ImageFont.load_default(size)


@functools.lru_cache(maxsize=256)
def text_mask(text: str, size: int) -> ImageArray:
    """How much of each pixel the text covers, 0 to 255; all texts of one size are equally high.

    Parameters
    ----------
    text : str
    size : int
        Font size in pixels.
    """
    font = _font(size)
    ascent, descent = font.getmetrics()
    picture = Image.new("L", (max(1, round(font.getlength(text)) + 1), ascent + descent))
    ImageDraw.Draw(picture).text((0, 0), text, fill=255, font=font)
    return np.asarray(picture, dtype=np.uint8)


def put_text(image: ImageArray, text: str, x: int, y: int, size: int, color: Color = WHITE) -> None:
    """Write with the upper left corner at (x, y), cut off at the border of the image."""
    mask = text_mask(text, size)
    height, width = image.shape[:2]
    x0, y0 = max(x, 0), max(y, 0)
    x1, y1 = min(x + mask.shape[1], width), min(y + mask.shape[0], height)
    if x0 >= x1 or y0 >= y1:
        return
    part = image[y0:y1, x0:x1]
    cover = mask[y0 - y : y1 - y, x0 - x : x1 - x, None].astype(np.uint16)
    part[:] = (part * (255 - cover) + np.array(color, dtype=np.uint16) * cover) // 255


def put_panel(
    image: ImageArray, x: int, y: int, width: int, height: int, color: Color = DARK, opacity: float = 0.78
) -> None:
    """A translucent rectangle with round corners."""
    x0, y0 = max(x, 0), max(y, 0)
    x1, y1 = min(x + width, image.shape[1]), min(y + height, image.shape[0])
    if x0 >= x1 or y0 >= y1:
        return
    part = image[y0:y1, x0:x1]
    mask = _panel_mask(width, height)[y0 - y : y1 - y, x0 - x : x1 - x, None]
    cover = mask * np.float32(opacity)
    part[:] = (part * (1 - cover) + np.array(color, dtype=np.float32) * cover).astype(np.uint8)


@functools.lru_cache(maxsize=64)
def _panel_mask(width: int, height: int) -> Any:
    # drawn four times as large and averaged: smooth corners
    large = Image.new("L", (4 * width, 4 * height))
    radius = min(width, height, 4 * 6)
    ImageDraw.Draw(large).rounded_rectangle((0, 0, 4 * width - 1, 4 * height - 1), radius, fill=255)
    small = cv2.resize(np.asarray(large), (width, height), interpolation=cv2.INTER_AREA)
    return small.astype(np.float32) / 255
