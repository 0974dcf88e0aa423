"""Corrected landmarks as .pts files of 300-W, which `calibrate`, `train` and `evaluate` read."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from facereject._files import display_name, suffix_of, write_whole
from facereject._validation import FloatArray
from facereject.faces.images import MEDIA_SUFFIXES, VIDEO_SUFFIXES
from facereject.outputs._folders import name_below
from facereject.outputs.images import png, write_picture
from facereject.outputs.sorted_files import place
from facereject.serve.review.decisions import Decisions
from facereject.serve.review.faces import RequestError, ReviewFaces
from facereject.serve.review.images import FaceImages, Folder

# pixels; no image is as large
_FARTHEST = 1e6


class AnnotationError(ValueError):
    """Landmarks cannot be saved; the message says why and what to do."""


def pts_text(points: FloatArray) -> str:
    """The text of a .pts file for 0-based points: it counts pixels from 1.

    Examples
    --------
    >>> print(pts_text(np.array([[0.0, 1.5]])), end="")
    version: 1
    n_points: 1
    {
    1.000 2.500
    }
    """
    lines = "".join(f"{x:.3f} {y:.3f}\n" for x, y in (points + 1).tolist())
    return f"version: 1\nn_points: {len(points)}\n{{\n{lines}}}\n"


@dataclass
class Annotations:
    """Writes corrected landmarks: into a folder together with the images, or beside the photos.

    Files that were not written here are never replaced or removed.

    Parameters
    ----------
    target : str or None
        The folder, made when first needed; it gets a copy of each annotated image, so that a data set can be
        loaded from it. None writes beside the photos, where a photo can have one face only.
    faces : ReviewFaces
    folder : Folder
    images : FaceImages
    decisions : Decisions
        Remembers what was written.
    """

    target: str | None
    faces: ReviewFaces
    folder: Folder
    images: FaceImages
    decisions: Decisions

    def __post_init__(self) -> None:
        # the number of faces of the fullest frame of each input
        self._counts = np.zeros(len(self.faces.sources), np.int64)
        np.maximum.at(self._counts, self.faces.columns["source"], self.faces.columns["face"] + 1)

    def save(self, number: int, points: FloatArray) -> int:
        """Write the landmarks of a face; returns the revision.

        Raises
        ------
        AnnotationError, NoImageError, OSError, TableError
        """
        image = self.folder.path(self.faces.sources[self.faces.columns["source"][number]])
        path = self._path(number, image)
        text = pts_text(points)
        _, known = self.decisions.written(number)
        digest = _digest(text.encode())
        self._check_own(path, [*known.split(), digest])
        # both, as the next thing may be a power cut
        revision = self.decisions.correct(
            number, points, path, f"{known.split()[-1] if known else ''} {digest}"
        )
        if self.target is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._put_image(number, image, path)
        write_whole(path, text)
        return revision

    def remove(self, number: int) -> int:
        """Go back to the predicted landmarks: the file is removed if it is still the one written here."""
        path, known = self.decisions.written(number)
        revision = self.decisions.correct(number, None)
        if path and os.path.isfile(path) and _file_digest(path) in known.split():
            os.unlink(path)
        return revision

    def _path(self, number: int, image: str) -> str:
        source = int(self.faces.columns["source"][number])
        several = self._counts[source] > 1
        face = int(self.faces.columns["face"][number]) + 1
        if self.target is None:
            if self.faces.is_video(number):
                raise AnnotationError(
                    "Frames of videos have no file to be beside: give a folder with --annotations."
                )
            if several:
                raise AnnotationError(
                    "This photo has several faces, and one .pts file can be beside it: give a folder with "
                    "--annotations."
                )
            return os.path.splitext(image)[0] + ".pts"
        root = next((root for root in self.folder.roots if image.startswith(root)), os.path.dirname(image))
        stem = os.path.join(self.target, os.path.splitext(name_below(image, root))[0])
        if self.faces.is_video(number):
            stem += f"_{int(self.faces.columns['frame'][number]):06d}"
        return f"{stem}_{face}.pts" if several else f"{stem}.pts"

    def _put_image(self, number: int, image: str, path: str) -> None:
        """The image beside its .pts file: a copy; of a frame, or a file without a known suffix, a PNG."""
        stem = os.path.splitext(path)[0]
        if self.faces.is_video(number) or suffix_of(image) not in MEDIA_SUFFIXES - VIDEO_SUFFIXES:
            write_picture(f"{stem}.png", png(self.images.pixels(number)))
        else:
            source = self.faces.sources[self.faces.columns["source"][number]]
            place(image, stem + suffix_of(image), "copy", self.folder.stamp(source))

    def _check_own(self, path: str, digests: list[str]) -> None:
        if os.path.lexists(path) and (not os.path.isfile(path) or _file_digest(path) not in digests):
            raise AnnotationError(
                f"{display_name(path)} exists and was not written by this review, so it stays. Rename "
                "it, or give another folder with --annotations."
            )


def checked_points(values: Any, n_points: int) -> FloatArray:
    """Landmarks that a page has sent; RequestError if they are none."""
    try:
        points = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.shape != (n_points, 2) or not (np.abs(points) <= _FARTHEST).all():
        raise RequestError(f"landmarks are {n_points} pairs of numbers")
    return points


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _file_digest(path: str) -> str:
    with open(path, "rb") as file:
        return _digest(file.read(1 << 20))
