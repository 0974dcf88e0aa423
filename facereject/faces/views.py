"""One image as detectors and predictors want to see it: in colour or in grey, each made at most once."""

from __future__ import annotations

import functools

import numpy as np

from facereject.faces.images.load import MIN_SIDE, ImageArray, ImageLike, load_rgb, to_gray
from facereject.faces.plugins import color_of


class Views:
    """An image in colour and in grey.

    Parameters
    ----------
    image : path, PIL image or array
        As `facereject.faces.load_rgb` takes it. A grey uint8 array is not turned into colour unless somebody
        asks for that: frame after frame, the detour would cost as much as the score.
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
