"""The best of a batch: which faces to accept is decided when the uncertainties of all of them are known.

Two passes. The first one makes the table as any run does. The second one reads it, chooses the threshold,

    t = the k-th smallest uncertainty,  k = ceil(share * number of faces), or the number asked for,

and writes the table again with the decisions u <= t under its name; then the files are sorted. The unfinished
table and its journal stay until all of that is done, and every step can be done again, so that after a crash
at any moment the run can be resumed.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import groupby, islice
from types import TracebackType
from typing import IO, Any, BinaryIO, TypeAlias

import numpy as np

from facereject._files import replacing, unfinished
from facereject.outputs.summary import Tally, tally
from facereject.pipeline._store.journal import Entry
from facereject.pipeline._store.replaced_rows import current, n_rows
from facereject.pipeline._store.table_sink import TableSink
from facereject.sources.inputs import Input
from facereject.tables.errors import TableError
from facereject.tables.formats import csv_to_parquet, read_csv, read_jsonl
from facereject.tables.rows import Chunk, Row

# frames whose rows are in memory at the same time
_FRAMES = 64

_Observer: TypeAlias = Callable[[Input, Chunk, bool], None]


def threshold_of_best(uncertainty: Sequence[float], amount: float) -> float:
    """The uncertainty up to which faces are among the best.

    Parameters
    ----------
    uncertainty : sequence of float
        Of all faces that have one.
    amount : int or float
        An int is a number of faces; a float in (0, 1] a share of them, at least. Faces exactly as certain as
        the last one of them are accepted, too.

    Returns
    -------
    float
        -inf if there is no face, so that none is accepted.
    """
    n_faces = len(uncertainty)
    # a share such as 0.07 of 100 faces is 7.000000000000001 in floating point
    wanted = amount if isinstance(amount, int) else math.ceil(round(amount * n_faces, 9))
    wanted = min(wanted, n_faces)
    if not wanted:
        return -math.inf
    return float(np.partition(np.asarray(uncertainty, dtype=np.float64), wanted - 1)[wanted - 1])


class KeepBestSink(TableSink):
    """A table whose decisions are made at its end: the best of all faces in it are accepted.

    Parameters
    ----------
    output : path, binary stream or None
        The table; a stream gets it as CSV when it is finished.
    amount : int or float
        As in `threshold_of_best`.
    observers : sequence of callables
        Called with input, chunk and whether it is the last one, for all rows, once they are decided upon.
    place : callable or None
        Called with path and counts of every input once the table is finished.
    **options
        Those of `TableSink`.

    Attributes
    ----------
    threshold : float
        The uncertainty up to which faces were accepted; NaN before that is known.
    """

    def __init__(
        self,
        output: str | os.PathLike[str] | BinaryIO | None,
        amount: float,
        *,
        observers: Sequence[_Observer] = (),
        place: Callable[[str, Tally], None] | None = None,
        **options: Any,
    ) -> None:
        self._amount, self._observers, self._place_file = amount, observers, place
        self._accepted: list[tuple[int, int]] = []
        self.threshold = math.nan
        self._stream = None
        with ExitStack() as stack:
            if not isinstance(output, str | os.PathLike):
                self._stream = output
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="facereject-"))
                output = os.path.join(folder, "table.csv")
            super().__init__(output, **options)
            self._folder = stack.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._folder:
            super().__exit__(kind, error, trace)
            if kind is None and self._stream is not None:
                _copy(self.path, self._stream)

    def _deliver(self) -> None:
        with self._rows_that_count() as judged:
            each = map(_competing, self._read(judged))
            found = array("d", (uncertainty for uncertainty in each if uncertainty is not None))
            self.threshold = threshold_of_best(found, self._amount)
            with replacing(self.path) as made:
                if self._suffix == ".parquet":
                    with unfinished(self.path, clean=False) as text:
                        self._write_decided(judged, text)
                        csv_to_parquet(text.name, made.name)
                else:
                    self._write_decided(judged, made)
            self._hand_out(judged)
        self._write_record(self.path)
        os.unlink(self.partial)

    def _write_decided(self, judged: str, file: IO[bytes]) -> None:
        file.write(self._format.header)
        for row in self._decided(judged):
            file.write(self._format.encode([row]))
        file.flush()

    def _hand_out(self, judged: str) -> None:
        """Count the inputs anew, tell the observers, place the files."""
        self.summary.total = Tally()
        self._accepted = []
        rows = self._decided(judged)
        for entry, before in current(self._journal.entries):
            path, counts = self._known.path_of(entry), Tally()
            for chunk, last in _chunks(islice(rows, n_rows(entry, before))):
                counts = counts.plus(tally(chunk, self._rule))
                item = Input(path, "image" if chunk.rows[0].time_s is None else "video")
                for observe in self._observers:
                    observe(item, chunk, last)
            self._accepted.append((counts.accepted_faces, counts.accepted_frames))
            entry = _with_accepted(entry, *self._accepted[-1])
            self.summary.total = self.summary.total.plus(entry.counts)
            if self._place_file is not None:
                self._place(self._place_file, entry)

    def _final_entries(self) -> Iterator[Entry]:
        pairs = zip(super()._final_entries(), self._accepted, strict=True)
        return (_with_accepted(entry, *accepted) for entry, accepted in pairs)

    def _decided(self, judged: str) -> Iterator[Row]:
        for row in self._read(judged):
            uncertainty = _competing(row)
            if uncertainty is None:
                yield row
            else:
                accepted = uncertainty <= self.threshold
                yield replace(row, accepted=accepted, reason="" if accepted else "uncertain")

    def _read(self, judged: str) -> Iterator[Row]:
        if self._suffix == ".jsonl":
            return read_jsonl(judged, whole=True)
        return read_csv(judged, whole=True, plain=self._suffix == ".parquet")


def _with_accepted(entry: Entry, faces: int, frames: int) -> Entry:
    return entry._replace(counts=entry.counts._replace(accepted_faces=faces, accepted_frames=frames))


def _competing(row: Row) -> float | None:
    """The uncertainty by which a row competes; no share is large enough for a face that is turned too far."""
    return None if row.reason == "turned" else row.uncertainty


def _chunks(rows: Iterator[Row]) -> Iterator[tuple[Chunk, bool]]:
    """The rows of one input in chunks of whole frames, each with whether it is the last one."""
    frames = (list(group) for _, group in groupby(rows, key=lambda row: row.frame))
    chunk = list(islice(frames, _FRAMES))
    while chunk:
        following = list(islice(frames, _FRAMES))
        n_frames = sum(rows[0].frame is not None for rows in chunk)
        yield Chunk([row for rows in chunk for row in rows], n_frames), not following
        chunk = following


def _copy(path: str, stream: BinaryIO) -> None:
    try:
        with open(path, "rb") as table:
            shutil.copyfileobj(table, stream)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TableError(f"the output stream cannot be written ({error.strerror or error})") from error
