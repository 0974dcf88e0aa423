"""What an engine is: items in, the chunks a task makes of them out, in the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from numbers import Integral
from typing import Any, NamedTuple, Protocol, TypeAlias

#: turns one item into chunks; whatever it raises concerns that item only
Task: TypeAlias = Callable[[Any], Iterable[Any]]


class EngineError(RuntimeError):
    """The engine itself cannot go on: no worker starts, no scheduler answers, the task cannot be sent."""


class Outcome(NamedTuple):
    """One chunk of one item, or the end of an item that failed.

    Attributes
    ----------
    index : int
        Number of the item, from 0.
    item : object
    chunk : object or None
        What the task yielded; None where the item failed or its task yielded nothing.
    last : bool
        Nothing follows for this item; true exactly once per item.
    error : str
        One line that says why the item failed, then ``last`` is true; empty otherwise. Chunks yielded before
        the failure have been handed out.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    item: Any
    chunk: Any | None
    last: bool
    error: str = ""


class Engine(Protocol):
    """Runs a task over items. An engine knows nothing of what they are."""

    def run(self, task: Task, items: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Apply the task to every item.

        Items are taken as they are needed, outcomes come in the order of the items. Closing the iterator
        stops the work. An error raised by ``items`` itself is raised here, after the outcomes of the items
        before it; no worker is left then.
        """
        ...


class Feed:
    """The items, one by one; an error of their source ends them and waits in ``error`` to be raised."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items: Iterator[Any] | None = iter(items)
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._items is not None:
            try:
                return next(self._items)
            except StopIteration:
                pass
            except Exception as error:
                self.error = error
            self._items = None
        raise StopIteration


class Step(NamedTuple):
    """An outcome without its item, as it crosses process borders."""

    chunk: Any | None
    last: bool
    error: str = ""


def steps(task: Task, item: Any) -> Generator[Step, None, None]:
    """Run the task on one item; one chunk is held back, so that the last one is known as such."""
    chunks: Iterator[Any] | None = None
    held: list[Any] = []
    try:
        chunks = iter(task(item))
        while True:
            try:
                chunk = next(chunks)
            except StopIteration:
                break
            if held:
                yield Step(held.pop(), False)
            held.append(chunk)
    # a task that calls sys.exit has failed on its item, no more
    except (Exception, SystemExit) as error:
        if held:
            yield Step(held.pop(), False)
        yield Step(None, True, describe(error))
        return
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    yield Step(held.pop() if held else None, True)


def describe(error: BaseException) -> str:
    """The error in one line: its type and its message."""
    return " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())


def check_count(name: str, value: Any) -> int:
    """A parameter that counts something."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)
