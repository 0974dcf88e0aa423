"""One split of the landmark experiment: scores trained, regularised on validation faces, and tested.

Photographs, near-identical ones as one, are drawn 60/20/20 into training, validation and test. REG, SELE and
BoostedSELE see the 2,448 HOG values; a last score sees 68 stability values besides, which the paper lacks.
Nothing is chosen by test faces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces import LandmarkHOG
from facereject.faces.features.recipe import LandmarkStability
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.train import photo_folds
from facereject.metrics import aurc, risk_at_coverage
from facereject.scores import BoostedSELEScore, RegressionScoreCV, SELEScoreCV
from tools.reproduce.boosting import AS_PUBLISHED
from tools.reproduce.landmark_statistics import DETECTOR, TestPart, bootstrap_areas

#: at which selective risks are reported
COVERAGES = (0.1, 0.5, 0.8, 0.9, 1.0)
REG, SELE, BOOSTED, STABLE = "REG", "SELE", "BoostedSELE", "SELE + stability"

# So near the optimum that the ranking does not depend on where the solver stopped.
_TOLERANCE = 1e-4
_N_HOG = LandmarkHOG().n_features


#: rows of features in, uncertainties out
Score = Callable[[NDArray[np.float32]], NDArray[np.float64]]


class Effort(NamedTuple):
    """What may be cut short in a quick run."""

    trees: int = 500
    resamples: int = 1000
    shares: tuple[float, ...] = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)


class Parts(NamedTuple):
    """Row numbers of a table."""

    train: NDArray[np.intp]
    validation: NDArray[np.intp]
    test: NDArray[np.intp]


def split_rows(photographs: Sequence[str], split: int) -> Parts:
    """Rows 60/20/20 by photograph: three, one and one of five random folds.

    Seeds start at 1: the predictors are cross-fitted with seed 0, and equal seeds would test every score on
    faces of one predictor only.
    """
    fold = photo_folds(photographs, 5, split + 1)
    return Parts(np.flatnonzero(fold >= 2), np.flatnonzero(fold == 1), np.flatnonzero(fold == 0))


def make_scores(effort: Effort) -> dict[str, tuple[Callable[[], Any], bool]]:
    """Per method, what makes an unfitted score, and whether it sees the stability values."""
    return {
        REG: (RegressionScoreCV, False),
        SELE: (lambda: SELEScoreCV(tol=_TOLERANCE), False),
        BOOSTED: (lambda: BoostedSELEScore(effort.trees, **AS_PUBLISHED), False),
        STABLE: (lambda: SELEScoreCV(tol=_TOLERANCE), True),
    }


def fit(
    method: str, table: FaceTable, train: NDArray[np.intp], validation: NDArray[np.intp], effort: Effort
) -> tuple[Score, dict[str, Any]]:
    """A function from rows of features to uncertainties, and a report on the fit."""
    make, stable = make_scores(effort)[method]
    width = _N_HOG + (LandmarkStability().n_features if stable else 0)
    features = np.ascontiguousarray(table.features[:, :width])
    start = time.process_time()
    score = make().fit(
        features[train], table.losses[train], validation=(features[validation], table.losses[validation])
    )
    report: dict[str, Any] = {"cpu_seconds": round(time.process_time() - start, 2)}
    if hasattr(score, "alpha_"):
        report["alpha"] = score.alpha_
        report["validation_aurc"] = dict(
            zip(map(str, score.alphas_.tolist()), score.validation_aurc_.round(4).tolist(), strict=True)
        )
    else:
        report["trees"] = score.n_estimators_
    return lambda rows: score.predict(np.ascontiguousarray(rows[:, :width])), report


def evaluate_split(
    table: FaceTable, photographs: Sequence[str], split: int, effort: Effort
) -> dict[str, Any]:
    """Train, choose and test all methods on one split.

    Parameters
    ----------
    table : FaceTable
    photographs : sequence of str
        Per row of the table, what must stay in one part.
    split : int
        Number of the split, and its seed.
    effort : Effort
    """
    start = time.process_time()
    parts = split_rows(photographs, split)
    test = parts.test
    scores = {DETECTOR: -table.detector_scores[test]}
    reports: dict[str, dict[str, Any]] = {DETECTOR: {}}
    learned = {}
    for method in make_scores(effort):
        learned[method], reports[method] = fit(method, table, parts.train, parts.validation, effort)
        scores[method] = learned[method](table.features[test])
    number = np.unique(np.asarray(photographs), return_inverse=True)[1]
    return {
        "faces": {name: len(rows) for name, rows in parts._asdict().items()},
        "photographs": {name: len(np.unique(number[rows])) for name, rows in parts._asdict().items()},
        **tested(TestPart(number[test], table.losses[test], scores), reports, effort),
        "learning": {
            method: learning_curve(method, learned[method], table, number, parts, split, effort)
            for method in (REG, SELE, BOOSTED)
        },
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def tested(part: TestPart, reports: dict[str, dict[str, Any]], effort: Effort) -> dict[str, Any]:
    """What is stored of the test faces: reports on the fits, with areas and selective risks added."""
    areas = bootstrap_areas([part], effort.resamples)
    for method, report in reports.items():
        report |= {
            "aurc": areas.value[method],
            "interval": areas.interval(method),
            "risk_at": {f"{c:g}": risk_at_coverage(part.losses, part.scores[method], c) for c in COVERAGES},
        }
    return {
        "mean_loss": float(part.losses.mean()),
        "oracle_aurc": aurc(part.losses, part.losses),
        "methods": reports,
        "test": pack(part),
    }


def learning_curve(
    method: str,
    whole: Score,
    table: FaceTable,
    number: NDArray[np.intp],
    parts: Parts,
    split: int,
    effort: Effort,
) -> list[dict[str, float]]:
    """AuRC on training, validation and test faces for growing sets of photographs, each within the next.

    ``whole`` is the score trained on all of them; the validation faces are always the same.
    """
    photographs = np.random.default_rng([split, 1]).permutation(np.unique(number[parts.train]))
    curve = []
    for share in effort.shares:
        chosen = photographs[: round(share * len(photographs))]
        train = parts.train[np.isin(number[parts.train], chosen)]
        predict = whole if share == 1 else fit(method, table, train, parts.validation, effort)[0]
        areas = {
            name: aurc(table.losses[rows], predict(table.features[rows]))
            for name, rows in (("train", train), ("validation", parts.validation), ("test", parts.test))
        }
        curve.append({"faces": len(train), **areas})
    return curve


def pack(part: TestPart) -> dict[str, Any]:
    """Losses and ranks of the test faces, each list as one line of text."""
    ranks = {method: np.unique(score, return_inverse=True)[1] for method, score in part.scores.items()}
    return {
        "photograph": " ".join(map(str, part.photograph.tolist())),
        "loss": " ".join(f"{loss:.4f}" for loss in part.losses),
        "rank": {method: " ".join(map(str, rank.tolist())) for method, rank in ranks.items()},
    }


def unpack(packed: dict[str, Any]) -> TestPart:
    """The inverse of `pack`, with ranks for scores."""
    ranks = {method: np.array(text.split(), dtype=np.int64) for method, text in packed["rank"].items()}
    photograph = np.array(packed["photograph"].split(), dtype=np.int64)
    return TestPart(photograph, np.array(packed["loss"].split(), dtype=np.float64), ranks)
