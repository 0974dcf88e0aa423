"""What an installation takes: megabytes of every package, and the processor time of a start.

    python tools/bench/install.py                         # into an empty environment, some minutes
    python tools/bench/install.py --environment .venv     # one that is there

Times are user and system time of the whole process, threads and all, medians of several runs; the smallest
is shown beside them, since a busy machine only adds time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: processor seconds that scoring one photo may take, start-up included
BAR = 1.5

# bytes of every installed package by name, and which of them facereject needs, directly or not
_SIZES = """
import importlib.metadata as metadata, json, os, re
sizes, needs = {}, {}
for package in metadata.distributions():
    name = re.sub("[-_.]+", "-", package.metadata["Name"]).lower()
    files = [package.locate_file(file) for file in package.files or []]
    sizes[name] = sum(os.path.getsize(file) for file in files if os.path.isfile(file))
    needs[name] = [
        re.sub("[-_.]+", "-", re.match(r"[\\w.-]+", line)[0]).lower()
        for line in package.requires or [] if "extra ==" not in line
    ]
wanted, waiting = {}, ["facereject"]
while waiting:
    name = waiting.pop()
    if name in sizes and name not in wanted:
        wanted[name] = sizes[name]
        waiting += needs[name]
print(json.dumps(wanted))
"""

_PHOTO = "import skimage.data, PIL.Image; PIL.Image.fromarray(skimage.data.astronaut()).save('one.jpg')"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--environment", type=Path, help="measure this one instead of making one")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="facereject-install-") as name:
        folder = Path(name)
        environment = options.environment
        if environment is None:
            environment = folder / "environment"
            venv.create(environment, with_pip=True)
            pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, "--disable-pip-version-check", ROOT], check=True, env=clean(folder))
        print_sizes(environment.absolute(), folder)
        print_times(environment.absolute(), folder, options.repeats)


def print_sizes(environment: Path, folder: Path) -> None:
    """The package and what it needs, largest first."""
    output = run([environment / "bin" / "python", "-c", _SIZES], folder)
    sizes: dict[str, int] = json.loads(output)
    own = sizes.pop("facereject")
    print("megabytes on the disk, compiled files included")
    print(f"  {'facereject, models included':36} {own / 1e6:7.1f}")
    for name, size in sorted(sizes.items(), key=lambda each: -each[1]):
        print(f"  {name:36} {size / 1e6:7.1f}")
    print(f"  {'all':36} {(own + sum(sizes.values())) / 1e6:7.1f}\n")


def print_times(environment: Path, folder: Path, repeats: int) -> None:
    """Processor seconds of what people type first."""
    python, tool = environment / "bin" / "python", environment / "bin" / "facereject"
    run([python, "-c", _PHOTO], folder)
    commands = {
        "python -c pass": [python, "-c", "pass"],
        "import facereject": [python, "-c", "import facereject"],
        "from facereject import FaceRejector": [python, "-c", "from facereject import FaceRejector"],
        "facereject --version": [tool, "--version"],
        "facereject --help": [tool, "--help"],
        "facereject info": [tool, "info"],
        "facereject score one.jpg": [tool, "score", "one.jpg"],
    }
    print(f"processor seconds: median and smallest of {repeats} runs")
    first = seconds(commands["facereject score one.jpg"], folder)
    print(f"  {'facereject score one.jpg, first ever':36} {first:7.2f}   (unpacks dlib's detector)")
    for name, command in commands.items():
        found = [seconds(command, folder) for _ in range(repeats)]
        bar = f"   (to be reached: {BAR})" if command is commands["facereject score one.jpg"] else ""
        print(f"  {name:36} {statistics.median(found):7.2f} {min(found):7.2f}{bar}")


def seconds(command: Sequence[str | Path], folder: Path) -> float:
    """User and system time of a process that has ended."""
    before = os.times()
    run(command, folder)
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)


def run(command: Sequence[str | Path], folder: Path) -> str:
    """What a command prints."""
    done = subprocess.run(command, cwd=folder, env=clean(folder), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def clean(folder: Path) -> dict[str, str]:
    """The environment of a new user: no settings of Python, an empty cache."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "XDG_CACHE_HOME": str(folder / "cache")}


if __name__ == "__main__":
    main()
