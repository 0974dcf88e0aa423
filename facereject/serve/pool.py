"""Threads that share the work of all clients, and gates that keep what waits for them short.

A live client has one frame in work at most and a video a few frames, so that in one queue all get their turn.
Landmark predictors and detectors compute outside of Python's lock, so that threads work side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from facereject.serve.refusals import busy

P = ParamSpec("P")
T = TypeVar("T")


class Gate:
    """Lets a number of requests of a kind pass at the same time and refuses the others.

    Parameters
    ----------
    what : str
        The kind, in the plural, for messages.
    places : int
    retry_after_s : int
        When a refused client should come again.
    """

    def __init__(self, what: str, places: int, retry_after_s: int) -> None:
        self._what, self._places, self._retry_after_s = what, places, retry_after_s
        self._taken = 0

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place while the block lasts; a `Refusal` with 503 if there is none."""
        if self._taken >= self._places:
            raise busy(self._what, self._retry_after_s)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class WorkPool:
    """A fixed number of threads.

    Parameters
    ----------
    workers : int
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="facereject-serve")

    async def run(self, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """The result of a call in one of the threads.

        If the caller is cancelled, it still waits for a call that has begun: the place it holds at a gate is
        taken as long as the thread is.
        """
        future = self._threads.submit(work, *args, **options)
        awaited = asyncio.wrap_future(future)
        try:
            return await asyncio.shield(awaited)
        except asyncio.CancelledError:
            if not future.cancel():
                await asyncio.wait([awaited])
            raise

    def close(self) -> None:
        """Start nothing more; what runs comes to its end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
