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
from facereject.scores import MarginScore, SELEScoreCV
from reproduction import tabular
from reproduction.scheduler import Job
from reproduction.store import Store
from reproduction.summary import PaperTable, cell
from reproduction.tables import markdown

TASK = "explain"
SPLITS = 5
#: Splits of the experiment that asks what is chance; the first five are those of the tables.
MANY_SPLITS = 20
CS = tabular.CS
PAPER_GRID = (0, *CS)


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
    """R@100 of SVOR and AuRC of the scores for several ways to cut the target into classes."""
    entry = registry.DATASETS[dataset]
    with np.load((folder or registry.find_folder()) / f"{entry.stem}.npz", allow_pickle=False) as table:
        X, target = table["X"].astype(np.float64), table["y"]
    found: dict[str, list[float]] = {}
    for rule, classes in RULES.items():
        y = classes(target, entry.n_classes)
        for split in range(SPLITS):
            parts = [(X[rows], y[rows]) for rows in registry.split(dataset, len(y), split)]
            predictor = tabular.fit_predictor("SVOR", *parts[:2])
            train, validation, test = (tabular.judge("SVOR", predictor, *part) for part in parts[2:])
            found.setdefault(f"R@100, {rule}", []).append(float(test.losses.mean()))
            fits = tabular.score_fits("SVOR", predictor, train, validation, trees=0)
            for method in PaperTable("SVOR").methods:
                area = aurc(test.losses, fits[method](test)[0])
                found.setdefault(f"{method}, {rule}", []).append(area)
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


def margins(dataset: str, folder: Path | None) -> dict[str, list[float]]:
    """Validation error and AuRC of the margin score at each c of the SVM or SVOR."""
    X, y = registry.load(dataset, folder)
    kind = _machine(dataset)
    found: dict[str, list[float]] = {}
    for split in range(SPLITS):
        train, validation, *_, test = ((X[rows], y[rows]) for rows in registry.split(dataset, len(y), split))
        for c in CS:
            predictor = tabular.fit_predictor(kind, train, validation, cs=(c,))
            found.setdefault(f"validation {c}", []).append(float(predictor[-1].validation_losses_[0]))
            part = tabular.judge(kind, predictor, *test)
            area = aurc(part.losses, MarginScore(predictor).predict(part.X))
            found.setdefault(f"margin {c}", []).append(area)
    return found


TARGETS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean of four runs (ours)": lambda runs: runs.mean(axis=1),
    "first run": lambda runs: runs[:, 0],
    "fastest run": lambda runs: runs.min(axis=1),
}


def targets(dataset: str, folder: Path | None) -> dict[str, list[float]]:
    """AuRC of the margin score when other summaries of the run times in GPU are predicted."""
    entry = registry.DATASETS[dataset]
    with np.load((folder or registry.find_folder()) / f"{entry.stem}.npz", allow_pickle=False) as table:
        X, runs = table["X"].astype(np.float64), table["runs_ms"].astype(np.float64)
    found: dict[str, list[float]] = {}
    for name, summary in TARGETS.items():
        y = registry.bin_target(summary(runs), entry.n_classes)
        for split in range(SPLITS):
            parts = [(X[rows], y[rows]) for rows in registry.split(dataset, len(y), split)]
            predictor = tabular.fit_predictor("SVOR", *parts[:2])
            test = tabular.judge("SVOR", predictor, *parts[4])
            area = aurc(test.losses, MarginScore(predictor).predict(test.X))
            found.setdefault(name, []).append(area)
    return found


def _machine(dataset: str) -> str:
    return "SVM" if registry.DATASETS[dataset].task == "classification" else "SVOR"


EXPERIMENTS: dict[str, tuple[Callable[..., dict[str, list[float]]], tuple[str, ...], float]] = {
    "bins-FACEBOOK": (binning, ("FACEBOOK",), 20),
    "bins-ABALONE": (binning, ("ABALONE",), 10),
    "bins-BANK": (binning, ("BANK",), 10),
    "bins-CPU": (binning, ("CPU",), 10),
    "margins-MARKETING": (margins, ("MARKETING",), 10),
    "margins-GPU": (margins, ("GPU",), 20),
    "targets-GPU": (targets, ("GPU",), 30),
    "grids-PENDIGIT-LR": (grids, ("PENDIGIT", "LR"), 60),
    "grids-PENDIGIT-SVM": (grids, ("PENDIGIT", "SVM"), 60),
}
_GRIDS = {"ours": "our grid", "paper": "the paper's"}
HEADERS = {
    "bins": ["SVOR", *RULES, "paper"],
    "grids": [
        "AuRC of SELE",
        *(f"{grid}, {n} splits" for grid in _GRIDS.values() for n in (SPLITS, MANY_SPLITS)),
        "paper",
    ],
    "margins": ["AuRC of the margin score (error on Val1)", *(f"c = {c}" for c in CS), "paper"],
    "targets": ["AuRC of the margin score", *TARGETS, "paper"],
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
    rows: dict[str, list[list[str]]] = {}
    for name, results in store.load(TASK).items():
        values = results[0]["found"]
        experiment, dataset, *kind = name.split("-")
        cells = {key: str(cell(value)) for key, value in values.items()}
        title, paper = dataset, PaperTable(kind[0] if kind else _machine(dataset))
        if experiment == "bins":
            for what in ("R@100", *paper.methods):
                printed = paper.r100(dataset) if what == "R@100" else paper.aurc(dataset, what)
                row = [f"{dataset} {what}", *(cells[f"{what}, {rule}"] for rule in RULES), str(printed)]
                rows.setdefault(experiment, []).append(row)
            continue
        if experiment == "grids":
            parts = [values[grid][:n] for grid in _GRIDS for n in (SPLITS, MANY_SPLITS)]
            title, row = f"{dataset}, {kind[0]}", [str(cell(part)) for part in parts]
            printed = paper.aurc(dataset, "SELE")
        elif experiment == "margins":
            # the error is a fraction in classification, where the tables have percent
            scale = 100 if _machine(dataset) == "SVM" else 1
            errors = [scale * np.mean(values[f"validation {c}"]) for c in CS]
            row = [f"{cells[f'margin {c}']} ({error:.2f})" for c, error in zip(CS, errors, strict=True)]
            printed = paper.aurc(dataset, "Margin")
        else:
            row, printed = [cells[name] for name in TARGETS], paper.aurc(dataset, "Margin")
        rows.setdefault(experiment, []).append([title, *row, str(printed)])
    return {f"explain-{name}": markdown(HEADERS[name], table) for name, table in rows.items()}
