"""Where rows go: into a table file (see `table_sink`), onto a stream, or nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import BinaryIO, Protocol, runtime_checkable

from facereject._files import display_name
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.outputs.summary import Summary, Tally
from facereject.pipeline._store.journal import Entry
from facereject.pipeline._store.table_sink import TableSink
from facereject.tables.errors import SettingsError, TableError, UnfinishedTableError
from facereject.tables.formats import text_format
from facereject.tables.rows import Row
from facereject.tables.table_path import check_table_path

__all__ = [
    "NullSink",
    "SettingsError",
    "Sink",
    "StreamSink",
    "TableError",
    "TableSink",
    "UnfinishedTableError",
    "check_table_path",
]


@runtime_checkable
class Sink(Protocol):
    """Takes the rows of one input after the other. A context manager; an exception leaves it unfinished."""

    #: what is known of all finished inputs, those of earlier runs included
    summary: Summary

    def has(self, path: str) -> bool:
        """Whether the rows of this input stand in the table already."""

    def earlier(self) -> Iterable[str]:
        """The inputs that stand in the table from earlier runs."""

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows of the current input."""

    def end_input(self, path: str, counts: Tally) -> None:
        """All rows of the input have been written."""

    def begun(self) -> Entry | None:
        """The video of which an earlier run has finished some parts and not all."""

    def forget_begun(self) -> None:
        """Take the rows of that video back."""

    def end_part(self, path: str, counts: Tally, note: str) -> None:
        """The rows of the current input up to here are complete; ``note`` is what is needed to go on."""

    def __enter__(self) -> Sink: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class NullSink:
    """Keeps nothing but the counts.

    Parameters
    ----------
    after_input : callable or None
        Called with path and counts of every finished input.
    """

    def __init__(self, after_input: Callable[[str, Tally], None] | None = None) -> None:
        self.summary = Summary()
        self._after_input = after_input

    def has(self, path: str) -> bool:
        """No input is known from before."""
        return False

    def earlier(self) -> Iterable[str]:
        """There was no earlier run."""
        return ()

    def write(self, rows: Sequence[Row]) -> None:
        """Rows are not kept."""

    def end_input(self, path: str, counts: Tally) -> None:
        """Count the input."""
        self.summary.add(display_name(path), counts)
        if self._after_input is not None:
            self._after_input(path, counts)

    def begun(self) -> Entry | None:
        """There was no earlier run."""
        return None

    def forget_begun(self) -> None:
        """There is nothing to take back."""

    def end_part(self, path: str, counts: Tally, note: str) -> None:
        """Parts are counted at the end of their input."""

    def __enter__(self) -> NullSink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class StreamSink(NullSink):
    """Rows as text on a stream, flushed after every write: CSV, or JSON lines for the suffix ``.jsonl``.

    A reader that closes the stream is a BrokenPipeError, whatever else goes wrong with it a TableError.
    """

    def __init__(
        self,
        stream: BinaryIO,
        after_input: Callable[[str, Tally], None] | None = None,
        *,
        n_points: int = N_LANDMARKS,
        suffix: str = ".csv",
    ) -> None:
        super().__init__(after_input)
        self._stream = stream
        self._format = text_format(suffix, n_points)

    def __enter__(self) -> StreamSink:
        self._put(self._format.header)
        return self

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows to the stream."""
        self._put(self._format.encode(rows))

    def _put(self, data: bytes) -> None:
        try:
            self._stream.write(data)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise TableError(f"the output stream cannot be written ({error.strerror or error})") from error
