"""From annotated photographs, clean and degraded, to a table of features and losses, with a cache."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import dlib
import joblib
import numpy as np
from numpy.typing import NDArray

from facereject._files import replacing
from facereject.faces.datasets import FaceSample, Problem, match_face
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.stability import LandmarkStability
from facereject.faces.images import ImageError, to_gray
from facereject.faces.landmarks.dlib_trees import LandmarkFunction, predict_landmarks
from facereject.faces.training.degrade import jitter_box, random_degradation
from facereject.losses import landmark_nme

#: part of the cache key; raised whenever a change here, in degrade or in matching changes the numbers
_PROTOCOL = 2

# share of the degraded pictures whose box is jittered as well
_JITTERED = 0.15


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class FaceTable:
    """Features and losses of detected faces, one row per picture.

    Attributes
    ----------
    features : ndarray of shape (n, d), float32
        `LandmarkHOG`, then `LandmarkStability` if asked for.
    losses : ndarray of shape (n,)
        Normalised mean error in percent of the outer-eye distance.
    detector_scores : ndarray of shape (n,)
        Higher = more face-like.
    sample : ndarray of shape (n,), int
        Index of the face in the data set.
    variant : ndarray of shape (n,), int
        0 for the photograph as it is, 1, 2, ... for its degraded versions.
    kinds : tuple of str
        What was done to the picture, "clean" or such as "blur+noise".
    missed : ndarray of shape (2,), int
        Faces the detector did not find: clean, degraded.
    failed : ndarray of shape (2,), int
        Faces that were found, but the predictor gave no usable landmarks for: clean, degraded.
    problems : tuple of Problem
        Photographs that could not be read.
    failures : tuple of Problem
        Faces among ``failed``: the photograph, on how many of its versions, and why on the first of them.
    """

    features: NDArray[np.float32]
    losses: NDArray[np.float64]
    detector_scores: NDArray[np.float64]
    sample: NDArray[np.int64]
    variant: NDArray[np.int64]
    kinds: tuple[str, ...]
    missed: NDArray[np.int64]
    failed: NDArray[np.int64]
    problems: tuple[Problem, ...]
    failures: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def clean(self) -> NDArray[np.bool_]:
        """Rows that are photographs as they are."""
        return self.variant == 0


@dataclass(frozen=True)
class Extractor:
    """How a picture becomes a row: detector, predictor, features, degradations.

    Parameters
    ----------
    predictor : callable
        (image, box) -> (68, 2), the predictor whose errors are to be predicted.
    detector : FaceDetector
    hog : LandmarkHOG
    stability : LandmarkStability or None
        None leaves the 68 stability features out.
    degradations : int
        Degraded versions of every photograph, besides the photograph itself, by `random_degradation`. If
        there are at least four, the last one only moves the box.
    random_state : int
        Seed. Row by row, the numbers depend on it, on the position of the face in the data set and on the
        variant, and not on the number of processes (but for the last bit of a feature, as OpenCV's sums
        follow the alignment of memory).
    """

    predictor: LandmarkFunction
    detector: FaceDetector
    hog: LandmarkHOG
    stability: LandmarkStability | None = None
    degradations: int = 8
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.degradations < 0:
            raise ValueError(f"degradations must be 0 or more, got {self.degradations}")

    def rows(self, index: int, sample: FaceSample) -> list[dict[str, Any] | str | None]:
        """Rows of one face; None where it was missed, and a reason where it got no landmarks.

        Raises ImageError for an unreadable file.
        """
        image = sample.load()
        if getattr(self.predictor, "color", "rgb") == "gray":
            # then nothing downstream looks at colour, and degrading one channel is three times as fast
            image = to_gray(image)
        return [self._row(image, sample, index, variant) for variant in range(self.degradations + 1)]

    def _row(self, image: Any, sample: FaceSample, index: int, variant: int) -> dict[str, Any] | str | None:
        rng = np.random.default_rng([self.random_state, index, variant])
        truth, kind, jitter = sample.landmarks, "clean", 0.0
        if variant == self.degradations >= 4:
            kind, jitter = "box", rng.uniform(0, 1)
        elif variant > 0:
            image, truth, steps = random_degradation(image, truth, random_state=rng)
            kind = "+".join(name for name, _ in steps)
            if rng.random() < _JITTERED:
                kind, jitter = kind + "+box", rng.uniform(0, 1)
        found = match_face(self.detector.detect(image), truth)
        if found is None:
            return None
        box = jitter_box(found.box, jitter, random_state=rng) if jitter else found.box
        more = []
        try:
            landmarks = predict_landmarks(self.predictor, image, box)
            if self.stability is not None:
                more.append(self.stability(image, box, landmarks, self.predictor))
        except Exception as error:
            # anybody's predictor, on a degraded picture: one failure must not cost hours of extraction
            return f"{type(error).__name__}: {error}"
        features = np.concatenate([self.hog(to_gray(image), landmarks), *more])
        return {
            "features": features,
            "losses": float(landmark_nme(truth, landmarks)),
            "detector_scores": found.score,
            "sample": index,
            "variant": variant,
            "kinds": kind,
        }


def extract(
    samples: Sequence[FaceSample],
    extractor: Extractor,
    *,
    n_jobs: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FaceTable:
    """Compute the table of a data set.

    Parameters
    ----------
    samples : sequence of FaceSample
    extractor : Extractor
    n_jobs : int or None
        Processes; None uses all cores, 1 stays in this one.
    cache : folder or None
        Where finished tables are kept (``.npz``, read without pickle). The name of a file is a digest of
        everything that determines the numbers. A predictor without a ``fingerprint`` is not cached.
    progress : callable or None
        Called with (faces done, of how many).
    """
    key = _cache_key(samples, extractor)
    file = Path(cache, f"faces-{key}.npz") if cache is not None and key is not None else None
    if file is not None and (table := _read_cache(file)) is not None:
        return table
    size = 16
    chunks = [range(start, min(start + size, len(samples))) for start in range(0, len(samples), size)]
    jobs = (joblib.delayed(_extract_chunk)(extractor, [(i, samples[i]) for i in chunk]) for chunk in chunks)
    workers = joblib.Parallel(n_jobs=n_jobs or joblib.cpu_count(), return_as="generator")
    rows: list[dict[str, Any]] = []
    lost = _Losses()
    for chunk, (found, more) in zip(chunks, workers(jobs), strict=True):
        rows.extend(found)
        lost.add(more)
        if progress is not None:
            progress(chunk.stop, len(samples))
    if not rows:
        raise ValueError(f"samples: no usable face among {len(samples)}: {lost}")
    table = FaceTable(
        features=np.array([row["features"] for row in rows], dtype=np.float32),
        losses=np.array([row["losses"] for row in rows]),
        detector_scores=np.array([row["detector_scores"] for row in rows]),
        sample=np.array([row["sample"] for row in rows], dtype=np.int64),
        variant=np.array([row["variant"] for row in rows], dtype=np.int64),
        kinds=tuple(row["kinds"] for row in rows),
        missed=lost.missed,
        failed=lost.failed,
        problems=tuple(lost.problems),
        failures=tuple(lost.failures),
    )
    if file is not None:
        _write_cache(file, table)
    return table


@dataclass
class _Losses:
    """What did not become a row: counts for clean and degraded pictures, and reasons."""

    missed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    failed: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, dtype=np.int64))
    problems: list[Problem] = field(default_factory=list)
    failures: list[Problem] = field(default_factory=list)

    def add(self, other: _Losses) -> None:
        self.missed += other.missed
        self.failed += other.failed
        self.problems += other.problems
        self.failures += other.failures

    def __str__(self) -> str:
        parts = [
            f"no face was found in {self.missed.sum()} pictures",
            f"{self.failed.sum()} got no landmarks",
            f"{len(self.problems)} photographs could not be read",
        ]
        for which in (self.failures, self.problems):
            if which:
                parts.append(f"first: {which[0].entry}: {which[0].reason}")
        return "; ".join(parts)


def _extract_chunk(
    extractor: Extractor, samples: list[tuple[int, FaceSample]]
) -> tuple[list[dict[str, Any]], _Losses]:
    rows: list[dict[str, Any]] = []
    lost = _Losses()
    for index, sample in samples:
        try:
            found = extractor.rows(index, sample)
        except ImageError as error:
            lost.problems.append(Problem(str(sample.image_path), str(error)))
            continue
        lost.missed += [found[0] is None, sum(row is None for row in found[1:])]
        lost.failed += [isinstance(found[0], str), sum(isinstance(row, str) for row in found[1:])]
        reasons = [row for row in found if isinstance(row, str)]
        if reasons:
            where = f"no landmarks on {len(reasons)} of {len(found)} versions"
            lost.failures.append(Problem(str(sample.image_path), f"{where}: {reasons[0]}"))
        rows.extend(row for row in found if isinstance(row, dict))
    return rows, lost


def _cache_key(samples: Sequence[FaceSample], extractor: Extractor) -> str | None:
    fingerprint = getattr(extractor.predictor, "fingerprint", None)
    if fingerprint is None:
        return None
    settings = {
        "protocol": _PROTOCOL,
        "libraries": {"dlib": dlib.__version__, "cv2": cv2.__version__, "numpy": np.__version__},
        "predictor": fingerprint,
        "detector": [extractor.detector.upsample, extractor.detector.threshold, extractor.detector.min_face],
        "hog": extractor.hog.definition,
        "stability": extractor.stability.definition if extractor.stability else None,
        "degradations": extractor.degradations,
        "random_state": int(extractor.random_state),
    }
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for sample in samples:
        # reading all files takes a second per thousand, computing their rows minutes
        try:
            content = hashlib.sha256(sample.image_path.read_bytes()).hexdigest()
        except OSError:
            content = "unreadable"
        digest.update(f"{content} {sample.photo}\n".encode())
        digest.update(np.ascontiguousarray(sample.landmarks).tobytes())
    return digest.hexdigest()[:32]


_ARRAYS = ("features", "losses", "detector_scores", "sample", "variant", "missed", "failed")
_PROBLEMS = ("problems", "failures")


def _write_cache(file: Path, table: FaceTable) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {name: getattr(table, name) for name in _ARRAYS}
    arrays["kinds"] = np.array(table.kinds, dtype=np.str_)
    for name in _PROBLEMS:
        texts = itertools.chain.from_iterable(getattr(table, name))
        arrays[name] = np.array(list(texts), dtype=np.str_)
    with replacing(file) as made:
        np.savez(made, **arrays)


def _read_cache(file: Path) -> FaceTable | None:
    """The table, or None if there is none or it is damaged: it will be computed and written again."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in _ARRAYS}
            kinds = tuple(str(kind) for kind in stored["kinds"])
            texts = [[str(text) for text in stored[name]] for name in _PROBLEMS]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    problems, failures = (
        tuple(Problem(*pair) for pair in zip(pairs[::2], pairs[1::2], strict=True)) for pairs in texts
    )
    return FaceTable(**arrays, kinds=kinds, problems=problems, failures=failures)
