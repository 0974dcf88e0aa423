"""Save the frames of a video that show each person best: certain, sharp and frontal."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass
from typing import NamedTuple

import numpy as np

from facereject._options import OptionError, option
from facereject.faces.face import Face, FaceFrame
from facereject.faces.geometry import FloatArray
from facereject.outputs._drawing.aligned import aligned_crop, sharpness
from facereject.outputs._images import ImageFolder, jpeg
from facereject.outputs.base import Media, RunInfo

#: seconds; two frames of a person that are closer to each other show the same
APART_S = 0.5

BEST_PER_TRACK_HELP = (
    "With --crops or --frames: N images of each person in a video, at least half a second apart."
)

# side of the crop that sharpness is measured on
_MEASURED = 128

# what a turned head and an expected error cost, in halvings of the sharpness
_DEGREES = 25.0
_PERCENT = 2.0


class ShotFolder(ImageFolder):
    """Saves the best images of each person of a video; subclasses have a field ``best_per_track``."""

    best_per_track: int
    _shots: BestShots | None = None

    def prepare(self, run: RunInfo) -> None:
        """Check folder and number."""
        super().prepare(run)
        if self.best_per_track < 1:
            name = f"`{type(self).__name__}.best_per_track`"
            raise OptionError(f"{name} must be at least 1 image; got {self.best_per_track}")

    def begin(self, media: Media) -> None:
        """Another input begins; images have no best frames."""
        super().begin(media)
        self._shots = BestShots(self.best_per_track, media.mean_shape) if media.kind == "video" else None

    def end(self, *, failed: bool = False) -> None:
        """Save the best images of a video."""
        shots, self._shots = self._shots, None
        if shots is not None and not failed:
            for what, data in shots.best():
                self._save(what, data)


@dataclass
class BestFrames(ShotFolder):
    """Save the whole frames that show each person of a video best.

    Parameters
    ----------
    folder : path
        Made if needed; subfolders of the inputs are kept.
    best_per_track : int, default=1
        How many frames of each person, at least half a second apart.

    See Also
    --------
    Crops : The faces alone, cut out upright.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import BestFrames
    >>> score_files("clip.mp4", BestFrames("people", best_per_track=3))  # doctest: +SKIP
    """

    folder: str = option(
        MISSING,
        "--frames",
        metavar="DIR",
        help="Save the frames of a video that show each person best: certain, sharp and frontal.",
    )
    best_per_track: int = option(1, metavar="N", help=BEST_PER_TRACK_HELP)

    def write(self, frame: FaceFrame) -> None:
        """Remember the frame if it is one of the best."""
        if self._shots is not None:
            self._shots.add(frame, lambda face: jpeg(frame.image))

    def report(self) -> list[str]:
        """Where the frames are."""
        made = os.path.isdir(self.folder)
        return [f"Frames: {self.folder if made else 'none, this run saved no accepted face of a video'}"]


class _Shot(NamedTuple):
    """A frame that shows a person well, and the image that is made of it."""

    quality: float
    number: int
    time_s: float
    data: bytes


class BestShots:
    """The best frames of each person of a video, in bounded memory.

    Parameters
    ----------
    n : int
        How many frames of each person.
    mean_shape : ndarray of shape (n, 2)
        For the upright crop on which sharpness is measured.
    """

    def __init__(self, n: int, mean_shape: FloatArray) -> None:
        self._n, self._mean_shape = n, mean_shape
        # by track, and by interval of half a second
        self._shots: dict[int, dict[int, _Shot]] = {}

    def add(self, frame: FaceFrame, encode: Callable[[Face], bytes]) -> None:
        """Consider the accepted faces of the next frame; ``encode`` makes the image of one that is kept."""
        for face in frame.faces:
            if face.accepted and face.track is not None and np.isfinite(face.landmarks).all():
                self._consider(face.track, face, frame, encode)

    def best(self) -> Iterator[tuple[str, bytes]]:
        """Name and image of the best frames, person by person."""
        for track, shots in sorted(self._shots.items()):
            chosen: list[_Shot] = []
            for shot in sorted(shots.values(), reverse=True):
                apart = all(abs(shot.time_s - other.time_s) >= APART_S for other in chosen)
                if apart and len(chosen) < self._n:
                    chosen.append(shot)
                    yield f"track{track:03d}.frame{shot.number:06d}", shot.data

    def _consider(self, track: int, face: Face, frame: FaceFrame, encode: Callable[[Face], bytes]) -> None:
        shots = self._shots.setdefault(track, {})
        small = aligned_crop(frame.image, face.landmarks, _MEASURED, self._mean_shape)
        quality = quality_of(face, sharpness(small))
        interval = int(frame.time_s // APART_S)
        # of two neighbouring intervals only one may be left in the end
        full = len(shots) >= 3 * self._n
        worst = (
            interval if interval in shots else min(shots, key=lambda key: shots[key].quality, default=None)
        )
        if worst is not None and (full or worst == interval):
            if quality <= shots[worst].quality:
                return
            del shots[worst]
        shots[interval] = _Shot(quality, frame.index, frame.time_s, encode(face))


def quality_of(face: Face, sharp: float) -> float:
    """How well a frame shows a face: log2 of the sharpness, less for its expected error and for turning away.

    Half the sharpness is as bad as two percent of expected error more, or a head turned by 25 degrees.
    """
    error = face.expected_error if math.isfinite(face.expected_error) else face.uncertainty
    turn = 0.0 if face.pose is None else (face.pose.yaw**2 + face.pose.pitch**2) / _DEGREES**2
    return math.log2(max(sharp, 1e-6)) - error / _PERCENT - turn
