"""The engines in this process and in worker processes: order, laziness, errors, deaths, clean ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from facereject.engine import Engine, EngineError, Outcome, SerialEngine, WorkerEngine

ENGINES: list[Callable[[], Engine]] = [SerialEngine, lambda: WorkerEngine(2)]
IDS = ["serial", "workers"]

# longer than anything here takes, even on a busy machine; only a failure waits for it
PATIENCE = 60.0


def count_down(item: int) -> Iterator[tuple[int, int]]:
    for left in reversed(range(item)):
        yield item, left


def square(item: int) -> list[int]:
    return [item**2]


def later_is_faster(item: int) -> list[int]:
    time.sleep(0.1 if item % 5 == 0 else 0.0)
    return [item]


def misbehave(item: str) -> Iterator[str]:
    yield "first"
    match item:
        case "raise":
            raise ValueError("two\nlines")
        case "exit":
            sys.exit("leaving")
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "_exit":
            os._exit(3)
        case "unpicklable":
            yield threading.Lock()  # type: ignore[misc]
        case "unloadable":
            yield Unloadable()  # type: ignore[misc]
        case "say nothing":
            return
    yield "second"


class Unloadable:
    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


class DeadlyToLoad:
    """Kills every process that unpickles it."""

    def __call__(self, item: int) -> list[int]:
        return [item]

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (5,)


class FailsToLoad(DeadlyToLoad):
    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


class CountsItsUses:
    """State of a worker that is built once: the task is sent once, not with every item."""

    def __init__(self) -> None:
        self.uses = 0

    def __call__(self, item: int) -> list[tuple[int, int]]:
        self.uses += 1
        return [(os.getpid(), self.uses)]


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def worker_processes(parent: int | None = None) -> list[psutil.Process]:
    """Spawned ones are children, forked ones grandchildren; multiprocessing keeps helpers of its own."""
    parent = parent or os.getpid()
    family = psutil.Process(parent).children(recursive=True)
    return [each for each in family if each.ppid() != parent or "spawn_main" in " ".join(each.cmdline())]


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


def wait_for_the_others(item: str) -> list[str]:
    """The item "long" ends when all others have."""
    folder = Path(os.environ["ENGINE_TEST_FOLDER"])
    if item == "long":
        assert wait_until(lambda: len(list(folder.iterdir())) == 20)
    else:
        (folder / item).touch()
    return [item]


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


def big_chunks(item: int) -> Iterator[bytes]:
    for i in range(5):
        if item > 0:
            Path(os.environ["ENGINE_TEST_FOLDER"], f"{item}-{i}").touch()
        elif i == 4:
            release = Path(os.environ["ENGINE_TEST_FOLDER"], "release")
            while not release.exists():
                time.sleep(0.01)
        yield bytes(1_000_000)


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


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_worker_that_dies_costs_its_item_only(n_workers: int) -> None:
    items = ["fine", "segfault", "fine", "fine", "_exit", "fine"]
    last = [each for each in WorkerEngine(n_workers).run(misbehave, items) if each.last]
    assert [each.index for each in last] == list(range(6))
    assert [each.error for each in last] == [
        "",
        "its worker process died (signal 11, SIGSEGV)",
        "",
        "",
        "its worker process died (exit code 3)",
        "",
    ]


def test_workers_that_are_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("facereject.engine._launch.CONTEXT", multiprocessing.get_context("spawn"))
    last = [each for each in WorkerEngine(1).run(misbehave, ["fine", "_exit", "fine"]) if each.last]
    assert [each.error for each in last] == ["", "its worker process died (exit code 3)", ""]


def test_a_worker_killed_from_outside_is_replaced() -> None:
    run = WorkerEngine(2).run(later_is_faster, range(30))
    outcomes = [next(run)]
    worker_processes()[0].kill()
    outcomes += run
    assert [each.index for each in outcomes] == list(range(30))
    # none if it died between two items
    assert sum(bool(each.error) for each in outcomes) <= 1
    assert all(each.chunk == each.item for each in outcomes if not each.error)


def test_deaths_at_start_up_stop_the_run() -> None:
    with pytest.raises(EngineError, match=r"die at start-up, 3 in a row, the last with exit code 5"):
        list(WorkerEngine(2).run(DeadlyToLoad(), range(5)))


def test_a_task_that_cannot_be_loaded_stops_the_run() -> None:
    with pytest.raises(EngineError, match="cannot be loaded in a worker process: ValueError: invalid lit"):
        list(WorkerEngine(2).run(FailsToLoad(), range(5)))


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


def sleep_long(item: int) -> list[int]:
    time.sleep(0 if item == 0 else 600)
    return [item]


def test_closing_stops_workers_in_the_middle_of_items() -> None:
    run = WorkerEngine(2).run(sleep_long, range(10))
    assert next(run).chunk == 0
    assert len(worker_processes()) == 2
    run.close()
    assert worker_processes() == []


def leave_a_note(item: str) -> Iterator[int]:
    try:
        yield 1
        yield 2
        time.sleep(600)
    finally:
        Path(item).touch()


def test_closing_lets_tasks_clean_up(tmp_path: Path) -> None:
    run = WorkerEngine(2).run(leave_a_note, [str(tmp_path / name) for name in "ab"])
    next(run)
    assert not (tmp_path / "a").exists()
    run.close()
    assert (tmp_path / "a").exists()


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


def test_the_task_is_sent_once() -> None:
    uses: dict[int, list[int]] = {}
    for outcome in WorkerEngine(2).run(CountsItsUses(), range(40)):
        process, use = outcome.chunk
        uses.setdefault(process, []).append(use)
    assert os.getpid() not in uses
    assert all(values == list(range(1, len(values) + 1)) for values in uses.values())


def threads_in_use(item: str) -> list[int]:
    import cv2
    from threadpoolctl import threadpool_info

    return [max(cv2.getNumThreads(), *(pool["num_threads"] for pool in threadpool_info()), 1)]


def test_workers_use_one_thread_each() -> None:
    before = dict(os.environ)
    assert next(iter(WorkerEngine(1).run(threads_in_use, ["count"]))).chunk == 1
    assert dict(os.environ) == before


@pytest.mark.parametrize("name", ["n_workers", "max_pending", "max_buffer"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None])
def test_numbers_are_checked(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
        WorkerEngine(**{"n_workers": 2, name: value})


PRELOADED = textwrap.dedent("""
    import os, sys
    import psutil
    from facereject.engine import WorkerEngine

    def loaded(item):
        return ["facereject.media.task" in sys.modules]

    if __name__ == "__main__":
        run = WorkerEngine(2, preload=["facereject.media.task"]).run(loaded, range(2))
        print([outcome.chunk for outcome in run])
        print({each.num_threads() for each in psutil.Process().children()})
