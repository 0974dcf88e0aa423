"""The engine with worker processes on this machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from facereject.parallel._pool import PendingItem, WorkerPool
from facereject.parallel._worker import LAST, pack_task, start_server, unpack
from facereject.parallel.base import (
    EngineError,
    Feed,
    Outcome,
    SerialEngine,
    Step,
    Task,
    check_count,
    describe,
)

# eleven days; systems count the milliseconds of a wait in 31 bits
_LONGEST_S = 1e6


class WorkerEngine:
    """Runs the task in worker processes on this machine.

    Every worker is sent the task once, so what the task builds on first use is built once per worker. If a
    worker dies, the item it was working on ends with an error, and the worker is replaced. Workers end with
    this process, however it ends. Scripts need the usual ``if __name__ == "__main__":`` guard.

    Parameters
    ----------
    workers : int
        Number of processes.
    ordered : bool, default=True
        Return items in their order. If False, each one as soon as it is finished; the chunks of different
        items can then be mixed.
    max_pending : int, default=1000
        Largest number of items taken and not yet returned: how far workers go ahead of a slow item.
    max_buffer : int, default=64 MiB
        Bytes of pickled chunks that wait for their turn. Above it only the item whose turn it is continues.
    preload : sequence of str, default=()
        Modules the task needs. On Linux they are imported once for all workers, in the background, from the
        moment the engine is made: make it early. They must not start threads.
    timeout : float or None, default=None
        Time limit for the next chunk of an item, in seconds. Then the worker is killed and replaced, and the
        item ends with an error. None is no limit.
    or_here : bool, default=False
        Run a task that cannot be pickled in this process, without a limit, instead of raising EngineError.

    See Also
    --------
    SerialEngine : Runs in this process.
    DaskEngine : Runs on a Dask cluster.

    Examples
    --------
    >>> from facereject.parallel import WorkerEngine
    >>> [outcome.chunk for outcome in WorkerEngine(workers=1).run(range, [1, 2])]
    [0, 0, 1]
    """

    def __init__(
        self,
        workers: int,
        *,
        ordered: bool = True,
        max_pending: int = 1000,
        max_buffer: int = 64 << 20,
        preload: Sequence[str] = (),
        timeout: float | None = None,
        or_here: bool = False,
    ) -> None:
        self.workers = check_count("workers", workers)
        self.ordered = bool(ordered)
        self.max_pending = check_count("max_pending", max_pending)
        self.max_buffer = check_count("max_buffer", max_buffer)
        if timeout is not None and not 0 < timeout <= _LONGEST_S:
            raise ValueError(
                f"timeout must be above 0 and at most {_LONGEST_S:,.0f} seconds, or None for no limit; "
                f"got {timeout:g}"
            )
        self.timeout = timeout
        self.or_here = bool(or_here)
        if preload:
            start_server(preload)

    def run(self, task: Task, items: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Apply the task to every item.

        Parameters
        ----------
        task : callable
            Turns an item into chunks.
        items : iterable
            The items; taken as they are needed.

        Returns
        -------
        outcome : Outcome
            An iterator of outcomes; see `Engine`.
        """
        try:
            packed = pack_task(task)
        except EngineError:
            if not self.or_here:
                raise
            return SerialEngine().run(task, items)
        return self._run(packed, Feed(items))

    def _run(self, task: bytes, feed: Feed) -> Generator[Outcome, None, None]:
        pending: deque[PendingItem] = deque()
        taken = buffered = 0
        with WorkerPool(self.workers, task, self.timeout) as pool:
            while True:
                pool.share()
                while len(pending) < self.max_pending and not pool.returned and pool.has_room():
                    entry = next((PendingItem(taken, item) for item in feed), None)
                    if entry is None:
                        break
                    taken += 1
                    pending.append(entry)
                    buffered += pool.give(entry)
                if not pending:
                    break
                pool.recall()
                head = pending[0]
                if not self.ordered:
                    head = next((entry for entry in pending if entry.answers), head)
                if buffered < self.max_buffer:
                    buffered += pool.receive(wait=not head.answers)
                elif not head.answers:
                    buffered += pool.receive(only=head)
                if head.answers:
                    answer = head.answers.popleft()
                    buffered -= len(answer)
                    step = _step(head, answer)
                    if step is None:
                        continue
                    if step.last:
                        pending.remove(head)
                    yield Outcome(head.index, head.item, *step)
            pool.shut_down()
        if feed.error is not None:
            raise feed.error


def _step(entry: PendingItem, answer: bytes) -> Step | None:
    """Unpack an answer. An item with a chunk that cannot be unpacked ends with that error, at its end."""
    step = Step(None, answer[:1] == LAST)
    if not entry.error:
        try:
            step = Step(*unpack(memoryview(answer)[1:]))
        except Exception as error:
            entry.error = f"the chunk cannot be unpickled: {describe(error)}"
    if not entry.error:
        return step
    return Step(None, True, entry.error) if step.last else None
