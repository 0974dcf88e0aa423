"""A live camera: its newest frame, the faces on it, outputs that follow, and its table.

The table of a camera is one input without an end, saved every two seconds.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from facereject._options import OptionError
from facereject._words import counted
from facereject.faces import FaceRejector
from facereject.faces.face import FRAME_RULES, FaceFrame
from facereject.faces.images import MAX_PIXELS
from facereject.outputs.base import Media, Output, RunInfo, StopLoop
from facereject.outputs.camera.window import Window
from facereject.outputs.summary import Counts
from facereject.parallel.base import SerialEngine
from facereject.pipeline.store import Store
from facereject.pipeline.task import feed
from facereject.sources.camera import Camera
from facereject.sources.frame import Frame
from facereject.tables.columns import check_columns
from facereject.tables.errors import TableError
from facereject.tables.writing import check_table_path, files_of
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


# what a crash or a full disk can cost
_SAVE_SECONDS = 2.0


class CameraTable(Output):
    """The table of a session, completed when the session ends.

    Parameters
    ----------
    path : str
        As in `Table`.
    columns : str
        As in `Table`.
    resume : bool, default=False
        Continue a table that a full disk or a crash left unfinished. Frames and times count on.
    """

    def __init__(self, path: str, columns: str = "all", *, resume: bool = False) -> None:
        self.path, self._columns = path, columns
        self._resume = resume
        self._store: Store | None = None
        self._counts = self._saved = Counts()
        self._first, self._start_s = 0, 0.0

    def prepare(self, run: RunInfo) -> None:
        """Check that the table can be written."""
        check_columns(self._columns)
        try:
            real = check_table_path(self.path, overwrite=run.overwrite)
        except TableError as error:
            raise OptionError(f"`output` {error}") from None
        if self._resume and run.overwrite:
            raise OptionError("`resume` and `overwrite` exclude each other")
        if self._resume and os.path.exists(real) and not os.path.exists(files_of(real)[1]):
            raise OptionError(f"`output` {self.path}: this table is finished; name another one")
        self._overwrite, self._rule = run.overwrite, run.frame_rule

    def files(self) -> list[str]:
        """The table and its unfinished form."""
        return [*files_of(self.path)]

    def begin(self, media: Media) -> None:
        """Start the table; TableError if it cannot be."""
        store = Store(
            self.path,
            resume=self._resume,
            overwrite=self._overwrite,
            rule=self._rule,
            n_points=len(media.mean_shape),
            columns=self._columns,
        )
        if (begun := store.begun()) is not None:
            store.end_input(begun.path, begun.counts)
        for frame in store.frames():
            self._first, self._start_s = frame.index + 1, frame.time_s
        # an input of the same name would be replaced
        self._name = f"{media.source} {self._first}"
        self._store, self._last_save = store, time.monotonic()

    def write(self, frame: FaceFrame) -> None:
        """Add a frame."""
        if self._store is None:
            return
        moved = frame._replace(index=self._first + frame.index, time_s=self._start_s + frame.time_s)
        with self._kept_on_failure(self._store):
            self._store.write([moved])
            self._counts = self._counts.plus(Counts.of([frame], self._rule))
            if time.monotonic() - self._last_save >= _SAVE_SECONDS:
                self._store.end_part(self._name, self._counts, "camera")
                self._saved, self._last_save = self._counts, time.monotonic()

    def close(self) -> None:
        """Complete the table with what was seen."""
        if self._store is not None:
            with self._kept_on_failure(self._store):
                self._store.end_input(self._name, self._counts)
                self._store.commit()
                self._saved = self._counts
                self._store.finish()
            self._store = None

    @contextlib.contextmanager
    def _kept_on_failure(self, store: Store) -> Iterator[None]:
        """If the table cannot be written, leave what was saved in ``TABLE.partial`` and say so."""
        try:
            yield
        except TableError as error:
            self._store = None
            store.close()
            n_frames = self._first + self._saved.frames
            if not n_frames:
                raise
            raise TableError(
                f"{error}; {counted(n_frames, 'frame')} are kept in {store.partial}: make room, then pass "
                "`resume` to complete the table"
            ) from error

    def report(self) -> list[str]:
        """Where the table is."""
        return [f"Table: {self.path}"]
