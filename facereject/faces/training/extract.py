"""From annotated photos, clean and degraded, to a table of features and losses, with a cache."""

from __future__ import annotations

import hashlib
import itertools
import json
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject._files import is_regular, replacing
from facereject._words import counted
from facereject.faces.datasets import FaceSample, Problem, content_digest, match_face
from facereject.faces.detectors.base import Detector, check_detector, find_faces
from facereject.faces.face import Box, Detection
from facereject.faces.features.context import FaceContext
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.recipe import FaceFeatures, LandmarkCorrection, Stability
from facereject.faces.geometry import FloatArray, disagreement
from facereject.faces.images import ImageError, Views
from facereject.faces.landmarks.base import (
    Landmarks,
    NoLandmarksError,
    check_predictor,
    place_landmarks,
)
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.plugins import color_of, definition_of, fingerprint_of
from facereject.faces.training.degrade import jitter_box, outside_frame, random_degradation
from facereject.losses import landmark_nme
from facereject.parallel import EngineError, RunProgress, WorkerEngine
from facereject.parallel.base import Outcome, SerialEngine

_ARRAYS = (
    "features",
    "losses",
    "detector_scores",
    "sample",
    "variant",
    "landmarks",
    "truth",
    "hidden",
    "missed",
    "failed",
)
_PROBLEMS = ("problems", "failures")
_DIGEST_BYTES = hashlib.sha256().digest_size


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class FaceTable:
    """Features and losses of detected faces, one row per image.

    Attributes
    ----------
    features : ndarray of shape (n, d), float32
        See `facereject.faces.features.recipe`.
    losses : ndarray of shape (n,)
        Normalised mean error in percent, by the rule of the point set.
    detector_scores : ndarray of shape (n,)
        Higher = more face-like.
    sample : ndarray of shape (n,), int
        Index of the face in the data set.
    variant : ndarray of shape (n,), int
        0 for the photo as it is, 1, 2, ... for its degraded versions.
    kinds : tuple of str
        What was done to the image, "clean" or such as "blur+noise".
    landmarks, truth : ndarray of shape (n, p, 2), float32
        Predicted and annotated points in pixels.
    hidden : ndarray of shape (n, p), bool
        Points that a degradation covered or that lie outside the frame.
    missed : ndarray of shape (2,), int
        Faces the detector did not find: clean, degraded.
    failed : ndarray of shape (2,), int
        Faces that were found, but the predictor gave no usable landmarks for: clean, degraded.
    problems : tuple of Problem
        Photos that could not be read.
    failures : tuple of Problem
        Faces among ``failed``: the photo, on how many of its versions, and why on the first of them.
    """

    features: NDArray[np.float32]
    losses: NDArray[np.float64]
    detector_scores: NDArray[np.float64]
    sample: NDArray[np.int64]
    variant: NDArray[np.int64]
    kinds: tuple[str, ...]
    landmarks: NDArray[np.float32]
    truth: NDArray[np.float32]
    hidden: NDArray[np.bool_]
    missed: NDArray[np.int64]
    failed: NDArray[np.int64]
    problems: tuple[Problem, ...]
    failures: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.losses)

    def rows(self, chosen: NDArray[Any]) -> FaceTable:
        """The table of some rows, by position or by mask; what was missed is that of all."""
        rowwise = [name for name in _ARRAYS if name not in ("missed", "failed")]
        kinds = tuple(str(kind) for kind in np.asarray(self.kinds, dtype=object)[chosen])
        return replace(self, **{name: getattr(self, name)[chosen] for name in rowwise}, kinds=kinds)

    @property
    def clean(self) -> NDArray[np.bool_]:
        """Rows that are photos as they are."""
        return np.asarray(self.variant == 0)


class CacheWarning(UserWarning):
    """A cached table cannot be used or kept; the work is done without it."""


def write_table(file: Path, table: FaceTable) -> None:
    """Keep a table as SHA-256 and .npz, in one step; a warning if that is impossible."""
    arrays: dict[str, Any] = {name: getattr(table, name) for name in _ARRAYS}
    arrays["kinds"] = np.array(table.kinds, dtype=np.str_)
    for name in _PROBLEMS:
        texts = itertools.chain.from_iterable(getattr(table, name))
        arrays[name] = np.array(list(texts), dtype=np.str_)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as made:
            made.write(bytes(_DIGEST_BYTES))
            np.savez(made, **arrays)
            digest = _digest(made, file.name)
            made.seek(0)
            made.write(digest)
    except OSError as error:
        _warn(f"{file.parent}: the cache cannot be written ({error.strerror or error})")


