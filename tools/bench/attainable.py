"""How much of the way from a random order to the oracle's can a score of a regressor go at all?

    python tools/bench/attainable.py [--tables CALIFORNIA …] [--rows 10000] [--seed 100]

What the noise of the targets adds to a loss no score can foresee, so the oracle is out of reach. Here the
predictor has 4,000 rows as in strong.py, and a second score is trained on ``--rows`` others, with their true
losses and the same columns: what more examples for the score alone would bring.
"""

from __future__ import annotations

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")

import argparse  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from strong import MAX_TEST, REGRESSORS, make_predictor, read_table  # noqa: E402

from facereject.losses import absolute_error  # noqa: E402
from facereject.metrics import aurc  # noqa: E402
from facereject.scores import BoostedSELEScore, CrossFit, cross_fit  # noqa: E402

TRAIN = 4000


def share(losses: np.ndarray, uncertainty: np.ndarray) -> float:
    """Of the way from random to oracle."""
    random = float(losses.mean())
    return (random - aurc(losses, uncertainty)) / (random - aurc(losses, losses))


def judge(fitted: CrossFit, X: np.ndarray, y: np.ndarray) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Features, losses of the predictions, and what the score is told about them."""
    predictions = fitted.predictor.predict(X)
    assert fitted.part is not None
    evidence, offset = fitted.part.evidence(X, predictions, None)
    columns = {"evidence": evidence, "offset": offset}
    return fitted.view(X, fitted.score), absolute_error(y, predictions), columns


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=("CALIFORNIA", "BIKESHARE", "GPU"))
    parser.add_argument("--predictors", nargs="+", default=REGRESSORS, choices=REGRESSORS)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of the second score (default 10000)")
    parser.add_argument("--seed", type=int, default=100)
    options = parser.parse_args()
    print("| table | predictor | cross-fitted on 4,000 rows | score with further rows | how many |")
    print("|---|---|---|---|---|")
    for table in options.tables:
        X, y = read_table("numbers", table)
        order = np.random.default_rng(options.seed).permutation(len(y))
        train, more, test = np.split(order, [TRAIN, min(TRAIN + options.rows, len(y) - 3000)])
        test = test[:MAX_TEST]
        for name in options.predictors:
            predictor = make_predictor(name, options.seed)
            fitted = cross_fit(predictor, BoostedSELEScore(), X[train], y[train], absolute_error)
            X_more, losses_more, columns_more = judge(fitted, X[more], y[more])
            X_test, losses, columns = judge(fitted, X[test], y[test])
            second = BoostedSELEScore().fit(X_more, losses_more, **columns_more)
            ours, theirs = fitted.uncertainty(X[test]), second.predict(X_test, **columns)
            shares = share(losses, ours), share(losses, theirs)
            print(f"| {table} | {name} | {shares[0]:.3f} | {shares[1]:.3f} | {len(more)} |", flush=True)


if __name__ == "__main__":
    main()
