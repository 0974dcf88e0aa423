"""Is a table in the project's format the one the registry describes?"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from data_scripts.convert import content_digest
from data_scripts.fetch import sha256_of
from data_scripts.registry import DataSet

ARRAYS = ("X", "y", "feature_names", "task", "source", "preprocessing")
Verdict = Literal["reference", "equal", "other", "partial", "wrong", "missing"]
MEANING: dict[str, str] = {
    "reference": "the file the project's results were made with",
    "equal": "another file with exactly the same rows",
    "other": "complete, but some values differ from the project's file, or there is no checksum of its rows",
    "partial": "fewer rows than the paper had",
    "wrong": "not usable; the reason is given",
    "missing": "not there",
}


@dataclass(frozen=True)
class Finding:
    """What was found for one table."""

    name: str
    verdict: Verdict
    rows: int = 0
    features: int = 0
    classes: int = 0
    reason: str = ""

    @property
    def usable(self) -> bool:
        return self.verdict not in ("wrong", "missing")


def check(entry: DataSet, folder: Path) -> Finding:
    """Compare ``<stem>.npz`` in a folder with the registry: arrays, rows, features, classes, checksums."""
    path = folder / f"{entry.stem}.npz"
    if not path.is_file():
        return Finding(entry.name, "missing")
    try:
        with np.load(path, allow_pickle=False) as file:
            absent = [name for name in ARRAYS if name not in file]
            if absent:
                return Finding(entry.name, "wrong", reason=f"no array {', '.join(absent)}")
            X, y, names = file["X"], file["y"], file["feature_names"]
            labels = file["classes"] if "classes" in file.files else np.empty(0)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        return Finding(entry.name, "wrong", reason=f"not readable: {error}")
    n_classes = len(np.unique(y)) if entry.task == "classification" else entry.n_classes
    found = (len(y), X.shape[-1], n_classes)
    problem = _problem(entry, X, y, names, labels)
    if problem:
        return Finding(entry.name, "wrong", *found, reason=problem)
    same_file = sha256_of(path) == entry.sha256
    if len(y) < entry.paper_rows:
        note = "; the project's partial file" if same_file else ""
        return Finding(entry.name, "partial", *found, reason=f"{entry.paper_rows:,} in the paper{note}")
    if same_file:
        return Finding(entry.name, "reference", *found)
    equal = bool(entry.digest) and content_digest(X, y) == entry.digest
    return Finding(entry.name, "equal" if equal else "other", *found)


def report(findings: Iterable[Finding]) -> str:
    """A line per table and the meaning of the verdicts that occur."""
    findings = list(findings)
    lines = [f"{'name':11}{'rows':>9}{'features':>10}{'classes':>9}  verdict"]
    for found in findings:
        sizes = f"{found.rows:9,}{found.features:10}{found.classes:9}" if found.rows else " " * 28
        reason = f" ({found.reason})" if found.reason else ""
        lines.append(f"{found.name:11}{sizes}  {found.verdict}{reason}")
    occurring = [verdict for verdict in MEANING if any(f.verdict == verdict for f in findings)]
    return "\n".join([*lines, "", *(f"{verdict}: {MEANING[verdict]}" for verdict in occurring)])


def _problem(entry: DataSet, X: np.ndarray, y: np.ndarray, names: np.ndarray, labels: np.ndarray) -> str:
    if X.ndim != 2 or y.shape != (len(X),):
        return f"X has shape {X.shape}, y has {y.shape}"
    if X.shape[1] != entry.features or len(names) != entry.features:
        return f"{X.shape[1]} features with {len(names)} names, expected {entry.features}"
    if len(y) > entry.paper_rows:
        return f"{len(y):,} rows, expected {entry.paper_rows:,}"
    if not entry.partial and len(y) < entry.rows:
        return f"only {len(y):,} rows of {entry.rows:,}"
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        return "missing or infinite values"
    if entry.task == "classification" and not np.array_equal(np.unique(y), np.arange(entry.n_classes)):
        return f"labels are not 0 to {entry.n_classes - 1}"
    if entry.task == "classification" and len(labels) != entry.n_classes:
        return f"names of {len(labels)} classes, expected {entry.n_classes}"
    if entry.task == "ordinal" and len(np.unique(y)) < entry.n_classes:
        return f"{len(np.unique(y))} distinct targets for {entry.n_classes} classes"
    return ""
