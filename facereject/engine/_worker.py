"""What runs inside a worker process of `WorkerEngine`, and how the two sides talk.

The worker says HELLO, is sent the task, says READY (or FAILED and why); then every message to it is an item,
an empty one is the end. For each item it answers with CHUNK messages and a LAST one. The first byte of an
answer is its kind; the rest is pickled by multiprocessing, which is how the parent can count and keep answers
without unpacking them.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Mapping
from contextlib import closing
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .base import EngineError, Step, Task, describe, steps

HELLO, READY, FAILED, CHUNK, LAST = b"h", b"r", b"f", b"c", b"l"

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


def pack(value: Any) -> bytes:
    """Pickle a value for another process of this run; raises whatever its parts raise."""
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
    # the server that workers are forked from knows only what was set when it was started
    os.environ.update({**environment, **ONE_THREAD})
    try:
        connection.send_bytes(HELLO)
        data = connection.recv_bytes()
        try:
            task: Task = unpack(data)
        except Exception as error:
            connection.send_bytes(FAILED + describe(error).encode("utf-8", "backslashreplace"))
            return
        connection.send_bytes(READY)
        inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
        while data := inbox.get():
            _work_on(connection, task, data)
    except (EOFError, OSError):
        return  # no parent is left to tell


def _receive(connection: Connection, inbox: queue.SimpleQueue[bytes]) -> None:
    """Take items off at once: the parent never blocks on a busy worker, and its death is noticed."""
    data = b"start"
    while data:
        try:
            data = connection.recv_bytes()
        except (EOFError, OSError):
            # the parent died: whatever the main thread is in the middle of, nobody wants it
            os._exit(1)
        inbox.put(data)


def _work_on(connection: Connection, task: Task, data: bytes) -> None:
    try:
        item = unpack(data)
    except Exception as error:
        _answer(connection, Step(None, True, f"the item cannot be unpickled: {describe(error)}"))
        return
    with closing(steps(task, item)) as results:
        for step in results:
            if not _answer(connection, step):
                return


def _answer(connection: Connection, step: Step) -> bool:
    """Send one step; a chunk that cannot be pickled ends the item instead. True if the item goes on."""
    try:
        data = pack(tuple(step))
    except Exception as error:
        step = Step(None, True, f"the chunk cannot be pickled: {describe(error)}")
        data = pack(tuple(step))
    connection.send_bytes((LAST if step.last else CHUNK) + data)
    return not step.last
