"""The engine without workers: everything in this process, one item after the other."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any

from facereject.parallel.base import Outcome, Task, steps


class SerialEngine:
    """Runs the task in this process; see `Engine`."""

    def run(self, task: Task, items: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Apply the task to every item in turn; chunks come as soon as the next one is there."""
        for index, item in enumerate(items):
            with closing(steps(task, item)) as results:
                for step in results:
                    yield Outcome(index, item, *step)
