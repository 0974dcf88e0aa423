"""Experiments behind the explanations in results/README.md: where we differ from the paper, what changes it.

``python tools/reproduce.py explain`` runs them. They vary one thing each and report it; none of them feeds
back into the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from data_scripts import registry
from facereject.metrics import aurc
from facereject.scores import SELEScoreCV
from reproduction import tabular
from reproduction.scheduler import Job
from reproduction.store import Store
from reproduction.summary import PaperTable, cell
from reproduction.tables import markdown

TASK = "explain"
SPLITS = 5
#: Splits of the experiment that asks what is chance; the first five are those of the tables.
MANY_SPLITS = 20
PAPER_GRID = (0, 1, 10, 100, 1000)


def running_share(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Class k ends with the value at which the share of rows so far reaches (k + 1)/Y; no value is split."""
    _, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    shares = np.cumsum(counts) / len(y)
    classes = np.zeros(len(counts), dtype=np.int64)
    current = 0
    for i, share in enumerate(shares):
        classes[i] = current
        if share >= (current + 1) / n_classes - 1e-12 and current < n_classes - 1:
            current += 1
    return classes[inverse]


def quantiles(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Quantiles as thresholds; where several coincide, classes stay empty."""
    return np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y, side="left")


def equal_counts(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Classes of exactly equal size; equal targets are dealt out at random."""
    order = np.lexsort((np.random.default_rng(0).permutation(len(y)), y))
    classes = np.empty(len(y), dtype=np.int64)
    classes[order] = np.arange(len(y)) * n_classes // len(y)
    return classes


RULES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "sizes as equal as ties allow (ours)": registry.bin_target,
    "running share": running_share,
    "quantiles, empty classes kept": quantiles,
    "ties dealt out at random": equal_counts,
}


def binning(dataset: str, folder: Path | None) -> dict[str, list[float]]:
    """R@100 of SVOR for several ways to cut the target into classes."""
    entry = registry.DATASETS[dataset]
    with np.load((folder or registry.find_folder()) / f"{entry.stem}.npz", allow_pickle=False) as table:
        X, target = table["X"].astype(np.float64), table["y"]
    found: dict[str, list[float]] = {}
    for rule, classes in RULES.items():
        y = classes(target, entry.n_classes)
        for split in range(SPLITS):
            train, validation, *_, test = registry.split(dataset, len(y), split)
            predictor = tabular.fit_predictor("SVOR", (X[train], y[train]), (X[validation], y[validation]))
            loss = np.abs(predictor.predict(X[test]) - y[test]).mean()
            found.setdefault(rule, []).append(float(loss))
    return found


def grids(dataset: str, folder: Path | None, kind: str) -> dict[str, list[float]]:
    """AuRC of SELE for our grid of alpha and for the paper's five values, on many splits."""
    X, y = registry.load(dataset, folder)
    found: dict[str, list[float]] = {}
    for split in range(MANY_SPLITS):
        parts = [(X[rows], y[rows]) for rows in registry.split(dataset, len(y), split)]
        predictor = tabular.fit_predictor(kind, *parts[:2])
        train, validation, test = (tabular.judge(kind, predictor, *part) for part in parts[2:])
        # SELE divides losses by their mean, so C of a sum of losses in percent is alpha = C / (n · mean loss)
        unit = len(train.y) * train.losses.mean()
        choices = {"ours": SELEScoreCV(), "paper": SELEScoreCV([c / unit for c in PAPER_GRID])}
        for name, score in choices.items():
            held_out = (validation.X, validation.losses, validation.predictions)
            score.fit(train.X, train.losses, train.predictions, validation=held_out)
            area = aurc(test.losses, score.predict(test.X, test.predictions))
            found.setdefault(name, []).append(float(area))
    return found


EXPERIMENTS: dict[str, tuple[Callable[..., dict[str, list[float]]], tuple[str, ...], float]] = {
    "bins-FACEBOOK": (binning, ("FACEBOOK",), 20),
    "bins-ABALONE": (binning, ("ABALONE",), 10),
    "bins-BANK": (binning, ("BANK",), 10),
    "bins-CPU": (binning, ("CPU",), 10),
    "grids-PENDIGIT-LR": (grids, ("PENDIGIT", "LR"), 60),
    "grids-PENDIGIT-SVM": (grids, ("PENDIGIT", "SVM"), 60),
}


def jobs(store: Store, folder: Path | None, force: bool) -> list[Job]:
    """The experiments without a stored result."""
    return [
        Job(name, cost, compute, (store, name, folder))
        for name, (_, _, cost) in EXPERIMENTS.items()
        if force or store.state(TASK, name, 0) != "done"
    ]


def compute(store: Store, name: str, folder: Path | None) -> None:
    """Run one experiment and save what it found."""
    function, (dataset, *others), _ = EXPERIMENTS[name]
    watch = tabular.Stopwatch()
    found = function(dataset, folder, *others)
    rounded = {key: [tabular.rounded(value) for value in values] for key, values in found.items()}
    result: dict[str, Any] = {"task": TASK, "dataset": name, "split": 0, "settings": store.settings}
    store.save({**result, "found": rounded, **watch.read()})


def blocks(store: Store) -> dict[str, str]:
    """Tables of the experiments at hand, for README.md."""
    found = {name: results[0]["found"] for name, results in store.load(TASK).items()}
    paper = PaperTable("SVOR")
    bins = [
        [
            name.split("-")[1],
            *(str(cell(values[rule])) for rule in RULES),
            str(paper.r100(name.split("-")[1])),
        ]
        for name, values in found.items()
        if name.startswith("bins-")
    ]
    chance = []
    for name, values in found.items():
        if name.startswith("grids-"):
            _, dataset, kind = name.split("-")
            ours, five = values["ours"], values["paper"]
            cells = [ours[:SPLITS], ours, five[:SPLITS], five]
            printed = PaperTable(kind).aurc(dataset, "SELE")
            chance.append([f"{dataset}, {kind}", *(str(cell(part)) for part in cells), str(printed)])
    made = {}
    if bins:
        made["explain-bins"] = markdown(["R@100 of SVOR", *RULES, "paper"], bins)
    if chance:
        header = [
            f"{grid}, {n} splits" for grid in ("our grid", "the paper's") for n in (SPLITS, MANY_SPLITS)
        ]
        made["explain-grids"] = markdown(["AuRC of SELE", *header, "paper, 5 splits"], chance)
    return made
