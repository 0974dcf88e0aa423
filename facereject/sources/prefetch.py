"""An iterator that runs ahead in a separate thread, by a bounded number of items."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

T = TypeVar("T")

_END = object()


def prefetch(items: Iterable[T], depth: int = 4) -> Generator[T, None, None]:
    """Give the items of ``items``, which runs in a separate thread.

    Parameters
    ----------
    items : iterable
        Used by the thread only. If it is closed early, its iterator is closed too.
    depth : int
        Largest number of items that wait.

    Yields
    ------
    item
        In order. What ``items`` raises is raised here, after the items before it. The thread starts with
        the first item and has ended when the generator is closed or exhausted.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    return _run_ahead(items, depth)


def _run_ahead(items: Iterable[T], depth: int) -> Generator[T, None, None]:
    with ThreadPoolExecutor(1, "prefetch") as pool:
        iterator = pool.submit(iter, items).result()
        waiting = deque(pool.submit(next, iterator, _END) for _ in range(depth))
        try:
            while (item := waiting.popleft().result()) is not _END:
                waiting.append(pool.submit(next, iterator, _END))
                yield cast(T, item)
                # the consumer is done with it; its memory need not wait for the next one
                del item
        finally:
            for each in waiting:
                each.cancel()
            if hasattr(iterator, "close"):
                pool.submit(iterator.close).result()
