"""How far a job is: a bar on a terminal, a line every few seconds elsewhere, nothing if quiet."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from facereject._cli._shared import console, say
from facereject._words import counted, percent

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from facereject.parallel import RunProgress

_LINE_SECONDS = 5.0
_DRAW_SECONDS = 0.2

# the rate follows the last seconds, not the whole run: images differ in size
_MEMORY_SECONDS = 15.0

# answers of several workers come together: in less time they tell nothing about the rate
_LEAST_SECONDS = 1.0


class ProgressBar:
    """Shows what a job has done; a context manager, and the ``progress`` of runs and trainings.

    Parameters
    ----------
    quiet : bool, default=False
        Show nothing.
    rate : bool, default=True
        Show how many per second, and the time left. Both count from the first answer on: until then, workers
        and models are being loaded.
    last_line : bool, default=False
        Where lines are written, write one for the end, too.
    """

    def __init__(self, *, quiet: bool = False, rate: bool = True, last_line: bool = False) -> None:
        self._quiet, self._with_rate, self._last_line = quiet, rate, last_line
        self._bar: RichProgress | None = None
        self._begun = False
        self._unit = ""
        self._drawn = 0.0
        self._history: list[tuple[float, int]] = []

    def __call__(self, state: RunProgress) -> None:
        """Note how much is done, and draw if that is due."""
        if self._quiet:
            return
        if state.unit != self._unit:
            # another stage begins: its rate is its own
            self._unit, self._begun, self._history = state.unit, False, []
        now = time.monotonic()
        due = now - self._drawn >= (_DRAW_SECONDS if self._bar else _LINE_SECONDS)
        if not self._history:
            due = not self._begun and self._bar is not None
            if self._begun or state.done:
                self._history.append((now, state.done))
            self._begun, self._drawn = True, now
        if due or (self._last_line and state.done == state.total and not self._bar):
            self._drawn = now
            self._draw(state, self._rate(now, state.done))

    def __enter__(self) -> ProgressBar:
        if not self._quiet and console.is_terminal:
            # a run into a file or a pipe has no bar, and need not wait for its import
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as RichProgress

            columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=None))
            # drawn from here and not from a thread, which would draw while nothing has changed
            self._bar = RichProgress(
                *columns,
                TextColumn("{task.fields[figures]}", markup=False),
                console=console,
                auto_refresh=False,
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=None, figures="")
            self._bar.start()
            self._bar.refresh()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def _rate(self, now: float, done: int) -> float | None:
        """Per second, over the last seconds; None while too little is known."""
        if not self._history or now - self._history[0][0] < _LEAST_SECONDS:
            return None
        if done != self._history[-1][1]:
            # while one input takes long the rate sinks slowly, and is not zero
            self._history.append((now, done))
        while len(self._history) > 2 and now - self._history[1][0] > _MEMORY_SECONDS:
            del self._history[0]
        then, before = self._history[0]
        return (done - before) / (now - then)

    def _draw(self, state: RunProgress, rate: float | None) -> None:
        done, total = state.done, state.total
        count = f"{done:,}"
        if total is not None:
            # a video may hold more frames than its header says
            count += f" of {max(total, done):,}"
        count += f" {state.unit}"
        figures = []
        if self._with_rate and rate is not None:
            figures.append(f"{figure(rate)}/s")
        if state.accepted is None:
            figures.append(counted(state.faces, "face"))
        elif state.faces:
            figures.append(f"{percent(state.accepted, state.faces)} accepted")
        if state.failed:
            figures.append(f"{state.failed:,} failed")
        if self._with_rate and rate and state.alike and total is not None and done < total:
            figures.append(f"{duration((total - done) / rate)} left")
        if self._bar:
            self._bar.update(
                self._task, completed=done, total=total, description=count, figures=", ".join(figures)
            )
            self._bar.refresh()
        else:
            say(", ".join([count, *figures]))


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
