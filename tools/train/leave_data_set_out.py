"""Recipes judged by leaving a data set out: trained on two of HELEN, LFPW and AFW, judged on the third.

    python -m tools.train.leave_data_set_out ../shared/data/faces/300w --cache cache

What is chosen by random folds inside 300-W need not carry over to other photographs. Every row of the table
is judged by linear columns and trees that have seen no photograph of its data set. Printed are, for clean and
degraded faces, the usable share (missed faces count) at the mean errors of the card, AuRC, and the share of
the gap between detector score and oracle that is closed, mean over the data sets.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np

from facereject.faces import FaceDataset
from facereject.faces.features.context import DETECTOR, UNKNOWN_DETECTOR
from facereject.faces.models.ranking import gap_closed, usable_share
from facereject.faces.training.extract import Extractor, FaceTable, extract_together
from facereject.faces.training.fit_compact import (
    LinearFit,
    clean_weights,
    grow_trees,
    learn_columns,
    linear_on_clean,
)
from facereject.faces.training.fit_score import fit_score
from facereject.metrics import aurc
from tools.train.default_model import ALPHA, TARGETS, extractors, set_aside
from tools.train.fit_correction import corrected, fit_correction

CLIP, TREES = 10.0, 150


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=8)
    parser.add_argument("--recipes", nargs="+", help="all if not given")
    parser.add_argument("--jobs", type=int, help="processes; all cores if not given")
    options = parser.parse_args()
    fit, *_ = set_aside(FaceDataset.load(options.data))
    source = np.array([sample.photo.split("/")[0] for sample in fit])
    every = recipes(options.degradations)
    chosen = {name: every[name] for name in options.recipes or every}
    tables = extract_together(fit, list(chosen.values()), workers=options.jobs, cache=options.cache)
    print(f"{'recipe':40s} {'':8s} usable  AuRC   gap closed   " + "   ".join(sorted(set(source))))
    for (name, extractor), table in zip(chosen.items(), tables, strict=True):
        judge(name, table, extractor, source[table.sample])
        judge(f"{name}, corrected", by_other_sets(table, extractor, source), extractor, source[table.sample])


def recipes(degradations: int) -> dict[str, Extractor]:
    """What is compared: one run of the predictor, two as in `default`, and six as in `thorough`."""
    made = extractors(degradations)
    plain = dataclasses.replace(made["default"], stability=None)
    return {"one run": plain, "two runs": made["default"], "six runs": made["thorough"]}


def by_other_sets(table: FaceTable, extractor: Extractor, source: np.ndarray) -> FaceTable:
    """The table with the landmarks of each data set corrected by what the others show."""
    landmarks, losses = table.landmarks.copy(), table.losses.copy()
    for left_out in np.unique(source):
        rows = source[table.sample] == left_out
        others = table.rows(~rows)
        correction, _ = fit_correction(others, extractor, others.sample % 4)
        better = corrected(table.rows(rows), correction)
        landmarks[rows], losses[rows] = better.landmarks, better.losses
    return dataclasses.replace(table, landmarks=landmarks, losses=losses)


def judge(name: str, table: FaceTable, extractor: Extractor, source: np.ndarray) -> None:
    """Print a row for every way to learn from a table."""
    names, fold = np.unique(source, return_inverse=True)
    n_hog = extractor.hog.n_features
    hog = dataclasses.replace(table, features=np.ascontiguousarray(table.features[:, :n_hog]))
    uncertainty = np.empty(len(table))
    for k in range(len(names)):
        fitted = fit_score(hog, "sele", ALPHA, CLIP, rows=fold != k)
        uncertainty[fold == k] = fitted(hog.features[fold == k])
    linear = LinearFit(fitted, uncertainty)
    clean = linear_on_clean(hog, fold, ALPHA, CLIP)
    columns, seen = learn_columns(table, extractor.features, fold, linear, clean)
    without = table.features.copy()
    without[:, -len(DETECTOR) :] = UNKNOWN_DETECTOR
    blind = columns(without, seen[:, : len(columns.offsets)])
    show(f"{name}: linear score", table, fold, names, uncertainty)
    show(f"{name}: detector score", table, fold, names, -table.detector_scores)
    show(name, table, fold, names, out_of_set(table, seen, fold))
    show(f"{name}, without the detector", table, fold, names, out_of_set(table, blind, fold))


def out_of_set(table: FaceTable, seen: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Uncertainty of every row by trees that have seen nothing of its data set."""
    judged = np.empty((len(table), 2))
    for k in np.unique(fold):
        rest = fold != k
        weights = clean_weights(table.clean[rest])
        trees, _ = grow_trees(seen[rest], table.losses[rest], CLIP, weights, n_trees=TREES)
        judged[~rest] = np.column_stack([kind(seen[~rest]) for kind in trees])
    return np.asarray(judged @ (1 / np.maximum(judged[table.clean].std(axis=0), 1e-9)))


def show(label: str, table: FaceTable, fold: Any, names: Any, order: np.ndarray) -> None:
    """Print a line for clean and one for degraded faces."""
    for k, (group, max_error) in enumerate(TARGETS.items()):
        rows = table.clean == (k == 0)
        shares, areas, gaps = [], [], []
        for each in range(len(names)):
            chosen = rows & (fold == each)
            losses, detector = table.losses[chosen], table.detector_scores[chosen]
            # missed faces are not known by data set: they are shared out by its size
            missed = round(float(table.missed[k] * chosen.sum() / rows.sum()))
            shares.append(usable_share(losses, order[chosen], max_error, missed))
            areas.append(aurc(losses, order[chosen]))
            gaps.append(gap_closed(losses, detector, order[chosen]))
        own = "   ".join(f"{share:4.0%}" for share in shares)
        means = f"{np.mean(shares):6.1%} {np.mean(areas):6.3f} {np.mean(gaps):8.1%}"
        print(f"{label:40s} {group:8s} {means}      {own}", flush=True)


if __name__ == "__main__":
    main()
