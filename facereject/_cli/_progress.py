"""How far a run is: a bar on a terminal, a line every few seconds elsewhere, nothing if quiet."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn

from facereject._cli._shared import console, say

if TYPE_CHECKING:
    from facereject.batch.inputs import Input
    from facereject.tables.rows import Chunk

_LINE_SECONDS = 5.0
_DRAW_SECONDS = 0.2

# the rate follows the last seconds, not the whole run: pictures differ in size
_MEMORY_SECONDS = 15.0


class RunProgress:
    """Shows what a run has done; an observer of `score_inputs`.

    Parameters
    ----------
    total : int or None
        Inputs (or frames) to come.
    frames : bool, default=False
        Count frames instead of inputs.
    quiet : bool, default=False
    """

    def __init__(self, total: int | None, *, frames: bool = False, quiet: bool = False) -> None:
        self._total = total
        self._frames = frames
        self._bar: Progress | None = None
        self._quiet = quiet
        self._done = self._inputs = self._faces = self._accepted = self._failed = 0
        self._drawn = self._start = time.monotonic()
        self._history: list[tuple[float, int]] = []

    def __call__(self, item: Input, chunk: Chunk, last: bool) -> None:
        """Count a chunk and draw now and then."""
        for row in chunk.rows:
            self._faces += row.box is not None
            self._accepted += row.accepted
        self._inputs += last
        self._done += chunk.frames if self._frames else last
        if last and chunk.rows and chunk.rows[-1].reason.startswith(("unreadable", "failed")):
            self._failed += 1
        now = time.monotonic()
        if not self._history:
            # from here on: until the first answer, workers and models were being loaded
            self._history.append((now, self._done))
            self._drawn = now
        elif not self._quiet and now - self._drawn >= (_DRAW_SECONDS if self._bar else _LINE_SECONDS):
            self._draw(now)

    def __enter__(self) -> RunProgress:
        if not self._quiet and console.is_terminal:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None))
            # drawn from here and not from a thread, which would draw while nothing has changed
            self._bar = Progress(
                *columns,
                TextColumn("{task.fields[figures]}", markup=False),
                console=console,
                auto_refresh=False,
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=self._total, figures="")
            self._bar.start()
            self._bar.refresh()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._start

    def _draw(self, now: float) -> None:
        self._drawn = now
        rate = self._rate(now)
        count, figures = self._texts(rate)
        if self._bar:
            self._bar.update(self._task, completed=self._done, description=count, figures=figures)
            self._bar.refresh()
        else:
            say(f"{count}, {figures}")

    def _rate(self, now: float) -> float:
        self._history.append((now, self._done))
        while len(self._history) > 2 and now - self._history[1][0] > _MEMORY_SECONDS:
            del self._history[0]
        (then, before) = self._history[0]
        return (self._done - before) / max(now - then, 1e-9)

    def _texts(self, rate: float) -> tuple[str, str]:
        count = f"{self._done:,}"
        if self._total is not None:
            # a video may hold more frames than its header says
            count += f" of {max(self._total, self._done):,}"
        count += " frames" if self._frames else " inputs"
        parts = [f"{figure(rate)}/s"]
        if self._faces:
            parts.append(f"{self._accepted / self._faces:.0%} accepted")
        if self._failed:
            parts.append(f"{self._failed:,} failed")
        if self._total is not None and rate > 0:
            parts.append(f"{duration((self._total - self._done) / rate)} left")
        return count, ", ".join(parts)


def figure(value: float) -> str:
    """A rate in three digits or whole numbers: 0.672, 37.8, 2,380."""
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"


def duration(seconds: float) -> str:
    """A time that people read: 8 s, 3:20 min, 2:05 h."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02} h"
