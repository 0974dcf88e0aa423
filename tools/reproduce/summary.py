"""Stored results as tables of numbers beside the paper's, and the statistics computed on both."""

from __future__ import annotations

import json
import math
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from facereject.comparison import FriedmanResult, NemenyiResult, friedman, nemenyi, summarize_splits

PAPER = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "paper_tables.json"
#: The paper's tables call it by another name than its list of data sets.
ALIASES = {"SUPERCONDUCT": "SUPERCOND"}
TASK_OF = {"LR": "classification", "SVM": "classification", "SVOR": "ordinal"}
#: Columns that the paper lacks.
EXTRA = ("SELE-500", "BoostedSELE")
NEMENYI_LEVEL = 0.10
PAPER_SPLITS = 5
#: Student's t for two means of five: 95 %, eight degrees of freedom.
T_QUANTILE = 2.31


class Cell(NamedTuple):
    """Mean and standard deviation over splits; the latter NaN for a single split."""

    mean: float
    std: float

    def __str__(self) -> str:
        digits = 2 if self.mean < 100 else 1
        spread = "" if math.isnan(self.std) else f" ± {self.std:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


class Statistics(NamedTuple):
    """Ranks over data sets and the two tests on them."""

    methods: tuple[str, ...]
    n_datasets: int
    friedman: FriedmanResult
    nemenyi: NemenyiResult


def statistics(methods: tuple[str, ...], values: np.ndarray) -> Statistics:
    """Friedman and Nemenyi on a table (n_datasets, n_methods)."""
    found = friedman(values)
    return Statistics(
        methods,
        len(values),
        found,
        nemenyi(found.average_ranks, len(values), alpha=NEMENYI_LEVEL),
    )


class PaperTable:
    """The paper's table of one predictor."""

    def __init__(self, predictor: str):
        table = json.loads(PAPER.read_text())[predictor]
        self.methods: tuple[str, ...] = tuple(table["methods"])
        self.rows = {ALIASES.get(row["name"], row["name"]): row for row in table["datasets"]}

    def aurc(self, dataset: str, method: str) -> Cell:
        row, k = self.rows[dataset], self.methods.index(method)
        return Cell(row["aurc_mean"][k], row["aurc_std"][k])

    def r100(self, dataset: str) -> Cell:
        row = self.rows[dataset]
        return Cell(row["r100_mean"], row["r100_std"])

    def statistics(self, datasets: list[str] | None = None) -> Statistics:
        """Ranks and tests on the printed means of these data sets (default all)."""
        names = list(self.rows) if datasets is None else datasets
        return statistics(self.methods, np.array([self.rows[name]["aurc_mean"] for name in names]))


class OurTable:
    """Our results for one predictor; the data sets in the order of the paper's table.

    Parameters
    ----------
    predictor : str
        "LR", "SVM" or "SVOR".
    results : dict of str to list of dict
        Per data set the stored results of its splits.
    partial : set of str
        Data sets of which only a part of the paper's examples is at hand.
    """

    def __init__(self, predictor: str, results: dict[str, list[dict[str, Any]]], partial: set[str]):
        self.predictor = predictor
        self.paper = PaperTable(predictor)
        names = [name for name in self.paper.rows if name in results]
        self.complete = [name for name in names if name not in partial]
        self.partial = [name for name in names if name in partial]
        self.datasets = self.complete + self.partial
        self.results = {name: [one["predictors"][predictor] for one in results[name]] for name in names}
        self.n_splits = {name: len(results[name]) for name in names}
        self.methods = self.paper.methods
        self.baseline = self.methods[0]

    def values(self, dataset: str, method: str) -> np.ndarray:
        """AuRC of each split."""
        return np.array([one["scores"][method]["aurc"] for one in self.results[dataset]])

    def aurc(self, dataset: str, method: str) -> Cell:
        return cell(self.values(dataset, method))

    def r100(self, dataset: str) -> Cell:
        return cell(np.array([one["r100"] for one in self.results[dataset]]))

    def oracle(self, dataset: str) -> Cell:
        return cell(np.array([one["oracle_aurc"] for one in self.results[dataset]]))

    def facts(self, dataset: str, method: str, fact: str) -> list[Any]:
        """alpha, trees, cpu_seconds … of a score, one per split."""
        return [one["scores"][method][fact] for one in self.results[dataset]]

    def means(self, methods: tuple[str, ...], datasets: list[str] | None = None) -> np.ndarray:
        names = self.complete if datasets is None else datasets
        return np.array([[self.aurc(name, method).mean for method in methods] for name in names])

    @cached_property
    def statistics(self) -> Statistics | None:
        """Ranks and tests over the complete data sets; None where there are fewer than two."""
        return self.statistics_of(self.methods)

    def statistics_of(self, methods: tuple[str, ...]) -> Statistics | None:
        return statistics(methods, self.means(methods)) if len(self.complete) > 1 else None


def cell(values: Any) -> Cell:
    """Mean and standard deviation of one value per split."""
    mean, std = summarize_splits(values)
    return Cell(float(mean), float(std))


def agreement(ours: Cell, paper: Cell, n_splits: int) -> str:
    """Our mean against the paper's: "≈", "↓" lower (better) or "↑" higher; "⇊" or "⇈" if clearly so.

    "≈" is a difference below :data:`T_QUANTILE` standard errors, those of two independent means over splits;
    clear is one above two standard deviations of single splits.
    """
    spread = 0.0 if math.isnan(ours.std) else ours.std
    difference = ours.mean - paper.mean
    # half a unit of the last printed digit is no difference
    gap = max(0.0, abs(difference) - 0.005)
    error = math.sqrt(spread**2 / n_splits + paper.std**2 / PAPER_SPLITS)
    if gap <= T_QUANTILE * error:
        return "≈"
    clear = gap > 2.0 * math.hypot(spread, paper.std)
    if difference < 0:
        return "⇊" if clear else "↓"
    return "⇈" if clear else "↑"


def r100_agrees(ours: Cell, paper: Cell) -> bool:
    """The bar for R@100: within three of the paper's standard deviations or 5 %, whichever is larger."""
    return abs(ours.mean - paper.mean) <= max(3.0 * paper.std, 0.05 * paper.mean)


def sele_reaches_paper(ours: Cell, paper: Cell) -> bool:
    """The bar for SELE: at most two of the paper's standard deviations above its mean."""
    return ours.mean <= paper.mean + 2.0 * paper.std
