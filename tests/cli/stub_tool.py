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

#: modules whose ``load_rejector`` is to be replaced
COMMANDS = [importlib.import_module("facereject._cli._choices")]

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


def start_tool(arguments: list[str], folder: Any, *, size: int = 90_000, made: str = "") -> Any:
    """Start the tool in a process of its own.

    Returns when the store of its table t.csv has grown to some size, or when it has made a file or folder.
    """
    process = subprocess.Popen(
        [*TOOL, *arguments],
        cwd=folder,
        env=os.environ | {"STUB_DELAY": "0.02"},
        stderr=subprocess.PIPE,
        text=True,
    )
    partial = folder / "t.csv.partial"
    while process.poll() is None:
        if (folder / made).exists() if made else partial.exists() and partial.stat().st_size > size:
            break
        time.sleep(0.002)
    return process


if __name__ == "__main__":
    install()
    app()
