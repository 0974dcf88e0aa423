"""The engines in this process and in worker processes: outcomes, order, laziness, errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from engine_tasks import (
    Unloadable,
    big_chunks,
    count_down,
    later_is_faster,
    misbehave,
    square,
    wait_for_the_others,
    worker_processes,
)

from facereject.parallel import Engine, EngineError, WorkerEngine
from facereject.parallel.base import Outcome, SerialEngine

ENGINES: list[Callable[[], Engine]] = [SerialEngine, lambda: WorkerEngine(2)]
IDS = ["serial", "workers"]


@pytest.fixture(scope="module", autouse=True)
def _helper_of_multiprocessing() -> None:
    # it keeps processes of its own, with pipes to them, once the first worker was started
    list(WorkerEngine(1).run(square, [1]))


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    descriptors = psutil.Process().num_fds()
    yield
    assert worker_processes() == []
    assert psutil.Process().num_fds() == descriptors


@pytest.mark.parametrize("engine", ENGINES, ids=IDS)
def test_outcomes_are_those_of_a_plain_loop(engine: Callable[[], Engine]) -> None:
    items = [3, 0, 1, 5, 2]
    outcomes = list(engine().run(count_down, items))
    expected = []
    for index, item in enumerate(items):
        chunks = list(count_down(item)) or [None]
        expected += [Outcome(index, item, chunk, i == len(chunks) - 1) for i, chunk in enumerate(chunks)]
    assert outcomes == expected


@pytest.mark.parametrize("engine", ENGINES, ids=IDS)
def test_no_items_no_outcomes(engine: Callable[[], Engine]) -> None:
    assert list(engine().run(square, [])) == []


def test_order_does_not_depend_on_durations() -> None:
    outcomes = list(WorkerEngine(3).run(later_is_faster, range(20)))
    assert [outcome.chunk for outcome in outcomes] == list(range(20))


def test_items_behind_a_long_one_go_to_idle_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_TEST_FOLDER", str(tmp_path))
    # the quick items before it have workers take many at a time
    items = [f"{i}" for i in range(20)]
    items.insert(8, "long")
    outcomes = list(WorkerEngine(2).run(wait_for_the_others, items))
    assert [(each.chunk, each.error) for each in outcomes] == [(item, "") for item in items]


@pytest.mark.parametrize("engine", ENGINES, ids=IDS)
def test_items_are_taken_as_needed(engine: Callable[[], Engine]) -> None:
    taken = []

    def items() -> Iterator[int]:
        for i in range(10**9):
            taken.append(i)
            yield i

    limit = 1 if engine is SerialEngine else 50
    chosen = SerialEngine() if engine is SerialEngine else WorkerEngine(2, max_pending=limit)
    run = chosen.run(square, items())
    for expected in range(300):
        assert next(run).chunk == expected**2
        assert len(taken) <= expected + 1 + limit
    run.close()  # type: ignore[attr-defined]


def test_workers_ahead_are_held_back_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_TEST_FOLDER", str(tmp_path))
    run = WorkerEngine(2, max_buffer=3_000_000).run(big_chunks, range(20))
    assert next(run).index == 0

    # item 0 gives nothing more until released; the next call blocks, so somebody else has to release it
    def release() -> None:
        time.sleep(1.0)
        made.append(len(list(tmp_path.iterdir())))
        (tmp_path / "release").touch()

    made: list[int] = []
    thread = threading.Thread(target=release)
    thread.start()
    rest = list(run)
    thread.join()
    # three chunks buffered; one read in one go with the limit not yet reached, one stuck in the pipe, one
    # held by the task runner to know the last, one being made
    assert made[0] <= 7
    assert [outcome.index for outcome in rest] == [0] * 4 + [i for i in range(1, 20) for _ in range(5)]
    assert all(len(outcome.chunk) == 1_000_000 for outcome in rest)


@pytest.mark.parametrize("engine", ENGINES, ids=IDS)
def test_a_task_that_fails_costs_its_item_only(engine: Callable[[], Engine]) -> None:
    outcomes = list(engine().run(misbehave, ["fine", "raise", "exit", "say nothing", "fine"]))
    assert [(each.index, each.chunk, each.last, each.error) for each in outcomes] == [
        (0, "first", False, ""),
        (0, "second", True, ""),
        (1, "first", False, ""),
        (1, None, True, "ValueError: two lines"),
        (2, "first", False, ""),
        (2, None, True, "SystemExit: leaving"),
        (3, "first", True, ""),
        (4, "first", False, ""),
        (4, "second", True, ""),
    ]


def test_chunks_that_cannot_travel_cost_their_item_only() -> None:
    items = ["unpicklable", "unloadable", "fine"]
    last = [each for each in WorkerEngine(2).run(misbehave, items) if each.last]
    assert [each.index for each in last] == [0, 1, 2]
    assert last[0].error.startswith("the chunk cannot be pickled: TypeError")
    assert last[1].error.startswith("the chunk cannot be unpickled: ValueError: invalid literal")
    assert last[2].error == ""


def test_items_that_cannot_travel_fail_alone() -> None:
    items = [1, threading.Lock(), Unloadable(), 2]
    outcomes = list(WorkerEngine(2).run(square, items))
    assert [each.chunk for each in outcomes] == [1, None, None, 4]
    assert outcomes[1].error.startswith("the item cannot be sent to a worker: TypeError")
    assert outcomes[2].error.startswith("the item cannot be unpickled: ValueError")


def test_a_task_that_cannot_be_pickled_is_refused_at_once() -> None:
    with pytest.raises(EngineError, match=r"the task cannot be sent .*importable module"):
        WorkerEngine(2).run(lambda item: [item], range(5))


@pytest.mark.parametrize("engine", ENGINES, ids=IDS)
def test_an_error_of_the_items_comes_after_the_outcomes_before_it(engine: Callable[[], Engine]) -> None:
    def items() -> Iterator[int]:
        yield from range(7)
        raise OSError("the folder has gone")

    run = engine().run(square, items())
    assert [next(run).chunk for _ in range(7)] == [i**2 for i in range(7)]
    with pytest.raises(OSError, match="the folder has gone"):
        next(run)


def test_closing_the_serial_engine_closes_the_task() -> None:
    closed = []

    def task(item: int) -> Iterator[int]:
        try:
            yield 1
            yield 2
            yield 3
        finally:
            closed.append(item)

    run = SerialEngine().run(task, [7])
    next(run)
    run.close()
    assert closed == [7]


@pytest.mark.parametrize("name", ["workers", "max_pending", "max_buffer"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None])
def test_numbers_are_checked(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
        WorkerEngine(**{"workers": 2, name: value})
