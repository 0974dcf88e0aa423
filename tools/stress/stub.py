"""Rejectors that need no model: one that finds no face, one that decides by brightness."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import PIL.Image

from facereject.faces import Face, FaceDetector, FaceRejector
from facereject.faces.face import Box, Detection
from facereject.outputs import SortedFiles, Table
from facereject.pipeline import Running, score_files, store
from facereject.tables.errors import TableError


class _Blind(FaceDetector):
    """Sees nothing."""

    def detect(self, image: Any) -> list[Detection]:
        return []


class Nobody:
    """Finds no face in any image or video."""

    n_points = 68
    detector, predictor = _Blind(), None
    calibration = SimpleNamespace(uncertainty=np.linspace(-1, 1, 101))

    def __call__(self, image: Any) -> list[Face]:
        return []

    def assess_detections(self, image: Any, found: Any) -> list[Face]:
        return []


@dataclass(frozen=True)
class Brightness:
    """One face per image, accepted if the image is bright; slow on purpose."""

    seconds: float = 0.002
    limit: float = 128.0
    n_points = 68
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
    """Small images with different content, some in a subfolder."""
    (folder / "sub").mkdir(parents=True)
    for i in range(count):
        write_photo(folder / (f"{i:04}.png" if i % 3 else f"sub/{i:04}.png"), i, 14 + (i * 37) % 240)


def write_photo(path: Path, number: int, level: int) -> None:
    """A small image of one brightness with unique content."""
    image = np.full((8, 8), level, dtype=np.uint8)
    image[0, 0], image[0, 1] = number % 256, number // 256
    PIL.Image.fromarray(image).save(path)


def start_run(
    paths: str,
    mode: str,
    output: str,
    *,
    keep_best: float | None = None,
    before: Callable[[], None] | None = None,
) -> int:
    """Sort a folder of photos in a forked process, after ``before``; returns its id at once.

    A fork takes milliseconds where a new interpreter takes seconds; nothing here has started threads.
    """
    number = os.fork()
    if number:
        return number
    code = 99
    try:
        # what it says is of no interest, and must not be mixed with the report
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        store._COMMIT_SECONDS = 0.01
        if before is not None:
            before()
        rejector: Any = Brightness()
        outputs = [Table(output), SortedFiles("good", "bad", mode)]
        running = Running(resume=True)
        summary = score_files(paths, outputs, rejector=rejector, keep_best=keep_best, running=running)
        code = int(summary.failed > 0 or bool(summary.placed and summary.placed.failed))
    except (TableError, OSError, ValueError):
        code = 1
    finally:
        os._exit(code)
