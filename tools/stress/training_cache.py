"""Damaged tables in the cache of `train`: none is used."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np

from facereject.faces.datasets import Problem
from facereject.faces.training.extract import FaceTable, read_table, write_table
from tools.stress.mutations import flipped, mutated
from tools.stress.trial import Trial


def damaged_caches(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` cached tables with one changed bit, or several changed places."""
    warnings.simplefilter("ignore")
    path = folder / "faces-0.table"
    write_table(path, _table())
    whole = path.read_bytes()
    for number in range(count):
        if not trial.goes_on():
            return
        changed = flipped(whole, rng) if number % 2 else mutated(whole, rng)
        path.write_bytes(changed)
        try:
            used = read_table(path)
        except Exception as error:
            trial.check(False, f"damaged cache {number}: {type(error).__name__}: {error}")
            continue
        trial.check((used is None) == (changed != whole), f"damaged cache {number} was used")


def _table(n: int = 6) -> FaceTable:
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 100, (n, 68, 2)).astype(np.float32)
    return FaceTable(
        features=rng.normal(size=(n, 20)).astype(np.float32),
        losses=rng.uniform(1, 9, n),
        detector_scores=rng.normal(size=n),
        sample=np.arange(n),
        variant=np.zeros(n, dtype=np.int64),
        kinds=("clean",) * n,
        landmarks=points,
        truth=points + 1,
        hidden=np.zeros((n, 68), dtype=bool),
        missed=np.zeros(2, dtype=np.int64),
        failed=np.zeros(2, dtype=np.int64),
        problems=(Problem("a.png", "unreadable"),),
    )
