"""The paper's tables and figures from our code.

    python -m tools.reproduce classification | ordinal | landmarks | all | explain | predictors
        [--datasets NAME …] [--splits 5] [--jobs 2] [--quick] [--force] [--report-only]
        [--results DIR] [--data DIR] [--work DIR] [--solver bmrm]

Numbers go to DIR/raw, one file per data set and split; a run that was stopped continues where it was. Then
tables.md and the figures are made from all files there. ``--data`` is the folder with uci/ and faces/.
``explain`` runs the experiments behind the explanations in results/README.md, ``predictors`` those of
results/predictors.md (the shipped models on predictors they were not made for). ``--quick`` takes one split
of small sets and fewer trees, into a folder of its own. ``--solver bmrm`` trains the predictors and SELE
scores of the tables by the paper's bundle method, into a folder of its own; slow, and meant for a few tables.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

# One thread per process, set before numpy is loaded: --jobs processes share the machine, and sums that do not
# depend on the number of threads come out the same everywhere.
for _name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "NUMBA"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")
from facereject.solver._bundle import METHODS  # noqa: E402
from tools.reproduce import experiments  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]

TASKS = ("classification", "ordinal", "landmarks")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=(*TASKS, "all", "explain", "predictors"))
    parser.add_argument(
        "--datasets", nargs="+", metavar="NAME", help="these tables only, as the paper names them"
    )
    parser.add_argument("--splits", type=int, help="random splits of each table (default 5; 1 with --quick)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--quick", action="store_true", help="one split of small tables, fewer trees")
    parser.add_argument("--force", action="store_true", help="compute again what is there already")
    parser.add_argument("--report-only", action="store_true", help="tables and figures from stored numbers")
    parser.add_argument("--solver", choices=METHODS, default=METHODS[0], help=f"default {METHODS[0]}")
    parser.add_argument(
        "--results", type=Path, help="default results/, with --quick or another solver a folder in cache/"
    )
    parser.add_argument("--data", type=Path, help="default FACEREJECT_DATA, then ../shared/data")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "cache", help="intermediate files (default cache/)"
    )
    options = parser.parse_args(arguments)
    if options.splits is None:
        options.splits = 1 if options.quick else 5
    own_solver = options.solver != METHODS[0]
    if options.results is None:
        names = ["quick"] * options.quick + [options.solver] * own_solver
        options.results = ROOT / "cache" / "-".join(names) if names else ROOT / "results"
    options.tasks = TASKS if options.what == "all" else (options.what,)
    if own_solver and not set(options.tasks) <= {"classification", "ordinal"}:
        parser.error("--solver is for classification and ordinal")
    if options.splits < 1 or options.jobs < 1:
        parser.error("--splits and --jobs must be at least 1")
    return options


if __name__ == "__main__":
    # without this, kill would end the parent alone and leave its processes at work
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(experiments.main(parse()))
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on from here")
