"""Time and memory of the exact SELE risk beside the paper's chunks of 500 and a pair of products with X.

    python tools/bench/sele_risk.py

Medians of processor time in one run, after a first call that compiles. The chunked risk is vectorised NumPy:
one array of 500 × 500 differences per chunk, one exponential per pair shared by value and gradient.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from facereject.risks import SELE, _cells, _kernels_numpy


def median_seconds(call: Callable[[], object], repeats: int) -> float:
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def peak_growth(call: Callable[[], object]) -> int:
    """Bytes the process grows by at most during a call, compiled code's arrays included (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak to what is resident now
    before = _memory("VmRSS")
    call()
    return _memory("VmHWM") - before


def _memory(field: str) -> int:
    (line,) = (row for row in Path("/proc/self/status").read_text().splitlines() if row.startswith(field))
    return 1024 * int(line.split()[1])


def cancellation(distance: float, n: int = 300) -> float:
    """Relative error of the gradient at scores ``distance`` from log ℓ, where every pair of terms cancels."""
    rng = np.random.default_rng(0)
    losses = 0.1 + rng.exponential(size=n)
    scores = np.log(losses) + distance * rng.normal(size=n)
    s, weights = scores.astype(np.longdouble), losses.astype(np.longdouble)
    sigmoid = 1 / (1 + np.exp(s[:, None] - s[None, :]))
    exact = ((weights[:, None] * sigmoid).sum(axis=0) - weights * sigmoid.sum(axis=1)) / n**2
    return float(np.abs(SELE(losses)(scores)[1] - exact).max() / np.abs(exact).max())


def main() -> None:
    rng = np.random.default_rng(0)
    SELE([1.0, 2.0])(np.zeros(2))  # compiles
    n = 4 * 10**6
    scores, risk = 3 * rng.normal(size=n), SELE(rng.exponential(size=n))
    memory = peak_growth(lambda: risk(scores)) / n

    seconds = {}
    for n in (10**4, 10**5, 10**6):
        scores, risk = 3 * rng.normal(size=n), SELE(rng.exponential(size=n))
        seconds[n] = median_seconds(lambda: risk(scores), 25)  # noqa: B023
        print(f"exact, n = {n:>9,}: {1e3 * seconds[n]:8.2f} ms")

    n = 10**5
    losses, scores = rng.exponential(size=n), 3 * rng.normal(size=n)
    exact, chunked = SELE(losses), SELE(losses, chunk_size=500, random_state=0)
    chunk_seconds = median_seconds(lambda: chunked(scores), 3)
    X, w = rng.normal(size=(n, 100)), rng.normal(size=100)
    product_seconds = median_seconds(lambda: X.T @ (X @ w), 25)
    with_curvature = median_seconds(lambda: exact.with_curvature(scores), 25)
    compiled, _cells.kernels = _cells.kernels, _kernels_numpy
    numpy_seconds = median_seconds(lambda: exact(scores), 9)
    _cells.kernels = compiled

    print(f"\nat n = {n:,}")
    for label, other, note in (
        ("chunks of 500", chunk_seconds, "(bar: ≥ 30)"),
        ("exact, NumPy kernels", numpy_seconds, ""),
        ("exact, curvature too", with_curvature, ""),
        ("X @ w, Xᵀ @ g, d=100", product_seconds, "(aim: ≥ 1)"),
    ):
        print(f"{label} {1e3 * other:8.1f} ms {other / seconds[n]:7.1f} × exact {note}")
    print(f"time(10⁶)/time(10⁵) = {seconds[10**6] / seconds[10**5]:.1f} (bar: ≤ 13)")
    print(f"peak extra memory = {memory:.0f} bytes per example (bar: ≤ 400)")
    for distance in (1.0, 1e-2, 1e-5, 1e-6, 1e-8, 1e-10):
        print(f"gradient at distance {distance:g} from log ℓ: relative error {cancellation(distance):.0e}")


if __name__ == "__main__":
    main()
