"""Memory that training and scoring need beyond X, in bytes per row.

    python tools/bench/memory.py [--rows 400000] [--columns 50]

Two figures per case, each from a process of its own: the peak that tracemalloc sees (NumPy's arrays), and the
growth of the resident set (compiled loops and BLAS included; Linux). ``SELEScore`` is aimed at 100.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _tables import DATASETS  # noqa: F401  puts the repository on the path
from sele_risk import peak_growth

from facereject.predictors import LogisticClassifier
from facereject.scores import RegressionScore, SELEScore, SELEScoreCV

Fit = Callable[[Any, Any, Any], Any]


def sele(X: Any, losses: Any, predictions: Any) -> Any:
    return SELEScore().fit(X, losses, predictions)


def ridge(X: Any, losses: Any, predictions: Any) -> Any:
    return RegressionScore().fit(X, losses, predictions)


def search(X: Any, losses: Any, predictions: Any) -> Any:
    return SELEScoreCV((1e-3, 1e-1)).fit(X, losses, predictions)


def predict(X: Any, losses: Any, predictions: Any) -> Any:
    return SELEScore().fit(X[:500], losses[:500]).predict(X)


def logistic(X: Any, losses: Any, predictions: Any) -> Any:
    return LogisticClassifier(1e-3).fit(X, losses > np.median(losses))


# type of X, mean of its columns in units of their scale, number of predicted classes
CASES: dict[str, tuple[str, float, int, Fit]] = {
    "SELEScore": ("float64", 0.0, 0, sele),
    "SELEScore, 10 classes": ("float64", 0.0, 10, sele),
    "SELEScore, float32": ("float32", 0.0, 0, sele),
    "SELEScore, float32, mean 1000 × scale": ("float32", 1000.0, 0, sele),
    "SELEScore, float32, 10 classes": ("float32", 0.0, 10, sele),
    "SELEScoreCV, 5 folds, 2 alphas": ("float64", 0.0, 0, search),
    "SELEScore.predict": ("float64", 0.0, 0, predict),
    "RegressionScore": ("float64", 0.0, 0, ridge),
    "RegressionScore, 10 classes": ("float64", 0.0, 10, ridge),
    "LogisticClassifier": ("float64", 0.0, 0, logistic),
}


def measure(case: str, rows: int, columns: int) -> tuple[float, float]:
    """Bytes per row: the peak of tracemalloc, and the growth of the process."""
    kind, mean, n_classes, call = CASES[case]
    rng = np.random.default_rng(0)
    call(rng.normal(size=(1000, columns)), rng.exponential(size=1000), np.arange(1000) % 10)  # compiles
    X = rng.standard_normal((rows, columns), dtype=np.dtype(kind).type)
    losses = rng.exponential(np.exp(0.5 * X[:, 0]))
    X += X.dtype.type(mean)
    predictions = rng.integers(n_classes, size=rows) if n_classes else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grown = peak_growth(lambda: call(X, losses, predictions))
        tracemalloc.start()
        call(X, losses, predictions)
    return tracemalloc.get_traced_memory()[1] / rows, grown / rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--case", choices=CASES, help="measure this one, in this process")
    arguments = parser.parse_args()
    if arguments.case is not None:
        print("{:12.0f} {:12.0f}".format(*measure(arguments.case, arguments.rows, arguments.columns)))
        return
    print(f"{arguments.rows:,} rows × {arguments.columns} columns; bytes per row beyond the arguments")
    print(f"{'':40}{'tracemalloc':>12} {'resident set':>12}")
    for case in CASES:
        command = [sys.executable, str(Path(__file__)), "--case", case]
        command += ["--rows", str(arguments.rows), "--columns", str(arguments.columns)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"{case:40}{answer.rstrip()}", flush=True)


if __name__ == "__main__":
    main()
