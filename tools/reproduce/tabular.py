"""One data set × one split of the paper's protocol: predictors, uncertainty scores, test numbers.

Rows are cut into Trn1/Val1/Trn2/Val2/Tst. The predictor is trained on Trn1 and tuned on Val1, the scores are
trained on Trn2 and tuned on Val2; Tst gives the numbers and decides nothing. Features are standardised by
Trn1 for the predictor and by Trn2 for the linear scores. Losses: 100 [y ≠ ŷ] for classification, |y − ŷ| for
ordinal regression.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from data_scripts import registry
from facereject import __version__
from facereject.losses import absolute_error, zero_one_loss
from facereject.metrics import aurc, risk_coverage_curve
from facereject.predictors import LogisticClassifierCV, OrdinalSVMCV, SVMClassifierCV
from facereject.scores import (
    BoostedSELEScore,
    MarginScore,
    MaxClassProbability,
    RegressionScoreCV,
    SELEScoreCV,
    TrueClassProbabilityScoreCV,
)
from facereject.solver._bundle import METHODS
from tools.reproduce.boosting import AS_PUBLISHED
from tools.reproduce.chunked import ChunkedSELEScoreCV

#: Raised when the numbers of a stored result would change; part of the settings stored with it.
PROTOCOL = 1
PREDICTORS: dict[str, dict[str, Any]] = {
    "classification": {"LR": LogisticClassifierCV, "SVM": SVMClassifierCV},
    "ordinal": {"SVOR": OrdinalSVMCV},
}
#: Regularisation of the predictors, alpha = c/n.
CS = (1, 10, 100, 1000)
#: Coverages at which risk-coverage curves are stored.
COVERAGES = np.arange(1, 51) / 50


class Part(NamedTuple):
    """Examples of one part and what the predictor makes of them."""

    X: np.ndarray
    y: np.ndarray
    predictions: np.ndarray
    losses: np.ndarray
    outputs: np.ndarray


#: Trains a score; returns the uncertainty of a test part, and facts worth storing.
Fit = Callable[[Part], tuple[np.ndarray, dict[str, Any]]]


class Stopwatch:
    """Seconds on the clock and on the processor since the start."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        return {"seconds": round(wall, 2), "cpu_seconds": round(cpu, 2)}


def settings(quick: bool, solver: str = METHODS[0]) -> dict[str, Any]:
    """What the numbers depend on besides data set and split."""
    found = {"protocol": PROTOCOL, "trees": 50 if quick else 500}
    return found if solver == METHODS[0] else {**found, "solver": solver}


def run(dataset: str, split: int, data: Path | None, chosen: dict[str, Any]) -> dict[str, Any]:
    """Result of one data set and split, ready for JSON; ``chosen`` are the :func:`settings`."""
    watch = Stopwatch()
    task = registry.DATASETS[dataset].task
    X, y = registry.load(dataset, data)
    rows = registry.split(dataset, len(y), split)
    parts = [(X[index], y[index]) for index in rows]
    del X
    solver = chosen.get("solver", METHODS[0])
    found = {name: evaluate(name, parts, chosen["trees"], solver) for name in PREDICTORS[task]}
    return {
        "dataset": dataset,
        "task": task,
        "split": split,
        "seed": split,
        "version": __version__,
        "sizes": [len(index) for index in rows],
        "settings": chosen,
        "predictors": found,
        **watch.read(),
    }


def evaluate(
    kind: str, parts: list[tuple[np.ndarray, np.ndarray]], trees: int, solver: str
) -> dict[str, Any]:
    """Train one predictor and all scores on top of it; numbers are of the last part."""
    watch = Stopwatch()
    predictor = fit_predictor(kind, *parts[:2], solver=solver)
    train, validation, test = (judge(kind, predictor, X, y) for X, y in parts[2:])
    model = predictor[-1]
    result: dict[str, Any] = {
        "r100": rounded(test.losses.mean()),
        "oracle_aurc": rounded(aurc(test.losses, test.losses)),
        "oracle_curve": thin_curve(test.losses, test.losses),
        "c": rounded(model.alpha_ * len(parts[0][1])),
        "validation_losses": [rounded(value) for value in model.validation_losses_],
        **watch.read(),
        "scores": {},
    }
    for name, fit in score_fits(kind, predictor, train, validation, trees, solver).items():
        watch = Stopwatch()
        uncertainty, facts = fit(test)
        took = watch.read()
        result["scores"][name] = {**describe(test.losses, uncertainty), **facts, **took}
    return result