def read_table(file: Path) -> FaceTable | None:
    """The table, or None if there is none, with a warning if it is damaged: it will be computed again."""
    try:
        if not os.path.lexists(file):
            return None
        if not is_regular(file):
            raise ValueError("not a regular file")
        with open(file, "rb") as stored_file:
            stated = stored_file.read(_DIGEST_BYTES)
            # also of the name: a table of other faces under this one is damage, too
            if stated != _digest(stored_file, file.name):
                raise ValueError("its content does not match its digest")
            stored_file.seek(_DIGEST_BYTES)
            with np.load(stored_file, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in _ARRAYS}
                kinds = tuple(str(kind) for kind in stored["kinds"])
                texts = [[str(text) for text in stored[name]] for name in _PROBLEMS]
    except (OSError, ValueError) as error:
        _warn(f"{file}: the cached faces are computed again ({error})")
        return None
    problems, failures = (
        tuple(Problem(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)) for pairs in texts
    )
    return FaceTable(**arrays, kinds=kinds, problems=problems, failures=failures)


def _digest(file: IO[bytes], name: str) -> bytes:
    """SHA-256 of a name and of what follows the digest in a file."""
    digest = hashlib.sha256(name.encode())
    file.seek(_DIGEST_BYTES)
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.digest()


def _warn(text: str) -> None:
    # at the caller of `extract`
    warnings.warn(text, CacheWarning, stacklevel=4)


#: part of the cache key; raised whenever a change here, in degrade or in matching changes the numbers
_PROTOCOL = 5

# faces in one piece of work: enough to be worth sending, few enough to show progress
_CHUNK = 16

# share of the degraded images whose box is jittered as well
_JITTERED = 0.15


class FacePicture(NamedTuple):
    """A version of a photo: image, what the detector found, true and hidden points, what was done.

    ``placed`` are the landmarks if they come from a file.
    """

    view: Views
    found: Detection
    truth: FloatArray
    hidden: NDArray[np.bool_]
    kind: str
    placed: FloatArray | None = None


