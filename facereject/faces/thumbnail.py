"""A small image of a face for notebooks: the crop as a JPEG, the landmarks as SVG on top of it."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import cv2
import numpy as np

from facereject._html import facts_html
from facereject._lazy import Lazy
from facereject.faces.images import ImageArray

if TYPE_CHECKING:
    from facereject.faces.face import Box, Face

#: pixels of a thumbnail's side, at most
SIDE = 128

# side of the shown square, in sides of the face box
_REACH = 1.6

_GREEN, _RED, _GREY = "#2ebe6e", "#eb4034", 128


def lazy_thumbnail(image: ImageArray, box: Box) -> Lazy[bytes]:
    """A small JPEG, about 4 KB, of the face in a box of an RGB image, encoded when it is first asked for.

    Empty if the box lies outside, or is so large that the image would be a speck in it. Until then it holds
    a small copy, not the image.
    """
    left, top, side = square_of(box)
    crop = None if side > 4 * max(image.shape[:2]) else cut_square(image, left, top, side)
    small = None if crop is None else reduced(crop, SIDE).copy()
    return Lazy(lambda: b"" if small is None else encode_jpeg(small, 80))


def square_of(box: Box, reach: float = _REACH) -> tuple[int, int, int]:
    """Left, top and side of a square around a box, ``reach`` times as large, in whole pixels of the image."""
    side = max(1, round(reach * max(box.width, box.height)))
    x, y = box.center
    return round(x - side / 2), round(y - side / 2), side


def cut_square(image: ImageArray, left: int, top: int, side: int) -> ImageArray | None:
    """A square of an image, grey where it reaches beyond; None if nothing of the image is in it."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + side, width), min(top + side, height)
    if x0 >= x1 or y0 >= y1:
        return None
    crop = image[y0:y1, x0:x1]
    if crop.shape[:2] != (side, side):
        crop = np.full((side, side, 3), _GREY, dtype=np.uint8)
        crop[y0 - top : y1 - top, x0 - left : x1 - left] = image[y0:y1, x0:x1]
    return crop


def encode_jpeg(image: ImageArray, quality: int) -> bytes:
    """An RGB image as JPEG; empty if that fails."""
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality]
    )
    return bytes(data) if done else b""


def reduced(crop: ImageArray, most: int) -> ImageArray:
    """A square image, reduced to a side of ``most`` pixels if it is larger."""
    if len(crop) <= most:
        return crop
    factor = len(crop) // most
    if factor > 1:
        # means of whole blocks, and the rest by interpolation: parts of pixels take five times as long
        side = len(crop) // factor
        whole = crop[: side * factor, : side * factor]
        crop = np.asarray(cv2.resize(whole, (side, side), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    return np.asarray(cv2.resize(crop, (most, most), interpolation=cv2.INTER_LINEAR), dtype=np.uint8)


def face_html(face: Face) -> str:
    """The face in a notebook: its image with the landmarks; decision and numbers beside it."""
    known = face.to_dict()
    numbers = {
        "expected error": ("expected_error", "{:.1f} %"),
        "uncertainty": ("uncertainty", "{:.3f}"),
        "detector score": ("detector_score", "{:.2f}"),
    }
    facts = {"decision": "accepted" if face.accepted else f"rejected, {face.explanation}"}
    facts |= {
        name: form.format(known[key]) if known[key] is not None else "unknown"
        for name, (key, form) in numbers.items()
    }
    if face.hint:
        facts["likely cause"] = face.hint
    box = face.box
    facts["box"] = f"{box.width:.0f} x {box.height:.0f} pixels at ({box.x:.0f}, {box.y:.0f})"
    return facts_html("Face", facts, picture=_picture(face))


def _picture(face: Face) -> str:
    left, top, side = square_of(face.box)
    color = _GREEN if face.accepted else _RED
    pieces = []
    if face.thumbnail:
        data = base64.b64encode(face.thumbnail).decode("ascii")
        pieces.append(f'<image href="data:image/jpeg;base64,{data}" width="{side}" height="{side}"/>')
    points = face.landmarks[np.isfinite(face.landmarks).all(axis=1)] - (left, top)
    radius = side / 100
    pieces += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.2f}"/>' for x, y in points.tolist()]
    return (
        f'<svg width="160" height="160" viewBox="0 0 {side} {side}" fill="{color}" '
        f'style="border:3px solid {color}">{"".join(pieces)}</svg>'
    )
