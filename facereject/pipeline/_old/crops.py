"""Pictures made while files are judged: aligned faces, drawn photographs, the best frames of each person."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple

import numpy as np

from facereject._files import NOT_MADE_HERE, display_name, write_whole
from facereject.faces.face import Face, FaceFrame
from facereject.faces.geometry import FloatArray
from facereject.faces.images.load import ImageArray
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from facereject.outputs._drawing.aligned import aligned_crop, sharpness
from facereject.outputs._drawing.faces import draw_faces
from facereject.outputs._images import PictureError, is_own_picture, jpeg
from facereject.outputs.best_frames import quality_of

#: side of a crop that sharpness is measured on
_MEASURED = 128

#: seconds; two frames of a person that are nearer to each other show the same
APART_S = 0.5

# what a turned head and an expected error cost, in halvings of the sharpness
_DEGREES = 25.0
_PERCENT = 2.0

_COMMENT = b"facereject"
# bytes in which a picture made here says so
_START = 1024

_QUALITY = 92


@dataclass(frozen=True)
class PictureOutput:
    """Which pictures are made, and where they go. Names are those of the inputs with something added.

    Parameters
    ----------
    base : str
        Below the folders, subfolders are kept from here on.
    crops : str or None
        Folder for accepted faces, upright and in one size: every face of a photograph, the best of each
        person in a video.
    annotated : str or None
        Folder for photographs with landmarks and decisions drawn.
    frames : str or None
        Folder for the whole frames that show a person of a video best.
    size : int
        Side of the crops in pixels.
    best_per_track : int
        How many pictures of each person of a video, at least half a second apart.
    overwrite : bool
        Replace files that were not made here, too.
    """

    base: str
    crops: str | None = None
    annotated: str | None = None
    frames: str | None = None
    size: int = 256
    best_per_track: int = 1
    overwrite: bool = field(default=False, compare=False)

    def write_still(
        self, path: str, image: ImageArray, faces: list[Face], mean_shape: FloatArray = MEAN_SHAPE
    ) -> None:
        """Write the pictures of a photograph and its faces; PictureError if that fails."""
        if self.annotated is not None:
            self._write(self.target(self.annotated, path, "annotated"), draw_faces(image, faces))
        if self.crops is None:
            return
        for i, face in enumerate(faces):
            if face.accepted and np.isfinite(face.landmarks).all():
                crop = aligned_crop(image, face.landmarks, self.size, mean_shape)
                self._write(self.target(self.crops, path, f"face{i}"), crop)

    def open(self, path: str, mean_shape: FloatArray = MEAN_SHAPE) -> TrackPictures:
        """Start to look for the best frames of a video."""
        return TrackPictures(self, path, mean_shape)

    def target(self, folder: str, path: str, what: str) -> str:
        """The picture that is made of an input."""
        whole = os.path.abspath(path)
        inside = os.path.relpath(whole, self.base)
        if inside.startswith(os.pardir):
            # from elsewhere: the whole path, so that equal names stay apart
            inside = os.path.splitdrive(whole)[1].lstrip(os.sep)
        return os.path.join(folder, f"{inside}.{what}.jpg")

    def _write(self, path: str, image: ImageArray) -> None:
        self.write_bytes(path, jpeg(image))

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a picture that was encoded before, in one step; PictureError if that fails."""
        if os.path.lexists(path) and not self.overwrite and not is_own_picture(path):
            raise PictureError(f"{display_name(path)}: {NOT_MADE_HERE.replace('`', '')}")
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_whole(path, data)
        except OSError as error:
            raise PictureError(f"{display_name(path)}: cannot be written ({error.strerror})") from None


class _PictureShot(NamedTuple):
    """A frame that shows a person well."""

    quality: float
    number: int
    time_s: float
    crop: bytes
    frame: bytes


class TrackPictures:
    """The best frames of each person of a video; a context manager that writes them at the end.

    After an exception nothing is written.
    """

    def __init__(self, output: PictureOutput, path: str, mean_shape: FloatArray) -> None:
        self._output, self._path, self._mean_shape = output, path, mean_shape
        # by person, and by stretch of half a second
        self._shots: dict[int, dict[int, _PictureShot]] = {}

    def write(self, frame: FaceFrame) -> None:
        """Look at the next frame of the video."""
        if self._output.crops is self._output.frames is None:
            return
        for face in frame.faces:
            if face.accepted and face.track is not None and np.isfinite(face.landmarks).all():
                self._consider(face.track, face, frame)

    def _consider(self, track: int, face: Face, frame: FaceFrame) -> None:
        output, shots = self._output, self._shots.setdefault(track, {})
        small = aligned_crop(frame.image, face.landmarks, _MEASURED, self._mean_shape)
        quality = quality_of(face, sharpness(small))
        stretch = int(frame.time_s // APART_S)
        # of two neighbouring stretches only one may be left in the end
        full = len(shots) >= 3 * output.best_per_track
        worst = stretch if stretch in shots else min(shots, key=lambda key: shots[key].quality, default=None)
        if worst is not None and (full or worst == stretch):
            if quality <= shots[worst].quality:
                return
            del shots[worst]
        crop = picture = b""
        if output.crops is not None:
            crop = jpeg(aligned_crop(frame.image, face.landmarks, output.size, self._mean_shape))
        if output.frames is not None:
            picture = jpeg(frame.image)
        shots[stretch] = _PictureShot(quality, frame.index, frame.time_s, crop, picture)

    def _best(self, shots: Iterable[_PictureShot]) -> list[_PictureShot]:
        """The best ones that lie apart."""
        chosen: list[_PictureShot] = []
        for shot in sorted(shots, reverse=True):
            apart = all(abs(shot.time_s - other.time_s) >= APART_S for other in chosen)
            if apart and len(chosen) < self._output.best_per_track:
                chosen.append(shot)
        return chosen

    def __enter__(self) -> TrackPictures:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        output = self._output
        for track, shots in sorted(self._shots.items()):
            for shot in self._best(shots.values()):
                what = f"track{track:03d}.frame{shot.number:06d}"
                for folder, data in ((output.crops, shot.crop), (output.frames, shot.frame)):
                    if folder is not None:
                        output.write_bytes(output.target(folder, self._path, what), data)
