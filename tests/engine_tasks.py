"""Tasks for the tests of the engines, where workers can import them, and helpers around processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

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


def first_waits_for_last(item: tuple[int, Path]) -> list[int]:
    number, note = item
    if number == 5:
        note.touch()
    while number == 0 and not note.exists():
        time.sleep(0.01)
    return [number]


def append_word(path: Path, word: str) -> None:
    with path.open("a") as file:
        file.write(f"{word} ")


def fail_with(message: str) -> None:
    raise ValueError(message)


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


def wait_for_the_others(item: str) -> list[str]:
    """The item "long" ends when all others have."""
    folder = Path(os.environ["ENGINE_TEST_FOLDER"])
    if item == "long":
        assert wait_until(lambda: len(list(folder.iterdir())) == 20)
    else:
        (folder / item).touch()
    return [item]


def big_chunks(item: int) -> Iterator[bytes]:
    for i in range(5):
        if item > 0:
            Path(os.environ["ENGINE_TEST_FOLDER"], f"{item}-{i}").touch()
        elif i == 4:
            release = Path(os.environ["ENGINE_TEST_FOLDER"], "release")
            while not release.exists():
                time.sleep(0.01)
        yield bytes(1_000_000)


def sleep_long(item: int) -> list[int]:
    time.sleep(0 if item == 0 else 600)
    return [item]


def leave_a_note(item: str) -> Iterator[int]:
    try:
        yield 1
        yield 2
        time.sleep(600)
    finally:
        Path(item).touch()


def threads_in_use(item: str) -> list[int]:
    import cv2
    from threadpoolctl import threadpool_info

    return [max(cv2.getNumThreads(), *(pool["num_threads"] for pool in threadpool_info()), 1)]
