"""Worker processes that are killed: each costs one input at most, and resuming scores that one, too."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

from facereject.faces.face import FaceFrame
from facereject.outputs import Output
from facereject.parallel import WorkerEngine
from facereject.pipeline import Running, score_files
from facereject.tables.columns import is_lost
from facereject.tables.reading import read_table
from tools.stress.sorted_files import SUFFIXES
from tools.stress.stub import Brightness, write_photos
from tools.stress.trial import Trial

_PHOTOS = 60
_KILLS = 3


def dying_workers(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` runs in which some workers are killed, each resumed once."""
    write_photos(folder / "photos", _PHOTOS)
    rejector: Any = Brightness()
    whole = folder / "whole.csv"
    score_files(folder / "photos", whole, rejector=rejector)
    expected = _rows(whole)
    for number in range(count):
        if not trial.goes_on():
            return
        table = folder / f"t.{SUFFIXES[number % len(SUFFIXES)]}"
        killer = _Killer(rng)
        engine = WorkerEngine(2)
        score_files(folder / "photos", [table, killer], rejector=rejector, running=Running(engine=engine))
        lost = [frame for frame in read_table(str(table)) if is_lost(frame.problem)]
        why = "" if len(_rows(table)) == _PHOTOS else "an input is missing or listed twice"
        if len(lost) > killer.killed:
            why = why or f"{killer.killed} kills cost {len(lost)} inputs"
        again = Running(engine=engine, resume=True)
        score_files(folder / "photos", table, rejector=rejector, running=again)
        if _rows(table) != expected:
            why = why or "the resumed table is another one"
        trial.check(not why, f"{killer.killed} workers killed: {why}")
        for path in folder.glob("t.*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


class _Killer(Output):
    """Kills a worker now and then."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self.killed = rng, 0
        self._moments = sorted(rng.sample(range(2, _PHOTOS), _KILLS))
        self._seen = 0

    def write(self, frame: FaceFrame) -> None:
        self._seen += 1
        if self._moments and self._seen >= self._moments[0]:
            del self._moments[0]
            workers = [child.pid for child in multiprocessing.active_children() if child.pid]
            if workers:
                os.kill(self._rng.choice(workers), signal.SIGKILL)
                self.killed += 1


def _rows(table: Path) -> Counter[tuple[Any, ...]]:
    return Counter(
        (frame.source, frame.problem, *((face.uncertainty, face.accepted) for face in frame.faces))
        for frame in read_table(str(table))
    )