""")


@pytest.mark.skipif(sys.platform != "linux", reason="workers are not forked from a server")
def test_the_server_that_workers_are_forked_from_has_no_threads(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PRELOADED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.splitlines() == ["[True, True]", "{1}"]


SCRIPT = textwrap.dedent("""
    import sys, time
    from contextlib import closing
    from facereject.engine import WorkerEngine

    def task(item):
        try:
            time.sleep(0 if item < 2 else 600)
            yield item
        finally:
            open(f"{__file__}-{item}", "w").close()

    if __name__ == "__main__":
        try:
            with closing(WorkerEngine(2).run(task, range(100))) as run:
                for outcome in run:
                    print(outcome.chunk, flush=True)
        except KeyboardInterrupt:
            sys.exit(130)
""")


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_workers_end_with_their_parent(tmp_path: Path, number: signal.Signals, code: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    # a session of its own: the interrupt reaches the workers too, as from a terminal
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    assert [process.stdout.readline() for _ in range(2)] == [b"0\n", b"1\n"]
    family = psutil.Process(process.pid).children(recursive=True)
    assert len(worker_processes(process.pid)) == 2
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert errors == b""
    assert wait_until(lambda: not any(each.is_running() for each in family))
    # the tasks in the middle of something could clean up
    assert len(list(tmp_path.iterdir())) == 1 + 2 + 2


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace('if __name__ == "__main__":', "if True:"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE)
    assert 'needs an if __name__ == "__main__": guard' in done.stderr.splitlines()[-1]
