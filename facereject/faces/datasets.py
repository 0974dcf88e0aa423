"""Annotated photos, with images read only when asked for; `facereject.sources.annotated` reads the files.

An entry that cannot be used is named and counted in ``problems``; it never stops the rest from being read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from facereject._files import InputError
from facereject._words import counted
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, bounding_box, check_landmarks, overlap
from facereject.faces.images import ImageArray, load_rgb
from facereject.faces.landmarks.point_set import N_LANDMARKS, PointSet

# share of the points that a detection of unknown proportions must hold; chins and foreheads may stick out
_HELD = 0.8


class DatasetError(InputError):
    """A data set cannot be read at all; single bad entries are listed in ``FaceDataset.problems`` instead."""


class Problem(NamedTuple):
    """An entry that was left out, and why.

    Attributes
    ----------
    entry : str
        Name of the file or line.
    reason : str
        What is wrong with it.

    See Also
    --------
    FaceDataset : Has them in ``problems``.

    Examples
    --------
    >>> from facereject.faces import Problem
    >>> Problem("a.jpg", "has 5 landmarks, not 68").entry
    'a.jpg'
    """

    entry: str
    reason: str


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class FaceSample:
    """One annotated face.

    Attributes
    ----------
    image_path : Path
    landmarks : ndarray of shape (n, 2)
        The true ones, in 0-based pixels.
    photo : str
        Faces of one photo must stay on one side of every split.
    predicted : ndarray of shape (n, 2) or None
        The landmarks of a tool, if they come from a file; then no predictor is run.
    confidence : float
        The tool's own; NaN if it has none.
    box : Box or None
        The tool's own.
    others : tuple of ndarray of shape (n, 2), or None
        What other tools predicted for this face, None for a tool that has nothing there; None without other
        tools.
    frame : int
        Number of the frame, where ``image_path`` is a video.

    See Also
    --------
    FaceDataset : Many of them.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.faces import FaceSample
    >>> FaceSample("a.jpg", np.zeros((68, 2)), photo="a").landmarks.shape
    (68, 2)
    """

    image_path: Path
    landmarks: FloatArray
    photo: str
    predicted: FloatArray | None = None
    confidence: float = math.nan
    box: Box | None = None
    others: tuple[FloatArray | None, ...] | None = None
    frame: int = 0

    def load(self) -> ImageArray:
        """Read the photo.

        Returns
        -------
        ndarray of shape (H, W, 3), uint8, RGB
        """
        return load_rgb(self.image_path)


class FaceDataset(Sequence[FaceSample]):
    """A sequence of annotated faces, in a fixed order.

    Parameters
    ----------
    samples : iterable of FaceSample
        The faces.
    problems : iterable of Problem
        Entries that were left out.

    See Also
    --------
    facereject.annotated_faces : Read faces that another tool predicted, with their annotation.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.faces import FaceDataset, FaceSample
    >>> points = np.zeros((68, 2))
    >>> FaceDataset([FaceSample("a.jpg", points, "a"), FaceSample("b.jpg", points, "b")]).photos
    ['a', 'b']
    """

    def __init__(self, samples: Iterable[FaceSample], problems: Iterable[Problem] = ()) -> None:
        self._samples = tuple(samples)
        self.problems = tuple(problems)

    @classmethod
    def load(cls, path: str | os.PathLike[str], images: str | os.PathLike[str] | None = None) -> FaceDataset:
        """Read annotation in any format: see `facereject.annotated_faces`.

        Parameters
        ----------
        path : path
            File or folder of the annotation.
        images : path or None
            Folder of the images; None is beside the annotation.

        Returns
        -------
        FaceDataset
        """
        # landmark files are read in a layer above this one
        import facereject

        return facereject.annotated_faces(path, images)

    @classmethod
    def from_300w(
        cls, folder: str | os.PathLike[str], *, photo_of: Callable[[str], str] | None = None
    ) -> FaceDataset:
        """Read a folder, with sub-folders, of images with .pts files of the same name (1-based points).

        Parameters
        ----------
        folder : path
            The header of a .pts file may be missing.
        photo_of : callable or None
            As in `facereject.annotated_faces`.

        Returns
        -------
        FaceDataset
        """
        import facereject

        return facereject.annotated_faces(folder, format="pts", photo_of=photo_of)

    def with_points(self, points: Sequence[int]) -> FaceDataset:
        """The same faces with some of their annotated points, for a predictor that places only these.

        ``with_points([45, 42, 36, 39, 33])`` of 300-W are dlib's five.

        Parameters
        ----------
        points : sequence of int
            Counted from 0, in the order of the predictor.

        Returns
        -------
        FaceDataset
        """
        samples = []
        for sample in self:
            n = len(sample.landmarks)
            if not all(0 <= i < n for i in points) or len(set(points)) < max(2, len(points)):
                raise ValueError(
                    f"points must be two or more different numbers from 0 to {n - 1}, got {list(points)}"
                )
            predicted = None if sample.predicted is None else sample.predicted[list(points)]
            others = sample.others and tuple(None if o is None else o[list(points)] for o in sample.others)
            samples.append(
                dataclasses.replace(
                    sample, landmarks=sample.landmarks[list(points)], predicted=predicted, others=others
                )
            )
        return FaceDataset(samples, self.problems)

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return FaceDataset(self._samples[index], self.problems)
        return self._samples[index]

    def __iter__(self) -> Iterator[FaceSample]:
        return iter(self._samples)

    def __repr__(self) -> str:
        return f"FaceDataset({len(self)} faces of {len(self.photos)} photos, {len(self.problems)} problems)"

    @property
    def photos(self) -> list[str]:
        """Names of the photos, sorted, each once."""
        return sorted({sample.photo for sample in self})

    def split(self, *shares: float, random_state: Any = None) -> list[FaceDataset]:
        """Split by photo at random.

        Parameters
        ----------
        *shares : float
            Shares of the photos, positive, with sum at most 1.
        random_state : int, Generator or None
            Seed of the split.

        Returns
        -------
        list of FaceDataset
            One per share, disjoint in photos; faces keep their order. Every part, like every slice,
            carries all ``problems``.
        """
        if not shares or min(shares) <= 0 or sum(shares) > 1 + 1e-9:
            raise ValueError(f"shares must be positive with a sum of at most 1, got {shares}")
        photos = np.array(self.photos)
        order = np.random.default_rng(random_state).permutation(len(photos))
        edges = np.rint(np.cumsum((0.0, *shares)) * len(photos)).astype(int)
        parts = []
        for start, end in itertools.pairwise(edges):
            chosen = set(photos[order[start:end]].tolist())
            parts.append(FaceDataset((s for s in self if s.photo in chosen), self.problems))
        return parts


def read_pts(path: str | os.PathLike[str], n_points: int | None = N_LANDMARKS) -> FloatArray:
    """Read the points of a .pts file, with or without header lines, and make them 0-based.

    ``n_points`` is how many there must be; None is any number.
    """
    rows = []
    for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.replace(",", " ").split()
        # header lines ("version: 1", "n_points: 68", braces) are those that are not two numbers
        try:
            rows.append([float(word) for word in words])
        except ValueError:
            continue
    rows = [row for row in rows if row]
    wanted = len(rows) if n_points is None else n_points
    if len(rows) != wanted or any(len(row) != 2 for row in rows):
        found = counted(len(rows), "line")
        raise ValueError(f"expected {counted(wanted, 'line')} of two numbers, found {found} with numbers")
    if not rows:
        raise ValueError("no points in it")
    return check_landmarks(rows) - 1


def match_face(
    detections: Sequence[Detection],
    landmarks: FloatArray,
    *,
    min_overlap: float = 0.3,
    points: PointSet | None = None,
) -> Detection | None:
    """The detection that covers an annotated face, or None: the face was missed.

    The 68 points of 300-W outline the face: the detection has the largest overlap (intersection over union)
    with the box around them. Other points may sit in the middle of the face: then the overlap is that with
    the box the detector would give a face with these points. As long as that box is not known, it is the
    smallest detection that holds nearly all points.

    Parameters
    ----------
    detections : sequence of Detection
    landmarks : ndarray of shape (n, 2)
        True landmarks.
    min_overlap : float
        The least overlap that counts.
    points : PointSet or None
        What is known about the points.
    """
    if len(landmarks) == N_LANDMARKS and (points is None or points.is_300w):
        face = bounding_box(landmarks)
    elif points is not None:
        face = points.box_of(landmarks)
    else:
        holding = [found for found in detections if _share_inside(found.box, landmarks) >= _HELD]
        return min(holding, key=lambda found: found.box.width * found.box.height, default=None)
    best = max(detections, key=lambda found: overlap(found.box, face), default=None)
    return best if best is not None and overlap(best.box, face) >= min_overlap else None


def _share_inside(box: Box, points: FloatArray) -> float:
    low, size = np.array(box[:2]), np.array(box[2:])
    return float(((points >= low) & (points <= low + size)).all(axis=1).mean())


def photo_digests(samples: Sequence[FaceSample]) -> list[str]:
    """Short digests of the image files, sorted, each once; unreadable files are left out."""
    paths = {sample.image_path for sample in samples}
    return sorted(
        {found for path in paths if (found := content_digest(path, hashlib.blake2b(digest_size=6)))}
    )


def content_digest(path: Path, digest: Any) -> str | None:
    """Digest of a file, which may be a long video, by an object of hashlib; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError:
        return None
    return str(digest.hexdigest())
