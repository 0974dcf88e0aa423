"""Is cross-fitting better than splitting the training data in two? AuRC on three tables.

    python tools/bench/cross_fit.py [--splits 5]

"split": the predictor is trained on one half of the training examples, the score on the losses of the other
half. "cross-fit": both are trained on all of them by ``cross_fit``. Both are judged by the AuRC of predictor
and score together on the same test examples (20 % of the table), loss 100 [y ≠ ŷ], averaged over random
splits; ± is the standard error of the mean difference.
"""

from __future__ import annotations

import argparse

import numpy as np
from _tables import cut, load
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from facereject.losses import zero_one_loss
from facereject.metrics import aurc
from facereject.predictors import LogisticClassifier
from facereject.scores import BoostedSELEScore, SELEScoreCV, cross_fit

SETS = ("letter", "pendigit", "sattelite")


def percent(y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    return 100.0 * zero_one_loss(y, predictions)


def split_in_two(predictor, score, X, y, X_test) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and uncertainties at the test examples."""
    half = len(y) // 2
    predictor.fit(X[:half], y[:half])

    def arguments(features: np.ndarray) -> dict[str, np.ndarray]:
        found = {"predictions": predictor.predict(features)}
        if score.response is not None:
            found["outputs"] = predictor.predict_proba(features)
        return found

    given = arguments(X[half:])
    score.fit(X[half:], percent(y[half:], given["predictions"]), **given)
    given = arguments(X_test)
    return given["predictions"], score.predict(X_test, **given)


def both_on_all(predictor, score, X, y, X_test) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and uncertainties at the test examples."""
    fitted = cross_fit(predictor, score, X, y, percent)
    return fitted.estimator.predict(X_test), fitted.uncertainty(X_test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    for score in (SELEScoreCV(cv=3), BoostedSELEScore()):
        for name in SETS:
            X, y = load(name)
            areas, errors = [], []
            for seed in range(options.splits):
                train, test = cut(len(y), (0.8,), seed)
                row = []
                for method in (split_in_two, both_on_all):
                    predictor = make_pipeline(StandardScaler(), LogisticClassifier())
                    predictions, uncertainty = method(predictor, score, X[train], y[train], X[test])
                    losses = percent(y[test], predictions)
                    row.append((aurc(losses, uncertainty), losses.mean()))
                areas.append([area for area, _ in row])
                errors.append([error for _, error in row])
            difference = np.diff(areas, axis=1)[:, 0]
            spread = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
            halves, whole = np.mean(areas, axis=0)
            error_halves, error_whole = np.mean(errors, axis=0)
            print(
                f"{type(score).__name__:17s} {name.upper():10s} "
                f"AuRC: split {halves:.3f}, cross-fit {whole:.3f}, "
                f"difference {difference.mean():+.3f} ± {spread:.3f}, "
                f"lower in {(difference < 0).sum()} of {len(difference)}; "
                f"error: split {error_halves:.2f}, cross-fit {error_whole:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
