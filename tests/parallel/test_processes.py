"""The worker processes: what they are sent, how they die and are replaced, how they end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from engine_tasks import (
    PATIENCE,
    CountsItsUses,
    DeadlyToLoad,
    FailsToLoad,
    count_down,
    first_waits_for_last,
    later_is_faster,
    leave_a_note,
    misbehave,
    sleep_long,
    square,
    threads_in_use,
    wait_until,
    worker_processes,
)

from facereject.parallel import EngineError, WorkerEngine


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


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_dies_costs_its_item_only(workers: int) -> None:
    items = ["fine", "segfault", "fine", "fine", "_exit", "fine"]
    last = [each for each in WorkerEngine(workers).run(misbehave, items) if each.last]
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
    monkeypatch.setattr("facereject.parallel._worker.CONTEXT", multiprocessing.get_context("spawn"))
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


def test_closing_stops_workers_in_the_middle_of_items() -> None:
    run = WorkerEngine(2).run(sleep_long, range(10))
    assert next(run).chunk == 0
    assert len(worker_processes()) == 2
    run.close()
    assert worker_processes() == []


def test_closing_lets_tasks_clean_up(tmp_path: Path) -> None:
    run = WorkerEngine(2).run(leave_a_note, [str(tmp_path / name) for name in "ab"])
    next(run)
    assert not (tmp_path / "a").exists()
    run.close()
    assert (tmp_path / "a").exists()


def test_the_task_is_sent_once() -> None:
    uses: dict[int, list[int]] = {}
    for outcome in WorkerEngine(2).run(CountsItsUses(), range(40)):
        process, use = outcome.chunk
        uses.setdefault(process, []).append(use)
    assert os.getpid() not in uses
    # items that were recalled from a busy worker come back in another order
    assert all(sorted(values) == list(range(1, len(values) + 1)) for values in uses.values())


def test_workers_use_one_thread_each() -> None:
    before = dict(os.environ)
    assert next(iter(WorkerEngine(1).run(threads_in_use, ["count"]))).chunk == 1
    assert dict(os.environ) == before


PRELOADED = textwrap.dedent("""
    import os, sys
    import psutil
    from facereject.parallel import WorkerEngine

    def loaded(item):
        return ["facereject.pipeline.task" in sys.modules]

    if __name__ == "__main__":
        run = WorkerEngine(2, preload=["facereject.pipeline.task"]).run(loaded, range(2))
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
    from facereject.parallel import WorkerEngine

    def task(item):
        try:
            open(f"{__file__}-{item}-begun", "w").close()
            time.sleep(0 if item < 2 else 600)
            yield item
        finally:
            open(f"{__file__}-{item}-ended", "w").close()

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
    # both are on the next item
    assert wait_until(lambda: len(list(tmp_path.glob("*-begun"))) == 4)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert errors == b""
    assert wait_until(lambda: not any(each.is_running() for each in family))
    # the tasks in the middle of something could clean up
    assert len(list(tmp_path.glob("*-ended"))) == 4


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace('if __name__ == "__main__":', "if True:"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE)
    assert 'needs an if __name__ == "__main__": guard' in done.stderr.splitlines()[-1]


def test_without_order_a_finished_item_does_not_wait(tmp_path: Path) -> None:
    items = [(number, tmp_path / "note") for number in range(6)]
    chunks = [each.chunk for each in WorkerEngine(2, ordered=False).run(first_waits_for_last, items)]
    # the first item ends only when the last one has begun
    assert chunks[0] == 1
    assert sorted(chunks) == list(range(6))


def test_without_order_an_item_keeps_the_order_of_its_chunks() -> None:
    outcomes = list(WorkerEngine(2, ordered=False).run(count_down, range(1, 20)))
    for item in range(1, 20):
        mine = [each for each in outcomes if each.item == item]
        assert [each.chunk for each in mine] == [(item, left) for left in reversed(range(item))]
        assert [each.last for each in mine] == [False] * (item - 1) + [True]


def stall(item: int) -> Iterator[int]:
    """Items divisible by 5 never end; 3 takes long, but lets hear from itself."""
    yield item
    if item % 5 == 0:
        time.sleep(3600)
    for _ in range(25 if item == 3 else 0):
        time.sleep(0.25)
        yield item


def test_an_item_without_an_end_is_given_up_and_its_worker_replaced():
    outcomes = list(WorkerEngine(2, timeout=4).run(stall, range(8)))
    errors = {outcome.item: outcome.error for outcome in outcomes if outcome.last}
    assert set(errors) == set(range(8))
    assert {item for item, error in errors.items() if error} == {0, 5}
    assert errors[5] == "nothing came of it for 4 seconds, the time limit"
    assert sum(outcome.item == 3 for outcome in outcomes) >= 26


def test_a_slow_listener_gives_nothing_up():
    outcomes = []
    for outcome in WorkerEngine(2, timeout=4).run(stall, [1, 3, 2]):
        outcomes.append(outcome)
        if len(outcomes) == 3:
            time.sleep(5)
    assert not any(outcome.error for outcome in outcomes)


def test_bad_timeouts():
    for timeout in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="timeout must be above 0"):
            WorkerEngine(2, timeout=timeout)


def test_a_task_that_cannot_be_sent_runs_here_if_that_is_allowed():
    here = os.getpid()

    def local(item):
        return [(item, os.getpid())]

    with pytest.raises(EngineError, match="cannot be sent"):
        WorkerEngine(1).run(local, [1])
    outcomes = list(WorkerEngine(1, or_here=True).run(local, [1, 2]))
    assert [outcome.chunk for outcome in outcomes] == [(1, here), (2, here)]
    (outcome,) = WorkerEngine(1, or_here=True).run(stall, [1])
    assert outcome.chunk == 1
