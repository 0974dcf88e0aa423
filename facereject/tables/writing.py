"""Tables as CSV, JSON lines, Parquet and SQLite: where and how they are written.

Every number is read back as it was.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np

from facereject._files import NOT_MADE_HERE, cell_name, filling_sqlite, output_problem, suffix_of
from facereject.faces.face import FaceFrame
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.tables.columns import HEAD, INTEGERS, REVIEWED, TEXTS, chosen_columns, columns
from facereject.tables.errors import TableError
from facereject.tables.packing import PackedRow, points_of, rows_of
from facereject.tables.reading import is_own_table

#: suffixes of tables
SUFFIXES = (".csv", ".jsonl", ".parquet", ".sqlite")

# rows that are encoded as text at once, and that Parquet has in a group
_BATCH, _GROUP = 256, 4096

_MAX_SQLITE_COLUMNS = 2000


class TextFormat(NamedTuple):
    """A table as text, one line per row (a quoted name may contain line breaks).

    Attributes
    ----------
    header : bytes
    encode : callable
        Packed rows as bytes.
    """

    header: bytes
    encode: Callable[[Sequence[PackedRow]], bytes]


def text_format(
    suffix: str, n_points: int = N_LANDMARKS, chosen: str = "all", reviewed: bool = False
) -> TextFormat:
    """The text format of a suffix, ``.csv`` or ``.jsonl``, for faces with ``n_points`` landmarks.

    ``chosen`` and ``reviewed`` are as in `write_rows`.

    Examples
    --------
    >>> from facereject.faces.face import NO_IMAGE
    >>> frame = FaceFrame(0, math.nan, NO_IMAGE, [], source="photo.jpg")
    >>> text_format(".csv", 1).encode(rows_of(frame))
    b'photo.jpg,0,,,,,,,,,,,false,no_face,,,,,,,,\\n'
    """
    pick = _Pick(n_points, chosen, reviewed)
    if suffix == ".jsonl":
        return TextFormat(b"", lambda rows: "".join(_json_line(pick.object(row)) for row in rows).encode())
    header = (",".join(pick.names) + "\n").encode()
    return TextFormat(header, lambda rows: "".join(_csv_line(row, pick) for row in rows).encode())


def write_rows(
    file: IO[bytes],
    suffix: str,
    rows: Iterable[PackedRow],
    n_points: int = N_LANDMARKS,
    chosen: str = "all",
    reviewed: bool = False,
) -> None:
    """Write a whole table.

    Parameters
    ----------
    file : binary file
        Open for writing, and empty; for ``.sqlite`` it needs a ``name``.
    suffix : str
        One of `SUFFIXES`.
    rows : iterable of packed rows
        Taken a batch at a time.
    n_points : int
        Number of landmarks.
    chosen : str
        The columns, as in `chosen_columns`.
    reviewed : bool, default=False
        The rows end with what was decided by hand, a plain word or nothing, for the column ``reviewed``.
    """
    rows = iter(rows)
    if suffix == ".parquet":
        _write_parquet(file, rows, _Pick(n_points, chosen, reviewed))
    elif suffix == ".sqlite":
        _write_sqlite(file.name, rows, _Pick(n_points, chosen, reviewed))
    else:
        text = text_format(suffix, n_points, chosen, reviewed)
        file.write(text.header)
        while batch := list(islice(rows, _BATCH)):
            file.write(text.encode(batch))


def encode_frame(
    frame: FaceFrame, rule: str = "all", n_points: int = N_LANDMARKS, chosen: str = "all"
) -> bytes:
    """One line of JSON for a frame.

    ``accepted`` is the decision on the frame and ``reason`` that of its first rejected face;
    ``uncertainty`` and ``expected_error`` are those of its least certain face; ``faces`` holds the chosen
    columns of every face.
    """
    whole, pick, accepted = _Pick(n_points, "short"), _Pick(n_points, chosen), frame.accepted(rule)
    rows = rows_of(frame)
    objects = [whole.object(row) for row in rows]
    least = max(objects, key=lambda face: math.inf if face["uncertainty"] is None else face["uncertainty"])
    values = {name: objects[0][name] for name in ("source", "frame", "time_s")} | {
        "accepted": accepted,
        "reason": "" if accepted else next(face["reason"] for face in objects if not face["accepted"]),
        "uncertainty": least["uncertainty"],
        "expected_error": least["expected_error"],
        "faces": [pick.object(row) for row in rows] if frame.faces else [],
    }
    return _json_line(values).encode()


def check_sqlite_points(path: str, n_points: int, chosen: str = "all") -> None:
    """Raise TableError if a ``.sqlite`` table cannot hold these columns of ``n_points`` landmarks."""
    if len(chosen_columns(chosen, n_points)) > _MAX_SQLITE_COLUMNS:
        raise TableError(
            f"{path}: SQLite holds at most {_MAX_SQLITE_COLUMNS:,} columns, too few for {n_points} "
            "landmarks; choose .csv, .jsonl or .parquet, or fewer `columns`"
        )


class _Pick:
    """Takes the chosen columns out of packed rows.

    Attributes
    ----------
    names : tuple of str
    """

    def __init__(self, n_points: int, chosen: str, reviewed: bool = False) -> None:
        names, full = chosen_columns(chosen, n_points), columns(n_points)
        self.names = (*names, REVIEWED) if reviewed else names
        self.n_points, self._all = n_points, len(names) == len(full)
        self._places = [full.index(name) for name in names]
        self._with_points = self._places[-1] >= len(HEAD)

    def of(self, row: PackedRow, head: list[Any], numbers: Callable[[], list[Any]]) -> list[Any]:
        """The chosen ones of the values of `HEAD` and those of the landmarks, which are made if needed."""
        values = [*head, *numbers()] if self._with_points else head
        chosen = values if self._all else [values[place] for place in self._places]
        return [*chosen, *row[len(HEAD) + 1 :]]

    def values(self, row: PackedRow) -> list[Any]:
        """The values of a row; None where there is none."""
        return self.of(row, list(row[: len(HEAD)]), lambda: _numbers(row, self.n_points))

    def object(self, row: PackedRow) -> dict[str, Any]:
        """The values of a row by their names."""
        return dict(zip(self.names, self.values(row), strict=True))


def _csv_line(row: PackedRow, pick: _Pick) -> str:
    source, frame, time_s, face, track = row[:5]
    cells = [_quoted(cell_name(source)), _cell(frame), _cell(time_s), _cell(face), _cell(track)]
    cells += map(_cell, row[5:12])
    cells += ["true" if row[12] else "false", _quoted(row[13]), row[14]]
    cells += [*map(_cell, row[15:18]), _quoted(row[18]), *map(_cell, row[19:22])]
    return ",".join(pick.of(row, cells, lambda: _number_cells(row, pick.n_points))) + "\n"


def _number_cells(row: PackedRow, n_points: int) -> list[str]:
    numbers = points_of(row)
    if numbers is None:
        return [""] * (3 * n_points)
    # a comma at the end shows where a ".0" ends a number
    text = ",".join(map(repr, numbers.tolist())) + ","
    return text.replace(".0,", ",").replace("nan,", ",")[:-1].split(",")


def _cell(value: float | None) -> str:
    # the shortest text that is read back as the same number
    return "" if value is None else repr(value).removesuffix(".0")


def _quoted(text: str) -> str:
    if '"' in text or "," in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _numbers(row: PackedRow, n_points: int) -> list[float | None]:
    numbers = points_of(row)
    if numbers is None:
        return [None] * (3 * n_points)
    return [None if value != value else value for value in numbers.tolist()]


def _json_line(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"


def _write_parquet(file: IO[bytes], rows: Iterable[PackedRow], pick: _Pick) -> None:
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    types: dict[str, Any] = dict.fromkeys(columns(pick.n_points), pyarrow.float64())
    types |= dict.fromkeys(INTEGERS, pyarrow.int64()) | dict.fromkeys((*TEXTS, REVIEWED), pyarrow.string())
    types["accepted"] = pyarrow.bool_()
    schema = pyarrow.schema([(name, types[name]) for name in pick.names])
    missing = np.full(3 * pick.n_points, np.nan)
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        while batch := list(islice(rows, _GROUP)):
            head = zip(*(row[: len(HEAD)] for row in batch), strict=True)
            arrays = dict(zip(HEAD, head, strict=True)) | {REVIEWED: [row[-1] for row in batch]}
            points = [missing if (numbers := points_of(row)) is None else numbers for row in batch]
            arrays |= zip(columns(pick.n_points)[len(HEAD) :], np.stack(points, axis=1), strict=True)
            # NaN becomes null
            made = [pyarrow.array(arrays[name], types[name], from_pandas=True) for name in pick.names]
            writer.write_batch(pyarrow.record_batch(made, schema=schema))


def _write_sqlite(path: str, rows: Iterable[PackedRow], pick: _Pick) -> None:
    types = dict.fromkeys(columns(pick.n_points), "REAL") | dict.fromkeys((*INTEGERS, "accepted"), "INTEGER")
    types |= dict.fromkeys((*TEXTS, REVIEWED), "TEXT")
    with filling_sqlite(path) as database:
        database.execute(f"CREATE TABLE faces ({', '.join(f'{name} {types[name]}' for name in pick.names)})")
        places = ", ".join("?" * len(pick.names))
        database.executemany(f"INSERT INTO faces VALUES ({places})", map(pick.values, rows))


# SQLite, in which a table is kept until it is finished, takes 512 with what is added to its name
_LONGEST_PATH = 450


def check_table_path(path: str | os.PathLike[str], *, overwrite: bool = False) -> str:
    """The path a table can be written to, links resolved, or a TableError that says why it cannot.

    Parameters
    ----------
    path : path
    overwrite : bool, default=False
        A file that is not a table of facereject may be replaced.
    """
    name = os.fspath(path)
    suffix = suffix_of(name)
    if suffix not in SUFFIXES:
        raise TableError(f"{name}: a table ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise TableError(f"{name}: Parquet needs pyarrow: pip install pyarrow")
    # a link is kept and the file it leads to replaced
    real = os.path.realpath(name) if os.path.islink(name) else name
    problem = output_problem(real)
    if problem:
        raise TableError(f"{name}: {problem}")
    if len(os.fsencode(os.path.abspath(real))) > _LONGEST_PATH:
        raise TableError(f"{name}: this path is longer than {_LONGEST_PATH} bytes; choose a shorter one")
    if not overwrite:
        check_own_table(real)
    return real


def record_path(table: str) -> str:
    """Where the settings and inputs of a finished table are kept."""
    return f"{table}.run"


def files_of(table: str) -> tuple[str, ...]:
    """All files that are written for a table: itself, its store with the rollback journal, and its record."""
    return table, f"{table}.partial", f"{table}.partial-journal", record_path(table)


def check_own_table(path: str) -> None:
    """Raise TableError if there is a file under this name that is not a table of facereject."""
    try:
        own = not os.path.lexists(path) or os.path.getsize(path) == 0 or is_own_table(path)
    except OSError:
        # what cannot be read is not known to be a table
        own = False
    if not own:
        raise TableError(f"{path}: {NOT_MADE_HERE}")
