"""The worker processes of one run: started, given items, listened to, replaced when they die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection as mp_connection
from types import TracebackType
from typing import Any

from ._worker import CHUNK, FAILED, HELLO, LAST, ONE_THREAD, READY, pack, work
from .base import EngineError, describe

# so much work, in seconds, waits at a worker beside the item it is on: enough that it never waits for the
# parent, so little that long items do not queue behind each other while another worker is idle
_RESERVE_SECONDS = 0.25
_MAX_RESERVE = 16

# deaths before the first sign of life, in a row, that stop the run
_MAX_FAILED_STARTS = 3

# seconds a worker has to leave before it is killed
_PATIENCE = 5.0

# No forked copies of this process: with threads in it (OpenCV, OpenMP) they may hang. On Linux workers are
# forked from a server without threads, which spares them the imports; elsewhere that is unsafe or missing.
_CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")


@dataclass(eq=False)
class Entry:
    """An item that was taken and not yet fully handed out, with the answers that wait for their turn."""

    index: int
    item: Any
    answers: deque[bytes] = field(default_factory=deque)
    packed: bytes = b""
    error: str = ""


class _Worker:
    """The parent's view of one worker: its process, and the entries it has, the one it is on first."""

    def __init__(self) -> None:
        self.connection, other_end = _CONTEXT.Pipe()
        # daemon: if nobody closes the run, the interpreter ends it on its way out
        self.process = _CONTEXT.Process(target=work, args=(other_end, dict(os.environ)), daemon=True)
        try:
            _start(self.process)
        except BaseException as error:
            self.connection.close()
            if isinstance(error, OSError | EOFError):
                raise EngineError(f"no worker process can be started: {describe(error)}") from error
            raise
        finally:
            # the worker must hold the only copy, for its death to be seen as the end of the stream
            other_end.close()
        self.entries: deque[Entry] = deque()
        self.listening = False
        self.ready = False
        self.since = 0.0
        self.seconds = float("inf")

    @property
    def capacity(self) -> int:
        """How many items the worker may have, by what the recent ones took."""
        return 1 + min(_MAX_RESERVE, int(_RESERVE_SECONDS / max(self.seconds, 1e-3)))

    def send(self, data: bytes) -> None:
        # a worker that has died is noticed, with all it said before, when its answers are read
        with suppress(OSError):
            self.connection.send_bytes(data)

    def finished_one(self) -> None:
        """Note how long the item took; the mean leans on the last few."""
        now = time.monotonic()
        seconds = now - self.since
        self.seconds = seconds if self.seconds == float("inf") else 0.5 * (self.seconds + seconds)
        self.since = now

    def exit_text(self) -> str:
        self.process.join(_PATIENCE)
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
        self.process.join(_PATIENCE)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.process.close()


class Crew:
    """The workers of one run. Leaving the context stops them at once; `dismiss` lets idle ones leave."""

    def __init__(self, n_workers: int, task: bytes) -> None:
        self.n_workers = n_workers
        self.task = task
        self.workers: list[_Worker] = []
        self.failed_starts = 0

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.close()

    def dismiss(self) -> None:
        """Let workers without items leave by themselves."""
        for worker in self.workers:
            if worker.ready:
                worker.send(b"")
            else:
                worker.process.terminate()
        for worker in self.workers:
            worker.close()
        self.workers.clear()

    def has_room(self) -> bool:
        if len(self.workers) < self.n_workers:
            return True
        return any(len(worker.entries) < worker.capacity for worker in self.workers)

    def give(self, entry: Entry) -> int:
        """Hand an entry to the worker with the least to do; returns the bytes buffered if it cannot be sent.

        A worker's entries are always in order, so the one whose turn it is to be handed out is the one its
        worker is on: holding other workers back can never block it.
        """
        try:
            entry.packed = pack(entry.item)
        except Exception as error:
            return _end(entry, f"the item cannot be sent to a worker: {describe(error)}")
        worker = min(self.workers, key=lambda each: len(each.entries) / each.capacity, default=None)
        if worker is None or (worker.entries and len(self.workers) < self.n_workers):
            worker = _Worker()
            self.workers.append(worker)
        if not worker.entries:
            worker.since = time.monotonic()
        worker.entries.append(entry)
        if worker.listening:
            worker.send(entry.packed)
        return 0

    def receive(self, *, wait: bool = True, only: Entry | None = None) -> int:
        """Read what workers have to say, one message each; returns the bytes buffered by it."""
        heard = {
            worker.connection: worker
            for worker in self.workers
            if only is None or (worker.entries and worker.entries[0] is only)
        }
        ready = set(mp_connection.wait(list(heard), None if wait else 0))
        buffered = [self._hear(worker) for each, worker in heard.items() if each in ready]
        return sum(buffered)

    def _hear(self, worker: _Worker) -> int:
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            return self._bury(worker)
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
        elif kind == FAILED:
            raise EngineError(f"the task cannot be loaded in a worker process: {message[1:].decode()}")
        return 0

    def _bury(self, worker: _Worker) -> int:
        """Take note of a death: blame the item, start a successor with the items that waited."""
        how = worker.exit_text()
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
            buffered = _end(worker.entries.popleft(), f"its worker process died ({how})")
        if worker.entries:
            successor = _Worker()
            successor.entries = worker.entries
            self.workers.append(successor)
        return buffered


def _end(entry: Entry, error: str) -> int:
    """End an entry with an error; returns the bytes buffered by it."""
    entry.answers.append(LAST + pack((None, True, error)))
    return len(entry.answers[-1])


def start_server(preload: Sequence[str]) -> None:
    """Where workers are forked from a server process: have it running, with modules it imports by itself."""
    if _CONTEXT.get_start_method() == "forkserver":
        from multiprocessing import forkserver

        # without the default, the script of the user: it may do anything when imported
        _CONTEXT.set_forkserver_preload(list(preload))
        with _start_conditions():
            forkserver.ensure_running()


def _start(process: Any) -> None:
    if _CONTEXT.get_start_method() == "forkserver":
        start_server(())
        process.start()
    else:
        with _start_conditions():
            process.start()


@contextmanager
def _start_conditions() -> Iterator[None]:
    """While an interpreter starts: libraries told to use one thread, and no Ctrl-C for it, ever."""
    # what pandas may bring along starts a thread for its memory, and forked processes have only one
    settings = {**ONE_THREAD, "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    before = {name: os.environ.get(name) for name in settings}
    mask = None
    if os.name == "posix":
        from multiprocessing import resource_tracker

        # it unblocks the signal when it starts, so it has to be up before
        resource_tracker.ensure_running()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        os.environ.update(settings)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
