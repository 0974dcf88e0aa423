"""Cut a face out of its photograph together with its landmarks, and write both as 300-W does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import PIL.Image

from facereject.faces.datasets import read_pts
from facereject.faces.geometry import FloatArray

JPEG_QUALITY = 95


@dataclass(frozen=True)
class Cut:
    """How faces are cut out: side of the square in boxes, longest side of the box in pixels.

    With ``full_size`` nothing is cut: photographs are copied as they are, in their own format.
    """

    margin: float = 2.5
    max_box: float = 200.0
    full_size: bool = False


def crop_face(
    image: PIL.Image.Image, points: FloatArray, margin: float = 2.5, max_box: float = 200.0
) -> tuple[PIL.Image.Image, FloatArray]:
    """The part of a photograph around a face, and the points in it (0-based pixels).

    A square is cut whose side is ``margin`` times the longer side of the landmarks' box, centred on that
    box and clipped to the photograph. It is made smaller, never larger, so that the longer side of the box
    is at most ``max_box`` pixels.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    longer = float((high - low).max())
    half = margin * longer / 2
    center = (low + high) / 2
    left, top = np.maximum(np.floor(center - half), 0).astype(int)
    right, bottom = np.minimum(np.ceil(center + half) + 1, image.size).astype(int)
    if right <= left or bottom <= top:
        raise ValueError("the face lies outside its photograph")
    crop = image.crop((left, top, right, bottom))
    scale = min(1.0, max_box / longer)
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in crop.size)
        crop = crop.resize((width, height), PIL.Image.Resampling.LANCZOS)
    # pixel centres have whole numbers, so the edge of the picture is at −½
    factors = np.array(crop.size) / (right - left, bottom - top)
    return crop, (points - (left, top) + 0.5) * factors - 0.5


def write_pts(path: Path, points: FloatArray) -> None:
    """Write 0-based points in the 1-based format of 300-W, with its header."""
    body = "\n".join(f"{x:.3f} {y:.3f}" for x, y in points + 1)
    _replace(
        path, lambda new: new.write_text(f"version: 1\nn_points: 68\n{{\n{body}\n}}\n", encoding="ascii")
    )


def convert_face(photo: Path, annotation: Path, target: Path, cut: Cut) -> None:
    """Write ``target`` + .jpg and + .pts; the .pts file comes last, so it marks a finished face."""
    points = read_pts(annotation)
    target.parent.mkdir(parents=True, exist_ok=True)
    if cut.full_size:
        _replace(_with(target, photo.suffix.lower()), lambda new: shutil.copyfile(photo, new))
    else:
        with PIL.Image.open(photo, formats=["JPEG", "PNG", "BMP"]) as opened:
            # annotated are the pixels as stored; the crop carries no EXIF orientation
            image, points = crop_face(opened.convert("RGB"), points, cut.margin, cut.max_box)
        _replace(_with(target, ".jpg"), lambda new: image.save(new, "JPEG", quality=JPEG_QUALITY))
    write_pts(_with(target, ".pts"), points)


def is_finished(target: Path, suffixes: tuple[str, ...] = (".jpg", ".jpeg", ".png", ".bmp")) -> bool:
    """Whether the landmarks and a picture are there."""
    return _with(target, ".pts").is_file() and any(_with(target, suffix).is_file() for suffix in suffixes)


def _with(target: Path, suffix: str) -> Path:
    # names may hold dots, so with_suffix would cut them
    return target.with_name(target.name + suffix)


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    new = path.with_name(f".{path.name}.new")
    try:
        write(new)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
