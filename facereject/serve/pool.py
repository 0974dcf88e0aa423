"""Threads that share the work of all clients, and how many requests may wait for them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from facereject.serve.responses import busy

T = TypeVar("T")


class Gate:
    """Limits how many requests of a kind are served at the same time.

    Parameters
    ----------
    what : str
        The kind, in the plural, for messages.
    places : int
    retry_after_s : int
        When a client should try again that found no place.
    """

    def __init__(self, what: str, places: int, retry_after_s: int) -> None:
        self._what, self._places, self._retry_after_s = what, places, retry_after_s
        self._taken = 0

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """A place while the block lasts; error 503 if there is none."""
        if self._taken >= self._places:
            raise busy(self._what, self._retry_after_s)
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class WorkPool:
    """A fixed number of threads that end with the process, even while they work.

    `concurrent.futures` would wait for its threads when the process ends.

    Parameters
    ----------
    workers : int
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._awaited: set[asyncio.Future[Any]] = set()
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        for number in range(workers):
            threading.Thread(target=self._work, name=f"facereject-serve-{number}", daemon=True).start()

    async def run(
        self, work: Callable[..., T], *args: Any, stop: Callable[[], None] | None = None, **options: Any
    ) -> T:
        """The result of a call in one of the threads.

        If the caller is cancelled, it still waits for a call that has begun: the place it holds at a gate is
        taken as long as the thread is.

        Parameters
        ----------
        work : callable
        *args, **options
            What it is called with.
        stop : callable or None
            Called if the caller is cancelled while the call runs, to make it end early.
        """
        future: Future[T] = Future()
        self._calls.put((future, functools.partial(work, *args, **options)))
        result = asyncio.wrap_future(future)
        self._awaited.add(result)
        result.add_done_callback(self._forget)
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            if not future.cancel():
                if stop is not None:
                    stop()
                await asyncio.wait([result])
            raise

    def close(self) -> None:
        """Start no more tasks, and do not wait for running ones."""
        with contextlib.suppress(queue.Empty):
            while (waiting := self._calls.get_nowait()) is not None:
                waiting[0].cancel()
        for _ in range(self.workers):
            self._calls.put(None)
        for result in list(self._awaited):
            result.cancel()

    def _forget(self, result: asyncio.Future[Any]) -> None:
        self._awaited.discard(result)
        if not result.cancelled():
            # asyncio would print an error that nobody waits for any more, with its message
            result.exception()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, work = call
            if future.set_running_or_notify_cancel():
                try:
                    result = work()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
                    del result
            # an image must not stay in memory until the next call
            del call, future, work
