"""What runs inside a worker process of `WorkerEngine`, and how the two sides talk.

The worker sends HELLO, receives the task and sends READY, or FAILED and the reason. After that every message
to it is an item, RECALL, or empty, which ends the worker. It answers an item with CHUNK messages and a LAST
one. It answers RECALL with RETURNED and the number of items at the end of its queue that it has not begun and
gives back. The first byte of an answer is its kind; the rest is pickled by multiprocessing. So the parent can
count and keep answers without unpacking them.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from types import FrameType
from typing import Any

from facereject.parallel.base import EngineError, Step, Task, describe, steps

# No forked copies of this process: with threads in it (OpenCV, OpenMP) they may hang. On Linux workers are
# forked from a server without threads, which spares them the imports; elsewhere that is unsafe or missing.
CONTEXT: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")

#: the workers are the parallelism: threads inside them would only fight for the same cores
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "OPENCV_FOR_THREADS_NUM",
    ),
    "1",
)


#: environment variable: drop what workers write to stderr, such as decoders' remarks on damaged files
QUIET_WORKERS = "FACEREJECT_QUIET_WORKERS"


def start_server(preload: Sequence[str]) -> None:
    """Where workers are forked from a server process: have it running, with modules it imports by itself."""
    if CONTEXT.get_start_method() == "forkserver":
        from multiprocessing import forkserver

        # without the default, the script of the user: it may do anything when imported
        CONTEXT.set_forkserver_preload(list(preload))
        with _start_conditions():
            forkserver.ensure_running()


def start(process: Any) -> None:
    """Start a process of `CONTEXT`."""
    if CONTEXT.get_start_method() == "forkserver":
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


HELLO, READY, FAILED, CHUNK, LAST, RETURNED = b"h", b"r", b"f", b"c", b"l", b"t"
RECALL = b"recall"

# seconds a task has to clean up after itself when its worker is orphaned
_PATIENCE = 10.0


def pack(value: Any) -> bytes:
    """Pickle a value for another process of this run; raises what pickling its parts raises."""
    return bytes(ForkingPickler.dumps(value))


def pack_task(task: Task) -> bytes:
    """Pickle the task."""
    try:
        return pack(task)
    except Exception as error:
        raise EngineError(
            f"the task cannot be sent to worker processes: {describe(error)}; make it a function or a "
            "class of an importable module that holds only what can be pickled"
        ) from error


def unpack(data: bytes | memoryview) -> Any:
    """The value again; only ever used on what a process of this run has packed."""
    return ForkingPickler.loads(data)


def work(connection: Connection, environment: Mapping[str, str]) -> None:
    """The life of a worker; ends when told to, or when the other end of the connection is gone."""
    # Ctrl-C goes to every process of the terminal: the parent decides what it means
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    # the server that workers are forked from knows only what was set when it was started
    os.environ.update({**environment, **ONE_THREAD})
    if os.environ.get(QUIET_WORKERS):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    channel = _Channel(connection)
    try:
        channel.send(HELLO)
        data = connection.recv_bytes()
        try:
            task: Task = unpack(data)
        except Exception as error:
            channel.send(FAILED, describe(error).encode("utf-8", "backslashreplace"))
            return
        channel.send(READY)
        inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_receive, args=(channel, inbox), daemon=True).start()
        while data := inbox.get():
            _work_on(channel, task, data)
    except (EOFError, OSError, _Stopped):
        return  # no parent is left to tell, or it does not want to know


class _Channel:
    """The connection to the parent; two threads send."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()

    def send(self, kind: bytes, data: bytes = b"") -> None:
        with self._lock:
            self.connection.send_bytes(kind + data)


class _Stopped(BaseException):
    """Raised inside the task when its item was cancelled, so that its context managers exit."""


def _stop(number: int, frame: FrameType | None) -> None:
    # once is enough: the cleaning up is not to be interrupted
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Stopped


def _receive(channel: _Channel, inbox: queue.SimpleQueue[bytes]) -> None:
    """Take items off at once: the parent never blocks on a busy worker, and its death is noticed."""
    data = b"start"
    while data:
        try:
            data = channel.connection.recv_bytes()
            if data == RECALL:
                channel.send(RETURNED, str(_forget(inbox)).encode())
                continue
        except (EOFError, OSError):
            # the parent is gone, killed perhaps
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_PATIENCE)
            os._exit(1)
        inbox.put(data)


def _forget(inbox: queue.SimpleQueue[bytes]) -> int:
    number = 0
    with suppress(queue.Empty):
        while True:
            inbox.get_nowait()
            number += 1
    return number


def _work_on(channel: _Channel, task: Task, data: bytes) -> None:
    try:
        item = unpack(data)
    except Exception as error:
        _answer(channel, Step(None, True, f"the item cannot be unpickled: {describe(error)}"))
        return
    with closing(steps(task, item)) as results:
        for step in results:
            if not _answer(channel, step):
                return


def _answer(channel: _Channel, step: Step) -> bool:
    """Send one step; a chunk that cannot be pickled ends the item instead. True if the item goes on."""
    try:
        data = pack(tuple(step))
    except Exception as error:
        step = Step(None, True, f"the chunk cannot be pickled: {describe(error)}")
        data = pack(tuple(step))
    channel.send(LAST if step.last else CHUNK, data)
    return not step.last
