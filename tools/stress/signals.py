"""Interrupts at any moment of a command: exit 130 or 143, one sentence, once the handlers are set."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tools.stress.stub import write_photos
from tools.stress.trial import Trial

_COMMANDS = (
    ["--help"],
    ["info", "default"],
    ["score", "photos", "-o", "t.csv", "--overwrite"],
    ["filter", "photos", "--accepted", "good", "--workers", "2"],
    ["assess", "points.csv", "--images", "photos", "-o", "a.csv", "--overwrite"],
    ["predictions", "report", "predictions.csv", "--overwrite"],
)
# the loading of modules and models
_LATEST_S = 0.6
# where Python itself swallows an interrupt before it runs any code of a package
_PYTHON = ("sitecustomize", "Failed checking if argv[0] is an import path entry")
# run by Python before anything else: tells when the second file of the package begins to be executed. The
# first lines of the first one set the handlers; a busy machine can hold a process up in between.
_WITNESS = """
import os, sys

def _see(event, args):
    if event == "exec" and getattr(args[0], "co_filename", "").endswith("facereject/__main__.py"):
        os.write(int(os.environ["FACEREJECT_WITNESS"]), b".")

sys.addaudithook(_see)
"""


def interrupted_commands(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` commands with one signal each, 0 to 0.6 s after the start or after the handlers are set."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(_WITNESS)
    write_photos(folder / "photos", 6)
    axes = ",".join(f"{axis}{number}" for number in range(68) for axis in "xy")
    values = ",".join(str(k * 37 % 7) for k in range(136))
    points = "\n".join(f"{number:04}.png,{values}" for number in (1, 2, 4, 5))
    (folder / "points.csv").write_text(f"image,{axes}\n{points}\n")
    rows = "\n".join(f"{number % 3},{number % 2},0.{number}" for number in range(10, 90))
    (folder / "predictions.csv").write_text(f"y_true,y_pred,confidence\n{rows}\n")
    for _ in range(count):
        if not trial.goes_on():
            return
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        arguments, delay = rng.choice(_COMMANDS), rng.uniform(0, _LATEST_S)
        # Python itself takes long to start on a busy machine
        begun, code, said = _interrupted(folder, arguments, number, delay, wait=rng.random() < 0.6)
        if not begun or any(place in said for place in _PYTHON):
            # Python itself was loading
            trial.remark("before the handlers were set")
        elif code == 0 and "Traceback" not in said:
            trial.remark("finished first")
        else:
            whole = code == 128 + number and said.startswith("Interrupted") and said.count("\n") == 1
            name = f"{arguments[0]}, {number.name} after {delay:.3f} s"
            trial.check(whole, f"{name}: exit code {code}, {said[-300:]!r}")


def _interrupted(
    folder: Path, arguments: list[str], number: signal.Signals, delay: float, *, wait: bool
) -> tuple[bool, int, str]:
    """Whether code of the package was reached, the exit code, and what was said."""
    reader, writer = os.pipe()
    script = Path(sys.executable).with_name("facereject")
    # half of them as `python -m facereject`
    start = (
        [str(script)] if script.exists() and int(delay * 1e6) % 2 else [sys.executable, "-m", "facereject"]
    )
    environment = {"FACEREJECT_WITNESS": str(writer), "COLUMNS": "200"}
    places = [str(folder / "site"), str(Path(__file__).parents[2])]
    process = subprocess.Popen(
        [*start, *arguments],
        cwd=folder,
        env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(places)},
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # a shell starts what is in the background with SIGINT ignored
        preexec_fn=_heed_signals,
    )
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        begun = wait and bool(pipe.read(1))
        time.sleep(delay)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
        begun = begun or bool(pipe.read())
    return begun, process.returncode, said.decode(errors="replace")


def _heed_signals() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
