"""The command line with a rejector that only looks at brightness, so that many inputs take no time.

Run as a script it is the tool itself, for tests that must kill it. STUB_DELAY (seconds per picture) slows it
down.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# as a script it finds only its own folder
sys.path.insert(0, str(Path(__file__).parents[1]))

from bright_faces import BrightFaces, gray_photo

from facereject._cli import app
from facereject.pipeline import store

#: modules whose ``load_rejector`` is to be replaced; the package has functions of the same names
COMMANDS = [importlib.import_module(f"facereject._cli.{name}") for name in ("score", "filtering")]

#: the command that runs this script
TOOL = [sys.executable, __file__]


def stub_rejector(model: str = "default", **options: Any) -> BrightFaces:
    """In place of ``load_rejector``; ``--threshold`` sets the limit."""
    target = options.get("target") or {}
    return BrightFaces(target.get("threshold", 128.0))


def install() -> None:
    """Let the commands use the stub, and note finished inputs at once."""
    for module in COMMANDS:
        module.load_rejector = stub_rejector  # type: ignore[attr-defined]
    store._COMMIT_SECONDS = 0.02


def make_photos(folder: Any, n_photos: int) -> None:
    """Small pictures of all grey levels but the special ones, some in a subfolder."""
    (folder / "sub").mkdir(parents=True)
    for i in range(n_photos):
        level = 14 + (i * 37) % 240
        name = f"{i:04}.png" if i % 3 else f"sub/{i:04}.png"
        gray_photo(folder / name, level)


def start_tool(arguments: list[str], folder: Any, size: int = 0) -> subprocess.Popen[str]:
    """Start the tool in a process of its own; returns when its table t.csv has grown to some size."""
    process = subprocess.Popen(
        [*TOOL, *arguments],
        cwd=folder,
        env=os.environ | {"STUB_DELAY": "0.004"},
        stderr=subprocess.PIPE,
        text=True,
    )
    partial = folder / "t.csv.partial"
    while process.poll() is None:
        # an empty store has about half of this
        if partial.exists() and partial.stat().st_size > 60_000 + size:
            break
        time.sleep(0.002)
    return process


if __name__ == "__main__":
    install()
    app()
