"""dlib predictors that have not seen the photographs they are used on: one per fold, trained without it.

dlib's published model was trained on 300-W, so its errors there are training errors. Here the photographs are
cut into folds; a predictor is trained without each fold and used on it only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dlib
import numpy as np
from numpy.typing import NDArray

from facereject.faces import FaceSample, train_landmark_predictor
from facereject.faces.training.train import photo_folds


@dataclass(frozen=True)
class Training:
    """How many folds there are, and dlib's options as in `facereject.faces.train_landmark_predictor`."""

    folds: int = 5
    oversampling: int = 5
    jitter: float = 0.1
    depth: int = 4
    cascades: int = 10
    trees: int = 500
    random_state: int = 0

    def options(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "folds"}


def cut_folds(groups: Sequence[str], training: Training) -> NDArray[np.int64]:
    """The fold of every sample; ``groups`` names what must stay together: a photograph with its copies."""
    return photo_folds(groups, training.folds, training.random_state)


def predictor_files(
    samples: Sequence[FaceSample], groups: Sequence[str], training: Training, work: Path
) -> tuple[NDArray[np.int64], list[Path]]:
    """The fold of every sample, and for every fold where the predictor trained without it is kept."""
    fold = cut_folds(groups, training)
    parts = (outside(samples, fold, k) for k in range(training.folds))
    return fold, [predictor_file(part, training, work) for part in parts]


def outside(samples: Sequence[FaceSample], fold: NDArray[np.int64], k: int) -> list[FaceSample]:
    """What the predictor of fold k is trained on: all that is not in the fold."""
    return [sample for sample, f in zip(samples, fold, strict=True) if f != k]


def predictor_file(samples: Sequence[FaceSample], training: Training, work: Path) -> Path:
    """Where a predictor is kept, named by all it is trained from: pictures, annotation, options, dlib."""
    options = repr((dlib.__version__, sorted(training.options().items())))
    return work / f"predictor-{digest(samples, options)}.dat"


def digest(samples: Sequence[FaceSample], text: str = "") -> str:
    """A name for faces by their content, and for what else matters as text."""
    content = hashlib.sha256(text.encode())
    for sample in samples:
        content.update(hashlib.sha256(sample.image_path.read_bytes()).digest())
        content.update(np.ascontiguousarray(sample.landmarks).tobytes())
    return content.hexdigest()[:32]


def train(samples: Sequence[FaceSample], training: Training, path: Path) -> None:
    """Train in one thread: dlib's sums, and so the last bits of a model, depend on the number of threads."""
    train_landmark_predictor(samples, path, workers=1, **training.options())