@dataclass(frozen=True)
class Extractor:
    """How an image becomes a row: detector, predictor, features, degradations.

    Parameters
    ----------
    predictor : callable
        (image, box) -> (n, 2), the predictor whose errors are to be predicted.
    detector : Detector
    hog : LandmarkHOG
        With the point set of the predictor.
    stability : LandmarkStability, MirroredRuns or None
        None leaves the stability features out.
    degradations : int
        Degraded versions of every photo, besides the photo itself, by `random_degradation`. If
        there are at least four, the last one only moves the box.
    random_state : int
        Seed. Row by row, the numbers depend on it, on the position of the face in the data set and on the
        variant, and not on the number of processes (but for the last bit of a feature, as OpenCV's sums
        follow the alignment of memory).
    context : FaceContext or None
        None leaves shape, place and image quality out.
    upright_beyond : float or None
        Degrees of tilt, by the five points of the detector, above which landmarks are placed on an upright
        copy of the face; None is never.
    correction : LandmarkCorrection or None
        Of the predictor's landmarks.
    """

    predictor: Landmarks
    detector: Detector
    hog: LandmarkHOG
    stability: Stability | None = None
    degradations: int = 8
    random_state: int = 0
    context: FaceContext | None = None
    upright_beyond: float | None = None
    correction: LandmarkCorrection | None = None

    def __post_init__(self) -> None:
        if self.degradations < 0:
            raise ValueError(f"degradations must be 0 or more, got {self.degradations}")
        check_detector(self.detector)
        check_predictor(self.predictor, self.points.n)
        # raises for parts made for other points, before any work
        assert self.features.n_features

    @property
    def features(self) -> FaceFeatures:
        """How a face becomes a vector."""
        return FaceFeatures(self.hog, self.stability, self.context, self.correction)

    @property
    def points(self) -> PointSet:
        """The points of the predictor."""
        return self.hog.points

    def pictures(self, index: int, sample: FaceSample) -> Iterator[FacePicture | None]:
        """All versions of one face, the clean one first; None where the detector missed it.

        Raises ImageError for an unreadable file, and ValueError for an annotation of other points or without
        the length that errors are normalised by.
        """
        if len(sample.landmarks) != self.points.n:
            raise ValueError(f"annotated with {len(sample.landmarks)} points, {self.points.n} are needed")
        if not self.points.scale(sample.landmarks) > 0:
            raise ValueError(f"errors cannot be normalised: {self.points.unit} is 0")
        view = Views(sample.load())
        if sample.predicted is not None:
            box = self.points.box_of(sample.predicted) if sample.box is None else sample.box
            hidden = outside_frame(view.gray, sample.landmarks)
            apart = None if sample.others is None else disagreement(sample.predicted, sample.others)
            found = Detection(box, sample.confidence, disagreement=apart)
            yield FacePicture(view, found, sample.landmarks, hidden, "clean", sample.predicted)
            return
        # then nothing downstream looks at colour, and degrading one channel is three times as fast
        without_color = color_of(self.predictor) == color_of(self.detector) == "gray"
        image = view.gray if without_color else view.rgb
        for variant in range(self.degradations + 1):
            yield self.picture(image, sample.landmarks, index, variant)

    def picture(self, image: Any, truth: FloatArray, index: int, variant: int) -> FacePicture | None:
        """One version of a photo with the box of its face; None where the detector missed it."""
        rng = np.random.default_rng([self.random_state, index, variant])
        kind, jitter, hidden = "clean", 0.0, outside_frame(image, truth)
        if variant == self.degradations >= 4:
            kind, jitter = "box", rng.uniform(0, 1)
        elif variant > 0:
            image, truth, steps, hidden = random_degradation(image, truth, random_state=rng)
            kind = "+".join(name for name, _ in steps)
            if rng.random() < _JITTERED:
                kind, jitter = kind + "+box", rng.uniform(0, 1)
        view = Views(image)
        found = match_face(find_faces(self.detector, view), truth, points=self.points)
        if found is None:
            return None
        if jitter:
            found = moved_to(found, jitter_box(found.box, jitter, random_state=rng))
        return FacePicture(view, found, truth, hidden, kind)

    def row(self, picture: FacePicture, index: int, variant: int) -> dict[str, Any] | str:
        """The row of one image, or the reason why it got no landmarks."""
        try:
            if (landmarks := picture.placed) is None:
                shown = picture.view.shown_to(self.predictor)
                landmarks = place_landmarks(
                    self.predictor, shown, picture.found, self.points.n, self.upright_beyond
                )
            landmarks, features = self.features(
                picture.view, picture.found, landmarks, self.predictor, keep=picture.placed is not None
            )
        except NoLandmarksError as error:
            # predictors are plug-ins: one failure on a degraded image must not cost hours of extraction
            return str(error)
        return {
            "features": features,
            "losses": float(landmark_nme(picture.truth, landmarks, self.points.normalizer)),
            # a tool without a confidence leaves the order to chance
            "detector_scores": picture.found.score if np.isfinite(picture.found.score) else 0.0,
            "sample": index,
            "variant": variant,
            "kinds": picture.kind,
            "landmarks": landmarks.astype(np.float32),
            "truth": picture.truth.astype(np.float32),
            "hidden": picture.hidden,
        }


def moved_to(found: Detection, box: Box) -> Detection:
    """A detection as if it had been found in another box: its five points move with the box."""
    if found.points is None:
        return replace(found, box=box)
    scale, old, new = box.width / found.box.width, found.box.center, box.center
    points = [(new[0] + scale * (x - old[0]), new[1] + scale * (y - old[1])) for x, y in found.points]
    return replace(found, box=box, points=tuple(points))


