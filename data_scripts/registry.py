"""The paper's 22 tables: load one, cut its target into classes, split its rows.

>>> X, y = load("LETTER")
>>> train1, val1, train2, val2, test = split("LETTER", len(y), seed=0)

What each table is, and where its original is published, stands in ``catalogue.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from data_scripts.catalogue import DATASETS, DataSet, Original

__all__ = [
    "DATASETS",
    "DataError",
    "DataSet",
    "Original",
    "bin_target",
    "bin_target_above_lowest",
    "cut",
    "find_folder",
    "get",
    "is_partial",
    "load",
    "split",
]


class DataError(RuntimeError):
    """A table or its original cannot be had; the message says what to do."""


def get(name: str) -> DataSet:
    """The entry of a data set; upper and lower case do not matter."""
    try:
        return DATASETS[name.upper()]
    except KeyError:
        raise DataError(f"no data set {name!r}; there are {', '.join(DATASETS)}") from None


def find_folder() -> Path:
    """The folder of the .npz files: uci/ in $FACEREJECT_DATA, else ../shared/data/uci beside the checkout."""
    given = os.environ.get("FACEREJECT_DATA")
    folder = (Path(given) if given else Path(__file__).parents[2] / "shared" / "data") / "uci"
    if not folder.is_dir():
        raise DataError(
            f"no folder {folder}: set FACEREJECT_DATA to the folder that holds uci/, or make the tables with"
            f" `python data_scripts/tables.py --all --out {folder}`"
        )
    return folder


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    bins: Callable[[np.ndarray, int], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, d) as float64 and classes (n,) as integers 0 … Y − 1 of one table.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : path or None
        Where the .npz files are; None asks ``find_folder``.
    bins : callable or None
        Cuts the real target of an ordinal set, all rows at once, into the paper's Y classes. None is
        ``bin_target``; ``bin_target_above_lowest`` is the rule of two of the authors' scripts.
    """
    entry = get(name)
    path = Path(folder if folder is not None else find_folder()) / f"{entry.stem}.npz"
    if not path.is_file():
        raise DataError(
            f"no file {path}: `python data_scripts/tables.py {entry.name} --out {path.parent}` makes it"
        )
    with np.load(path, allow_pickle=False) as table:
        X, y = table["X"].astype(np.float64), table["y"]
    if entry.task == "ordinal":
        return X, (bins or bin_target)(y, entry.n_classes)
    return X, y.astype(np.int64)


def is_partial(name: str, rows: int) -> bool:
    """Whether a table of that many rows lacks rows the paper had."""
    return rows < get(name).paper_rows


def split(name: str, n: int, seed: int = 0) -> list[np.ndarray]:
    """Row numbers of Trn1, Val1, Trn2, Val2 and Tst, drawn at random."""
    return cut(n, get(name).fractions, seed)


def cut(n: int, fractions: tuple[float, ...], seed: int = 0) -> list[np.ndarray]:
    """Row numbers in random parts of the given sizes; the last part takes what the fractions leave."""
    bounds = np.rint(n * np.cumsum(fractions)).astype(int)
    return np.split(np.random.default_rng(seed).permutation(n), bounds)


def bin_target(y: np.ndarray, n_classes: int = 10) -> np.ndarray:
    """A real target cut into ``n_classes`` classes of sizes as equal as its ties allow.

    Equal targets stay in one class and no class is empty. Among all such cuts this is the one with the
    smallest Σ_k (size of class k)², which is also the nearest to the uniform prior in squared distance.

    Quantiles as thresholds would do for a target without ties. Where one value is more frequent than 1/Y
    (FACEBOOK: half of the posts get no comment; BANK: a fifth of the targets is 0; every usual age in
    ABALONE), several quantiles coincide, which leaves classes empty and so stretches the absolute error.

    On ABALONE the result is what the authors' own script does by hand: every number of rings a class, with
    1 to 3 merged and 21 to 29 merged. On MSD, cut to the 41 years of that script, it is one class per year.
    """
    values, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(values) < n_classes:
        raise ValueError(f"{len(values)} distinct targets cannot make {n_classes} classes")
    ends = np.concatenate([[0], np.cumsum(counts)]).tolist()
    # least[j]: smallest sum of squares of the first j values in the classes so far; start[k][j]: where the
    # last of k + 1 classes starts
    least = [end * end for end in ends]
    starts = []
    for _ in range(n_classes - 1):
        least, start = _one_class_more(least, ends)
        starts.append(start)
    classes = np.zeros(len(values), dtype=np.int64)
    last = len(values)
    for k in range(n_classes - 1, 0, -1):
        first = starts[k - 1][last]
        classes[first:last] = k
        last = first
    return classes[inverse.reshape(-1)]


def bin_target_above_lowest(y: np.ndarray, n_classes: int = 10) -> np.ndarray:
    """Quantiles of the targets above the lowest one as thresholds; the lowest joins the first class.

    The rule of the authors' scripts for BANK and METRO, there on a histogram of 2,000 bars: with n₀ targets
    at the lowest value, class k ends at the last value whose cumulative count is at most
    n₀ + k (n − n₀) / Y. Classes may be empty (FACEBOOK's second is). Kept to explain differences.
    """
    values, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    lowest = ends[0]
    limits = lowest + np.arange(1, n_classes) * (ends[-1] - lowest) / n_classes
    last = np.searchsorted(ends, limits, side="right")
    return np.searchsorted(last, np.arange(len(values)), side="right")[inverse.reshape(-1)]


def _one_class_more(least: list[int], ends: list[int]) -> tuple[list[int], list[int]]:
    """min_i least[i] + (ends[j] − ends[i])² and its i, for every j.

    Without the term ends[j]² these are lines in ends[j] with falling slopes −2 ends[i]; j walks along their
    lower envelope, so the whole costs O(number of values). Empty classes never win: splitting a class of
    two or more values makes the sum smaller.
    """
    hull: list[tuple[int, int, int]] = []
    front = 0
    values, start = [], []
    for i, (best, end) in enumerate(zip(least, ends, strict=True)):
        slope, height = -2 * end, best + end * end
        while len(hull) - front >= 2:
            (m0, h0, _), (m1, h1, _) = hull[-2], hull[-1]
            # the last line is nowhere the lowest if the new one meets the one before it earlier
            if (height - h0) * (m0 - m1) > (h1 - h0) * (m0 - slope):
                break
            hull.pop()
        hull.append((slope, height, i))
        while len(hull) - front >= 2 and hull[front + 1][0] * end + hull[front + 1][1] <= (
            hull[front][0] * end + hull[front][1]
        ):
            front += 1
        m, h, first = hull[front]
        values.append(m * end + h + end * end)
        start.append(first)
    return values, start
