"""What an engine is: it turns items into the chunks that a task makes of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from numbers import Integral
from typing import Any, NamedTuple, Protocol, TypeAlias

#: turns one item into chunks; an exception fails that item only
Task: TypeAlias = Callable[[Any], Iterable[Any]]


class EngineError(RuntimeError):
    """The engine cannot work: no worker starts, no scheduler answers, or the task cannot be sent."""


class Outcome(NamedTuple):
    """One chunk of one item, or the end of an item that failed.

    Attributes
    ----------
    index : int
        Number of the item, from 0.
    item : object
        The item.
    chunk : object or None
        What the task yielded; None where the item failed or its task yielded nothing.
    last : bool
        Nothing follows for this item; true exactly once per item.
    error : str
        One line that says why the item failed, then ``last`` is true; empty otherwise. Earlier chunks of the
        item have been returned already.

    See Also
    --------
    Engine : Yields outcomes.

    Examples
    --------
    >>> from facereject.parallel import SerialEngine
    >>> for outcome in SerialEngine().run(lambda item: [1 / item], [1, 0]):
    ...     print(outcome.item, outcome.chunk, outcome.error)
    1 1.0
    0 None ZeroDivisionError: division by zero
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    item: Any
    chunk: Any | None
    last: bool
    error: str = ""


class RunProgress(NamedTuple):
    """How far a run is, or a stage of a training.

    Attributes
    ----------
    done : int
        What is finished, in the ``unit``.
    total : int or None
        How many this run has to do; a video may hold more frames than it says.
    unit : str
        "inputs"; "frames" where a few videos are among them, a photo counts as one; in training "faces", then
        "scores fitted".
    faces : int
        Faces found so far.
    accepted : int or None
        How many of them were accepted; None where that is decided at the end.
    failed : int
        Inputs that are unreadable or failed.
    alike : bool
        The inputs, or frames, take about equally long, so that the time left follows from the rate; False
        for photos with many videos among them.

    See Also
    --------
    facereject.score_files : Passes it to ``progress``.

    Examples
    --------
    >>> from facereject.parallel import RunProgress
    >>> RunProgress(done=3, total=10).faces
    0
    """

    done: int = 0
    total: int | None = None
    unit: str = "inputs"
    faces: int = 0
    accepted: int | None = 0
    failed: int = 0
    alike: bool = True


class Engine(Protocol):
    """Runs a task over items: any object with this method.

    See Also
    --------
    SerialEngine : Runs in this process.
    WorkerEngine : Runs in worker processes.
    DaskEngine : Runs on a Dask cluster.

    Examples
    --------
    >>> from facereject.parallel import Outcome
    >>> class ReversedEngine:
    ...     def run(self, task, items):
    ...         for index, item in reversed(list(enumerate(items))):
    ...             yield Outcome(index, item, list(task(item)), last=True)
    >>> [outcome.item for outcome in ReversedEngine().run(range, [1, 2])]
    [2, 1]
    """

    def run(self, task: Task, items: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Apply the task to every item.

        Closing the iterator stops the work. An error raised by ``items`` itself is raised here, after the
        outcomes of the items before it; no worker is left then.

        Parameters
        ----------
        task : callable
            Turns an item into chunks.
        items : iterable
            The items; taken as they are needed.

        Yields
        ------
        outcome : Outcome
            In the order of the items.
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


class SerialEngine:
    """Runs the task in this process, one item after the other.

    See Also
    --------
    WorkerEngine : Runs in worker processes.

    Examples
    --------
    >>> from facereject.parallel import SerialEngine
    >>> [outcome.chunk for outcome in SerialEngine().run(range, [1, 2])]
    [0, 0, 1]
    """

    def run(self, task: Task, items: Iterable[Any]) -> Generator[Outcome, None, None]:
        """Apply the task to every item.

        Parameters
        ----------
        task : callable
            Turns an item into chunks.
        items : iterable
            The items; taken as they are needed.

        Yields
        ------
        outcome : Outcome
            A chunk, as soon as it is known whether another one follows.
        """
        for index, item in enumerate(items):
            with closing(steps(task, item)) as results:
                for step in results:
                    yield Outcome(index, item, *step)
