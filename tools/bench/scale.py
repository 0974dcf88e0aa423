"""What large jobs cost: measured at three sizes, on worker processes and on Dask, and extrapolated.

    python tools/bench/scale.py run results/bench/scale.json --again   # measure everything anew: some minutes
    python tools/bench/scale.py run results/bench/scale.json           # only what the file lacks
    python tools/bench/scale.py report results/bench/scale.json        # only the tables

Both write results/bench/scale.md, which docs/scale.md shows.

Three kinds of input. ``photos``: links to photos of faces. ``empty``: grey images of 64 x 64 without a
face, which cost next to nothing to score: what remains is the cost of having an input at all. ``frames``: a
made-up video. Every size is a separate run of ``facereject score`` with two workers. Measured are
processor seconds of the driver, the workers and the scheduler, the largest resident memory of the driver
and of all processes together, and the bytes of the table and its record. A line through the three sizes
gives the cost per input; for the scheduler, which also works by the clock, see `scheduler_cost`.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import psutil
from media import link, photographs
from scipy.optimize import nnls

import facereject
from facereject.demo.material import FPS, SIZE, clean_picture, video_frames
from facereject.outputs import VideoWriter
from facereject.sources.video_parts import PART_FRAMES

SIZES = {"photos": (60, 180, 540), "frames": (200, 600, 1800), "empty": (200, 600, 1800)}
#: what is extrapolated to, in units of the kind
TARGETS = {"photos": (10**6, 10**8), "frames": (10**4 * 3600 * 30,)}
WORKERS = 2
_ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENCV_FOR_THREADS_NUM": "1"}


def make_inputs(kind: str, count: int, folder: Path) -> Path:
    """The inputs of one run; a folder, or a video."""
    if kind == "photos":
        files = photographs()
        # the folders hold images of different sizes
        random.Random(0).shuffle(files)
        return link(files, folder / f"photos{count}", count)
    if kind == "empty":
        place = folder / f"empty{count}"
        place.mkdir()
        image = np.random.default_rng(0).integers(90, 110, size=(64, 64), dtype=np.uint8)
        data = cv2.imencode(".png", image)[1].tobytes()
        for i in range(count):
            (place / f"{i:07d}.png").write_bytes(data)
        return place
    path = folder / f"frames{count}.mp4"
    frames = list(video_frames(clean_picture()))
    with VideoWriter(path, FPS, SIZE) as writer:
        for i in range(count):
            writer.write(frames[i % len(frames)])
    return path


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, dict[str, list[int]]]]:
    """A scheduler and workers on this machine: the address, and the process ids by role."""
    file, tool = folder / "scheduler.json", Path(sys.executable).with_name("dask")
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": _ENVIRONMENT}
    options = ["--scheduler-file", file, "--no-dashboard"]
    scheduler = subprocess.Popen([tool, "scheduler", *options, "--port", "0"], **quiet)
    workers = [
        subprocess.Popen([tool, "worker", *options, "--nthreads", "1", "--no-nanny"], **quiet)
        for _ in range(WORKERS)
    ]
    try:
        while not file.exists():
            time.sleep(0.2)
        address = json.loads(file.read_text())["address"]
        yield address, {"scheduler": [scheduler.pid], "workers": [each.pid for each in workers]}
    finally:
        for each in (*workers, scheduler):
            # a worker that is asked to end waits for its scheduler first
            each.kill()
            each.wait()


class Watch:
    """Processor time and memory of processes by role, sampled while they live."""

    def __init__(self, driver: int, others: dict[str, list[int]]) -> None:
        self.driver, self.others = driver, others
        self.seconds: dict[tuple[str, int], float] = {}
        self.before = {
            (role, pid): sum(psutil.Process(pid).cpu_times()[:2])
            for role, pids in others.items()
            for pid in pids
        }
        self.peak_driver = self.peak_all = 0

    def look(self) -> None:
        children = psutil.Process(self.driver).children(recursive=True)
        roles = {"driver": [self.driver], "workers": [each.pid for each in children]}
        for role, pids in self.others.items():
            roles[role] = roles.get(role, []) + pids
        total = 0
        for role, pids in roles.items():
            for pid in pids:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process = psutil.Process(pid)
                    memory = process.memory_info().rss
                    # a process that has ended would show zeros
                    if memory:
                        times = process.cpu_times()
                        self.seconds[role, pid] = times.user + times.system
                        total += memory
                        if role == "driver":
                            self.peak_driver = max(self.peak_driver, memory)
        self.peak_all = max(self.peak_all, total)

    def by_role(self) -> dict[str, float]:
        sums: dict[str, float] = {}
        for (role, pid), seconds in self.seconds.items():
            sums[role] = sums.get(role, 0.0) + seconds - self.before.get((role, pid), 0.0)
        return sums


def measure(engine: str, kind: str, count: int, folder: Path) -> dict[str, Any]:
    """One run of the command."""
    inputs = make_inputs(kind, count, folder)
    table = folder / f"{engine}-{kind}-{count}.csv"
    command: list[str | Path] = [sys.executable, "-m", "facereject", "score", inputs, "-o", table, "--quiet"]
    with contextlib.ExitStack() as stack:
        others: dict[str, list[int]] = {}
        if engine == "dask":
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            address, others = stack.enter_context(cluster(place))
            command += ["--engine", "dask", "--scheduler", address]
        else:
            command += ["--workers", str(WORKERS)]
        start = time.perf_counter()
        with subprocess.Popen(command, env=_ENVIRONMENT) as process:
            watch = Watch(process.pid, others)
            while process.poll() is None:
                with contextlib.suppress(psutil.NoSuchProcess):
                    watch.look()
                time.sleep(0.05)
        seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"exit code {process.returncode}: {' '.join(map(str, command))}")
    record = Path(f"{table}.run")
    bytes_of_record = record.stat().st_size if record.exists() else 0
    result = {
        "engine": engine,
        "kind": kind,
        "count": count,
        "wall_s": round(seconds, 2),
        "cpu_s": {role: round(value, 3) for role, value in watch.by_role().items()},
        "peak_driver_bytes": watch.peak_driver,
        "peak_bytes": watch.peak_all,
        "table_bytes": table.stat().st_size,
        "record_bytes": bytes_of_record,
    }
    print(json.dumps(result), flush=True)
    return result


def machine() -> dict[str, str]:
    """What kind of machine this is; not which."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "facereject": facereject.__version__,
    }


