"""Independent jobs on worker processes: longest first, with the time left; a failure stops no other job."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from facereject.parallel import WorkerEngine


class Job(NamedTuple):
    """A function call; ``cost``, a guess of its seconds, decides when it runs."""

    name: str
    cost: float
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


def run_jobs(
    jobs: Sequence[Job], workers: int, say: Callable[[str], None] = lambda line: print(line, flush=True)
) -> list[str]:
    """Run all jobs and return the names of those that failed.

    A job that kills its worker process takes no other job with it. An interrupt (Ctrl-C) ends the running
    jobs and is passed on; jobs save their results themselves, so what was finished stays.
    """
    longest_first = sorted(jobs, key=lambda job: -job.cost)
    total = sum(job.cost for job in jobs)
    done_cost, failed = 0.0, []
    seconds = [float("nan")] * len(jobs)
    start = time.perf_counter()
    n_done = 0
    with closing(WorkerEngine(max(1, workers), ordered=False).run(_call, longest_first)) as outcomes:
        for outcome in outcomes:
            job = outcome.item
            if isinstance(outcome.chunk, str):
                print(outcome.chunk, end="", file=sys.stderr, flush=True)
            elif outcome.chunk is not None:
                seconds[outcome.index] = outcome.chunk
            if not outcome.last:
                continue
            n_done += 1
            done_cost += job.cost
            left = (time.perf_counter() - start) * (total - done_cost) / done_cost if done_cost else 0.0
            result = f"done after {seconds[outcome.index]:.0f} s"
            if outcome.error:
                failed.append(job.name)
                result = f"FAILED ({outcome.error})"
            say(f"[{n_done}/{len(jobs)}] {job.name} {result}, about {left / 60:.0f} min left")
    return failed


def _call(job: Job) -> Iterator[float | str]:
    """Run the job in a worker; gives the seconds it took, or where it failed: its error is one line only."""
    start = time.perf_counter()
    try:
        job.function(*job.arguments)
    except Exception:
        yield traceback.format_exc()
        raise
    yield time.perf_counter() - start