def extract(
    samples: Sequence[FaceSample],
    extractor: Extractor,
    *,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> FaceTable:
    """Compute the table of a data set.

    Parameters
    ----------
    samples : sequence of FaceSample
    extractor : Extractor
    workers : int or None
        Processes; 1 stays in this one. None uses all cores, or this process alone (with a warning) if
        detector or predictor cannot be sent to others, or a script lacks the ``if __name__ == "__main__":``
        guard that more than one process need.
    cache : folder or None
        Where finished tables are kept (SHA-256 and ``.npz``, read without pickle). The name of a file is a
        digest of everything that determines the numbers. A damaged file is computed again, and a folder that
        cannot be written is left alone, both with a `CacheWarning`. A predictor without a ``fingerprint``, or
        a detector without a ``definition``, is not cached.
    progress : callable or None
        Gets a `RunProgress` of the faces.
    """
    return extract_together(samples, [extractor], workers=workers, cache=cache, progress=progress)[0]


def extract_together(
    samples: Sequence[FaceSample],
    extractors: Sequence[Extractor],
    *,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> list[FaceTable]:
    """The tables of several extractors, of which each image is degraded and searched only once.

    Detector, degradations and seed are those of the first. Parameters are those of `extract`.
    """
    same = {(definition_text(e.detector), e.degradations, e.random_state, e.points) for e in extractors}
    if len(same) != 1:
        raise ValueError("extractors must have the same detector, degradations, seed and points")
    files = [_cache_file(samples, extractor, cache) for extractor in extractors]
    tables = [None if file is None else read_table(file) for file in files]
    missing = [i for i, table in enumerate(tables) if table is None]
    if missing:
        made = _computed(samples, [extractors[i] for i in missing], workers, progress)
        for i, (table, by_chance) in zip(missing, made, strict=True):
            tables[i] = table
            if (file := files[i]) is not None and not by_chance:
                write_table(file, table)
    return [table for table in tables if table is not None]


def _computed(
    samples: Sequence[FaceSample],
    extractors: Sequence[Extractor],
    workers: int | None,
    progress: Callable[[RunProgress], None] | None,
) -> list[tuple[FaceTable, bool]]:
    """The table of every extractor, and whether the next run might lose less."""
    starts = range(0, len(samples), _CHUNK)
    chunks = [range(start, min(start + _CHUNK, len(samples))) for start in starts]
    items = [[(i, samples[i]) for i in chunk] for chunk in chunks]
    rows: list[list[dict[str, Any]]] = [[] for _ in extractors]
    lost = [_Losses() for _ in extractors]
    with closing(_outcomes(_ChunkTask(tuple(extractors)), items, workers)) as outcomes:
        for outcome in outcomes:
            if outcome.error:
                # a worker that died costs what it was working on
                paths = [str(sample.image_path) for _, sample in outcome.item]
                for each in lost:
                    each.add(
                        _Losses(problems=[Problem(path, outcome.error) for path in paths], by_chance=True)
                    )
            elif outcome.chunk is not None:
                for k, (found, more) in enumerate(outcome.chunk):
                    rows[k].extend(found)
                    lost[k].add(more)
            if progress is not None:
                progress(RunProgress(chunks[outcome.index].stop, len(samples), "faces"))
    return [(_table(r, each, len(samples)), each.by_chance) for r, each in zip(rows, lost, strict=True)]


def _table(rows: list[dict[str, Any]], lost: _Losses, n_samples: int) -> FaceTable:
    if not rows:
        raise ValueError(f"samples: no usable face among {n_samples}: {lost}")
    arrays = {name: np.array([row[name] for row in rows]) for name in rows[0] if name != "kinds"}
    return FaceTable(
        **arrays,
        kinds=tuple(row["kinds"] for row in rows),
        missed=lost.missed,
        failed=lost.failed,
        problems=tuple(lost.problems),
        failures=tuple(lost.failures),
    )


@dataclass
class _Losses:
    """What did not become a row: counts for clean and degraded images, and reasons."""

    missed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    failed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    problems: list[Problem] = field(default_factory=list)
    failures: list[Problem] = field(default_factory=list)
    #: whether the next run might lose less, so that this one must not be cached
    by_chance: bool = False

    def add(self, other: _Losses) -> None:
        self.by_chance |= other.by_chance
        self.missed += other.missed
        self.failed += other.failed
        self.problems += other.problems
        self.failures += other.failures

    def count(self, sample: FaceSample, versions: list[dict[str, Any] | str | None]) -> None:
        """Count what did not become a row among the versions of one face, the clean one first."""
        self.missed += [versions[0] is None, sum(row is None for row in versions[1:])]
        self.failed += [isinstance(versions[0], str), sum(isinstance(row, str) for row in versions[1:])]
        reasons = [row for row in versions if isinstance(row, str)]
        if reasons:
            where = f"no landmarks on {len(reasons)} of {len(versions)} versions"
            self.failures.append(Problem(str(sample.image_path), f"{where}: {reasons[0]}"))

    def __str__(self) -> str:
        parts = [
            f"no face was found in {counted(self.missed.sum(), 'picture')}",
            f"{self.failed.sum()} got no landmarks",
            f"{counted(len(self.problems), 'photo')} could not be used",
        ]
        for which in (self.failures, self.problems):
            if which:
                parts.append(f"first: {which[0].entry}: {which[0].reason}")
        return "; ".join(parts)


@dataclass(frozen=True)
class _ChunkTask:
    """What a worker does with some faces: rows and losses for every extractor."""

    extractors: tuple[Extractor, ...]

    def __call__(
        self, samples: list[tuple[int, FaceSample]]
    ) -> Iterator[list[tuple[list[dict[str, Any]], _Losses]]]:
        made: list[tuple[list[dict[str, Any]], _Losses]] = [([], _Losses()) for _ in self.extractors]
        for index, sample in samples:
            try:
                found = self._rows(index, sample)
            except Exception as error:
                # detectors are plug-ins: one photo that makes it fail must not cost the others
                unreadable = isinstance(error, ImageError)
                reason = str(error) if unreadable else f"{type(error).__name__}: {error}"
                for _, lost in made:
                    lost.problems.append(Problem(str(sample.image_path), reason))
                    lost.by_chance |= not unreadable
                continue
            for (rows, lost), versions in zip(made, found, strict=True):
                lost.count(sample, versions)
                rows.extend(row for row in versions if isinstance(row, dict))
        yield made

    def _rows(self, index: int, sample: FaceSample) -> list[list[dict[str, Any] | str | None]]:
        """For every extractor the rows of one face: None where it was missed, a reason without landmarks."""
        pictures = enumerate(self.extractors[0].pictures(index, sample))
        versions = [
            [None if picture is None else each.row(picture, index, variant) for each in self.extractors]
            for variant, picture in pictures
        ]
        return [list(rows) for rows in zip(*versions, strict=True)]


def _outcomes(
    task: _ChunkTask, items: Sequence[list[tuple[int, FaceSample]]], workers: int | None
) -> Generator[Outcome, None, None]:
    """Run the task; in this process alone where nothing else was asked for and nothing else works."""
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, or None for all cores; got {workers}")
    wanted = min(_cores() if workers is None else workers, len(items))
    done = 0
    if wanted > 1:
        try:
            for outcome in WorkerEngine(wanted, preload=[__name__]).run(task, items):
                yield outcome
                done += 1
            return
        except EngineError as error:
            # a process that multiprocessing started for another one must not do the work of that one
            if workers is not None or done or multiprocessing.parent_process() is not None:
                raise ValueError(f"workers: {error}; workers=1 uses this process alone") from error
            warnings.warn(f"one process does all the work: {error}", stacklevel=4)
    yield from SerialEngine().run(task, items)


def _cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def definition_text(plugin: object) -> str:
    """A text that tells plug-ins apart: their definition, or which object it is."""
    definition = definition_of(plugin)
    return f"object {id(plugin)}" if definition is None else json.dumps(definition, sort_keys=True)


def _cache_file(
    samples: Sequence[FaceSample], extractor: Extractor, cache: str | os.PathLike[str] | None
) -> Path | None:
    """Where the table of an extractor is kept, None if it cannot be."""
    fingerprint, detector = fingerprint_of(extractor.predictor), definition_of(extractor.detector)
    if cache is None or fingerprint is None or detector is None:
        return None
    # not imported for those who use neither its detector nor its predictor
    dlib = getattr(sys.modules.get("dlib"), "__version__", None)
    settings = {
        "protocol": _PROTOCOL,
        "libraries": {"dlib": dlib, "cv2": cv2.__version__, "numpy": np.__version__},
        "predictor": fingerprint,
        "detector": detector,
        "points": [extractor.points.definition, extractor.points.mean_shape.tolist()],
        **extractor.features.definition,
        "upright_beyond": extractor.upright_beyond,
        "degradations": extractor.degradations,
        "random_state": int(extractor.random_state),
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    # reading all files takes a second per thousand, computing their rows minutes
    paths = {sample.image_path for sample in samples}
    contents = {path: content_digest(path, hashlib.sha256()) for path in paths}
    for sample in samples:
        content = contents[sample.image_path] or "unreadable"
        digest.update(f"{content} {sample.photo}\n".encode())
        if sample.frame:
            digest.update(f"frame {sample.frame}\n".encode())
        digest.update(np.ascontiguousarray(sample.landmarks).tobytes())
        if sample.predicted is not None:
            digest.update(np.ascontiguousarray(sample.predicted).tobytes())
            digest.update(f"{sample.confidence} {sample.box}".encode())
        for points in sample.others or ():
            digest.update(b"none" if points is None else np.ascontiguousarray(points).tobytes())
    return Path(cache, f"faces-{digest.hexdigest()[:32]}.table")
