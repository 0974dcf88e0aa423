"""Annotated photographs: 300-W folders, dlib XML and CSV, with images read only when asked for.

An entry that cannot be used is named and counted in ``problems``; it never stops the rest from being read.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import hashlib
import itertools
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import FloatArray, bounding_box, check_landmarks, overlap
from facereject.faces.images.load import ImageArray, load_rgb
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.faces.landmarks.point_set import PointSet

# share of the points that a detection of unknown proportions must hold; chins and foreheads may stick out
_HELD = 0.8

_IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".JPG", ".JPEG", ".PNG")


class DatasetError(ValueError):
    """A data set cannot be read at all; single bad entries are listed in ``FaceDataset.problems`` instead."""


class Problem(NamedTuple):
    """An entry that was left out, and why."""

    entry: str
    reason: str


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class FaceSample:
    """One annotated face: image file, true landmarks (n, 2) in 0-based pixels, name of the photograph.

    Faces with the same ``photo`` come from one photograph and must stay on one side of every split.
    """

    image_path: Path
    landmarks: FloatArray
    photo: str

    def load(self) -> ImageArray:
        """Read the photograph as RGB uint8."""
        return load_rgb(self.image_path)


class FaceDataset(Sequence[FaceSample]):
    """A sequence of annotated faces, in a fixed order.

    Attributes
    ----------
    problems : tuple of Problem
        Entries that were left out.
    """

    def __init__(self, samples: Iterable[FaceSample], problems: Iterable[Problem] = ()) -> None:
        self._samples = tuple(samples)
        self.problems = tuple(problems)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FaceDataset:
        """Read a 300-W folder, a dlib .xml file or a .csv file, by what ``path`` is."""
        path = Path(path)
        if path.is_dir():
            return cls.from_300w(path)
        readers = {".xml": cls.from_dlib_xml, ".csv": cls.from_csv}
        if path.suffix.lower() not in readers:
            raise DatasetError(f"{path}: expected a folder of .pts files, a dlib .xml file or a .csv file")
        return readers[path.suffix.lower()](path)

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
            From the path of an annotation, relative to ``folder`` and without ".pts", to the name of its
            photograph. None follows 300-W: a name that ends in at least three digits, an underscore and one
            or two digits, as 134212_1 and 134212_2, counts the faces of one photograph; any other name, as
            face_01, is a photograph of its own.
        """
        folder = Path(folder)
        annotations = sorted(folder.rglob("*.pts"))
        if not annotations:
            raise DatasetError(f"{folder}: no .pts files in it or its sub-folders")
        samples, problems = [], []
        for annotation in annotations:
            entry = annotation.relative_to(folder).as_posix()
            image = next((p for s in _IMAGE_SUFFIXES if (p := annotation.with_suffix(s)).is_file()), None)
            if image is None:
                problems.append(Problem(entry, "no image of the same name"))
                continue
            try:
                points = read_pts(annotation)
            except (OSError, ValueError) as error:
                problems.append(Problem(entry, str(error)))
                continue
            photo = (photo_of or _photo_in_300w)(entry.removesuffix(".pts"))
            samples.append(FaceSample(image, points, photo))
        return cls(samples, problems)

    @classmethod
    def from_dlib_xml(cls, path: str | os.PathLike[str]) -> FaceDataset:
        """Read the XML of dlib's imglab: <image file> with <box> with <part name x y> (0-based).

        The parts are named 0, 1, 2, ...; all boxes must have as many as most of them have.
        """
        path = Path(path)
        try:
            root = ElementTree.parse(path).getroot()
        except FileNotFoundError:
            raise DatasetError(f"{path}: no such file") from None
        except (ElementTree.ParseError, OSError) as error:
            raise DatasetError(f"{path}: not readable XML ({error})") from None
        boxes = [(image, i, box) for image in root.iter("image") for i, box in enumerate(image.iter("box"))]
        counts = collections.Counter(sum(1 for _ in box.iter("part")) for _, _, box in boxes)
        n_points = counts.most_common(1)[0][0] if counts else 0
        samples: list[FaceSample] = []
        problems: list[Problem] = []
        for image, position, box in boxes:
            name = image.get("file") or ""
            entry = f"{name} box {position}"
            try:
                parts = sorted((int(p.attrib["name"]), p) for p in box.iter("part"))
                names = [number for number, _ in parts]
                if names != list(range(n_points)):
                    shown = f"{names[0]} to {names[-1]}" if names else "none"
                    raise ValueError(f"found {len(names)}, {shown}")
                points = check_landmarks([[p.attrib["x"], p.attrib["y"]] for _, p in parts])
            except (KeyError, ValueError, TypeError) as error:
                needed = f"needs {n_points} parts named 0 to {n_points - 1} with x and y"
                problems.append(Problem(entry, f"{needed}: {error}"))
                continue
            _add(samples, problems, entry, path.parent / name, points, photo=name)
        return cls(samples, problems)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> FaceDataset:
        """Read a table with the columns image, x0, y0, x1, y1, ... (0-based) and, optionally, photo.

        There are as many points as the table has such pairs of columns. Image paths are relative to the
        table.
        """
        path = Path(path)
        samples: list[FaceSample] = []
        problems: list[Problem] = []
        try:
            with open(path, newline="", encoding="utf-8-sig") as file:
                rows = csv.DictReader(file)
                columns = _point_columns(rows.fieldnames or [])
                missing = [name for name in ["image", *columns] if name not in (rows.fieldnames or [])]
                if missing:
                    raise DatasetError(f"{path}: column(s) missing: {', '.join(missing[:5])}")
                for row in rows:
                    entry = f"line {rows.line_num}"
                    if None in row or None in row.values():
                        problems.append(Problem(entry, "more or fewer values than columns"))
                        continue
                    try:
                        points = check_landmarks(np.reshape([float(row[name]) for name in columns], (-1, 2)))
                    except (TypeError, ValueError) as error:
                        problems.append(Problem(entry, str(error)))
                        continue
                    photo = row.get("photo") or row["image"]
                    _add(samples, problems, entry, path.parent / row["image"], points, photo)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DatasetError(f"{path}: not a readable table ({error})") from None
        return cls(samples, problems)

    def with_points(self, points: Sequence[int]) -> FaceDataset:
        """The same faces with some of their annotated points, in this order, counted from 0.

        For a predictor that places a part of them: ``with_points([45, 42, 36, 39, 33])`` of 300-W are dlib's
        five.
        """
        samples = []
        for sample in self:
            n = len(sample.landmarks)
            if not all(0 <= i < n for i in points) or len(set(points)) < max(2, len(points)):
                raise ValueError(
                    f"points must be two or more different numbers from 0 to {n - 1}, got {list(points)}"
                )
            samples.append(dataclasses.replace(sample, landmarks=sample.landmarks[list(points)]))
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
        return (
            f"FaceDataset({len(self)} faces of {len(self.photos)} photographs, {len(self.problems)} problems)"
        )

    @property
    def photos(self) -> list[str]:
        """Names of the photographs, sorted, each once."""
        return sorted({sample.photo for sample in self})

    def split(self, *shares: float, random_state: Any = None) -> list[FaceDataset]:
        """Split by photograph at random.

        Parameters
        ----------
        *shares : float
            Shares of the photographs, positive, with sum at most 1.

        Returns
        -------
        list of FaceDataset
            One per share, disjoint in photographs; faces keep their order. Every part, like every slice,
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


def _photo_in_300w(name: str) -> str:
    return re.sub(r"(?<=\d{3})_\d{1,2}$", "", name)


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
        raise ValueError(f"expected {wanted} lines of two numbers, found {len(rows)} lines with numbers")
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
    digests = set()
    for path in {sample.image_path for sample in samples}:
        try:
            digests.add(hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest())
        except OSError:
            continue
    return sorted(digests)


def _point_columns(names: Sequence[str]) -> list[str]:
    """The columns x0, y0, x1, y1, ... up to the last one there is; those of one point if there is none."""
    numbers = [int(found[1]) for name in names if (found := re.fullmatch(r"[xy](\d{1,5})", name))]
    return [f"{axis}{i}" for i in range(max(numbers, default=0) + 1) for axis in "xy"]


def _add(
    samples: list[FaceSample],
    problems: list[Problem],
    entry: str,
    image: Path,
    points: FloatArray,
    photo: str,
) -> None:
    if image.is_file():
        samples.append(FaceSample(image, points, photo))
    else:
        problems.append(Problem(entry, f"no image {image}"))
