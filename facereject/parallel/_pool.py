"""The worker pool of one run: processes are started, given items, read from, and replaced when they die."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection as mp_connection
from types import TracebackType
from typing import Any

from facereject._log import logger
from facereject.parallel._worker import (
    CHUNK,
    CONTEXT,
    FAILED,
    HELLO,
    LAST,
    READY,
    RECALL,
    RETURNED,
    pack,
    start,
    work,
)
from facereject.parallel.base import EngineError, describe

_LOG = logger(__name__)

# seconds of work queued at a worker beside its current item: enough that it never waits for the parent,
# little enough that long items do not queue up while another worker is idle
_RESERVE_SECONDS = 0.25
_MAX_RESERVE = 16

# workers in a row that may die before they are ready; then the run stops
_MAX_FAILED_STARTS = 3

# seconds a worker has to exit before it is killed
_EXIT_SECONDS = 5.0


@dataclass(eq=False)
class PendingItem:
    """An item that was taken and not yet fully handed out, with the answers that wait for their turn."""

    index: int
    item: Any
    answers: deque[bytes] = field(default_factory=deque)
    packed: bytes = b""
    error: str = ""


class _Worker:
    """The parent's view of one worker: its process, and the entries it has, the one it is on first."""

    def __init__(self) -> None:
        self.connection, other_end = CONTEXT.Pipe()
        # daemon: the interpreter ends it at exit if the run was not closed
        self.process = CONTEXT.Process(target=work, args=(other_end, dict(os.environ)), daemon=True)
        try:
            start(self.process)
        except BaseException as error:
            self.connection.close()
            if isinstance(error, OSError | EOFError):
                raise EngineError(f"no worker process can be started: {describe(error)}") from error
            raise
        finally:
            # the worker must hold the only copy, for its death to be seen as the end of the stream
            other_end.close()
        self.entries: deque[PendingItem] = deque()
        self.listening = False
        self.ready = False
        self.recalled = False
        self.since = 0.0
        self.seconds = float("inf")
        self.silent = 0.0
        self.expired = False

    @property
    def capacity(self) -> int:
        """How many items the worker may have, by what the recent ones took."""
        if self.recalled:
            return 0
        return 1 + min(_MAX_RESERVE, int(_RESERVE_SECONDS / max(self.seconds, 1e-3)))

    @property
    def is_busy(self) -> bool:
        """Whether the worker is on an item and could answer any moment."""
        return self.ready and bool(self.entries) and not self.expired

    def send(self, data: bytes) -> None:
        # a worker that has died is noticed when its answers are read, after those it sent before
        with suppress(OSError):
            self.connection.send_bytes(data)

    def finished_one(self) -> None:
        """Note how long the item took; the mean leans on the last few."""
        now = time.monotonic()
        seconds = now - self.since
        self.seconds = seconds if self.seconds == float("inf") else 0.5 * (self.seconds + seconds)
        self.since = now

    def exit_text(self) -> str:
        self.process.join(_EXIT_SECONDS)
        code = self.process.exitcode
        if code is None:
            return "it closed its connection"
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"signal {-code}, {signal.Signals(-code).name}"
        return f"signal {-code}"

    def close(self) -> None:
        self.connection.close()
        self.process.join(_EXIT_SECONDS)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.process.close()


