"""The engine without workers: one item after the other in this process."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any

from facereject.parallel.base import Outcome, Task, steps


class SerialEngine:
    """Runs the task in this process, one item after the other.

    See Also
    --------
    WorkerEngine : Runs in worker processes.

    Examples
    --------
    >>> from facereject.parallel import SerialEngine
    >>> [outcome.chunk for outcome in SerialEngine().run(range, [1, 2])]
    [0, 0, 1]
    """

    def run(self, task: Task, items: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Apply the task to every item.

        Parameters
        ----------
        task : callable
            Turns an item into chunks.
        items : iterable
            The items; taken as they are needed.

        Yields
        ------
        outcome : Outcome
            A chunk, as soon as it is known whether another one follows.
        """
        for index, item in enumerate(items):
            with closing(steps(task, item)) as results:
                for step in results:
                    yield Outcome(index, item, *step)
