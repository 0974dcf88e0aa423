"""The project's table format: features, target, names and origin in one .npz file, written atomically."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from data_scripts.readers import FormatError


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class Table:
    """One converted table.

    Attributes
    ----------
    X : array (n, d)
    y : array (n,)
        Labels from 0 if ``classes`` is given, else the real target.
    feature_names : sequence of str
    preprocessing : str
        What was done to the original.
    classes : sequence of str
        Name of each label; empty for a real target.
    extras : dict
        Further arrays that are kept but not used as features.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: Sequence[str]
    preprocessing: str
    classes: Sequence[str] = ()
    extras: dict[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows, features = self.X.shape
        if len(self.feature_names) != features or self.y.shape != (rows,):
            raise FormatError(
                f"{rows} rows of {features} features do not fit {len(self.y)} targets and"
                f" {len(self.feature_names)} names"
            )
        if not (np.isfinite(self.X).all() and np.isfinite(self.y).all()):
            raise FormatError("missing or infinite values")


def encode(labels: Sequence[object] | np.ndarray, classes: Sequence[object]) -> np.ndarray:
    """Place of each label in ``classes``."""
    number = {value: i for i, value in enumerate(classes)}
    try:
        return np.array([number[label] for label in labels], dtype=np.int64)
    except KeyError as error:
        raise FormatError(f"unknown label {error}") from None


def compact(X: np.ndarray) -> np.ndarray:
    """The same values in the smallest of uint8, int16 and int32 that holds them, else float32."""
    if (np.rint(X) == X).all():
        for dtype in (np.uint8, np.int16, np.int32):
            if np.iinfo(dtype).min <= X.min(initial=0) and X.max(initial=0) <= np.iinfo(dtype).max:
                return X.astype(dtype)
    return X.astype(np.float32)


def content_digest(X: np.ndarray, y: np.ndarray) -> str:
    """A checksum of the rows (features as float32, target as float64) that does not depend on their order.

    Copies of one table differ in row order and in how they are packed; equal digests mean equal rows.
    """
    # + 0.0 turns −0.0 into 0.0
    rows = np.hstack([(X.astype("<f4") + 0.0).astype("<f8"), y.astype("<f8")[:, None] + 0.0])
    total = 0
    for row in np.ascontiguousarray(rows):
        total += int.from_bytes(hashlib.blake2b(row.data, digest_size=16).digest(), "little")
    return f"{total % (1 << 128):032x}"


def save(table: Table, path: Path, source: str) -> None:
    """Write a table; a file of that name is replaced only when the new one is complete."""
    arrays: dict[str, np.ndarray] = {
        "X": compact(table.X),
        "y": table.y.astype(np.int16) if table.classes else table.y.astype(np.float64),
        "feature_names": np.array(list(table.feature_names), dtype=np.str_),
        "task": np.array("classification" if table.classes else "regression"),
        "source": np.array(source),
        "preprocessing": np.array(table.preprocessing),
        **table.extras,
    }
    if table.classes:
        arrays["classes"] = np.array(list(table.classes), dtype=np.str_)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".npz")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, **arrays)
        # mkstemp makes files that only their owner may read
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