class WorkerPool:
    """The workers of one run. Leaving the context stops them at once; `shut_down` lets idle ones exit."""

    def __init__(self, size: int, task: bytes, timeout: float | None = None) -> None:
        self.timeout = timeout
        self.size = size
        self.task = task
        self.workers: list[_Worker] = []
        self.returned: deque[PendingItem] = deque()
        self.failed_starts = 0

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.close()

    def shut_down(self) -> None:
        """Let workers without items exit by themselves."""
        for worker in self.workers:
            if worker.ready:
                worker.send(b"")
            else:
                worker.process.terminate()
        for worker in self.workers:
            worker.close()
        self.workers.clear()

    def has_room(self) -> bool:
        if len(self.workers) < self.size:
            return True
        return any(len(worker.entries) < worker.capacity for worker in self.workers)

    def give(self, entry: PendingItem) -> int:
        """Hand an entry to the worker with the least to do; returns the bytes buffered if it cannot be sent.

        A worker's entries are always in order, and returned ones go first; so the one whose turn it is to be
        handed out is the one its worker is on: holding other workers back can never block it.
        """
        try:
            entry.packed = pack(entry.item)
        except Exception as error:
            return _end(entry, f"the item cannot be sent to a worker: {describe(error)}")
        worker = self._idle()
        if worker is None:
            worker = min(self.workers, key=lambda each: len(each.entries) / max(each.capacity, 0.01))
        self._assign(worker, entry)
        return 0

    def share(self) -> None:
        """Give the entries that a busy worker has returned to idle ones."""
        while self.returned and (worker := self._idle()) is not None:
            self._assign(worker, self.returned.popleft())

    def recall(self) -> None:
        """If a worker is idle and there is nothing to give it, ask the one with most entries for some.

        A reserve measured by quick items may turn out to be slow ones, behind one that takes long.
        """
        if self.returned or any(worker.recalled for worker in self.workers):
            return
        if any(worker.ready and not worker.entries for worker in self.workers):
            fullest = max(self.workers, key=lambda each: len(each.entries) if each.ready else 0)
            if fullest.ready and len(fullest.entries) > 1:
                fullest.recalled = True
                fullest.send(RECALL)

    def _idle(self) -> _Worker | None:
        worker = next((each for each in self.workers if not each.entries), None)
        if worker is None and len(self.workers) < self.size:
            worker = _Worker()
            self.workers.append(worker)
        return worker

    @staticmethod
    def _assign(worker: _Worker, entry: PendingItem) -> None:
        if not worker.entries:
            worker.since = time.monotonic()
            worker.silent = 0.0
        worker.entries.append(entry)
        if worker.listening:
            worker.send(entry.packed)

    def receive(self, *, wait: bool = True, only: PendingItem | None = None) -> int:
        """Read one message of every worker that has sent any; returns the bytes buffered by it."""
        senders = {
            worker.connection: worker for worker in self.workers if only is None or only in worker.entries
        }
        start, busy = time.monotonic(), [worker for worker in senders.values() if worker.is_busy]
        patience = None
        if self.timeout is not None and busy:
            patience = max(0.0, min(self.timeout - worker.silent for worker in busy))
        ready = set(mp_connection.wait(list(senders), patience if wait else 0))
        for worker in busy:
            # only while its messages are read: a worker whose answers have to wait is not silent
            worker.silent += time.monotonic() - start
            if worker.connection not in ready and self.timeout is not None and worker.silent >= self.timeout:
                worker.expired = True
                worker.process.kill()
        buffered = [self._receive_from(worker) for each, worker in senders.items() if each in ready]
        return sum(buffered)

    def _receive_from(self, worker: _Worker) -> int:
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            return self._replace_dead(worker)
        worker.silent = 0.0
        kind = message[:1]
        if kind in (CHUNK, LAST):
            worker.entries[0].answers.append(message)
            if kind == LAST:
                worker.entries.popleft().packed = b""
                worker.finished_one()
            return len(message)
        if kind == HELLO:
            worker.listening = True
            # only now: a large task would block this process until the worker is up
            worker.send(self.task)
            for entry in worker.entries:
                worker.send(entry.packed)
        elif kind == READY:
            worker.ready = True
            worker.since = time.monotonic()
            self.failed_starts = 0
        elif kind == RETURNED:
            worker.recalled = False
            for _ in range(int(message[1:])):
                self.returned.appendleft(worker.entries.pop())
        elif kind == FAILED:
            raise EngineError(f"the task cannot be loaded in a worker process: {message[1:].decode()}")
        return 0

    def _replace_dead(self, worker: _Worker) -> int:
        """Replace a dead worker: the item it was on fails, a new worker gets the items that waited."""
        how = worker.exit_text()
        _LOG.warning("a worker process ended: %s", how)
        self.workers.remove(worker)
        worker.close()
        buffered = 0
        if not worker.ready:
            self.failed_starts += 1
            if self.failed_starts >= _MAX_FAILED_STARTS:
                raise EngineError(
                    f"worker processes die at start-up, {self.failed_starts} in a row, the last with {how}; "
                    'a script that starts them needs an if __name__ == "__main__": guard'
                )
        elif worker.entries:
            why = f"its worker process died ({how})"
            if worker.expired:
                why = f"nothing came of it for {self.timeout:g} seconds, the time limit"
            buffered = _end(worker.entries.popleft(), why)
        if worker.entries:
            replacement = _Worker()
            replacement.entries = worker.entries
            self.workers.append(replacement)
        return buffered


def _end(entry: PendingItem, error: str) -> int:
    """End an entry with an error; returns the bytes buffered by it."""
    entry.answers.append(LAST + pack((None, True, error)))
    return len(entry.answers[-1])
