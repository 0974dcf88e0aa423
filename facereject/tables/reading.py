"""Tables back into rows and frames, whichever format they have."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from facereject._files import connect_sqlite, is_regular, name_of_cell, suffix_of
from facereject.faces.face import FaceFrame
from facereject.tables.columns import (
    HEAD,
    INTEGERS,
    TEXTS,
    count_head,
    count_points,
    count_scored,
    is_own,
)
from facereject.tables.errors import TableFormatError
from facereject.tables.packing import PackedRow, frames_of, packed_numbers

# of a file that may not be a table; rows of 1,000 landmarks are a tenth of that
_LONGEST_LINE = 1 << 20


def read_table(path: str) -> Iterator[FaceFrame]:
    """Read the frames of a table, one at a time.

    Parameters
    ----------
    path : str
        A table of facereject: ``.csv``, ``.jsonl``, ``.parquet`` or ``.sqlite``.

    Yields
    ------
    FaceFrame
        Without pixels; ``problem`` tells why an input has no faces.

    Raises
    ------
    TableFormatError
        The file is not a table of facereject, or is damaged.
    """
    return frames_of(read_rows(path), points_in_table(path) or 1)


def read_rows(path: str) -> Iterator[PackedRow]:
    """Read the packed rows of a table, one at a time; raises as `read_table`."""
    reader = _READERS.get(suffix_of(path))
    if reader is None:
        raise TableFormatError(f"{path}: a table ends in {', '.join(_READERS)}")
    return reader(path)


def points_in_table(path: str) -> int | None:
    """How many landmarks the rows of a table have; None if it has no rows to tell, or is not a table."""
    return count_points(column_names(path))


def column_names(path: str) -> tuple[str, ...]:
    """The columns of a table; empty if it has no rows to tell, or is not a table."""
    suffix = suffix_of(path)
    if suffix == ".parquet":
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]

        try:
            return tuple(pyarrow.parquet.read_schema(path).names)
        except pyarrow.ArrowException:
            return ()
    if suffix == ".sqlite":
        try:
            with contextlib.closing(_open_sqlite(path)) as database:
                return _sqlite_columns(database)
        except (sqlite3.Error, UnicodeDecodeError):
            return ()
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        line = file.readline(_LONGEST_LINE)
    if suffix != ".jsonl":
        return tuple(line.rstrip("\r\n").split(","))
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return ()
    return tuple(values) if isinstance(values, dict) else ()


def is_own_table(path: str) -> bool:
    """Whether a file is a table that facereject created, and holds nothing else."""
    if not is_own(column_names(path)):
        return False
    if suffix_of(path) != ".sqlite":
        return True
    # views, indexes and tables that were added would be lost
    with contextlib.closing(_open_sqlite(path)) as database:
        return bool(database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (1,))


def _read_csv(path: str) -> Iterator[PackedRow]:
    # spreadsheets put a byte order mark in front
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        try:
            names = next(reader, [])
            n_head, n_scored = _checked_columns(path, names)
            for cells in reader:
                if len(cells) != len(names):
                    raise TableFormatError(f"{path}: line {reader.line_num} is cut off")
                cells[0] = name_of_cell(cells[0])
                numbers = (float(cell) if cell else math.nan for cell in cells[n_head:n_scored])
                yield _row([cell or None for cell in cells[:n_head]], numbers)
        except (csv.Error, ValueError, OverflowError) as error:
            if isinstance(error, TableFormatError):
                raise
            raise TableFormatError(f"{path}: damaged near line {reader.line_num} ({error})") from None


def _read_jsonl(path: str) -> Iterator[PackedRow]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                values = json.loads(line)
                n_head = count_head(tuple(values)) if isinstance(values, dict) else None
                if n_head is None:
                    raise ValueError("its keys are not the columns")
                row = _typed(list(values.values())[: count_scored([*values])], n_head)
            except (ValueError, TypeError, OverflowError, RecursionError) as error:
                raise TableFormatError(
                    f"{path}: line {number} is not a row of facereject ({error})"
                ) from None
            yield row


def _read_parquet(path: str) -> Iterator[PackedRow]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            n_head, n_scored = _checked_columns(path, file.schema_arrow.names)
            for batch in file.iter_batches(1024):
                head = zip(*(column.to_pylist() for column in batch.columns[:n_head]), strict=True)
                arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns[n_head:n_scored]]
                points = np.array(arrays, dtype=np.float64).reshape(len(arrays), len(batch)).T
                for values, numbers in zip(head, points, strict=True):
                    yield _row(values, numbers)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, TableFormatError):
            raise
        raise TableFormatError(f"{path}: not a Parquet table of facereject ({error})") from None


def _read_sqlite(path: str) -> Iterator[PackedRow]:
    try:
        with contextlib.closing(_open_sqlite(path)) as database:
            n_head, n_scored = _checked_columns(path, _sqlite_columns(database))
            # SQLite reads zeros where the last page is cut off
            (page_size,) = database.execute("PRAGMA page_size").fetchone()
            if os.path.getsize(path) % page_size:
                raise TableFormatError(f"{path}: is cut off")
            for values in database.execute("SELECT * FROM faces ORDER BY rowid"):
                yield _typed(values[:n_scored], n_head)
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, TableFormatError):
            raise
        raise TableFormatError(f"{path}: not a SQLite table of facereject ({error})") from None


_READERS: dict[str, Callable[[str], Iterator[PackedRow]]] = {
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
    ".sqlite": _read_sqlite,
}


def _open_sqlite(path: str) -> sqlite3.Connection:
    if not is_regular(path):
        raise sqlite3.DatabaseError("not a regular file")
    return connect_sqlite(path, read_only=True)


def _sqlite_columns(database: sqlite3.Connection) -> tuple[str, ...]:
    # a view or virtual table may do anything when it is read
    found = database.execute("SELECT sql FROM sqlite_master WHERE name = 'faces' AND rootpage > 0").fetchone()
    if found is None or not str(found[0]).startswith("CREATE TABLE"):
        return ()
    return tuple(name for _, name, *_ in database.execute("PRAGMA table_info(faces)"))


def _checked_columns(path: str, names: Sequence[str]) -> tuple[int, int]:
    """How many columns of `HEAD` there are, and how many without the one of reviewers."""
    n_head = count_head(names)
    if n_head is None:
        if is_own(tuple(names)):
            missing = [name for name in (*HEAD, "x_0") if name not in names]
            raise TableFormatError(
                f"{path}: lacks {', '.join(missing) or 'some landmarks'}: write the table with all columns"
            )
        raise TableFormatError(
            f"{path}: not a table of facereject, its columns differ; `facereject score` writes one"
        )
    return n_head, count_scored(names)


def _typed(values: Sequence[Any], n_head: int) -> PackedRow:
    return _row(values[:n_head], (math.nan if value is None else float(value) for value in values[n_head:]))


def _row(head: Sequence[Any], numbers: Iterable[float]) -> PackedRow:
    """A packed row of values that may be text; raises ValueError or TypeError if they are not of a row."""
    values = dict(zip(HEAD, [*head, *[None] * (len(HEAD) - len(head))], strict=True))
    read = [_VALUE[name](value) if name in _VALUE else _float(value) for name, value in values.items()]
    return (*read, packed_numbers(numbers))


def _text(value: Any) -> str:
    if not isinstance(value or "", str):
        raise TypeError("a name or reason is not text")
    return value or ""


def _bool(value: Any) -> bool:
    return value in (True, "true")


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


# how the values of a column are read; the others are numbers
_VALUE: dict[str, Callable[[Any], Any]] = (
    dict.fromkeys(TEXTS, _text) | dict.fromkeys(INTEGERS, _int) | {"accepted": _bool}
)