def fit_predictor(
    kind: str,
    train: tuple[Any, Any],
    validation: tuple[Any, Any],
    *,
    cs: tuple[float, ...] = CS,
    solver: str = METHODS[0],
) -> Any:
    """A predictor tuned on the validation part, behind the standardisation of its training part."""
    scaler = StandardScaler().fit(train[0])
    model = next(models[kind] for models in PREDICTORS.values() if kind in models)(cs, solver=solver)
    X_val, y_val = validation
    if kind == "SVOR":
        # a class absent from training has no place on the line of classes; it happens in partial sets only
        known = np.isin(y_val, train[1])
        X_val, y_val = X_val[known], y_val[known]
    model.fit(scaler.transform(train[0]), train[1], validation=(scaler.transform(X_val), y_val))
    return make_pipeline(scaler, model)


def score_fits(
    kind: str, predictor: Any, train: Part, validation: Part, trees: int, solver: str = METHODS[0]
) -> dict[str, Fit]:
    """Per score a function that trains it and returns the uncertainty of the test part, and facts."""
    held_out = (validation.X, validation.losses, validation.predictions)

    def linear(score: Any, target: np.ndarray) -> Fit:
        def fit(test: Part) -> tuple[np.ndarray, dict[str, Any]]:
            score.fit(train.X, target, train.predictions, validation=held_out)
            return score.predict(test.X, test.predictions), {"alpha": float(score.alpha_)}

        return fit

    def boosted(test: Part) -> tuple[np.ndarray, dict[str, Any]]:
        score = BoostedSELEScore(trees, **AS_PUBLISHED)
        score.fit(
            train.X,
            train.losses,
            train.predictions,
            outputs=train.outputs,
            validation=(*held_out, validation.outputs),
        )
        uncertainty = score.predict(test.X, test.predictions, outputs=test.outputs)
        return uncertainty, {"trees": int(score.n_estimators_)}

    def baseline(test: Part) -> tuple[np.ndarray, dict[str, Any]]:
        score = MaxClassProbability(predictor) if kind == "LR" else MarginScore(predictor)
        return score.predict(test.X), {}

    fits: dict[str, Fit] = {"MCP" if kind == "LR" else "Margin": baseline}
    fits["SELE"] = linear(SELEScoreCV(solver=solver), train.losses)
    fits["REG"] = linear(RegressionScoreCV(), train.losses)
    if kind == "LR":
        fits["TCP"] = linear(TrueClassProbabilityScoreCV(), true_class_probability(predictor, train))
    fits["SELE-500"] = linear(ChunkedSELEScoreCV(solver=solver), train.losses)
    fits["BoostedSELE"] = boosted
    return fits


def true_class_probability(predictor: Any, part: Part) -> np.ndarray:
    """Probability that the predictor gives the true class: 0 for one it has never seen."""
    column = np.searchsorted(predictor.classes_, part.y).clip(max=len(predictor.classes_) - 1)
    known = predictor.classes_[column] == part.y
    return np.where(known, part.outputs[np.arange(len(part.y)), column], 0.0)


def describe(losses: np.ndarray, uncertainty: np.ndarray) -> dict[str, Any]:
    """AuRC and curve; the AuRC with ties in the order of the file only where it differs."""
    expected = rounded(aurc(losses, uncertainty))
    by_index = rounded(aurc(losses, uncertainty, ties="index"))
    found: dict[str, Any] = {"aurc": expected, "curve": thin_curve(losses, uncertainty)}
    if by_index != expected:
        found["aurc_ties_by_index"] = by_index
    return found


def thin_curve(losses: np.ndarray, uncertainty: np.ndarray) -> list[float]:
    """Selective risk at :data:`COVERAGES`."""
    curve = risk_coverage_curve(losses, uncertainty)
    position = np.searchsorted(curve.coverage, COVERAGES - 1e-12).clip(max=len(curve.risk) - 1)
    return [rounded(risk, 4) for risk in curve.risk[position]]


def judge(kind: str, predictor: Any, X: np.ndarray, y: np.ndarray) -> Part:
    """Predictions, their losses, and predict_proba (LR) or decision_function of the predictor."""
    predictions = predictor.predict(X)
    if kind == "SVOR":
        losses = absolute_error(y, predictions)
    else:
        losses = 100.0 * zero_one_loss(y, predictions)
    respond = predictor.predict_proba if kind == "LR" else predictor.decision_function
    return Part(X, y, predictions, losses, respond(X))


def rounded(value: Any, digits: int = 6) -> float:
    """Significant digits: the last bits depend on the processor and would only make files differ."""
    return float(f"{float(value):.{digits}g}")
