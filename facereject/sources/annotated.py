"""Annotated faces from landmark files of any format, and the predictions of tools for the same faces."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from facereject.faces.datasets import DatasetError, FaceDataset, FaceSample, Problem
from facereject.faces.geometry import FloatArray, bounding_box, check_landmarks, overlap
from facereject.faces.images import MEDIA_SUFFIXES, VIDEO_SUFFIXES, ImageArray, ImageError, kind_of_file
from facereject.faces.landmarks.conversion import converted
from facereject.sources.frame import Frame, VideoError
from facereject.sources.images_by_name import ImagesByName
from facereject.sources.landmark_files import read_landmarks
from facereject.sources.landmark_files._found import FoundFace, LandmarkFileError
from facereject.sources.video import VideoReader, open_video

#: one file or folder of landmarks, or several: the first is scored, and compared with the others
Predictions = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

# least overlap (intersection over union) of the boxes around two sets of points of one face
_SAME_FACE = 0.3

# faces that tell whether a file holds predictions
_LOOKED_AT = 100

# groups that the annotated frames of a video are cut into for cross-validation: neighbours are alike
_SEGMENTS = 10


def annotated_faces(
    annotation: str | os.PathLike[str],
    images: str | os.PathLike[str] | None = None,
    predictions: Predictions | None = None,
    *,
    format: str | None = None,
    points: Sequence[int] | None = None,
    photo_of: Callable[[str], str] | None = None,
) -> FaceDataset:
    """Read annotated faces, and what tools predicted for them.

    Parameters
    ----------
    annotation : path
        A file in one of the formats of `facereject.sources.landmark_files.READERS`, or a folder of them; of
        a folder that has .pts files only these are read.
    images : path or None
        The folder of the images and videos, or one of them. None looks beside the annotation.
    predictions : path, sequence of paths, or None
        Landmarks that a tool placed, in any of the formats. They belong to the annotated face of the same
        image that they overlap most. Of several, the first is the tool whose errors count; the others become
        ``others`` of the samples.
    format : str or None
        Format of the annotation; None: recognised by content.
    points : sequence of int or None
        Use these of the annotated points, counted from 0; None is all of them.
    photo_of : callable or None
        From the path of an annotation, without suffix and relative to ``annotation``, to the name of its
        photo. None follows 300-W: a name that ends in at least three digits, an underscore and one or two
        digits, as 134212_1 and 134212_2, counts the faces of one photo. The annotated frames of a video form
        ten groups of neighbours.

    Returns
    -------
    FaceDataset
        Faces that cannot be used, and those without a prediction, are in ``problems``.

    Raises
    ------
    DatasetError
        Nothing can be read.

    See Also
    --------
    facereject.faces.train_face_rejector : Takes the result.
    facereject.assess_files : Scores predictions without annotation.

    Examples
    --------
    >>> from facereject import annotated_faces
    >>> faces = annotated_faces("pts", "photos", "openface")  # doctest: +SKIP
    """
    try:
        samples, problems = _annotated(annotation, images, format, points, photo_of)
        if predictions is not None:
            first, *others = [predictions] if isinstance(predictions, str | os.PathLike) else predictions
            samples, missing = _with_predictions(samples, first, points)
            problems += missing
            samples = _with_others(samples, others, points)
    except LandmarkFileError as error:
        raise DatasetError(str(error)) from None
    return FaceDataset(samples, problems)


def look_predicted(file: str | os.PathLike[str]) -> bool:
    """Whether the first faces of a file of landmarks have a confidence each, as predictions have."""
    first = [face for face in islice(read_landmarks(file), _LOOKED_AT) if face.landmarks is not None]
    return bool(first) and all(face.confidence is not None for face in first)


def _annotated(
    annotation: str | os.PathLike[str],
    images: str | os.PathLike[str] | None,
    format: str | None,
    points: Sequence[int] | None,
    photo_of: Callable[[str], str] | None,
) -> tuple[list[FaceSample], list[Problem]]:
    root = os.fspath(annotation)
    folder = root if os.path.isdir(root) else os.path.dirname(root)
    if format is None and os.path.isdir(root) and any(Path(root).rglob("*.pts")):
        format = "pts"
    places = None if images is None else ImagesByName(images)
    samples: list[FaceSample] = []
    problems: list[Problem] = []
    usable = False
    for face in read_landmarks(root, format):
        if face.predicted:
            raise DatasetError(
                f"{face.file}: holds predictions of a tool, not annotation, so no error can be measured. "
                "`facereject annotate` saves annotation as .pts files; for the predictions there is "
                "--predictions"
            )
        file = os.path.relpath(face.file, folder or ".")
        entry = face.entry or (file if os.path.isdir(root) else face.image)
        problem, path = face.problem, None
        if not problem and face.landmarks is None:
            # an image without a face
            continue
        if not problem:
            path, problem = _beside(face, folder) if places is None else places.find(face.image)
        usable |= not face.problem
        if not problem and path is not None:
            try:
                landmarks = _chosen(_pixels(face, path), points)
                name = Path(file).with_suffix("").as_posix() if face.file.endswith(".pts") else face.image
                photo = face.photo or (photo_of or _photo_in_300w)(name)
                samples.append(_sample(path, landmarks, face.photo, photo, face.frame))
                continue
            except (ValueError, ImageError) as error:
                problem = str(error)
        problems.append(Problem(Path(entry).as_posix(), problem.removeprefix(f"{face.file}: ")))
    if not usable and problems:
        raise DatasetError(
            f"{root}: no face that can be read; first: {problems[0].entry}: {problems[0].reason}"
        )
    return _in_segments(samples), problems


@dataclass(frozen=True, eq=False)
class _VideoFrame(FaceSample):
    """An annotated face of a video; ``photo`` is empty until `_in_segments` groups the frames."""

    def load(self) -> ImageArray:
        return _frame_of(str(self.image_path), self.frame)


def _sample(path: str, landmarks: FloatArray, stated: str, photo: str, frame: int) -> FaceSample:
    if kind_of_file(path) == "video":
        return _VideoFrame(Path(path), landmarks, stated, frame=frame)
    return FaceSample(Path(path), landmarks, photo)


def _in_segments(samples: list[FaceSample]) -> list[FaceSample]:
    """The samples, those of a video in the order of its frames and in groups of neighbouring frames."""
    videos: dict[Path, set[int]] = {}
    for sample in samples:
        if isinstance(sample, _VideoFrame):
            videos.setdefault(sample.image_path, set()).add(sample.frame)
    ranks = {path: {frame: k for k, frame in enumerate(sorted(frames))} for path, frames in videos.items()}
    grouped = []
    for sample in sorted(samples, key=lambda each: (str(each.image_path), each.frame) if videos else 0):
        if isinstance(sample, _VideoFrame) and not sample.photo:
            rank = ranks[sample.image_path]
            segment = _SEGMENTS * rank[sample.frame] // len(rank)
            sample = replace(sample, photo=f"{sample.image_path.name} {segment}")
        grouped.append(sample)
    return grouped


class _Frames:
    """Frames of videos by their numbers. The last video stays open, as frames are asked for in order."""

    def __init__(self) -> None:
        self._reader: VideoReader | None = None
        self._frame: Frame | None = None

    def __call__(self, path: str, number: int) -> ImageArray:
        known = self._reader is not None and self._reader.path == path
        if not known or self._frame is None or number < self._frame.index:
            self._open(path)
        while self._frame is not None and self._frame.index < number:
            self._frame = next(self._frames, None)
        if self._frame is None:
            raise ImageError(f"{path}: has no frame {number}")
        return self._frame.image

    def _open(self, path: str) -> None:
        if self._reader is not None:
            self._reader.close()
        try:
            self._reader = open_video(path)
        except VideoError as error:
            self._reader = None
            raise ImageError(str(error)) from None
        self._frames = iter(self._reader)
        self._frame = next(self._frames, None)


_frame_of = _Frames()


def _photo_in_300w(name: str) -> str:
    return re.sub(r"(?<=\d{3})_\d{1,2}$", "", name)


def _beside(face: FoundFace, folder: str) -> tuple[str | None, str]:
    """The image of a face without a folder of images: where its name leads from the landmark file."""
    given = face.image.replace("\\", "/") if os.sep == "/" else face.image
    name = os.path.join(os.path.dirname(face.file), given)
    named = [name, given] if os.path.splitext(name)[1].lower() in MEDIA_SUFFIXES else []
    suffixes = [*sorted(MEDIA_SUFFIXES - VIDEO_SUFFIXES), *sorted(VIDEO_SUFFIXES)]
    named += [
        start + each for start in (name, given) for suffix in suffixes for each in (suffix, suffix.upper())
    ]
    path = next((path for path in named if os.path.isfile(path)), None)
    if path is not None:
        return path, ""
    if face.file.endswith(".pts"):
        return None, "no image of the same name"
    return None, f"no image {name}"


def _pixels(face: FoundFace, path: str) -> FloatArray:
    """The landmarks in pixels of their image."""
    assert face.landmarks is not None
    if not face.relative:
        return face.landmarks
    image = _sample(path, face.landmarks, "", "", face.frame).load()
    return face.landmarks * (image.shape[1], image.shape[0])


def _chosen(landmarks: FloatArray, points: Sequence[int] | None) -> FloatArray:
    """Some of the points, all of which must be there."""
    if points is not None:
        if not all(0 <= i < len(landmarks) for i in points):
            raise ValueError(
                f"points must be numbers from 0 to {len(landmarks) - 1}, got {', '.join(map(str, points))}"
            )
        landmarks = landmarks[list(points)]
    missing = np.flatnonzero(np.isnan(landmarks).any(axis=1))
    if len(missing):
        some = ", ".join(map(str, missing[:5].tolist()))
        raise ValueError(f"{len(missing)} of {len(landmarks)} points are missing: {some}")
    return check_landmarks(landmarks)


def _with_predictions(
    samples: list[FaceSample], predictions: str | os.PathLike[str], points: Sequence[int] | None
) -> tuple[list[FaceSample], list[Problem]]:
    """The faces that have a prediction, with it; and those that have none."""
    problems: list[Problem] = []
    result: dict[int, FaceSample] = {}
    reasons: dict[int, str] = {}
    for i, face, placed in _paired(samples, [s.landmarks for s in samples], predictions, problems):
        try:
            chosen = _as_annotated(placed, len(samples[i].landmarks), points)
        except ValueError as error:
            reasons[i] = f"its prediction cannot be used: {error}"
            continue
        confidence = np.nan if face.confidence is None else face.confidence
        result[i] = replace(samples[i], predicted=chosen, confidence=confidence, box=face.box)
    for i, sample in enumerate(samples):
        if i not in result:
            problems.append(Problem(sample.photo, reasons.get(i, "the tool has no landmarks on this face")))
    if not result:
        raise LandmarkFileError(
            f"{os.fspath(predictions)}: none of its faces is annotated; first: {problems[-1].reason}"
        )
    return [result[i] for i in sorted(result)], problems


def _with_others(
    samples: list[FaceSample], files: Sequence[str | os.PathLike[str]], points: Sequence[int] | None
) -> list[FaceSample]:
    """The same faces with the landmarks that other tools placed on them."""
    if not files:
        return samples
    others: list[list[FloatArray | None]] = [[None] * len(files) for _ in samples]
    predicted = [sample.landmarks if sample.predicted is None else sample.predicted for sample in samples]
    for tool, file in enumerate(files):
        for i, _, placed in _paired(samples, predicted, file, []):
            with contextlib.suppress(ValueError):
                others[i][tool] = _as_annotated(placed, len(predicted[i]), points)
        if all(each[tool] is None for each in others):
            raise LandmarkFileError(f"{os.fspath(file)}: has no landmarks on the faces of the first tool")
    return [replace(sample, others=tuple(found)) for sample, found in zip(samples, others, strict=True)]


def _paired(
    samples: list[FaceSample],
    landmarks: list[FloatArray],
    predictions: str | os.PathLike[str],
    problems: list[Problem],
) -> Iterator[tuple[int, FoundFace, FloatArray]]:
    """Number of a sample, the face that a tool found there, and its landmarks in pixels."""
    places = ImagesByName(None, {str(sample.image_path) for sample in samples})
    members: dict[tuple[str, int], list[int]] = {}
    for i, sample in enumerate(samples):
        members.setdefault((str(sample.image_path), sample.frame), []).append(i)
    videos = {str(sample.image_path) for sample in samples if isinstance(sample, _VideoFrame)}
    found: dict[tuple[str, int], list[tuple[FoundFace, FloatArray]]] = {}
    named = set()
    for face in read_landmarks(predictions):
        path, _ = places.find(face.image)
        named.add(face.image)
        if face.problem:
            problems.append(Problem(face.entry or face.image, face.problem))
        elif path is not None and face.landmarks is not None:
            # an image has one frame; the number that the tool gave it is ignored
            key = path, face.frame if path in videos else 0
            if key in members:
                found.setdefault(key, []).append((face, _pixels(face, path)))
    if not found:
        shown = f", such as {min(named)}," if named else ""
        raise LandmarkFileError(f"{os.fspath(predictions)}: none of its images{shown} is annotated")
    for key, faces in found.items():
        indices = members[key]
        for i, k in pair_faces([landmarks[i] for i in indices], [points for _, points in faces]):
            yield indices[i], *faces[k]


def _as_annotated(placed: FloatArray, n_points: int, points: Sequence[int] | None) -> FloatArray:
    if points is not None and len(placed) > n_points:
        return _chosen(placed, points)
    return converted(_chosen(placed, None), n_points)


def pair_faces(truths: Sequence[FloatArray], found: Sequence[FloatArray]) -> list[tuple[int, int]]:
    """Which of two lists of landmarks on one image are of the same faces: the largest overlaps first.

    Parameters
    ----------
    truths, found : sequence of ndarray of shape (n, 2)
        The numbers of points may differ; missing points are NaN.

    Returns
    -------
    list of (int, int)
        Positions in both lists; each is in one pair at most.
    """
    boxes = [[bounding_box(face[~np.isnan(face).any(axis=1)]) for face in faces] for faces in (truths, found)]
    candidates = sorted(
        ((overlap(a, b), i, k) for i, a in enumerate(boxes[0]) for k, b in enumerate(boxes[1])),
        key=lambda each: -each[0],
    )
    # one face each: it is a prediction of this one, however wrong, unless it is somewhere else
    least = 1e-9 if len(truths) == len(found) == 1 else _SAME_FACE
    pairs: list[tuple[int, int]] = []
    for share, i, k in candidates:
        if share >= least and all(i != a and k != b for a, b in pairs):
            pairs.append((i, k))
    return pairs
