"""Running ahead in a thread: order, bound, errors and early ends are those of the plain iterator."""

from __future__ import annotations

import gc
import threading

import pytest

from facereject.sources.video import prefetch

# far longer than anything here takes; only a hanging test gets there
WAIT_S = 60


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_all_items_in_order(depth):
    assert list(prefetch(range(50), depth)) == list(range(50))
    assert list(prefetch([], depth)) == []
    assert not threads()


def test_none_is_an_item():
    assert list(prefetch([None, None])) == [None, None]


def test_the_work_happens_in_another_thread():
    (ident,) = prefetch(threading.get_ident() for _ in range(1))
    assert ident != threading.get_ident()


def test_at_most_depth_items_wait():
    depth = 3
    made = []
    ahead = threading.Event()

    def items():
        for i in range(10):
            made.append(i)
            # the first is in the consumer's hand, `depth` wait
            if len(made) == depth + 1:
                ahead.set()
            yield i

    running = prefetch(items(), depth)
    assert next(running) == 0
    assert ahead.wait(WAIT_S)
    assert len(made) == depth + 1
    assert list(running) == list(range(1, 10))


def test_errors_arrive_after_the_items_before_them():
    def items():
        yield 1
        yield 2
        raise KeyError("broken")

    running = prefetch(items())
    assert [next(running), next(running)] == [1, 2]
    with pytest.raises(KeyError, match="broken"):
        next(running)
    assert not threads()


def test_an_iterable_that_fails_at_once():
    with pytest.raises(TypeError):
        next(prefetch(5))
    assert not threads()


def test_closing_early_ends_the_thread_and_the_iterator():
    closed = threading.Event()

    def items():
        try:
            yield from range(1000)
        finally:
            closed.set()

    running = prefetch(items(), 2)
    assert next(running) == 0
    running.close()
    assert closed.is_set()
    assert not threads()


def test_an_error_of_the_consumer_ends_the_thread():
    def consume():
        for _ in prefetch(range(1000)):
            raise RuntimeError("consumer")

    with pytest.raises(RuntimeError, match="consumer"):
        consume()
    gc.collect()
    assert not threads()


def test_no_thread_before_the_first_item():
    running = prefetch(range(3))
    assert not threads()
    assert list(running) == [0, 1, 2]


@pytest.mark.parametrize("depth", [0, -1])
def test_depth_is_checked_at_once(depth):
    with pytest.raises(ValueError, match="depth"):
        prefetch([1], depth)
