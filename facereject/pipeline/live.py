"""A live camera: its newest frame, the faces on it, and outputs that follow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from facereject._options import OptionError
from facereject.faces import FaceRejector
from facereject.faces.face import FRAME_RULES, FaceFrame
from facereject.faces.images import MAX_PIXELS
from facereject.outputs.base import Media, Output, RunInfo, StopLoop
from facereject.outputs.camera.window import Window
from facereject.parallel.base import SerialEngine
from facereject.pipeline.task import feed
from facereject.sources.camera import Camera
from facereject.sources.frame import Frame
from facereject.tracking.tracker import FaceTracker

# seconds without a frame after which keys are looked at
_WAIT_S = 0.05


@dataclass
class LiveSummary:
    """What a session gave.

    Attributes
    ----------
    frames, accepted : int
        Frames that were scored, and those of them that were accepted.
    dropped : int
        Frames of the camera that were missed.
    """

    frames: int = 0
    accepted: int = 0
    dropped: int = 0


class Live:
    """Scores the frames of a camera until it ends or an output does.

    Outputs are checked when it is made, before a model is needed; they are closed however `run` ends.

    Parameters
    ----------
    outputs : iterable of Output
        They get frames with pixels. One that ends the loop, such as a window, comes last.
    frame_rule : {"all", "any", "largest"}
        See `FaceFrame.accepted`.
    overwrite : bool, default=False
        Files that facereject did not create may be replaced.
    max_frames, max_seconds : int, float or None
        When to end.
    clock : callable
        Seconds that never go back.

    Attributes
    ----------
    summary : LiveSummary
        Kept up to date, also if the loop ends by an exception.
    """

    def __init__(
        self,
        outputs: Iterable[Output] = (),
        *,
        frame_rule: str = "all",
        overwrite: bool = False,
        max_frames: int | None = None,
        max_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if frame_rule not in FRAME_RULES:
            raise OptionError(f"`frame_rule` must be one of {', '.join(FRAME_RULES)}; got {frame_rule}")
        for name, limit in (("max_frames", max_frames), ("max_seconds", max_seconds)):
            if limit is not None and not (limit > 0 and math.isfinite(limit)):
                raise OptionError(f"`{name}` must be positive; got {limit:g}")
        self.outputs: Sequence[Output] = list(outputs)
        self.summary = LiveSummary()
        self._rule, self._clock = frame_rule, clock
        self._max_frames, self._max_seconds = max_frames, max_seconds
        run = RunInfo((), "", "", frame_rule, overwrite, MAX_PIXELS, SerialEngine(), tuple(self.outputs))
        for output in self.outputs:
            output.prepare(run)

    def run(self, camera: Camera, tracker: FaceTracker, name: str) -> LiveSummary:
        """Score the frames of a camera that is open.

        Parameters
        ----------
        camera : Camera
        tracker : FaceTracker
        name : str
            Of the camera, as outputs show it.
        """
        idle: list[Callable[[], None]] = []
        with ExitStack() as stack:
            for output in self.outputs:
                # however it ends, what was seen until then is whole
                stack.callback(output.close)
            for output in self.outputs:
                output.begin(Media(name, name, "video", tracker.rejector.points.mean_shape))
                stack.callback(output.end)
                if isinstance(output, Window):
                    output.watch(camera, tracker)
                    idle.append(output.poll)
            try:
                for _ in feed(self._counted(map(tracker, self._frames(camera, idle))), self.outputs):
                    pass
            except StopLoop:
                pass
            finally:
                self.summary.dropped = camera.dropped
        return self.summary

    def _frames(self, camera: Camera, idle: Sequence[Callable[[], None]]) -> Iterator[Frame]:
        start = self._clock()
        while not self._over(start):
            frame = camera.read(_WAIT_S)
            if frame is not None:
                yield frame
            elif camera.ended:
                return
            else:
                for look in idle:
                    look()

    def _over(self, start: float) -> bool:
        if self._max_frames is not None and self.summary.frames >= self._max_frames:
            return True
        return self._max_seconds is not None and self._clock() - start >= self._max_seconds

    def _counted(self, frames: Iterable[FaceFrame]) -> Iterator[FaceFrame]:
        for frame in frames:
            self.summary.frames += 1
            self.summary.accepted += frame.accepted(self._rule)
            yield frame


def warm_up(rejector: FaceRejector) -> None:
    """Load in this thread what is loaded with the first face, before frames come."""
    blank = np.zeros((100, 100, 3), dtype=np.uint8)
    rejector(blank)
    rejector.assess_box(blank, (10, 10, 80, 80))