def run(path: Path, scale: float, *, again: bool = False) -> None:
    """All runs that the file does not have yet, or all of them; it is written after each of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = path.exists() and not again
    results = json.loads(path.read_text(encoding="utf-8"))["runs"] if kept else []
    done = {(each["engine"], each["kind"], each["count"]) for each in results}
    for engine in ("processes", "dask"):
        for kind, sizes in SIZES.items():
            for size in (max(1, round(each * scale)) for each in sizes):
                if (engine, kind, size) in done:
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    results.append(measure(engine, kind, size, Path(folder)))
                text = json.dumps({"machine": machine(), "runs": results}, indent=1)
                path.write_text(f"{text}\n", encoding="utf-8")


def line(counts: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Slope and value at zero of the least-squares line, both at least zero."""
    slope, start = np.polyfit(counts, values, 1)
    return max(float(slope), 0.0), max(float(start), 0.0)


def scheduler_cost(runs: Sequence[dict[str, Any]]) -> tuple[float, float] | None:
    """Milliseconds of the scheduler per task and per second of the clock, by least squares over all runs.

    It asks its workers how they are while it waits, so that on a busy machine, where runs take long, most of
    its time has nothing to do with the number of tasks.
    """
    mine = [each for each in runs if each["engine"] == "dask"]
    if len({each["kind"] for each in mine}) < 2:
        return None
    # a video is one task
    tasks = [1 if each["kind"] == "frames" else each["count"] for each in mine]
    columns = np.column_stack([tasks, [each["wall_s"] for each in mine], np.ones(len(mine))])
    found, _ = nnls(columns, np.array([1000 * each["cpu_s"]["scheduler"] for each in mine]))
    return float(found[0]), float(found[1])


