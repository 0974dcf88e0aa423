"""Starting worker processes: as copies of nothing, with one thread each; Ctrl-C is left to the parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
