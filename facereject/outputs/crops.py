"""Accepted faces cut out upright and in one size: all of an image, the best of each person in a video."""

from __future__ import annotations

import os
from dataclasses import MISSING, dataclass, field

import numpy as np

from facereject._options import OptionError, option
from facereject.faces.face import Face, FaceFrame
from facereject.faces.geometry import FloatArray
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.outputs._drawing.aligned import aligned_crop
from facereject.outputs._images import jpeg
from facereject.outputs.base import Media, RunInfo
from facereject.outputs.best_frames import BEST_PER_TRACK_HELP, ShotFolder

_SIDES = (16, 4096)


@dataclass
class Crops(ShotFolder):
    """Save accepted faces, upright and in one size.

    Files are named after their inputs, with the number of the face or track and frame added.

    Parameters
    ----------
    folder : path
        Made if needed; subfolders of the inputs are kept.
    size : int, default=256
        Side of the crops in pixels.
    best_per_track : int, default=1
        How many crops of each person in a video, at least half a second apart.

    See Also
    --------
    BestFrames : The whole frames that show each person best.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import Crops
    >>> score_files("photos", Crops("faces", size=128))  # doctest: +SKIP
    """

    folder: str = option(
        MISSING,
        "--crops",
        metavar="DIR",
        help="Save accepted faces, upright and of the same size: all faces of a photo, the best ones of "
        "each person in a video.",
    )
    size: int = option(256, metavar="PIXELS", help="Side of the crops.")
    best_per_track: int = option(1, metavar="N", help=BEST_PER_TRACK_HELP)

    _mean_shape: FloatArray = field(default_factory=lambda: MEAN_SHAPE, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check folder and numbers."""
        super().prepare(run)
        low, high = _SIDES
        if not low <= self.size <= high:
            raise OptionError(
                f"`Crops.size` must be the side of the crops in pixels, {low} to {high}; got {self.size}"
            )

    def begin(self, media: Media) -> None:
        """Another input begins."""
        super().begin(media)
        self._mean_shape = media.mean_shape

    def write(self, frame: FaceFrame) -> None:
        """Save the accepted faces of an image; of a video, remember the best."""
        if self._shots is not None:
            self._shots.add(frame, lambda face: jpeg(self._crop(frame, face)))
            return
        for i, face in enumerate(frame.faces):
            if face.accepted and np.isfinite(face.landmarks).all():
                self._save(f"face{i}", jpeg(self._crop(frame, face)))

    def report(self) -> list[str]:
        """Where the crops are."""
        made = os.path.isdir(self.folder)
        return [f"Crops: {self.folder if made else 'none, this run saved no accepted face'}"]

    def _crop(self, frame: FaceFrame, face: Face) -> ImageArray:
        return aligned_crop(frame.image, face.landmarks, self.size, self._mean_shape)