def report(path: Path) -> str:
    """The tables of the page, in Markdown."""
    lines: list[str] = []
    stored = json.loads(path.read_text(encoding="utf-8"))
    runs = stored["runs"]
    told = ", ".join(f"{name} {value}" for name, value in stored["machine"].items())
    lines += [f"<!-- made by tools/bench/scale.py -->\n\n{told}.\n"]
    columns = {
        "workers, CPU ms": lambda each: 1000 * each["cpu_s"].get("workers", 0.0),
        "driver, CPU ms": lambda each: 1000 * each["cpu_s"].get("driver", 0.0),
        "scheduler, CPU ms": lambda each: 1000 * each["cpu_s"].get("scheduler", 0.0),
        "driver memory, bytes": lambda each: each["peak_driver_bytes"],
        "table, bytes": lambda each: each["table_bytes"],
        "record, bytes": lambda each: each["record_bytes"],
    }
    lines.append("| input | engine | sizes | " + " | ".join(columns) + " | all memory, largest |")
    lines.append("|---" * (len(columns) + 4) + "|")
    slopes: dict[tuple[str, str], dict[str, float]] = {}
    for kind, engine in sorted({(each["kind"], each["engine"]) for each in runs}):
        mine = [each for each in runs if (each["kind"], each["engine"]) == (kind, engine)]
        mine.sort(key=lambda each: each["count"])
        counts = [each["count"] for each in mine]
        if len(mine) < 2:
            continue
        slopes[kind, engine] = {
            name: line(counts, [value(each) for each in mine])[0] for name, value in columns.items()
        }
        cells = [
            f"{value:,.0f}" if value >= 10 else f"{value:.2f}" for value in slopes[kind, engine].values()
        ]
        sizes = " · ".join(f"{count:,}" for count in counts)
        largest = max(each["peak_bytes"] for each in mine) / 2**20
        lines.append(f"| {kind} | {engine} | {sizes} | {' | '.join(cells)} | {largest:,.0f} MiB |")
    cost = scheduler_cost(runs)
    if cost is not None:
        lines.append(
            f"\nThe scheduler takes {cost[0]:.2f} ms of CPU per task and {cost[1]:.0f} ms per second of the "
            "clock."
        )
    lines.append(
        "\n<!-- extrapolated -->\n\n"
        "| job | engine | CPU hours of workers | of the driver | of the scheduler | table | record |"
    )
    lines.append("|---|---|---|---|---|---|---|")
    for (kind, engine), each in slopes.items():
        for target in TARGETS.get(kind, ()):
            hours = [f"{each[f'{role}, CPU ms'] * target / 3.6e6:,.0f}" for role in ("workers", "driver")]
            # one task per photo, one per part of a long video
            tasks = target if kind == "photos" else target / PART_FRAMES
            hours.append(f"{cost[0] * tasks / 3.6e6:,.0f}" if engine == "dask" and cost else "–")
            sizes = [f"{each[name] * target / 1e9:,.1f} GB" for name in ("table, bytes", "record, bytes")]
            lines.append(f"| {target:,} {kind} | {engine} | {' | '.join(hours)} | {' | '.join(sizes)} |")
    lines.append("\n<!-- limits -->\n\n| limit | |\n|---|---|")
    here = slopes.get(("photos", "processes"), {})
    if here:
        workers, driver = here["workers, CPU ms"], here["driver, CPU ms"]
        lines.append(f"| table of 10⁸ photos as CSV | {here['table, bytes'] * 1e8 / 1e9:,.0f} GB |")
        lines.append(f"| record of 10⁸ photos | {here['record, bytes'] * 1e8 / 1e9:,.0f} GB |")
        lines.append(f"| workers that keep one driver busy | {workers / driver:,.0f} |")
        lines.append(f"| photos per second and core | {1000 / workers:,.0f} |")
    there = slopes.get(("photos", "dask"), {})
    if there and cost is not None:
        lines.append(
            f"| workers that keep one Dask scheduler busy | {there['workers, CPU ms'] / cost[0]:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=("run", "report"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="times the sizes")
    parser.add_argument("--again", action="store_true", help="measure anew what the file has")
    options = parser.parse_args()
    if options.action == "run":
        run(options.path, options.scale, again=options.again)
    options.path.with_suffix(".md").write_text(report(options.path), encoding="utf-8")


if __name__ == "__main__":
    main()
