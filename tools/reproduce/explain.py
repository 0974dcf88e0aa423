"""Experiments behind the explanations in results/README.md: where we differ from the paper, what changes it.

``python -m tools.reproduce explain`` runs them. They vary one thing each and report it; none of them feeds
back into the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from data_scripts import registry
from facereject.losses import zero_one_loss
from facereject.metrics import aurc
from facereject.predictors import SVMClassifier
from facereject.scores import MarginScore, SELEScoreCV
from tools.reproduce import tabular
from tools.reproduce.scheduler import Job
from tools.reproduce.store import Store
from tools.reproduce.summary import PaperTable

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
        for key, values in _paper_scores("SVOR", dataset, X, y).items():
            found[f"{key}, {rule}"] = values
    return found


def _paper_scores(
    kind: str, dataset: str, X: np.ndarray, y: np.ndarray, n_splits: int = SPLITS, cs: tuple[float, ...] = CS
) -> dict[str, list[float]]:
    """R@100 of a predictor and AuRC of the paper's scores on it, per split."""
    found: dict[str, list[float]] = {}
    for split in range(n_splits):
        parts = [(X[rows], y[rows]) for rows in registry.split(dataset, len(y), split)]
        predictor = tabular.fit_predictor(kind, *parts[:2], cs=cs)
        train, validation, test = (tabular.judge(kind, predictor, *part) for part in parts[2:])
        found.setdefault("R@100", []).append(float(test.losses.mean()))
        fits = tabular.score_fits(kind, predictor, train, validation, trees=0)
        for method in PaperTable(kind).methods:
            found.setdefault(method, []).append(aurc(test.losses, fits[method](test)[0]))
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


def chance(dataset: str, folder: Path | None, kind: str) -> dict[str, list[float]]:
    """AuRC of the paper's scores on many splits: which of them leads may be luck."""
    return _paper_scores(kind, dataset, *registry.load(dataset, folder), n_splits=MANY_SPLITS)


WEAK_CS = {"chosen from 1 … 1000 (ours)": CS, "c = 0.1": (0.1,), "c = 0.01": (0.01,), "c = 0.001": (0.001,)}


def weaker(dataset: str, folder: Path | None, kind: str) -> dict[str, list[float]]:
    """The same with a predictor that is regularised less than the paper's grid allows."""
    X, y = registry.load(dataset, folder)
    found: dict[str, list[float]] = {}
    for choice, cs in WEAK_CS.items():
        for key, values in _paper_scores(kind, dataset, X, y, cs=cs).items():
            found[f"{key}, {choice}"] = values
    return found


def margins(dataset: str, folder: Path | None) -> dict[str, list[float]]:
    """Validation error and AuRC of the margin score at each c of the SVM or SVOR."""
    X, y = registry.load(dataset, folder)
    kind = machine(dataset)
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


COLUMNS: dict[str, tuple[str, ...]] = {"all (ours)": (), "without the hour": ("hour",)}


def columns(dataset: str, folder: Path | None) -> dict[str, list[float]]:
    """R@100 and AuRC when columns are left out that the paper may have coded in another way."""
    X, y = registry.load(dataset, folder)
    with np.load((folder or registry.find_folder()) / f"{dataset.lower()}.npz", allow_pickle=False) as table:
        names = [str(name) for name in table["feature_names"]]
    found: dict[str, list[float]] = {}
    for choice, left_out in COLUMNS.items():
        kept = [k for k, name in enumerate(names) if name not in left_out]
        for key, values in _paper_scores("SVOR", dataset, X[:, kept], y).items():
            found[f"{key}, {choice}"] = values
    return found


GAPS = (0.1, 0.01, 0.003)


def accuracy(dataset: str, folder: Path | None) -> dict[str, list[float]]:
    """AuRC of the margin score of SVMs trained to several relative gaps, on one split."""
    X, y = registry.load(dataset, folder)
    train, *_, test = registry.split(dataset, len(y), 0)
    scaler = StandardScaler().fit(X[train])
    Z, Z_test = scaler.transform(X[train]), scaler.transform(X[test])
    found: dict[str, list[float]] = {}
    for c in (CS[0], CS[-1]):
        for gap in GAPS:
            machine = SVMClassifier(c / len(train), tol=gap).fit(Z, y[train])
            losses = 100.0 * zero_one_loss(y[test], machine.predict(Z_test))
            found[f"c = {c}, gap {gap:g}"] = [aurc(losses, MarginScore(machine).predict(Z_test))]
    return found


def trees(dataset: str, folder: Path | None) -> dict[str, list[float]]:
    """R@100 of a random forest trained like the linear predictors: could trees predict the class itself?"""
    X, y = registry.load(dataset, folder)
    found: dict[str, list[float]] = {"forest": []}
    for split in range(SPLITS):
        train, *_, test = registry.split(dataset, len(y), split)
        forest = RandomForestClassifier(200, random_state=split).fit(X[train], y[train])
        found["forest"].append(float(100.0 * zero_one_loss(y[test], forest.predict(X[test])).mean()))
    return found


def machine(dataset: str) -> str:
    return "SVM" if registry.DATASETS[dataset].task == "classification" else "SVOR"


EXPERIMENTS: dict[str, tuple[Callable[..., dict[str, list[float]]], tuple[str, ...], float]] = {
    "bins-FACEBOOK": (binning, ("FACEBOOK",), 20),
    "bins-ABALONE": (binning, ("ABALONE",), 10),
    "bins-BANK": (binning, ("BANK",), 10),
    "bins-CPU": (binning, ("CPU",), 10),
    "trees-AVILA": (trees, ("AVILA",), 20),
    "trees-IJCNN": (trees, ("IJCNN",), 20),
    "trees-SHUTTLE": (trees, ("SHUTTLE",), 20),
    "columns-METRO": (columns, ("METRO",), 20),
    "accuracy-COVTYPE": (accuracy, ("COVTYPE",), 80),
    "weaker-PENDIGIT-LR": (weaker, ("PENDIGIT", "LR"), 60),
    "weaker-SATTELITE-LR": (weaker, ("SATTELITE", "LR"), 60),
    "chance-PENDIGIT-LR": (chance, ("PENDIGIT", "LR"), 60),
    "chance-SHUTTLE-LR": (chance, ("SHUTTLE", "LR"), 60),
    "chance-PHISHING-LR": (chance, ("PHISHING", "LR"), 60),
    "chance-SATTELITE-LR": (chance, ("SATTELITE", "LR"), 60),
    "margins-MARKETING": (margins, ("MARKETING",), 10),
    "margins-GPU": (margins, ("GPU",), 20),
    "targets-GPU": (targets, ("GPU",), 30),
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
