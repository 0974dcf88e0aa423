"""Features and losses of detected faces, and how they are kept from one run to the next."""

from __future__ import annotations

import hashlib
import itertools
import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import is_regular, replacing
from facereject.faces.datasets import Problem

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
