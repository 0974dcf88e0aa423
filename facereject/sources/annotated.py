"""Annotated faces from landmark files of any format, and the predictions of a tool for the same faces."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from facereject.faces.datasets import DatasetError, FaceDataset, FaceSample, Problem
from facereject.faces.geometry import FloatArray, bounding_box, check_landmarks, overlap
from facereject.faces.images.kinds import MEDIA_SUFFIXES, VIDEO_SUFFIXES
from facereject.faces.images.load import ImageError
from facereject.faces.landmarks.conversion import converted
from facereject.sources.images_by_name import ImagesByName
from facereject.sources.landmark_files import read_landmarks
from facereject.sources.landmark_files.found import FoundFace, LandmarkFileError

# least overlap (intersection over union) of the boxes around two sets of points of one face
_SAME_FACE = 0.3


def annotated_faces(
    annotation: str | os.PathLike[str],
    images: str | os.PathLike[str] | None = None,
    predictions: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,
    points: Sequence[int] | None = None,
    photo_of: Callable[[str], str] | None = None,
) -> FaceDataset:
    """Read annotated faces, and what a tool predicted for them.

    Parameters
    ----------
    annotation : path
        A file in one of the formats of `facereject.sources.landmark_files.READERS`, or a folder of them; of
        a folder that has .pts files only these are read.
    images : path or None
        The folder of the images, or one image. None looks beside the annotation.
    predictions : path or None
        Landmarks that a tool placed, in any of the formats. They belong to the annotated face of the same
        image that they overlap most.
    format : str or None
        Format of the annotation; None goes by content.
    points : sequence of int or None
        Use these of the annotated points, counted from 0; None is all of them.
    photo_of : callable or None
        From the path of an annotation, without suffix and relative to ``annotation``, to the name of its
        photo. None follows 300-W: a name that ends in at least three digits, an underscore and one or two
        digits, as 134212_1 and 134212_2, counts the faces of one photo.

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
            samples, missing = _with_predictions(samples, predictions, points)
            problems += missing
    except LandmarkFileError as error:
        raise DatasetError(str(error)) from None
    return FaceDataset(samples, problems)


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
                samples.append(FaceSample(Path(path), landmarks, photo))
                continue
            except (ValueError, ImageError) as error:
                problem = str(error)
        problems.append(Problem(Path(entry).as_posix(), problem.removeprefix(f"{face.file}: ")))
    if not usable and problems:
        raise DatasetError(
            f"{root}: no face that can be read; first: {problems[0].entry}: {problems[0].reason}"
        )
    return samples, problems


def _photo_in_300w(name: str) -> str:
    return re.sub(r"(?<=\d{3})_\d{1,2}$", "", name)


def _beside(face: FoundFace, folder: str) -> tuple[str | None, str]:
    """The image of a face without a folder of images: where its name leads from the landmark file."""
    given = face.image.replace("\\", "/") if os.sep == "/" else face.image
    name = os.path.join(os.path.dirname(face.file), given)
    named = [name, given] if os.path.splitext(name)[1].lower() in MEDIA_SUFFIXES else []
    suffixes = sorted(MEDIA_SUFFIXES - VIDEO_SUFFIXES)
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
    image = FaceSample(Path(path), face.landmarks, "").load()
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
    places = ImagesByName(None, {str(sample.image_path) for sample in samples})
    by_image: dict[str, list[tuple[FoundFace, FloatArray]]] = {}
    problems: list[Problem] = []
    named = set()
    for face in read_landmarks(predictions):
        path, _ = places.find(face.image)
        named.add(face.image)
        if face.problem:
            problems.append(Problem(face.entry or face.image, face.problem))
        elif path is not None and face.landmarks is not None:
            by_image.setdefault(path, []).append((face, _pixels(face, path)))
    if not by_image:
        shown = f", such as {min(named)}," if named else ""
        raise LandmarkFileError(f"{os.fspath(predictions)}: none of its images{shown} is annotated")
    members: dict[str, list[int]] = {}
    for i, sample in enumerate(samples):
        members.setdefault(str(sample.image_path), []).append(i)
    result: dict[int, FaceSample] = {}
    reasons: dict[int, str] = {}
    for path, indices in members.items():
        found = by_image.get(path, [])
        for i, k in pair_faces([samples[i].landmarks for i in indices], [points for _, points in found]):
            sample, (face, placed) = samples[indices[i]], found[k]
            try:
                chosen = _as_annotated(placed, len(sample.landmarks), points)
            except ValueError as error:
                reasons[indices[i]] = f"its prediction cannot be used: {error}"
                continue
            confidence = np.nan if face.confidence is None else face.confidence
            result[indices[i]] = replace(sample, predicted=chosen, confidence=confidence, box=face.box)
    for i, sample in enumerate(samples):
        if i not in result:
            problems.append(Problem(sample.photo, reasons.get(i, "the tool has no landmarks on this face")))
    if not result:
        raise LandmarkFileError(
            f"{os.fspath(predictions)}: none of its faces is annotated; first: {problems[-1].reason}"
        )
    return [result[i] for i in sorted(result)], problems


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
