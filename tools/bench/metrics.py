"""Time and memory of the metrics at n = 10^6 and 10^7: python tools/bench/metrics.py

Seconds of processor time are the best of three calls; bytes per example are the peak of what a call allocates
beyond its two inputs, its result included. "distinct": normal scores; "tied": the same cut into 1,000 levels.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from facereject.metrics import (
    augrc,
    aurc,
    coverage_at_risk,
    eaurc,
    risk_at_coverage,
    risk_coverage_curve,
    sele_loss,
)

METRICS: dict[str, Callable[..., Any]] = {
    "risk_coverage_curve": risk_coverage_curve,
    "aurc": aurc,
    "aurc (ties='index')": partial(aurc, ties="index"),
    "eaurc": eaurc,
    "augrc": augrc,
    "sele_loss": sele_loss,
    "risk_at_coverage": partial(risk_at_coverage, coverage=0.8),
    "coverage_at_risk": partial(coverage_at_risk, risk=0.5),
}


def seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Least processor time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def peak_bytes(call: Callable[[], Any]) -> int:
    """Largest amount of memory allocated at any moment of the call (NumPy reports its arrays)."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**6, 10**7])
    sizes = parser.parse_args().sizes
    print(f"{'n':>10}  {'scores':8}  {'metric':20}  {'seconds':>8}  {'bytes/example':>13}")
    for n in sizes:
        rng = np.random.default_rng(0)
        normal = rng.normal(size=n)
        losses = rng.exponential(size=n) * np.exp(normal)
        levels = np.floor(1000 * (normal.argsort().argsort() / n))
        for kind, uncertainty in {"distinct": normal, "tied": levels}.items():
            for name, metric in METRICS.items():
                call = partial(metric, losses, uncertainty)
                print(f"{n:>10}  {kind:8}  {name:20}  {seconds(call):8.3f}  {peak_bytes(call) / n:13.1f}")


if __name__ == "__main__":
    main()
