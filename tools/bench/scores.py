"""AuRC of every score on five tables, one split of the paper's protocol, and whether the bars are met.

    python tools/bench/scores.py [--sets letter pendigit ...] [--seed 0]

Rows are cut into Trn1/Val1/Trn2/Val2/Tst. The predictor is trained on Trn1 and tuned on Val1, the scores are
trained on Trn2 and tuned on Val2, Tst is used for the numbers printed only. Features are standardised by Trn1
for the predictor and by Trn2 for the scores. Loss: 100 [y ≠ ŷ], so AuRC is in percent. Boosted scores get
what the linear ones get and, as columns, predict_proba (LR) or decision_function (SVM) of the predictor.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _tables import load, split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from facereject.losses import zero_one_loss
from facereject.metrics import aurc
from facereject.predictors import LogisticClassifierCV, SVMClassifierCV
from facereject.scores import (
    BoostedRegressionScore,
    BoostedSELEScore,
    MarginScore,
    MaxClassProbability,
    RegressionScoreCV,
    SELEScoreCV,
    TrueClassProbabilityScoreCV,
)

SETS = ("letter", "pendigit", "avila", "codrna", "ijcnn")
LINEAR = ("SELE", "REG", "TCP")


def fit_predictor(kind: str, X: np.ndarray, y: np.ndarray, validation: tuple[np.ndarray, np.ndarray]):
    """A predictor tuned on the validation part, with the standardisation of its training part."""
    scaler = StandardScaler().fit(X)
    model = LogisticClassifierCV() if kind == "LR" else SVMClassifierCV()
    model.fit(scaler.transform(X), y, validation=(scaler.transform(validation[0]), validation[1]))
    return make_pipeline(scaler, model)


def areas(kind: str, X: np.ndarray, y: np.ndarray, parts: list[np.ndarray]) -> dict[str, float]:
    """Test AuRC of each score, in percent."""
    train1, val1, train2, val2, test = ((X[rows], y[rows]) for rows in parts)
    predictor = fit_predictor(kind, *train1, val1)
    losses, predictions, outputs = {}, {}, {}
    for name, (features, labels) in {"train": train2, "val": val2, "test": test}.items():
        predictions[name] = predictor.predict(features)
        losses[name] = 100.0 * zero_one_loss(labels, predictions[name])
        respond = predictor.predict_proba if kind == "LR" else predictor.decision_function
        outputs[name] = respond(features)
    baseline = MaxClassProbability(predictor) if kind == "LR" else MarginScore(predictor)
    uncertainty = {"MCP" if kind == "LR" else "margin": baseline.predict(test[0])}
    validation = (val2[0], losses["val"], predictions["val"])
    given = (train2[0], losses["train"], predictions["train"])
    seconds = {}
    for name, score in {"SELE": SELEScoreCV(), "REG": RegressionScoreCV()}.items():
        start = time.perf_counter()
        score.fit(*given, validation=validation)
        seconds[name] = time.perf_counter() - start
        uncertainty[name] = score.predict(test[0], predictions["test"])
    if kind == "LR":
        columns = np.searchsorted(predictor.classes_, train2[1])
        probability = outputs["train"][np.arange(len(columns)), columns]
        score = TrueClassProbabilityScoreCV()
        score.fit(train2[0], probability, predictions["train"], validation=validation)
        uncertainty["TCP"] = score.predict(test[0], predictions["test"])
    for name, score in {"BoostedREG": BoostedRegressionScore(), "BoostedSELE": BoostedSELEScore()}.items():
        start = time.perf_counter()
        score.fit(*given, outputs=outputs["train"], validation=(*validation, outputs["val"]))
        seconds[name] = time.perf_counter() - start
        uncertainty[name] = score.predict(test[0], predictions["test"], outputs=outputs["test"])
    print(f"    error {losses['test'].mean():.2f} %; seconds: ", end="")
    print(", ".join(f"{name} {value:.1f}" for name, value in seconds.items()))
    found = {name: aurc(losses["test"], values) for name, values in uncertainty.items()}
    return {**found, "oracle": aurc(losses["test"], losses["test"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for kind in ("LR", "SVM"):
        print(kind)
        sele_wins, lowest, by_a_quarter = [], [], []
        for name in options.sets:
            X, y = load(name)
            parts = split(name, len(y), options.seed)
            found = areas(kind, X, y, parts)
            others = [value for key, value in found.items() if key not in ("BoostedSELE", "oracle")]
            best_linear = min(found[key] for key in LINEAR if key in found)
            gain = 1 - found["BoostedSELE"] / best_linear
            print(f"  {name.upper():10s}", end="")
            print("  ".join(f"{key} {value:.3f}" for key, value in found.items()), end="")
            print(f"  | boosted lower than the best linear by {100 * gain:.0f} %")
            sele_wins.append(found["SELE"] < found["REG"])
            lowest.append(found["BoostedSELE"] < min(others))
            by_a_quarter.append(gain >= 0.25)
        n = len(options.sets)
        print(
            f"  SELE < REG on {sum(sele_wins)} of {n}; BoostedSELE lowest on {sum(lowest)} of {n}, "
            f"lower than the best linear score by 25 % on {sum(by_a_quarter)} of {n}"
        )


if __name__ == "__main__":
    main()
