"""Run the trials and print tried / failed."""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import facereject
import tools.stress
from tools.stress.api import abused_api
from tools.stress.cameras import odd_cameras
from tools.stress.cluster import dying_cluster
from tools.stress.fuzz import fuzz
from tools.stress.kills import full_disk, kills
from tools.stress.landmark_files import damaged_landmark_files
from tools.stress.models import damaged_models
from tools.stress.odd_outputs import odd_outputs
from tools.stress.server import hostile_requests
from tools.stress.signals import interrupted_commands
from tools.stress.stores import damaged_stores, killed_stores
from tools.stress.training_cache import damaged_caches
from tools.stress.trial import Trial
from tools.stress.workers import dying_workers


class Kind(NamedTuple):
    """One kind of trials: how many of them, and for how many seconds at most, in full and in short."""

    run: Callable[[Trial, Path, int, random.Random], None]
    count: int
    seconds: float
    quick_count: int
    quick_seconds: float


_MEMORY = "/dev/shm"

#: kills come first, as they fork this process before others have started threads
KINDS = {
    "kills": Kind(kills, 30, 1500, 2, 12),
    "disk": Kind(full_disk, 36, 400, 3, 6),
    "killed stores": Kind(killed_stores, 400, 300, 8, 4),
    "damaged stores": Kind(damaged_stores, 3000, 300, 60, 5),
    "models": Kind(damaged_models, 3000, 300, 200, 8),
    "landmark files": Kind(damaged_landmark_files, 20_000, 300, 300, 4),
    "training cache": Kind(damaged_caches, 5000, 200, 200, 3),
    "api": Kind(abused_api, 3000, 300, 60, 4),
    "cameras": Kind(odd_cameras, 300, 300, 6, 4),
    "outputs": Kind(odd_outputs, 1000, 500, 12, 5),
    "signals": Kind(interrupted_commands, 600, 600, 8, 6),
    "server": Kind(hostile_requests, 5000, 300, 100, 6),
    "workers": Kind(dying_workers, 15, 300, 0, 0),
    "fuzz": Kind(fuzz, 3400, 1500, 100, 10),
    "cluster": Kind(dying_cluster, 3, 400, 0, 0),
}


def main() -> int:
    """Parse the command line; the exit code is 1 if a trial failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.stress",
        description=tools.stress.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a sample, within a minute")
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--record", type=Path, metavar="DIR", help="write the counts of each kind to a file here"
    )
    options = parser.parse_args()
    failed = tried = 0
    for name, kind in KINDS.items():
        count, seconds = kind[3:] if options.quick else kind[1:3]
        if (options.only and name not in options.only) or not count:
            continue
        heading, trial = _heading(), Trial(name, seconds)
        # in memory where possible: a kill does not care, and syncing to a disk takes most of the time
        place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        with tempfile.TemporaryDirectory(prefix="facereject-stress-", dir=place) as folder:
            kind.run(trial, Path(folder), count, random.Random(options.seed))
        print(trial.report(), flush=True)
        if options.record:
            path = options.record / f"{name.replace(' ', '_')}.txt"
            path.write_text(f"{heading}\n{trial.report()}\n")
        tried += trial.tried
        failed += len(trial.failures)
    print(f"all: {tried:,} tried, {failed:,} failed", flush=True)
    return int(failed > 0)


def _heading() -> str:
    """The command, and date, system and load of the machine."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return (
        f"$ python -m tools.stress {' '.join(sys.argv[1:])}\n"
        f"# {datetime.date.today()}, {platform.system()}, {os.cpu_count()} cores, load per core {load:.1f}, "
        f"Python {platform.python_version()}, facereject {facereject.__version__}"
    )


if __name__ == "__main__":
    sys.exit(main())
