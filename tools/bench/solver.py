"""The solver on the SELE risk of real tables: evaluations, seconds and gaps along the grid alpha = c/n.

    python tools/bench/solver.py [--sets letter covtype codrna california gpu]

Paper's protocol, one split: predictor (logistic regression, or SVOR on the ordinal tables) trained on Trn1,
risk built on Trn2 with one weight block per predicted class. For each alpha, to a gap of 1 %:
``ours`` is the default method alone, from zero; ``path`` within one run over the whole grid; ``L-BFGS-B`` of
SciPy runs on the same risk until it reaches the objective value ours ended with (it gives no bound); ``BMRM``
evaluates only at the minimiser of the cutting-plane model; the last columns add a line search to it. Both are
stopped after 300 iterations. Processor times are medians of five runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import numpy as np
from _tables import DATASETS, load, split
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from facereject.losses import absolute_error, zero_one_loss
from facereject.predictors import LogisticClassifier, OrdinalSVM
from facereject.risks import SELE
from facereject.solver import LinearObjective, bundle_minimize, bundle_path
from facereject.solver._run import Run
from facereject.solver._steps import QuasiNewtonSteps

GRID = (1, 10, 100, 1000)
REPEATS = 5
#: Iterations after which BMRM is stopped.
MAX_ITER = 300


def sele_objective(name: str) -> LinearObjective:
    X, y = load(name)
    train1, _, train2, _, _ = split(name, len(y))
    scaler = StandardScaler().fit(X[train1])
    if DATASETS[name.upper()].task == "ordinal":
        predicted = (
            OrdinalSVM().fit(scaler.transform(X[train1]), y[train1]).predict(scaler.transform(X[train2]))
        )
        losses = absolute_error(y[train2], predicted)
    else:
        predictor = LogisticClassifier().fit(scaler.transform(X[train1]), y[train1])
        predicted = predictor.predict(scaler.transform(X[train2]))
        losses = 100.0 * zero_one_loss(y[train2], predicted)
    features = StandardScaler().fit_transform(X[train2])
    return LinearObjective(features, SELE(losses), blocks=predicted.astype(int), n_blocks=int(y.max()) + 1)


def bmrm(objective: LinearObjective, alpha: float, method: str) -> tuple[int, float]:
    """Evaluations and final gap of BMRM."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = bundle_minimize(objective, alpha, method=method, max_iter=MAX_ITER)
    return result.nfev, result.gap


def lbfgs_to(objective: LinearObjective, alpha: float, goal: float) -> int:
    """Evaluations SciPy's L-BFGS-B takes to reach the value ``goal``."""
    count = 0

    def regularised(w: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal count
        count += 1
        value, gradient = objective(w)
        value += 0.5 * alpha * w @ w
        if value <= goal:
            raise StopIteration
        return value, gradient + alpha * w

    try:
        options = {"maxiter": 10**5, "maxfun": 10**5, "ftol": 0.0, "gtol": 0.0}
        minimize(regularised, np.zeros(objective.n_weights), jac=True, method="L-BFGS-B", options=options)
    except StopIteration:
        pass
    return count


def count_moves(counts: dict[str, int]) -> None:
    """Count in ``counts`` what the default method does from now on."""
    descend, probe = QuasiNewtonSteps._descend, QuasiNewtonSteps._probe

    def counted_descend(self: QuasiNewtonSteps, run: Run) -> bool:
        lower = descend(self, run)
        counts["steps"] += 1
        counts["failed steps"] += not lower
        return lower

    def counted_probe(self: QuasiNewtonSteps, run: Run, target: np.ndarray) -> None:
        best = run.best.fun
        probe(self, run, target)
        counts["probes"] += 1
        counts["lower probes"] += run.best.fun < best

    QuasiNewtonSteps._descend, QuasiNewtonSteps._probe = counted_descend, counted_probe


def timed(call):
    """Result and median seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return result, statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=["letter", "covtype", "codrna", "california", "gpu"])
    names = parser.parse_args().sets
    worst = {"evaluations": 0, "grid": 0.0, "lbfgs": 0.0}
    objectives = []
    for name in names:
        objective = sele_objective(name)
        objectives.append(objective)
        n = objective.risk.score_shape[0]
        objective(np.zeros(objective.n_weights))  # compiles
        path, path_seconds = timed(lambda: bundle_path(objective, [c / n for c in GRID]))  # noqa: B023
        print(f"\n{name}: n = {n:,}, {objective.n_weights} weights")
        print(
            "       |  ours: to a gap of 1 %               | L-BFGS-B to the same value "
            "| BMRM           | with line search"
        )
        print(
            "     c | steps evals on path     gap       ms | evals       ms ours/theirs "
            "| evals      gap | evals      gap"
        )
        slowest, ours_total, lbfgs_total = 0.0, 0.0, 0.0
        for c, on_path in zip(GRID, path, strict=True):
            alpha = c / n
            alone, seconds = timed(lambda: bundle_minimize(objective, alpha))  # noqa: B023
            peer_count, peer_seconds = timed(lambda: lbfgs_to(objective, alpha, alone.fun))  # noqa: B023
            plain_count, plain_gap = bmrm(objective, alpha, "bmrm")
            searched_count, searched_gap = bmrm(objective, alpha, "bmrm-line-search")
            slowest = max(slowest, seconds)
            ours_total, lbfgs_total = ours_total + seconds, lbfgs_total + peer_seconds
            worst["evaluations"] = max(worst["evaluations"], alone.nfev, on_path.nfev)
            print(
                f"{c:>6} | {alone.nit:>5} {alone.nfev:>5} {on_path.nfev:>7} {alone.gap:>7.4f} "
                f"{1e3 * seconds:>8.1f} | "
                f"{peer_count:>5} {1e3 * peer_seconds:>8.1f} {seconds / peer_seconds:>11.2f} | "
                f"{plain_count:>5} {plain_gap:>8.3f} | {searched_count:>5} {searched_gap:>8.3f}"
            )
        grid, peer = path_seconds / slowest, ours_total / lbfgs_total
        print(f"grid: {1e3 * path_seconds:.1f} ms, {grid:.2f} × its most expensive member alone")
        print(f"sum over the grid, each alone: {peer:.2f} × the time of L-BFGS-B")
        worst["grid"] = max(worst["grid"], grid)
        worst["lbfgs"] = max(worst["lbfgs"], peer)
    print(
        f"\nworst: {worst['evaluations']} evaluations (bar: ≤ 60), grid {worst['grid']:.2f} × (bar: ≤ 2.5), "
        f"{worst['lbfgs']:.2f} × the time of L-BFGS-B (bar: ≤ 1.5)"
    )
    counts = {"steps": 0, "failed steps": 0, "probes": 0, "lower probes": 0}
    count_moves(counts)
    for objective in objectives:
        for c in GRID:
            bundle_minimize(objective, c / objective.score_shape[0])
    print("each alone: " + ", ".join(f"{count} {name}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
