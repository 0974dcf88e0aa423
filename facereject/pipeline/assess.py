"""From files of other tools and the images they are about to a table of judged faces."""

from __future__ import annotations

import dataclasses
import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath
from typing import BinaryIO

import numpy as np

from facereject._files import display_name, output_that_is_read
from facereject.faces import Face, FaceRejector, ImageError
from facereject.faces.images.files import MAX_PIXELS, read_image
from facereject.faces.images.kinds import MEDIA_SUFFIXES, kind_of_file
from facereject.faces.images.load import ImageArray
from facereject.faces.views import Views
from facereject.outputs.summary import Summary, Tally, tally_rows
from facereject.pipeline._store.sinks import NullSink, Sink, StreamSink, TableSink
from facereject.pipeline.store import files_of
from facereject.sources import VideoError, open_video
from facereject.sources.landmark_files import landmark_files, read_landmarks
from facereject.sources.landmark_files.found import FoundFace, LandmarkFileError
from facereject.tables.errors import TableError
from facereject.tables.rows import Row, failed_row, rows_of_frame, unreadable_row


def assess_files(
    landmarks: str | os.PathLike[str],
    images: str | os.PathLike[str],
    output: str | os.PathLike[str] | BinaryIO | None = None,
    *,
    rejector: FaceRejector | None = None,
    format: str | None = None,
    overwrite: bool = False,
    max_pixels: int = MAX_PIXELS,
    progress: Callable[[Tally], None] | None = None,
) -> Summary:
    """Judge landmarks that another tool wrote; no detector and no predictor is run.

    Parameters
    ----------
    landmarks : path
        A file in one of the formats of `READERS`, or a folder of such files.
    images : path
        The folder of the images and videos that they are about, with its sub-folders; or one of them. Names
        in the landmark files are looked for there, with or without folder and suffix, and nowhere else.
    output : path, binary stream or None
        Table as `facereject.score_files` writes it: ``.csv``, ``.jsonl`` or ``.parquet``; a stream gets CSV.
        ``detector_score`` is the tool's own confidence.
    rejector : FaceRejector or None
        None is ``FaceRejector.pretrained()``.
    format : str or None
        A name of `READERS`; None goes by content.
    overwrite : bool, default=False
        Start again although an unfinished table is there.
    max_pixels : int
        Larger images are refused before they are decoded.
    progress : callable or None
        Called after every image and frame with the counts so far.

    Returns
    -------
    Summary
        Images that are missing or unreadable have a row and are named here.

    Raises
    ------
    LandmarkFileError
        The landmarks cannot be read, or have points that the model cannot judge.
    TableError
        The table cannot be written.
    """
    rejector = FaceRejector.pretrained() if rejector is None else rejector
    places = _Places(images)
    if isinstance(output, str | os.PathLike):
        _check_not_read(os.fspath(output), [*landmark_files(landmarks, format), *places.files])
    faces = read_landmarks(landmarks, format)
    # said before the table is begun
    first = next(faces, None)
    if first is None:
        raise LandmarkFileError(f"{os.fspath(landmarks)}: holds no face")
    if first.points is not None and not os.path.isdir(landmarks):
        # of a folder, one odd file must not cost the others
        _check_points(rejector, first)
    with _sink(output, rejector.n_points, overwrite) as sink:
        for name, group in groupby(_chained(first, faces), key=lambda face: face.image):
            path, why = places.find(name)
            before, counts = sink.summary.total, Tally()
            for rows in _judged(path, display_name(path or name), why, list(group), rejector, max_pixels):
                sink.write(rows)
                counts = counts.plus(tally_rows(rows))
                if progress is not None:
                    progress(before.plus(counts))
            sink.end_input(path or name, counts)
        summary = sink.summary
    return summary


def _judged(
    path: str | None,
    source: str,
    why: str,
    faces: list[FoundFace],
    rejector: FaceRejector,
    max_pixels: int,
) -> Iterator[list[Row]]:
    """The rows of one image or video, frame by frame; of one without a file, a row that says ``why``."""
    problems = [face.problem for face in faces if face.problem]
    faces = [face for face in faces if not face.problem]
    if path is None and faces:
        problems = [why]
    elif path is not None and faces:
        try:
            yield from _frames(path, source, faces, rejector, max_pixels)
        except (ImageError, VideoError, OSError) as error:
            yield [unreadable_row(source, str(error))]
    for problem in problems:
        yield [failed_row(source, problem)]


