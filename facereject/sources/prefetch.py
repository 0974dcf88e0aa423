"""An iterator that runs ahead in a separate thread, by a bounded number of items."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable
from typing import TypeVar

T = TypeVar("T")


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
    waiting: deque[T] = deque()
    changed = threading.Condition()
    ended = closed = False
    error: BaseException | None = None

    def work() -> None:
        nonlocal ended, error
        try:
            iterator = iter(items)
            try:
                for item in iterator:
                    with changed:
                        changed.wait_for(lambda: closed or len(waiting) < depth)
                        if closed:
                            return
                        waiting.append(item)
                        changed.notify_all()
            finally:
                if hasattr(iterator, "close"):
                    iterator.close()
        except BaseException as raised:
            error = raised
        finally:
            with changed:
                ended = True
                changed.notify_all()

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    try:
        while True:
            with changed:
                changed.wait_for(lambda: ended or waiting)
                if not waiting:
                    break
                item = waiting.popleft()
                changed.notify_all()
            yield item
            # the consumer is done with it; its memory need not wait for the next one
            del item
        if error is not None:
            raise error
    finally:
        with changed:
            closed = True
            changed.notify_all()
        thread.join()
