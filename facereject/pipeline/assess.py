"""Scoring landmarks that other tools wrote: no detector and no predictor is run."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, BinaryIO

import numpy as np

from facereject._files import display_name
from facereject.faces import Face, FaceDetector, FaceRejector, ImageError
from facereject.faces.face import FaceFrame
from facereject.faces.geometry import FloatArray
from facereject.faces.images import Views, kind_of_file, read_image
from facereject.faces.landmarks.conversion import converted
from facereject.outputs._folders import base_of
from facereject.outputs.base import Output
from facereject.outputs.summary import Summary
from facereject.parallel import RunProgress
from facereject.pipeline.job import Job, as_outputs
from facereject.pipeline.plan import KeptInputs, Plan
from facereject.pipeline.running import Running
from facereject.pipeline.store import Store
from facereject.pipeline.task import Chunk, ScoreTask, problem_frame, unreadable
from facereject.sources.annotated import Predictions, pair_faces
from facereject.sources.frame import Frame, VideoError
from facereject.sources.images_by_name import ImagesByName
from facereject.sources.inputs import Input
from facereject.sources.landmark_files import landmark_files, read_landmarks
from facereject.sources.landmark_files._found import FoundFace, LandmarkFileError
from facereject.sources.video import open_video, prefetch


def assess_files(
    landmarks: Predictions,
    images: str | os.PathLike[str],
    outputs: str | os.PathLike[str] | BinaryIO | Output | Iterable[Any] | None = None,
    *,
    rejector: FaceRejector | None = None,
    format: str | None = None,
    running: Running | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> Summary:
    """Score landmarks that another tool wrote; no detector and no predictor is run.

    Parameters
    ----------
    landmarks : path or sequence of paths
        A file in one of the formats of `facereject.sources.landmark_files.READERS`, or a folder of them. Of
        several, the first is scored and compared with the others, by a model that was trained so.
    images : path
        The folder of the images and videos that they are about, with its subfolders; or one of them. Names
        in the landmark files are looked for there, with or without folder and suffix, and nowhere else.
    outputs : path, binary stream, Output, or a list of these
        As in `facereject.score_files`. ``detector_score`` is the tool's own confidence.
    rejector : FaceRejector or None
        None is ``FaceRejector.pretrained()``.
    format : str or None
        A name of ``READERS``; None recognises it by content.
    running : Running or None
        How the run is done; None is ``Running()``.
    progress : callable or None
        Gets a `RunProgress` after every chunk of frames.

    Returns
    -------
    Summary
        Images that are missing or unreadable have a row and are named here.

    Raises
    ------
    LandmarkFileError
        The landmarks cannot be read, or have points that the model cannot score.
    OptionError
        An output cannot be used, for example as it would replace an input.
    TableError
        The table cannot be written.

    See Also
    --------
    facereject.score_files : Runs a detector and a landmark predictor.

    Examples
    --------
    >>> from facereject import assess_files
    >>> assess_files("openface/", "photos", "faces.csv")  # doctest: +SKIP
    """
    job = AssessJob(landmarks, images, as_outputs(outputs), format=format, running=running)
    if rejector is None:
        # any detector will do, so that no weights are downloaded
        rejector = FaceRejector.pretrained(detector=FaceDetector())
    return job.run(rejector, progress=progress)


@dataclass(frozen=True)
class AssessTask(ScoreTask):
    """Scores the landmarks that an input comes with; the frames that no landmarks are of are left out."""

    def __call__(self, item: Input) -> Iterator[Chunk]:
        source, path = display_name(item.path), os.path.join(self.folder, item.path)
        problems = [face.problem for face in item.faces or () if face.problem and not face.tool]
        faces = [face for face in item.faces or () if not face.problem]
        if item.problem and faces:
            problems = [item.problem]
        elif faces:
            try:
                yield from self._scored(path, item, faces)
            except (ImageError, VideoError, OSError) as error:
                yield Chunk([unreadable(source, path, error)])
        if problems:
            yield Chunk([problem_frame(source, f"failed: {problem}") for problem in problems])

    def _scored(self, path: str, item: Input, faces: list[FoundFace]) -> Iterator[Chunk]:
        source = display_name(item.path)
        scorer = _LandmarkScorer(self.rejector, faces)
        if item.kind == "image":
            if len(scorer.wanted) > 1:
                problem = f"failed: it is an image, and the landmarks are of {len(scorer.wanted):,} frames"
                yield Chunk([problem_frame(source, problem)])
                return
            image = read_image(path, max_pixels=self.max_pixels)
            frame = Frame(min(scorer.wanted), math.nan, image, source)
            scored = (each._replace(index=0) for each in map(scorer, [frame]))
            yield from self._chunks(scored, self._media(path, item))
        else:
            reader = open_video(path, max_pixels=self.max_pixels)
            with reader, closing(prefetch(reader)) as frames:
                named = (frame._replace(source=source) for frame in scorer.chosen(frames))
                yield from self._chunks(map(scorer, named), self._media(path, item, reader), reader)
            if scorer.wanted:
                missing = f"failed: it has no frame {min(scorer.wanted)}, which the landmark file names"
                yield Chunk([problem_frame(source, missing)])
        if scorer.problems:
            yield Chunk([problem_frame(source, problem) for problem in scorer.problems])


class _LandmarkScorer:
    """Scores given landmarks, by the number of their frame."""

    def __init__(self, rejector: FaceRejector, faces: list[FoundFace]) -> None:
        self._rejector = rejector
        self.wanted: dict[int, list[FoundFace]] = {}
        #: by other tools, which the landmarks are compared with
        self._others: dict[int, list[FoundFace]] = {}
        #: why some faces could not be scored, of frames with others that could
        self.problems: list[str] = []
        for face in faces:
            (self._others if face.tool else self.wanted).setdefault(face.frame, []).append(face)

    def chosen(self, frames: Iterable[Frame]) -> Iterator[Frame]:
        """The frames that there are landmarks of, up to the last one."""
        for frame in frames:
            if frame.index in self.wanted:
                yield frame
            if not self.wanted:
                return

    def __call__(self, frame: Frame) -> FaceFrame:
        size = np.array([frame.image.shape[1], frame.image.shape[0]], dtype=np.float64)
        # converted once, not again for every face
        view = Views(frame.image)
        faces: list[Face] = []
        problems: list[str] = []
        chosen = [(face, self._points(face, size)) for face in self.wanted.pop(frame.index)]
        scored = [face for face, points in chosen if points is not None]
        landmarks = [points for _, points in chosen if points is not None]
        others = self._opinions(landmarks, self._others.pop(frame.index, []), size)
        for found, points, told in zip(scored, landmarks, others, strict=True):
            try:
                score = math.nan if found.confidence is None else found.confidence
                faces.append(self._rejector.assess(view, points, found.box, confidence=score, others=told))
            except ValueError as error:
                # points that cannot be a face, such as all the same
                problems.append(f"failed: {error}")
                continue
        problem = problems.pop(0) if problems and not faces else ""
        self.problems += problems
        return FaceFrame(frame.index, frame.time_s, frame.image, faces, frame.source, problem)

    def _opinions(
        self, landmarks: list[FloatArray], others: list[FoundFace], size: FloatArray
    ) -> list[list[FloatArray] | None]:
        """The landmarks of other tools for every face; None if the model does not compare them."""
        if not self._rejector.needs_others:
            return [None] * len(landmarks)
        told: list[list[FloatArray]] = [[] for _ in landmarks]
        for tool in {face.tool for face in others}:
            found = (self._points(face, size) for face in others if face.tool == tool)
            theirs = [points for points in found if points is not None]
            for i, k in pair_faces(landmarks, theirs):
                told[i].append(theirs[k])
        return [*told]

    def _points(self, face: FoundFace, size: FloatArray) -> FloatArray | None:
        """The points of a face that the model was trained for, in pixels; None if one is missing."""
        points = points_for(self._rejector, face)
        return points * size if points is not None and face.relative else points


def points_for(rejector: FaceRejector, face: FoundFace) -> FloatArray | None:
    """The landmarks of a face, or those of them that the model was trained with; None if one is missing."""
    points, used = face.landmarks, rejector.info.get("points_used")
    # a model file may hold anything
    if points is not None and isinstance(used, list) and len(used) == rejector.n_points < len(points):
        points = points[[i for i in used if isinstance(i, int) and 0 <= i < len(points)]]
    return points if points is not None and np.isfinite(points).all() else None


class AssessJob(Job):
    """A run over landmarks in place of images; see `Job`.

    Parameters
    ----------
    landmarks, images
        As in `assess_files`.
    outputs : iterable of Output
    format : str or None
    **options
        Those of `Job`.
    """

    finds_faces = False

    def __init__(
        self,
        landmarks: Predictions,
        images: str | os.PathLike[str],
        outputs: Iterable[Output] = (),
        *,
        format: str | None = None,
        **options: Any,
    ) -> None:
        files = [landmarks] if isinstance(landmarks, str | os.PathLike) else list(landmarks)
        self._places = ImagesByName(images)
        self._images = os.fspath(images)
        faces = read_landmarks(files[0], format)
        # said before a table is begun
        self._first = next(faces, None)
        if self._first is None:
            raise LandmarkFileError(f"{os.fspath(files[0])}: holds no face")
        self._faces = chain([self._first], faces)
        self._others = self._other_tools(files[1:], format)
        read = [name for file in files for name in landmark_files(file, format)]
        super().__init__([*read, *self._places.files], outputs, **options)

    def run(
        self, rejector: FaceRejector, *, progress: Callable[[RunProgress], None] | None = None
    ) -> Summary:
        """Do the work; LandmarkFileError if the model cannot score the points, or needs other tools."""
        if rejector.needs_others != bool(self._others):
            raise LandmarkFileError(
                "this model compares the landmarks of several tools: name all of them, the scored one first "
                "(more --predictions)"
                if rejector.needs_others
                else "this model does not compare the landmarks of several tools: name one, or train a model "
                "with all of them (facereject train --predictions A --predictions B)"
            )
        if self._first is not None and (points := points_for(rejector, self._first)) is not None:
            try:
                converted(points, rejector.n_points)
            except ValueError as error:
                raise LandmarkFileError(f"{self._first.image}: {error}") from None
        return super().run(rejector, progress=progress)

    def _other_tools(
        self, files: Sequence[str | os.PathLike[str]], format: str | None
    ) -> dict[str, list[FoundFace]]:
        """The faces that the landmarks are compared with, by the path of their image."""
        found: dict[str, list[FoundFace]] = {}
        for tool, file in enumerate(files, 1):
            for face in read_landmarks(file, format):
                path, _ = self._places.find(face.image)
                if path is not None and face.landmarks is not None:
                    found.setdefault(path, []).append(face._replace(tool=tool))
        if files and not found:
            raise LandmarkFileError(f"{os.fspath(files[0])}: no landmarks on the images of {self._images}")
        return found

    def _base(self) -> str:
        return base_of([self._images])

    def _check_inputs(self) -> None:
        """Nothing to check: the landmark files are open, and missing images get a row."""

    def _task(self, rejector: FaceRejector, outputs: tuple[Output, ...]) -> ScoreTask:
        return AssessTask(rejector, outputs=outputs, max_pixels=self.running.max_pixels, folder=self._folder)

    def _plan(self, store: Store, *, with_frames: bool) -> Plan:
        kept = KeptInputs(self.outputs)

        def looked_at() -> Iterator[Input]:
            for name, group in groupby(self._faces, lambda face: face.image):
                item = self._item(name, list(group))
                kept(item)
                kept.check()
                yield item

        return Plan(looked_at(), None, None)

    def _item(self, name: str, faces: list[FoundFace]) -> Input:
        """The input that faces belong to."""
        path, problem = self._places.find(name)
        if path is None:
            return Input(name, "image", faces=faces, problem=problem)
        return Input(path, kind_of_file(path), faces=[*faces, *self._others.get(path, [])])
