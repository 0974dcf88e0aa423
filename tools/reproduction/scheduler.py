"""Independent jobs on a few processes: longest first, progress with time left, one failure stops no other."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple


class Job(NamedTuple):
    """A function call in a process of its own; ``cost``, a guess of its seconds, decides when."""

    name: str
    cost: float
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


def run_jobs(
    jobs: Sequence[Job], n_processes: int, say: Callable[[str], None] = lambda line: print(line, flush=True)
) -> list[str]:
    """Run all jobs and return the names of those that failed.

    Each job has a process of its own: memory is given back, and one that is killed takes no other with it.
    An interrupt (Ctrl-C) ends the running ones and is passed on; jobs save their results themselves, so what
    was finished stays.
    """
    # a forked process need not import everything again; elsewhere than on Linux forking is not safe
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    waiting = sorted(jobs, key=lambda job: job.cost)
    total = sum(job.cost for job in jobs)
    done_cost = 0.0
    running: dict[int, tuple[Job, BaseProcess, float]] = {}
    failed: list[str] = []
    start = time.perf_counter()
    try:
        while waiting or running:
            while waiting and len(running) < max(1, n_processes):
                job = waiting.pop()
                process = context.Process(target=_call, args=(job,), daemon=True)
                process.start()
                running[process.sentinel] = job, process, time.perf_counter()
            for sentinel in wait(list(running)):
                job, process, began = running.pop(int(sentinel))  # type: ignore[call-overload]
                process.join()
                now = time.perf_counter()
                done_cost += job.cost
                left = (now - start) * (total - done_cost) / done_cost if done_cost else 0.0
                outcome = "done"
                if process.exitcode:
                    failed.append(job.name)
                    outcome = f"FAILED (exit code {process.exitcode})"
                count = len(jobs) - len(waiting) - len(running)
                say(
                    f"[{count}/{len(jobs)}] {job.name} {outcome} after {now - began:.0f} s, "
                    f"about {left / 60:.0f} min left"
                )
    finally:
        for _, process, _ in running.values():
            process.terminate()
        for _, process, _ in running.values():
            process.join()
    return failed


def _call(job: Job) -> None:
    # a handler of the parent's, inherited by forking, is not for us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        job.function(*job.arguments)
    except KeyboardInterrupt:
        # the parent says what happened; a traceback per process would bury it
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
