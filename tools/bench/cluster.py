"""Training and metrics on more examples than the workers' memory holds.

    python tools/bench/cluster.py [--rows 10000000] [--memory 950MB] [--ranked 100000000]

Writes Parquet files (float32) into a temporary folder and trains ``SELEScore`` on them with a local cluster
of worker processes, each under a memory limit at which Dask would kill it. Prints, for a tenth, a third and
all of the rows: seconds per evaluation of the risk, evaluations, and the largest worker. The smallest size is
also trained in memory, for the same optimum, and once more with a worker killed in the middle. Last, AuRC of
``--ranked`` examples made on the fly, on threads of this process, beside its known value.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from _tables import DATASETS  # noqa: F401  puts the repository on the path
from dask import dataframe as dd
from dask.utils import format_bytes, parse_bytes
from distributed import Client, LocalCluster

from facereject.metrics import aurc
from facereject.scores import SELEScore
from facereject.scores._linear import dask_training

PART = 100_000  # rows of a file
ALPHA, TOL = 1e-4, 1e-2


def write(folder: Path, rows: int, columns: int) -> list[Path]:
    """Files of PART rows: x0, x1, … and the loss, which depends on some of them."""
    rng = np.random.default_rng(0)
    slope = rng.normal(size=columns).astype(np.float32) / np.sqrt(columns)
    files = []
    for start in range(0, rows, PART):
        X = rng.standard_normal((min(PART, rows - start), columns), dtype=np.float32)
        X[:, 1:] += 0.5 * X[:, :-1]
        loss = rng.exponential(np.exp(X @ slope)).astype(np.float32)
        table = pa.table({**{f"x{j}": X[:, j] for j in range(columns)}, "loss": loss})
        files.append(folder / f"{start:012d}.parquet")
        pq.write_table(table, files[-1], compression="none", use_dictionary=False)
    return files


class Evaluations:
    """Seconds of each evaluation of the risk; ``at_each`` is called with its number before it."""

    def __init__(self, at_each: Any = None):
        self.seconds: list[float] = []
        self._at_each = at_each

    @contextlib.contextmanager
    def watched(self) -> Iterator[Evaluations]:
        original = dask_training.pair_potentials, dask_training.PartitionedObjective.__call__

        def evaluate(objective: Any, w: Any) -> Any:
            start = time.perf_counter()
            answer = original[1](objective, w)
            self.seconds.append(time.perf_counter() - start)
            return answer

        def potentials(*arguments: Any, **settings: Any) -> Any:
            if self._at_each is not None:
                self._at_each(len(self.seconds))
            return original[0](*arguments, **settings)

        dask_training.PartitionedObjective.__call__ = evaluate  # type: ignore[method-assign]
        dask_training.pair_potentials = potentials
        try:
            yield self
        finally:
            dask_training.pair_potentials, dask_training.PartitionedObjective.__call__ = original  # type: ignore[method-assign]


def peak() -> int:
    """Largest resident set of this process so far, in bytes (Linux)."""
    status = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def fit(files: list[Path]) -> SELEScore:
    frame = dd.read_parquet([str(file) for file in files])
    return SELEScore(ALPHA, tol=TOL).fit(frame[[c for c in frame.columns if c != "loss"]], frame["loss"])


def train(files: list[Path], rows: int, columns: int, workers: int, memory: str) -> None:
    size = 4 * rows * (columns + 1)
    limit = workers * parse_bytes(memory)
    print(
        f"{rows:,} rows × {columns} columns of float32 in {len(files)} files: {format_bytes(size)}; "
        f"{workers} workers of {memory}: {format_bytes(limit)}"
        + ("" if size > limit else "  (it would fit: take more --rows or less --memory)")
    )
    settings = {"dashboard_address": None, "worker_dashboard_address": None, "threads_per_worker": 1}
    with (
        LocalCluster(n_workers=workers, memory_limit=memory, **settings) as cluster,
        Client(cluster) as client,
    ):
        fit(files[:1])  # the workers import and compile
        smallest: SELEScore | None = None
        print(f"{'rows':>12} {'s/evaluation':>13} {'evaluations':>12} {'s in all':>9} {'largest worker':>15}")
        for share in (10, 3, 1):
            part = files[: -(-len(files) // share)]
            n = min(rows, PART * len(part))
            begin = time.perf_counter()
            with Evaluations().watched() as watch:
                score = fit(part)
            seconds = time.perf_counter() - begin
            smallest = smallest or score
            usual = statistics.median(watch.seconds)
            print(
                f"{n:>12,} {usual:>13.2f} {len(watch.seconds):>12} {seconds:>9.0f} "
                f"{format_bytes(max(client.run(peak).values())):>15}  gap {score.gap_:.1e}",
                flush=True,
            )
        assert smallest is not None
        part = files[: -(-len(files) // 10)]
        disturbed = lose_worker(client, part)
        tables = [pq.read_table(file) for file in part]
        X = np.concatenate([t.drop(["loss"]).to_pandas().to_numpy() for t in tables])
        losses = np.concatenate([t["loss"].to_numpy() for t in tables])
        in_memory = SELEScore(ALPHA, tol=TOL).fit(X, losses)
        for name, other in (("in memory", in_memory), ("a worker killed", disturbed)):
            difference = np.abs(other.coef_ - smallest.coef_).max() / np.abs(smallest.coef_).max()
            print(f"{name}: weights differ by {difference:.1e} of the largest (the smallest size)")


def lose_worker(client: Client, files: list[Path]) -> SELEScore:
    """Train while a worker is killed between the scores and the gradient of the third evaluation."""
    killed = []

    def kill(number: int) -> None:
        if number == 2 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with Evaluations(kill).watched() as watch:
        score = fit(files)
    usual = statistics.median(watch.seconds)
    print(f"worker {killed[0]} killed: that evaluation took {watch.seconds[2]:.1f} s, others {usual:.1f} s")
    return score


def rank(rows: int) -> None:
    """AuRC where the loss is 1 with probability u, u uniform: the risk at coverage c is c/2, the area 1/4."""
    state = da.random.default_rng(0)
    u = state.random(rows, chunks=1_000_000).round(7)  # some ties
    losses = (state.random(rows, chunks=1_000_000) < u).astype(np.float32)
    begin = time.perf_counter()
    with dask.config.set(scheduler="threads"):
        area = aurc(losses, u)
    print(
        f"AuRC of {rows:,} examples: {area:.6f} (0.25 expected, ± {0.42 / np.sqrt(rows):.1e} by chance) in "
        f"{time.perf_counter() - begin:.0f} s, this process at most {format_bytes(peak())}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="SELEScore and AuRC on more rows than memory holds")
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="950MB", help="limit of each worker")
    parser.add_argument("--ranked", type=int, default=10**8, help="examples of the AuRC; 0 leaves it out")
    parser.add_argument("--folder", help="where the temporary folder is made")
    arguments = parser.parse_args()
    print(f"{psutil.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if arguments.rows:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            files = write(Path(folder), arguments.rows, arguments.columns)
            train(files, arguments.rows, arguments.columns, arguments.workers, arguments.memory)
    if arguments.ranked:
        rank(arguments.ranked)


if __name__ == "__main__":
    main()
