"""The recipe of the shipped models on one split: trees on compact features, without and with two more runs.

Trees see the training faces of the split alone; alpha of their linear columns and the number of trees come
from cross-validation among those, so that the validation faces are not used. Half of the trees are by SELE,
half by least squares on the log error. With two more runs, on mirrored and turned pictures, the landmarks are
the mean of three: errors, detector's area and oracle are then other ones.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces import LandmarkPredictor
from facereject.faces.features.recipe import MirroredRuns
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.train import train_on_table
from tools.reproduce.landmark_scores import Effort, Score, split_rows, tested
from tools.reproduce.landmark_statistics import DETECTOR, TestPart
from tools.reproduce.landmark_tables import extractor_of, without_stability

#: the score without further runs, and with them
TREES, RUNS = "compact trees", "compact trees, three runs"


def evaluate_trees(
    table: FaceTable, runs: FaceTable, photographs: dict[str, Sequence[str]], split: int, effort: Effort
) -> dict[str, Any]:
    """Train and test both scores on one split.

    Parameters
    ----------
    table, runs : FaceTable
        Without and with `MirroredRuns`, as in `tools.reproduce.landmark_tables.Faces`.
    photographs : dict of str to sequence of str
        By score, per row of its table, what must stay in one part.
    split : int
    effort : Effort

    Returns
    -------
    dict
        By score what `tools.reproduce.landmark_scores.evaluate_split` stores, without learning curves.
    """
    start = time.process_time()
    plain = dataclasses.replace(table, features=without_stability(table.features))
    result: dict[str, Any] = {
        TREES: _evaluate(TREES, plain, photographs[TREES], split, effort),
        RUNS: _evaluate(RUNS, runs, photographs[RUNS], split, effort),
    }
    return {**result, "cpu_seconds": round(time.process_time() - start, 1)}


def fit_trees(
    table: FaceTable, photographs: Sequence[str], train: NDArray[np.intp], runs: bool
) -> tuple[Score, int]:
    """The compact score of some rows of a table, and its number of trees."""
    extractor = extractor_of(LandmarkPredictor(), MirroredRuns() if runs else None)
    names = dict(zip(table.sample.tolist(), photographs, strict=True))
    of_sample = [names.get(i, "") for i in range(1 + max(names))]
    # all photographs are clean: a score for clean ones alone would be the first one once more
    rejector = train_on_table(table.rows(train), of_sample, extractor, "compact", clean_errors=False)
    score: Any = rejector.score
    return score, len(score.trees.roots)


def _evaluate(
    method: str, table: FaceTable, photographs: Sequence[str], split: int, effort: Effort
) -> dict[str, Any]:
    parts = split_rows(photographs, split)
    test = parts.test
    start = time.process_time()
    score, n_trees = fit_trees(table, photographs, parts.train, method == RUNS)
    seconds = round(time.process_time() - start, 2)
    scores = {DETECTOR: -table.detector_scores[test], method: score(table.features[test])}
    number = np.unique(np.asarray(photographs), return_inverse=True)[1]
    reports: dict[str, dict[str, Any]] = {DETECTOR: {}, method: {"cpu_seconds": seconds, "trees": n_trees}}
    return tested(TestPart(number[test], table.losses[test], scores), reports, effort)
