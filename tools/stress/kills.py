"""Kills at random moments, and a full disk: a resumed run ends as one that was never disturbed."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.stress.sorted_files import MODES, SUFFIXES, complaint, contents
from tools.stress.stub import start_run, write_photo, write_photos
from tools.stress.trial import Trial

_PHOTOS = 40
# kills of one run before it may finish
_MAX_KILLS = 3
# what the folder may be called from one start to the next
_SPELLINGS = ("photos", "./photos", "photos/", "../run/photos", "good/../photos")


def kills(trial: Trial, folder: Path, each: int, rng: random.Random) -> None:
    """``each`` kills for every kind of table and way of placing."""
    write_photos(folder / "made", _PHOTOS)
    lasting = _seconds_of_a_run(folder)
    for suffix in SUFFIXES:
        for mode in MODES:
            killed = 0
            while killed < each and trial.goes_on():
                run = _Run(folder, mode, suffix, rng)
                for _ in range(min(_MAX_KILLS, each - killed)):
                    run.start()
                    time.sleep(rng.uniform(0, 1.1 * lasting))
                    killed += 1
                    run.kill()
                    trial.check(run.photos_held(), f"{run.name}, killed: a photo is lost")
                    run.change_a_photo()
                trial.check(not (why := run.finish()), f"{run.name}, resumed: {why}")
                run.remove()


def full_disk(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """Runs that may not make files of more than some size: what a full disk is to a program."""
    write_photos(folder / "made", _PHOTOS)
    for number in range(count):
        if not trial.goes_on():
            return
        mode, suffix = MODES[number % 3], SUFFIXES[number // 3 % len(SUFFIXES)]
        run = _Run(folder, mode, suffix, rng)
        run.start(partial(_limit_files, rng.randint(0, 60_000)))
        run.wait()
        why = "" if run.photos_held() else "a photo is lost"
        why = why or run.finish()
        trial.check(not why, f"{run.name}, disk full: {why}")
        run.remove()


def _limit_files(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _seconds_of_a_run(folder: Path) -> float:
    run, start = _Run(folder, "copy", "csv", random.Random(0)), time.monotonic()
    run.finish()
    run.remove()
    return time.monotonic() - start


class _Run:
    """One run of the tool in its own folder, begun and resumed as often as needed."""

    def __init__(self, folder: Path, mode: str, suffix: str, rng: random.Random) -> None:
        self.folder = folder / "run"
        shutil.copytree(folder / "made", self.folder / "photos")
        self.mode, self.suffix, self._rng = mode, suffix, rng
        self._keep_best = rng.choice([None, 0.5])
        self.name = f"{mode} to {suffix}" + (", the best half" if self._keep_best else "")
        self.photos = {
            str(path.relative_to(self.folder / "photos")): path.read_bytes()
            for path in (self.folder / "photos").rglob("*.png")
        }
        self._process = 0

    def start(self, before: Callable[[], None] | None = None) -> None:
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            paths = self._rng.choice(_SPELLINGS if os.path.isdir("good") else _SPELLINGS[:-1])
            self._process = start_run(
                paths, self.mode, f"t.{self.suffix}", keep_best=self._keep_best, before=before
            )
        finally:
            os.chdir(here)

    def kill(self) -> None:
        """Kill the process, if it still runs."""
        os.kill(self._process, signal.SIGKILL)
        self.wait()

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])

    def photos_held(self) -> bool:
        """Whether no photo is lost."""
        return set(self.photos.values()) <= contents(self.folder)

    def finish(self) -> str:
        """Resume the run until its end; returns what is wrong then."""
        self.start()
        code = self.wait()
        if code:
            return f"exit code {code}"
        return complaint(self.folder, self.photos, self.mode, self.suffix, self._keep_best)

    def change_a_photo(self) -> None:
        """Replace the content of a photo; a placed copy of the old one would be in the way, a link is not."""
        if self.mode == "link":
            name = self._rng.choice(list(self.photos))
            write_photo(self.folder / "photos" / name, self._rng.randrange(256), self._rng.randrange(14, 254))
            self.photos[name] = (self.folder / "photos" / name).read_bytes()

    def remove(self) -> None:
        shutil.rmtree(self.folder)
