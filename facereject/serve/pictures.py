"""One picture in, its faces out: POST /api/score, and the frames of live clients."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import PIL.Image

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.images.files import read_image
from facereject.faces.images.kinds import is_heif, kind_of_file
from facereject.faces.images.load import ImageArray, ImageError, load_rgb
from facereject.faces.images.source import MAX_SCANS, SCAN_MARKER, TOO_MANY_SCANS
from facereject.serve.answers import frame_answer
from facereject.serve.refusals import unusable


def score_picture(
    choose: Callable[[], FaceRejector], path: str, *, max_pixels: int, thumbnails: bool
) -> dict[str, Any]:
    """The answer to a picture in a private file.

    Parameters
    ----------
    choose : callable
        Gives the rejector; called here, as it may have to be loaded.
    path : str
    max_pixels : int
        Larger ones are refused before they are decoded.
    thumbnails : bool
        With a small JPEG of each face.

    Raises
    ------
    Refusal
        422 with a sentence if it cannot be read.
    """
    rejector = choose()
    if kind_of_file(path) == "video":
        raise unusable("this is a video or an animation; send it to /api/video", see="/api/video")
    try:
        image = _read(path, max_pixels)
    except ImageError as error:
        raise unusable(without_name(str(error), path)) from None
    height, width = image.shape[:2]
    start = time.perf_counter()
    faces = rejector(image)
    seconds = time.perf_counter() - start
    answer = {"width": width, "height": height, "seconds": round(seconds, 4)}
    return {**answer, **frame_answer(faces, thumbnails=thumbnails)}


def _read(path: str, max_pixels: int) -> ImageArray:
    try:
        return load_rgb(path, max_pixels=max_pixels)
    except ImageError:
        # `read_image` would explain why a file of that name is no picture, and this one has no name
        if not is_heif(path):
            raise
    return read_image(path, max_pixels=max_pixels)


def without_name(message: str, path: str) -> str:
    """A message of the library without the name of the private file in front."""
    return message.removeprefix(f"{display_name(path)}: ")


def decode_jpeg(data: bytes, max_pixels: int) -> ImageArray:
    """A JPEG picture as RGB; its size is read and checked before anything is decoded.

    Raises
    ------
    Refusal
        422 if it is no JPEG, damaged, or too large.
    """
    try:
        with PIL.Image.open(io.BytesIO(data), formats=["JPEG"]) as header:
            width, height = header.size
    except Exception:
        # Pillow reports broken headers in many ways
        raise unusable("not a JPEG picture") from None
    if width * height > max_pixels:
        raise unusable(f"{width} x {height} pixels are more than the limit of {max_pixels:,}")
    if data.count(SCAN_MARKER) > MAX_SCANS:
        raise unusable(TOO_MANY_SCANS)
    # several times as fast as Pillow, which counts at 30 frames per second
    picture = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if picture is None or min(picture.shape[:2]) < 2:
        raise unusable("the JPEG picture is damaged")
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), dtype=np.uint8)