def _frames(
    path: str, source: str, faces: list[FoundFace], rejector: FaceRejector, max_pixels: int
) -> Iterator[list[Row]]:
    wanted: dict[int, list[FoundFace]] = {}
    for face in faces:
        wanted.setdefault(face.frame, []).append(face)
    if kind_of_file(path) == "image":
        if len(wanted) > 1:
            yield [failed_row(source, f"it is an image, and the landmarks are of {len(wanted):,} frames")]
        else:
            yield _frame(source, faces, read_image(path, max_pixels=max_pixels), rejector)
        return
    with open_video(path, max_pixels=max_pixels) as reader:
        for frame in reader:
            if frame.index in wanted:
                found = wanted.pop(frame.index)
                yield _frame(source, found, frame.image, rejector, frame.index, frame.time_s)
            if not wanted:
                return
    yield [failed_row(source, f"it has no frame {min(wanted)}, of which the landmarks speak")]


def _frame(
    source: str,
    found: Sequence[FoundFace],
    image: ImageArray,
    rejector: FaceRejector,
    frame: int = 0,
    time_s: float | None = None,
) -> list[Row]:
    size = np.array([image.shape[1], image.shape[0]], dtype=np.float64)
    # converted once, not again for every face
    view = Views(image)
    faces: list[Face] = []
    lost: list[Row] = []
    for each in found:
        if each.points is None:
            continue
        points = each.points * size if each.relative else each.points
        try:
            face = rejector.assess(view, points, each.box)
        except ValueError as error:
            # points that cannot be a face, such as all the same
            lost.append(dataclasses.replace(failed_row(source, str(error)), frame=frame, time_s=time_s))
            continue
        score = float("nan") if each.confidence is None else each.confidence
        faces.append(dataclasses.replace(face, detector_score=score))
    if lost and not faces:
        return lost
    return rows_of_frame(source, faces, frame=frame, time_s=time_s) + lost


def _check_points(rejector: FaceRejector, face: FoundFace) -> None:
    from facereject.faces.landmarks.conversion import converted

    assert face.points is not None
    try:
        converted(face.points, rejector.n_points)
    except ValueError as error:
        raise LandmarkFileError(f"{face.image}: {error}") from None


def _chained(first: FoundFace, others: Iterator[FoundFace]) -> Iterator[FoundFace]:
    yield first
    yield from others


def _sink(output: str | os.PathLike[str] | BinaryIO | None, n_points: int, overwrite: bool) -> Sink:
    if output is None:
        return NullSink()
    if isinstance(output, str | os.PathLike):
        return TableSink(output, overwrite=overwrite, n_points=n_points)
    return StreamSink(output, n_points=n_points)


def _check_not_read(output: str, inputs: list[str]) -> None:
    found = output_that_is_read(files_of(output), inputs)
    if found is not None:
        raise TableError(f"{display_name(found)}: this is a file that is read; choose another name")


class _Places:
    """The images of a folder by their names. A name never leads out of the folder."""

    def __init__(self, images: str | os.PathLike[str]) -> None:
        root = os.fspath(images)
        if os.path.isfile(root):
            files = [root]
        elif os.path.isdir(root):
            walk = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
            files = sorted(path for path in walk if os.path.splitext(path)[1].lower() in MEDIA_SUFFIXES)
        else:
            raise LandmarkFileError(f"{root}: no such folder of images")
        self.files = files
        self._root = root
        self._by_name: dict[str, list[str]] = {}
        for path in files:
            for key in {os.path.basename(path), os.path.splitext(os.path.basename(path))[0]}:
                self._by_name.setdefault(key, []).append(path)
        # for names in other cases, and in the two ways of Unicode to write an accent
        self._by_alike: dict[str, list[str]] = {}
        for key, paths in self._by_name.items():
            self._by_alike.setdefault(_alike(key), []).extend(paths)

    def find(self, name: str) -> tuple[str | None, str]:
        """The file of a name, or None and why there is none."""
        parts = PurePosixPath(name.replace("\\", "/")).parts
        last = parts[-1] if parts else ""
        bare, suffix = os.path.splitext(last)
        # what follows the dot in a name without suffix belongs to it
        names = [last, bare] if suffix.lower() in MEDIA_SUFFIXES else [last]
        exact = (self._by_name.get(key) for key in names)
        alike = (self._by_alike.get(_alike(key)) for key in names)
        found = next(filter(None, [*exact, *alike]), [])
        if not found:
            return None, f"no image of this name in {display_name(self._root)}"
        if len(found) > 1:
            # as many folders as the name has in common with the path decide
            found = _most(found, parts)
        if len(found) > 1:
            return None, f"{len(found)} images of this name, {display_name(found[0])} among them"
        return found[0], ""


def _alike(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _most(paths: list[str], parts: tuple[str, ...]) -> list[str]:
    def shared(path: str) -> int:
        folders = reversed(PurePosixPath(path.replace(os.sep, "/")).parts[:-1])
        count = 0
        for theirs, ours in zip(folders, reversed(parts[:-1]), strict=False):
            if theirs != ours:
                break
            count += 1
        return count

    best = max(map(shared, paths))
    return [path for path in paths if shared(path) == best]
