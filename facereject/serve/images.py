"""One image in, its faces out: POST /api/score, and the frames of live clients."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import PIL.Image
from starlette.exceptions import HTTPException

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.images import (
    MAX_SCANS,
    SCAN_MARKER,
    TOO_MANY_SCANS,
    ImageArray,
    ImageError,
    is_heif,
    kind_of_file,
    load_rgb,
    read_image,
)
from facereject.serve.responses import frame_response, unusable


def score_image(
    choose: Callable[[], FaceRejector], path: str, *, max_pixels: int, thumbnails: bool
) -> dict[str, Any]:
    """The faces of an image in a private file.

    Parameters
    ----------
    choose : callable
        Gives the rejector; called here, as it may have to be loaded.
    path : str
    max_pixels : int
        Larger images are refused before they are decoded.
    thumbnails : bool
        With a small JPEG of each face.

    Raises
    ------
    HTTPException
        415 for a video, 422 for a file that cannot be read.
    """
    rejector = choose()
    if kind_of_file(path) == "video":
        raise HTTPException(415, "this is a video or an animation; send it to /api/video")
    try:
        image = _read(path, max_pixels)
    except ImageError as error:
        raise unusable(without_name(str(error), path)) from None
    height, width = image.shape[:2]
    start = time.perf_counter()
    faces = rejector(image)
    seconds = round(time.perf_counter() - start, 4)
    return {
        "width": width,
        "height": height,
        "seconds": seconds,
        **frame_response(faces, thumbnails=thumbnails),
    }


def _read(path: str, max_pixels: int) -> ImageArray:
    try:
        return load_rgb(path, max_pixels=max_pixels)
    except ImageError:
        # `read_image` would explain by its name why a file is no image, and this one has none
        if not is_heif(path):
            raise
    return read_image(path, max_pixels=max_pixels)


def without_name(message: str, path: str) -> str:
    """A message of the library without the name of the private file in front."""
    return message.removeprefix(f"{display_name(path)}: ")


def decode_jpeg(data: bytes, max_pixels: int) -> ImageArray:
    """A JPEG image as RGB; its size is checked before it is decoded.

    Raises
    ------
    HTTPException
        422 if it is no JPEG, damaged, or too large.
    """
    try:
        with PIL.Image.open(io.BytesIO(data), formats=["JPEG"]) as header:
            width, height = header.size
    except Exception:
        # Pillow reports broken headers in many ways
        raise unusable("not a JPEG image") from None
    if width * height > max_pixels:
        raise unusable(f"{width} x {height} pixels are more than the limit of {max_pixels:,}")
    if data.count(SCAN_MARKER) > MAX_SCANS:
        raise unusable(TOO_MANY_SCANS)
    # several times as fast as Pillow, which counts at 30 frames per second
    image = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR)
    if image is None or min(image.shape[:2]) < 2:
        raise unusable("the JPEG image is damaged")
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), dtype=np.uint8)
