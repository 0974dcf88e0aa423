"""Rejectors that need no model: one that finds nobody, one that goes by brightness."""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import PIL.Image

from facereject._cli import app
from facereject.faces import Face, FaceDetector, FaceRejector
from facereject.faces.face import Box, Detection
from facereject.tables import table_sink


class _Blind(FaceDetector):
    """Sees nothing."""

    def detect(self, image: Any) -> list[Detection]:
        return []


class Nobody:
    """Finds no face in any picture or video."""

    detector, predictor = _Blind(), None
    calibration = SimpleNamespace(uncertainty=np.linspace(-1, 1, 101))

    def __call__(self, image: Any) -> list[Face]:
        return []


@dataclass(frozen=True)
class Brightness:
    """One face per picture, accepted if the picture is bright; it takes its time."""

    seconds: float = 0.002
    limit: float = 128.0
    decide = FaceRejector.decide

    @property
    def calibration(self) -> Any:
        return SimpleNamespace(expected_error=lambda uncertainty: -1 / uncertainty)

    @property
    def selector(self) -> Any:
        return SimpleNamespace(threshold_=math.nextafter(-self.limit, -math.inf))

    def __call__(self, image: Any) -> list[Face]:
        time.sleep(self.seconds)
        level = float(image.mean())
        points = np.full((68, 2), level / 3)
        return [Face(Box(1.0, 2.0, 3.0, 4.0), 0.5, points, -level, 1 / level, level > self.limit, "")]


def write_photos(folder: Path, count: int) -> None:
    """Small pictures, each of a content of its own, some in a subfolder."""
    (folder / "sub").mkdir(parents=True)
    for i in range(count):
        image = np.full((8, 8), 14 + (i * 37) % 240, dtype=np.uint8)
        image[0, 0], image[0, 1] = i % 256, i // 256
        PIL.Image.fromarray(image).save(folder / (f"{i:04}.png" if i % 3 else f"sub/{i:04}.png"))


def warm_up() -> None:
    """Let this process import what the tool imports, so that forked ones need not."""
    for name in ("batch.run", "batch.plan", "batch.task", "batch.sorting", "tables.sinks", "_cli._job"):
        importlib.import_module(f"facereject.{name}")
    for name in ("csv", "parquet"):
        importlib.import_module(f"pyarrow.{name}")
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        _run_tool(["no such folder", "--accepted", "nowhere", "-o", "t.csv", "--workers", "1"])


def start_tool(arguments: Sequence[str], before: Callable[[], None] | None = None) -> int:
    """Run the tool with `Brightness` in a forked process, after ``before``; returns its number at once.

    A fork takes milliseconds where a new interpreter takes seconds; nothing here has started threads.
    """
    number = os.fork()
    if number:
        return number
    code = 99
    try:
        # what it says is of no interest, and must not be mixed with the report
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        os.dup2(sys.stderr.fileno(), 2)
        if before is not None:
            before()
        code = _run_tool(arguments)
    finally:
        os._exit(code)


def _run_tool(arguments: Sequence[str]) -> int:
    module: Any = importlib.import_module("facereject._cli.filtering")
    module.load_rejector = lambda *_, **__: Brightness()
    table_sink._COMMIT_SECONDS = 0.01
    try:
        app(["filter", *arguments])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    return 0
