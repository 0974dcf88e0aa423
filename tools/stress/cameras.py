"""Cameras that misbehave: every session ends, its table and recording are whole, no thread stays behind."""

from __future__ import annotations

import io
import itertools
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import skimage.data

from facereject import FaceRejector
from facereject.outputs.camera.recording import Recording
from facereject.outputs.table import JSONLines
from facereject.pipeline.live import CameraTable, Live
from facereject.sources.camera import Camera, CameraError, Shot
from facereject.sources.video import open_video
from facereject.tables.reading import read_table
from facereject.tracking.tracker import FaceTracker
from tools.stress.trial import Trial

_SIZES = [
    (120, 160),
    (120, 160),
    (120, 160),
    (90, 120),
    (16, 16),
    (1, 1),
    (500, 1),
    (1, 500),
    (15, 40),
    (0, 8),
]
_ERRORS = [OSError(5, "Input/output error"), RuntimeError(""), ValueError("odd"), EOFError(), MemoryError()]


def odd_cameras(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` sessions with a camera that stalls, changes its size, goes black, raises or comes back."""
    rejector = FaceRejector.pretrained()
    for number in range(count):
        if not trial.goes_on():
            return
        table, video = folder / f"{number}.csv", folder / f"{number}.mp4"
        lines = io.BytesIO()
        devices = _Devices(rng)
        camera = Camera(open_device=devices, max_failures=4, reconnects=2, retry_s=0.0, patience_s=2.0)
        live = Live([CameraTable(str(table)), JSONLines(lines), Recording(str(video))], max_frames=12)
        try:
            with camera:
                live.run(camera, FaceTracker(rejector), "camera 0")
            problem = ""
        except CameraError as error:
            problem = "" if "camera 0" in str(error) else f"the message does not name the camera: {error}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        problem = problem or _complaint(live.summary.frames, table, video, lines)
        if not problem and any(thread.name == "camera" for thread in threading.enumerate()):
            problem = "a thread stays behind"
        trial.remarks["frames seen"] += live.summary.frames
        trial.check(not problem, f"session {number} ({devices.script}): {problem}")
        for path in folder.iterdir():
            path.unlink()


def _complaint(n_frames: int, table: Path, video: Path, lines: io.BytesIO) -> str:
    if not table.exists():
        return "" if n_frames == 0 else f"no table of {n_frames} frames"
    if len({frame.index for frame in read_table(str(table)) if frame.index >= 0}) != n_frames:
        return f"the table has other frames than the {n_frames} that were seen"
    if len([json.loads(line) for line in lines.getvalue().splitlines()]) != n_frames:
        return "there is not a line for every frame"
    if n_frames:
        with open_video(video) as reader:
            if not any(True for _ in reader):
                return "the recording has no frame"
    left = {path.name for path in table.parent.iterdir()} - {table.name, video.name}
    return f"left behind: {left}" if left else ""


class _Devices:
    """Opens devices that play a random script; some cannot be opened again."""

    def __init__(self, rng: random.Random) -> None:
        self._rng, self.script, self._opened = rng, "", 0
        self._face = skimage.data.astronaut()[20:200, 140:300]

    def __call__(self, source: int | str, size: tuple[int, int] | None) -> _Devices:
        self._opened += 1
        if self._opened > 1 and self._rng.random() < 0.3:
            raise CameraError("camera 0 is gone")
        self._left = itertools.repeat(None, self._rng.randrange(20))
        return self

    def read(self) -> Shot | None:
        # the newest frame wins, so a device that does not wait would be seen once
        time.sleep(self._rng.choice([0.0, 0.01, 0.03]))
        if next(self._left, 0) == 0:
            return self._noted("-", None)
        chance = self._rng.random()
        if chance < 0.1:
            return self._noted("-", None)
        if chance < 0.15:
            error = self._rng.choice(_ERRORS)
            self._noted(type(error).__name__, None)
            raise error
        if chance < 0.2:
            return self._noted("black ", np.zeros((120, 160, 3), np.uint8))
        height, width = self._rng.choice(_SIZES)
        image: Any = np.resize(self._face, (height, width, 3)) if min(height, width) < 90 else None
        if image is None:
            image = np.ascontiguousarray(self._face[:height, :width])
        return self._noted(f"{height}x{width} ", image)

    def close(self) -> None:
        pass

    def _noted(self, what: str, image: Any) -> Shot | None:
        self.script += what
        return None if image is None else Shot(image)
