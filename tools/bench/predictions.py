"""Peak memory and time of `facereject predictions` on long CSV files.

    python tools/bench/predictions.py [--rows 500000 5000000]

Each command runs in a process of its own; the peak is that of its resident set (Linux, KiB by getrusage).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _tables import DATASETS  # noqa: F401  puts the repository on the path

HERE = Path(__file__).resolve().parent

COMMANDS = {
    "report": ["report", "{file}", "-o", "report.html", "--overwrite"],
    "threshold": ["threshold", "{file}", "--confidence", "confidence", "--max-risk", "0.2", "--overwrite"],
    "learn": ["learn", "{file}", "--overwrite"],
    "apply": ["apply", "rule.json", "{file}", "-o", "decided.csv", "--overwrite"],
}


def write(path: Path, rows: int) -> None:
    """Labels, predictions and two scores, about 40 bytes per row."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="ascii") as file:
        file.write("id,label,prediction,confidence,entropy\n")
        for start in range(0, rows, 100_000):
            n = min(100_000, rows - start)
            p = rng.uniform(0.5, 1, n)
            predicted = rng.integers(10, size=n)
            label = np.where(rng.uniform(size=n) < p, predicted, (predicted + 1) % 10)
            noisy = 1 - p + rng.normal(0, 0.1, n)
            columns = (range(start, start + n), label, predicted, p, noisy)
            file.writelines(
                f"{i},class {a},class {b},{c:.6f},{d:.6f}\n" for i, a, b, c, d in zip(*columns, strict=True)
            )


def run(arguments: list[str], folder: str) -> tuple[float, float]:
    """Peak of the resident set in MB, and seconds."""
    started = time.perf_counter()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", _CHILD, folder, *arguments],
        {**os.environ, "PYTHONPATH": str(HERE.parents[1]), "MPLBACKEND": "agg"},
    )
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)}: exit status {status}")
    return usage.ru_maxrss / 1e3, time.perf_counter() - started


_CHILD = """
import os, sys
os.chdir(sys.argv[1])
sys.argv[1:] = ["predictions", *sys.argv[2:], "-q"]
from facereject._cli import main
main()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[500_000, 5_000_000])
    options = parser.parse_args()
    print(f"{'rows':>10} {'file (MB)':>10} {'command':>10} {'peak (MB)':>10} {'seconds':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for rows in options.rows:
            path = Path(folder, "predictions.csv")
            write(path, rows)
            size = path.stat().st_size / 1e6
            for name, words in COMMANDS.items():
                peak, seconds = run([word.format(file=path) for word in words], folder)
                print(f"{rows:10,} {size:10.0f} {name:>10} {peak:10.0f} {seconds:8.1f}", flush=True)


if __name__ == "__main__":
    main()
