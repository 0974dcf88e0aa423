"""The real tables and the paper's split of their rows, for the scripts beside this file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

DATA = Path(os.environ.get("FACEREJECT_DATA") or Path(__file__).parents[3] / "shared" / "data") / "uci"
# share of the rows in Trn1, Val1, Trn2 and Val2; the test part takes the rest
FRACTIONS = {"codrna": (0.25, 0.05, 0.20, 0.20), "covtype": (0.28, 0.20, 0.02, 0.20)}
USUAL_FRACTIONS = (0.30, 0.10, 0.30, 0.10)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and target of one table."""
    path = DATA / f"{name}.npz"
    if not path.is_file():
        sys.exit(f"{path} is missing: set FACEREJECT_DATA to the folder that holds uci/")
    with np.load(path) as table:
        return table["X"].astype(np.float64), table["y"]


def split(name: str, n: int, seed: int = 0) -> list[np.ndarray]:
    """Row numbers of Trn1, Val1, Trn2, Val2 and Tst, drawn at random."""
    return cut(n, FRACTIONS.get(name, USUAL_FRACTIONS), seed)


def cut(n: int, fractions: tuple[float, ...], seed: int = 0) -> list[np.ndarray]:
    """Row numbers in random parts of the given sizes; the last part takes what the fractions leave."""
    bounds = np.rint(n * np.cumsum(fractions)).astype(int)
    return np.split(np.random.default_rng(seed).permutation(n), bounds)


def bin_target(y: np.ndarray, n_classes: int = 10) -> np.ndarray:
    """A real target cut into classes of equal size, as the paper does for ordinal regression."""
    return np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y, side="left")
