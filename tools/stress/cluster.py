"""A Dask cluster that dies: lost workers cost nothing, a lost scheduler ends the run with a sentence."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from facereject.parallel import DaskEngine, EngineError
from tools.stress.trial import Trial

_ITEMS = 200
_PATIENCE = 60.0


def square(item: int) -> list[int]:
    """What the cluster is asked."""
    time.sleep(0.01)
    return [item**2]


def dying_cluster(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` runs in which a worker is killed, then ``count`` runs in which the scheduler is."""
    for number in range(2 * count):
        if not trial.goes_on():
            return
        victim = "worker" if number < count else "scheduler"
        cluster = _Cluster(folder / f"cluster{number}")
        try:
            why = _disturbed_run(cluster, victim, rng.randrange(5, _ITEMS // 2))
        finally:
            cluster.stop()
        trial.check(not why, f"{victim} killed: {why}")


def _disturbed_run(cluster: _Cluster, victim: str, when: int) -> str:
    answers: Counter[int] = Counter()
    try:
        for number, outcome in enumerate(DaskEngine(cluster.address).run(square, range(_ITEMS))):
            if number == when:
                cluster.kill(victim)
            if outcome.error:
                return f"item {outcome.item} failed: {outcome.error}"
            if outcome.chunk != outcome.item**2:
                return f"item {outcome.item} has a wrong answer"
            answers[outcome.item] += 1
    except EngineError as error:
        return "" if victim == "scheduler" else str(error)
    whole = len(answers) == _ITEMS and set(answers.values()) == {1}
    return "" if whole else f"{len(answers)} of {_ITEMS} items were answered"


class _Cluster:
    """A scheduler and two workers, each a process on this machine."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._file = folder / "scheduler.json"
        common = [sys.executable, "-m"]
        scheduler = [*common, "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
        scheduler += ["--host", "127.0.0.1", "--scheduler-file", str(self._file)]
        worker = [*common, "distributed.cli.dask_worker", "--scheduler-file", str(self._file), "--no-nanny"]
        worker += ["--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]
        self.processes = {"scheduler": self._start(scheduler)}
        end = time.monotonic() + _PATIENCE
        while not self._file.exists() and time.monotonic() < end:
            time.sleep(0.1)
        self.processes |= {name: self._start(worker) for name in ("worker", "other worker")}

    @property
    def address(self) -> str:
        import json

        return str(json.loads(self._file.read_text())["address"])

    def kill(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGKILL)

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    @staticmethod
    def _start(arguments: list[str]) -> subprocess.Popen[bytes]:
        # the workers must find the task
        here = str(Path(__file__).parents[2])
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])}
        return subprocess.Popen(
            arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
