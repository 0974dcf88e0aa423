"""Files of predictions, read and written in chunks: CSV, TSV, JSON lines, Parquet and SQLite; NPZ is read.

A file is a table: named columns, one row per prediction. A two-dimensional array ``logits`` of an NPZ file is
the columns ``logits_0``, ``logits_1``, … No reader runs code that a file brings along.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import math
import os
import re
import sqlite3
import tokenize
import zipfile
import zlib
from abc import ABCMeta, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from facereject._files import (
    InputError,
    display_name,
    filling_sqlite,
    output_problem,
    output_that_is_read,
    replacing,
    suffix_of,
)

#: rows read at a time
CHUNK = 1 << 16

#: one column of a chunk: texts as they are in the file, or numbers; None where a cell is missing
Column = Sequence[Any] | NDArray[Any]
#: appends the columns of a chunk to a table
WriteChunk = Callable[[Sequence[Column]], None]

# how much of a text file is read to find its separator
_HEADER_CHARACTERS = 1 << 20


class PredictionFileError(InputError):
    """A file of predictions cannot be read or used; the message says why.

    Examples
    --------
    >>> from facereject.predictions import PredictionFileError, open_predictions
    >>> try:
    ...     open_predictions("none.csv")
    ... except PredictionFileError as error:
    ...     print(error)
    none.csv: no such file
    """


class PredictionFile(metaclass=ABCMeta):
    """A table of predictions in a file; `open_predictions` makes one.

    Attributes
    ----------
    path : str
        The file.
    columns : tuple of str
        Names of its columns.
    """

    columns: tuple[str, ...]
    #: whether texts write decimals with a comma, as spreadsheets do that separate cells by semicolons
    decimal_comma = False

    def __init__(self, path: str) -> None:
        self.path = path
        self._state = _state_of(path)

    def repeated_columns(self, needed: Sequence[str]) -> tuple[str, ...]:
        """Columns that a table of decisions repeats, which are made from the needed ones."""
        return self.columns

    def chunks(self, names: Sequence[str] | None = None) -> Iterator[dict[str, Column]]:
        """Some columns, or all of them, of at most `CHUNK` rows at a time.

        Parameters
        ----------
        names : sequence of str, optional
            Columns to read; all by default.

        Yields
        ------
        dict of str to sequence
            The columns. They hold texts or numbers, and None where a cell is missing.
        """
        try:
            yield from self._chunks(self.columns if names is None else tuple(names))
        except OSError as error:
            raise self.error(f"cannot be read ({error.strerror or error})") from None
        if _state_of(self.path) != self._state:
            raise self.error("changed while it was read; run this again when it is complete")

    @abstractmethod
    def _chunks(self, names: Sequence[str]) -> Iterator[dict[str, Column]]: ...

    def error(self, reason: str) -> PredictionFileError:
        """An error to raise, which begins with the name of the file."""
        return PredictionFileError(f"{display_name(self.path)}: {reason}")

    def _name_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise self.error(f"two columns are called {repeated[0]!r}; rename one of them")
        if not names:
            raise self.error("there are no columns")
        return tuple(names)


def open_predictions(path: str | os.PathLike[str], table: str | None = None) -> PredictionFile:
    """Open a file of predictions; the suffix says what it is.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet`` (needs pyarrow), ``.sqlite`` or ``.npz`` file. The
        separator of a CSV file may be a comma, a semicolon, a tab or a bar.
    table : str, optional
        Table or view of a SQLite file; needed if it has several.

    Returns
    -------
    PredictionFile
        Its columns, and its rows in chunks.

    Raises
    ------
    PredictionFileError
        If there is no such file, or it is not what its suffix says.

    See Also
    --------
    report_predictions : Compares the scores in such a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import open_predictions
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "predictions.csv")
    ...     _ = path.write_text("label;prediction;confidence\\ncat;dog;0.7\\n")
    ...     file = open_predictions(path)
    ...     print(file.columns, next(file.chunks(["confidence"])))
    ('label', 'prediction', 'confidence') {'confidence': ['0.7']}
    """
    name = os.fspath(path)
    reader = _READERS.get(suffix_of(name))
    problem = ""
    if not os.path.exists(name):
        problem = "no such file"
    elif os.path.isdir(name):
        problem = "is a folder; name a file"
    elif not os.path.isfile(name):
        problem = "is not a regular file"
    elif reader is None:
        problem = f"the suffix must be one of {', '.join(_READERS)}"
    elif table is not None and reader is not _SqliteFile:
        problem = f"only SQLite files have tables; leave out the table {table!r}"
    if problem or reader is None:
        raise PredictionFileError(f"{display_name(name)}: {problem}")
    try:
        return reader(name) if table is None else _SqliteFile(name, table)
    except OSError as error:
        raise PredictionFileError(
            f"{display_name(name)}: cannot be read ({error.strerror or error})"
        ) from None


def check_output(
    path: str | os.PathLike[str],
    inputs: Sequence[str | os.PathLike[str]],
    *,
    overwrite: bool,
    suffix: str | None = None,
) -> str:
    """The path, if a file can be written there; a PredictionFileError says why not.

    Parameters
    ----------
    path : path
        Where to write.
    inputs : sequence of paths
        Files that are never replaced.
    overwrite : bool
        Whether another regular file may be replaced.
    suffix : str, optional
        The suffix it must have.
    """
    name = os.fspath(path)
    problem = output_problem(name)
    if not problem and suffix is not None and suffix_of(name) != suffix:
        problem = f"the suffix must be {suffix}"
    elif not problem and output_that_is_read([name], inputs):
        problem = "is an input; choose another name"
    elif not problem and os.path.lexists(name) and not overwrite:
        problem = "exists already; choose another name, or pass `overwrite`"
    if problem:
        raise PredictionFileError(f"{display_name(name)}: {problem}")
    return name


class _TextFile(PredictionFile):
    """CSV and TSV; numbers are converted when a column is used as such."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with self._open() as file:
            try:
                start = file.read(_HEADER_CHARACTERS)
            except UnicodeDecodeError:
                raise self._not_text() from None
        # names in quotes may hold other separators and line breaks, and empty lines may be in front
        header, *_ = re.sub('"[^"]*"', "", start).lstrip("\r\n").splitlines() or [""]
        self._separator = "\t" if suffix_of(path) == ".tsv" else max(",;\t|", key=header.count)
        # Excel's own first line, which names the separator
        self._first_row = 1 if re.fullmatch("sep=[,;\t|]", header, re.IGNORECASE) else 0
        self.decimal_comma = self._separator == ";"
        self.columns = self._name_columns(next(self._rows(), []))

    def _open(self) -> Any:
        # spreadsheets put a mark in front
        return open(self.path, encoding="utf-8-sig", newline="")

    def _not_text(self) -> PredictionFileError:
        return self.error("is not UTF-8 text; save it as CSV with that encoding")

    def _rows(self) -> Iterator[list[str]]:
        with self._open() as file:
            reader = csv.reader(file, delimiter=self._separator, strict=True)
            try:
                # an empty line is no row
                yield from islice(filter(None, reader), self._first_row, None)
            except csv.Error as error:
                raise self.error(f"is damaged near line {reader.line_num} ({error})") from None
            except UnicodeDecodeError:
                raise self._not_text() from None

    def _chunks(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        rows = self._rows()
        next(rows)
        places, width, first = [self.columns.index(name) for name in names], len(self.columns), 1
        while chunk := list(islice(rows, CHUNK)):
            try:
                cells = list(zip(*chunk, strict=True))
            except ValueError:
                cells = []
            if len(cells) != width:
                row, count = next((i, len(row)) for i, row in enumerate(chunk, first) if len(row) != width)
                raise self.error(f"row {row:,} has {count} cells, but there are {width} columns")
            yield {name: list(cells[place]) for name, place in zip(names, places, strict=True)}
            first += len(chunk)


class _JsonLinesFile(PredictionFile):
    """One JSON object per line; the first one names the columns."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.columns = self._name_columns(list(next(self._rows(), {})))

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        with open(self.path, "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
                except (ValueError, RecursionError) as error:
                    raise self.error(f"line {number:,} is not JSON ({error})") from None
                if not isinstance(row, dict):
                    raise self.error(f"line {number:,} is not a JSON object")
                yield row

    def _chunks(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        rows = self._rows()
        while chunk := list(islice(rows, CHUNK)):
            yield {name: [row.get(name) for row in chunk] for name in names}


class _ParquetFile(PredictionFile):
    """Parquet, by pyarrow."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._arrow = _pyarrow(path)
        try:
            self.columns = self._name_columns(self._arrow.parquet.read_schema(path).names)
        except (self._arrow.ArrowException, UnicodeDecodeError) as error:
            raise self.error(f"is not a Parquet file ({error})") from None

    def _chunks(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        try:
            with self._arrow.parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(CHUNK, columns=list(names)):
                    yield {name: _arrow_column(batch.column(name)) for name in names}
        except (self._arrow.ArrowException, UnicodeDecodeError) as error:
            raise self.error(f"is damaged ({error})") from None


def _pyarrow(path: str) -> Any:
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError:
        raise PredictionFileError(
            f"{display_name(path)}: Parquet needs pyarrow: pip install pyarrow"
        ) from None
    return pyarrow


def _arrow_column(array: Any) -> Column:
    plain = array.null_count == 0 and str(array.type) in ("double", "float", "int64", "int32")
    column: Column = array.to_numpy(zero_copy_only=False) if plain else array.to_pylist()
    return column


class _SqliteFile(PredictionFile):
    """One table or view of a SQLite file."""

    def __init__(self, path: str, table: str | None = None) -> None:
        super().__init__(path)
        names = [
            name
            for (name,) in self._select(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%'"
                " ESCAPE '!' ORDER BY name"
            )
        ]
        if table is None and len(names) == 1:
            (table,) = names
        if table is None or table not in names:
            listed = ", ".join(map(repr, names[:10]))
            chosen = (
                f"there is no table {table!r}" if table is not None else "has several tables; pass `table`"
            )
            raise self.error(f"{chosen}; tables: {listed}" if names else "there are no tables")
        self._table = table
        # 1 are hidden columns of virtual tables, 2 and 3 generated ones
        facts = self._select("SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", (table,))
        self.columns = self._name_columns([name for (name,) in facts])

    def _select(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            location = f"file:{quote(str(Path(self.path).absolute()))}?mode=ro"
            with closing(sqlite3.connect(location, uri=True)) as base:
                # functions in views of a file from elsewhere are not to be trusted
                base.execute("PRAGMA trusted_schema = OFF")
                yield from base.execute(statement, values)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self.error(f"cannot be read as SQLite ({error})") from None

    def _chunks(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        columns = ", ".join(map(_quoted, names))
        rows = self._select(f"SELECT {columns} FROM {_quoted(self._table)}")
        while chunk := list(islice(rows, CHUNK)):
            yield dict(zip(names, map(list, zip(*chunk, strict=True)), strict=True))


def _state_of(path: str) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_size, state.st_mtime_ns


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# what archives and headers of arrays with wrong bytes raise
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    tokenize.TokenError,
    SyntaxError,
    ValueError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
)


class _NpzFile(PredictionFile):
    """Arrays of one length; those of two dimensions are several columns."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        # column -> (array, its place in it)
        self._places: dict[str, tuple[str, int | None]] = {}
        names: list[str] = []
        self._lengths: dict[str, int] = {}
        for name, shape in self._shapes().items():
            columns: dict[str, int | None]
            if len(shape) == 1:
                columns = {name: None}
            elif len(shape) == 2:
                columns = {f"{name}_{k}": k for k in range(shape[1])}
            else:
                # settings and the like, which many save beside the arrays
                continue
            self._lengths[name] = shape[0]
            self._places |= {column: (name, place) for column, place in columns.items()}
            names += columns
        self.columns = self._name_columns(names)

    def repeated_columns(self, needed: Sequence[str]) -> tuple[str, ...]:
        """Arrays of one dimension, as long as the needed ones: names of classes are shorter, for instance."""
        lengths = {self._lengths[self._places[name][0]] for name in needed}
        return tuple(
            name
            for name, (array, place) in self._places.items()
            if place is None and self._lengths[array] in lengths
        )

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the arrays, from their headers."""
        shapes = {}
        try:
            with zipfile.ZipFile(self.path) as archive:
                for member in archive.namelist():
                    with archive.open(member) as file:
                        major, _ = np.lib.format.read_magic(file)
                        read = np.lib.format.read_array_header_1_0
                        shape, _, dtype = (read if major == 1 else np.lib.format.read_array_header_2_0)(file)
                    name = member.removesuffix(".npy")
                    if dtype.hasobject:
                        raise self.error(
                            f"array {name!r} holds Python objects, which are not loaded; save numbers or text"
                        )
                    shapes[name] = shape
        except PredictionFileError:
            raise
        except _DAMAGE as error:
            raise self.error(f"is not an NPZ file ({error})") from None
        return shapes

    def _chunks(self, names: Sequence[str]) -> Iterator[dict[str, Column]]:
        lengths = {self._places[name][0]: self._lengths[self._places[name][0]] for name in names}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name!r} has {length:,}" for name, length in lengths.items())
            raise self.error(f"arrays differ in length: {listed}")
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in lengths}
        except _DAMAGE as error:
            raise self.error(f"is damaged ({error})") from None
        for start in range(0, max(lengths.values(), default=0), CHUNK):
            yield {name: self._cut(arrays, name, slice(start, start + CHUNK)) for name in names}

    def _cut(self, arrays: Mapping[str, NDArray[Any]], column: str, rows: slice) -> NDArray[Any]:
        name, place = self._places[column]
        return arrays[name][rows] if place is None else arrays[name][rows, place]


_READERS: dict[str, type[PredictionFile]] = {
    ".csv": _TextFile,
    ".tsv": _TextFile,
    ".jsonl": _JsonLinesFile,
    ".parquet": _ParquetFile,
    ".sqlite": _SqliteFile,
    ".db": _SqliteFile,
    ".npz": _NpzFile,
}


@contextmanager
def new_table(path: str | os.PathLike[str], names: Sequence[str]) -> Iterator[WriteChunk]:
    """A function that writes the columns of a chunk to a new table, which exists once the block has ended.

    Texts of a CSV file stay texts. Missing numbers are empty cells or nulls.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``, ``.sqlite`` or ``.db`` file.
    names : sequence of str
        The columns.
    """
    name = os.fspath(path)
    suffix = suffix_of(name)
    if suffix not in _WRITERS:
        raise PredictionFileError(f"{display_name(name)}: the suffix must be one of {', '.join(_WRITERS)}")
    with replacing(name, suffix=suffix) as file:
        try:
            with _WRITERS[suffix](file, names) as write:
                yield write
        except (sqlite3.Error, UnicodeEncodeError, _Unstorable) as error:
            raise PredictionFileError(
                f"{display_name(name)}: cannot hold these columns ({error}); write .csv or .jsonl"
            ) from None


class _Unstorable(Exception):
    """A column whose cells a format cannot hold."""


@contextmanager
def _text_table(file: IO[bytes], names: Sequence[str], delimiter: str) -> Iterator[WriteChunk]:
    with _as_text(file) as text:
        table = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        table.writerow(names)
        yield lambda columns: table.writerows(map(_texts, _rows_of(columns)))


@contextmanager
def _json_lines(file: IO[bytes], names: Sequence[str]) -> Iterator[WriteChunk]:
    def line(row: Iterable[Any]) -> str:
        values = dict(zip(names, map(_json_value, row), strict=True))
        return json.dumps(values, ensure_ascii=False, default=str) + "\n"

    with _as_text(file) as text:
        yield lambda columns: text.writelines(map(line, _rows_of(columns)))


@contextmanager
def _parquet_table(file: IO[bytes], names: Sequence[str]) -> Iterator[WriteChunk]:
    arrow = _pyarrow(file.name)
    # the first rows decide; a column that is empty in them holds texts
    schema = arrow.schema([(name, arrow.string()) for name in names])
    writer = None

    def array(column: Column, kind: Any, name: str) -> Any:
        try:
            return arrow.array(column, kind, from_pandas=True)
        except (arrow.ArrowException, OverflowError):
            if kind not in (None, arrow.string()):
                raise _Unstorable(f"column {name!r} holds {kind} first, then something else") from None
            return arrow.array([None if value is None else str(value) for value in column], arrow.string())

    def write(columns: Sequence[Column]) -> None:
        nonlocal schema, writer
        if writer is None:
            first = [array(column, None, name).type for column, name in zip(columns, names, strict=True)]
            kinds = [arrow.string() if kind == arrow.null() else kind for kind in first]
            schema = arrow.schema(list(zip(names, kinds, strict=True)))
            writer = arrow.parquet.ParquetWriter(file, schema)
        made = [array(*each) for each in zip(columns, schema.types, names, strict=True)]
        writer.write_batch(arrow.record_batch(made, schema=schema))

    try:
        yield write
    finally:
        (writer or arrow.parquet.ParquetWriter(file, schema)).close()


@contextmanager
def _sqlite_table(file: IO[bytes], names: Sequence[str]) -> Iterator[WriteChunk]:
    with filling_sqlite(file.name) as base:
        base.execute(f"CREATE TABLE predictions ({', '.join(map(_quoted, names))})")
        insert = f"INSERT INTO predictions VALUES ({', '.join('?' * len(names))})"

        def write(columns: Sequence[Column]) -> None:
            base.executemany(insert, map(_sqlite_row, _rows_of(columns)))

        yield write


@contextmanager
def _as_text(file: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    # half a character, which JSON can hold, is written as JSON writes it
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    yield text
    text.flush()
    text.detach()


def _rows_of(columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
    plain = (column.tolist() if isinstance(column, np.ndarray) else column for column in columns)
    return zip(*plain, strict=True)


def _texts(row: Iterable[Any]) -> list[Any]:
    return [_text(value) for value in row]


def _text(value: Any) -> Any:
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _sqlite_row(row: Iterable[Any]) -> list[Any]:
    return [value if _fits_sqlite(value) else str(value) for value in row]


def _fits_sqlite(value: Any) -> bool:
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return value is None or isinstance(value, (str, bytes, float))


_WRITERS: dict[str, Callable[[IO[bytes], Sequence[str]], AbstractContextManager[WriteChunk]]] = {
    ".csv": partial(_text_table, delimiter=","),
    ".tsv": partial(_text_table, delimiter="\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet_table,
    ".sqlite": _sqlite_table,
    ".db": _sqlite_table,
}
