"""The command line with a rejector that only looks at brightness, so that many inputs take no time.

Run as a script it is the tool itself, for tests that must kill it. STUB_DELAY (seconds per picture) slows it
down.
"""

from __future__ import annotations

import importlib
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import PIL.Image

from facereject._cli import app
from facereject.faces import Face, FaceRejector
from facereject.faces.face import Box
from facereject.tables import table_sink

#: modules whose ``load_rejector`` is to be replaced; the package has functions of the same names
COMMANDS = [importlib.import_module(f"facereject._cli.{name}") for name in ("score", "filtering")]

#: the command that runs this script
TOOL = [sys.executable, __file__]

#: grey level of a picture without a face, and of one that makes the rejector fail
NO_FACE, POISON = 0, 13


@dataclass(frozen=True)
class StubRejector:
    """One face per picture, accepted if the picture is brighter than the limit."""

    limit: float = 128.0
    n_points = 68
    # the rule is the real one
    decide = FaceRejector.decide

    @property
    def calibration(self) -> Any:
        """Expected errors by uncertainty."""
        return SimpleNamespace(expected_error=lambda uncertainty: -1 / uncertainty)

    @property
    def selector(self) -> Any:
        """The threshold."""
        return SimpleNamespace(threshold_=math.nextafter(-self.limit, -math.inf))

    def __call__(self, image: Any) -> list[Face]:
        time.sleep(float(os.environ.get("STUB_DELAY", "0")))
        level = float(image.mean())
        if level == NO_FACE:
            return []
        if level == POISON:
            raise RuntimeError("this picture hurts")
        points = np.full((68, 2), level / 3)
        return [Face(Box(1.0, 2.0, 3.0, 4.0), 0.5, points, -level, 1 / level, level > self.limit, "")]


def stub_rejector(model: str = "default", **options: Any) -> StubRejector:
    """In place of ``load_rejector``; ``--threshold`` sets the limit."""
    target = options.get("target") or {}
    return StubRejector(target.get("threshold", 128.0))


def install() -> None:
    """Let the commands use the stub, and note finished inputs at once."""
    for module in COMMANDS:
        module.load_rejector = stub_rejector  # type: ignore[attr-defined]
    table_sink._COMMIT_SECONDS = 0.02


def make_photos(folder: Any, n_photos: int) -> None:
    """Small pictures of all grey levels but the special ones, some in a subfolder."""
    (folder / "sub").mkdir(parents=True)
    for i in range(n_photos):
        level = 14 + (i * 37) % 240
        name = f"{i:04}.png" if i % 3 else f"sub/{i:04}.png"
        gray_photo(folder / name, level)


def gray_photo(path: Any, level: int) -> None:
    """A small picture of one grey level."""
    PIL.Image.new("L", (8, 8), level).save(path)


def start_tool(arguments: list[str], folder: Any, size: int = 0) -> subprocess.Popen[str]:
    """Start the tool in a process of its own; returns when its table t.csv has grown to some size."""
    process = subprocess.Popen(
        [*TOOL, *arguments],
        cwd=folder,
        env=os.environ | {"STUB_DELAY": "0.004"},
        stderr=subprocess.PIPE,
        text=True,
    )
    partial, journal = folder / "t.csv.partial", folder / "t.csv.partial.journal"
    while process.poll() is None:
        if partial.exists() and partial.stat().st_size > size and journal.read_bytes().count(b"\n") > 3:
            break
        time.sleep(0.002)
    return process


if __name__ == "__main__":
    install()
    app()
