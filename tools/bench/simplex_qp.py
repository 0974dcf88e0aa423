"""The QP of the bundle method: our warm active set beside quadprog and Clarabel.

    python tools/bench/simplex_qp.py

The programmes are those of a real run: minimising the SELE risk of LETTER, one cut after the other. Each
solver gets every one of them; ours starts from the answer of the one before, the others have no warm start.
Accuracy is the shortfall of the lower bound against the best of the three, relative to that bound.
"""

from __future__ import annotations

import time

import clarabel
import numpy as np
import quadprog
import scipy.sparse as sp
from _tables import load, split
from scipy.optimize import minimize

from facereject.losses import zero_one_loss
from facereject.predictors import LogisticClassifier
from facereject.risks import SELE
from facereject.solver import LinearObjective
from facereject.solver._simplex_qp import solve_simplex_qp


def by_quadprog(Q: np.ndarray, q: np.ndarray) -> np.ndarray:
    k = q.size
    # quadprog wants a positive definite matrix, which dependent cuts do not give
    ridge = 1e-12 * Q.diagonal().max() * np.eye(k)
    return quadprog.solve_qp(Q + ridge, q, np.vstack([np.ones(k), np.eye(k)]).T, np.r_[1.0, np.zeros(k)], 1)[
        0
    ]


def by_clarabel(Q: np.ndarray, q: np.ndarray) -> np.ndarray:
    k, scale = q.size, 1.0 / Q.diagonal().max()
    A = sp.vstack([sp.csc_matrix(np.ones((1, k))), -sp.eye(k)]).tocsc()
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(k)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    problem = clarabel.DefaultSolver(
        sp.triu(sp.csc_matrix(scale * Q)).tocsc(), -scale * q, A, np.r_[1.0, np.zeros(k)], cones, settings
    )
    return np.array(problem.solve().x)


def programmes(C: float, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Q and q after each of the first cuts of a quasi-Newton run on LETTER."""
    X, y = load("letter")
    train1, _, train2, _, _ = split("letter", len(y))
    X = (X - X[train1].mean(axis=0)) / X[train1].std(axis=0)
    predicted = LogisticClassifier().fit(X[train1], y[train1]).predict(X[train2])
    objective = LinearObjective(
        X[train2], SELE(100 * zero_one_loss(y[train2], predicted)), blocks=predicted.astype(int)
    )
    slopes, offsets = [], []

    def record(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(w)
        slopes.append(gradient)
        offsets.append(value - gradient @ w)
        return value + 0.5 * C * w @ w, gradient + C * w

    options = {"maxfun": count, "ftol": 0, "gtol": 0}
    minimize(record, np.zeros(objective.n_weights), jac=True, method="L-BFGS-B", options=options)
    A, b = np.array(slopes), np.array(offsets)
    return [(A[:k] @ A[:k].T / C, b[:k]) for k in range(1, min(count, len(b)) + 1)]


def main() -> None:
    print(f"{'cuts':>9} {'solver':>9} {'total ms':>9} {'ratio':>6} {'worst shortfall':>16}")
    problems = programmes(1 / 6000, 200)
    for low, high in ((1, 10), (10, 50), (50, 100), (100, 200)):
        answers: dict[str, list[float]] = {"ours": [], "quadprog": [], "clarabel": []}
        seconds = dict.fromkeys(answers, 0.0)
        alpha = np.ones(1)
        for Q, q in problems[:high]:
            k = q.size
            alpha = np.r_[alpha, 0.0] if k > alpha.size else alpha
            start = time.process_time()
            alpha = solve_simplex_qp(Q, q, alpha)
            spent = time.process_time() - start
            if k <= low and low > 1:
                continue
            solutions = {"ours": alpha}
            seconds["ours"] += spent
            for name, solve in (("quadprog", by_quadprog), ("clarabel", by_clarabel)):
                start = time.process_time()
                try:
                    solution = solve(Q, q)
                except ValueError:  # quadprog: matrix not positive definite
                    solution = np.full(k, np.nan)
                seconds[name] += time.process_time() - start
                solution = np.maximum(solution, 0.0)
                solutions[name] = solution / solution.sum()
            for name, a in solutions.items():
                answers[name].append(q @ a - 0.5 * a @ Q @ a)
        best = np.nanmax(np.array(list(answers.values())), axis=0)
        for name, bounds in answers.items():
            values = np.array(bounds)
            failed = np.isnan(values).sum()
            shortfall = np.nanmax((best - values) / np.abs(best))
            note = f", failed on {failed} of {values.size}" if failed else ""
            ratio = seconds[name] / seconds["ours"]
            print(f"{low:>4}–{high:<4} {name:>9} {1e3 * seconds[name]:9.1f} {ratio:6.1f}", end=" ")
            print(f"{shortfall:16.1e}{note}")


if __name__ == "__main__":
    main()
