"""Tables as CSV, JSON lines, Parquet and SQLite. Every number is read back as it was."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import IO, Any, NamedTuple

import numpy as np

from facereject._files import cell_name, filling_sqlite
from facereject.faces.face import FaceFrame
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.tables.columns import HEAD, INTEGERS, TEXTS, columns
from facereject.tables.errors import TableError
from facereject.tables.packing import PackedRow, points_of, rows_of

#: suffixes of tables
SUFFIXES = (".csv", ".jsonl", ".parquet", ".sqlite")

# rows that are encoded as text at once, and that Parquet has in a group
_BATCH, _GROUP = 256, 4096

# SQLite holds 2,000 columns
_MAX_SQLITE_POINTS = (2000 - len(HEAD)) // 3


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


def text_format(suffix: str, n_points: int = N_LANDMARKS) -> TextFormat:
    """The text format of a suffix, ``.csv`` or ``.jsonl``, for faces with ``n_points`` landmarks.

    Examples
    --------
    >>> from facereject.faces.face import NO_IMAGE
    >>> frame = FaceFrame(0, math.nan, NO_IMAGE, [], source="photo.jpg")
    >>> text_format(".csv", 1).encode(rows_of(frame))
    b'photo.jpg,0,,,,,,,,,,,false,no_face,,,,,,,\\n'
    """
    names = columns(n_points)
    if suffix == ".jsonl":
        return TextFormat(b"", lambda rows: "".join(_json_line(_object(row, names)) for row in rows).encode())
    header = (",".join(names) + "\n").encode()
    return TextFormat(header, lambda rows: "".join(_csv_line(row, n_points) for row in rows).encode())


def write_rows(file: IO[bytes], suffix: str, rows: Iterable[PackedRow], n_points: int = N_LANDMARKS) -> None:
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
    """
    rows = iter(rows)
    if suffix == ".parquet":
        _write_parquet(file, rows, n_points)
    elif suffix == ".sqlite":
        _write_sqlite(file.name, rows, n_points)
    else:
        text = text_format(suffix, n_points)
        file.write(text.header)
        while batch := list(islice(rows, _BATCH)):
            file.write(text.encode(batch))


def encode_frame(frame: FaceFrame, rule: str = "all", n_points: int = N_LANDMARKS) -> bytes:
    """One line of JSON for a frame.

    ``accepted`` is the decision on the frame and ``reason`` that of its first rejected face;
    ``uncertainty`` and ``expected_error`` are those of its least certain face; ``faces`` holds all columns of
    every face.
    """
    names, accepted = columns(n_points), frame.accepted(rule)
    objects = [_object(row, names) for row in rows_of(frame)]
    least = max(objects, key=lambda face: math.inf if face["uncertainty"] is None else face["uncertainty"])
    values = {name: objects[0][name] for name in ("source", "frame", "time_s")} | {
        "accepted": accepted,
        "reason": "" if accepted else next(face["reason"] for face in objects if not face["accepted"]),
        "uncertainty": least["uncertainty"],
        "expected_error": least["expected_error"],
        "faces": objects if frame.faces else [],
    }
    return _json_line(values).encode()


def check_sqlite_points(path: str, n_points: int) -> None:
    """Raise TableError if a ``.sqlite`` table cannot hold ``n_points`` landmarks."""
    if n_points > _MAX_SQLITE_POINTS:
        raise TableError(
            f"{path}: SQLite holds at most {_MAX_SQLITE_POINTS} landmarks per face, these have {n_points}; "
            "choose .csv, .jsonl or .parquet"
        )


def _csv_line(row: PackedRow, n_points: int) -> str:
    source, frame, time_s, face, track = row[:5]
    cells = [_quoted(cell_name(source)), _cell(frame), _cell(time_s), _cell(face), _cell(track)]
    cells += map(_cell, row[5:12])
    cells += ["true" if row[12] else "false", _quoted(row[13]), row[14]]
    cells += map(_cell, row[15:18])
    numbers = points_of(row)
    if numbers is None:
        cells.append("," * (3 * n_points - 1))
    else:
        # a comma at the end shows where a ".0" ends a number
        text = ",".join(map(repr, numbers.tolist())) + ","
        cells.append(text.replace(".0,", ",").replace("nan,", ",")[:-1])
    return ",".join(cells) + "\n"


def _cell(value: float | None) -> str:
    # the shortest text that is read back as the same number
    return "" if value is None else repr(value).removesuffix(".0")


def _quoted(text: str) -> str:
    if '"' in text or "," in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _object(row: PackedRow, names: Sequence[str]) -> dict[str, Any]:
    return dict(zip(names, _values(row, len(names) - len(HEAD)), strict=True))


def _values(row: PackedRow, n_numbers: int) -> list[Any]:
    numbers = points_of(row)
    if numbers is None:
        return [*row[:-1], *[None] * n_numbers]
    return [*row[:-1], *(None if value != value else value for value in numbers.tolist())]


def _json_line(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"


def _write_parquet(file: IO[bytes], rows: Iterable[PackedRow], n_points: int) -> None:
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    types: dict[str, Any] = dict.fromkeys(columns(n_points), pyarrow.float64())
    types |= dict.fromkeys(INTEGERS, pyarrow.int64()) | dict.fromkeys(TEXTS, pyarrow.string())
    types["accepted"] = pyarrow.bool_()
    schema = pyarrow.schema(list(types.items()))
    missing = np.full(3 * n_points, np.nan)
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        while batch := list(islice(rows, _GROUP)):
            head = zip(*(row[:-1] for row in batch), strict=True)
            points = [missing if (numbers := points_of(row)) is None else numbers for row in batch]
            arrays = [pyarrow.array(values, types[name]) for name, values in zip(HEAD, head, strict=True)]
            # NaN becomes null
            arrays += [pyarrow.array(values, from_pandas=True) for values in np.stack(points, axis=1)]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))


def _write_sqlite(path: str, rows: Iterable[PackedRow], n_points: int) -> None:
    names = columns(n_points)
    types = dict.fromkeys(names, "REAL") | dict.fromkeys((*INTEGERS, "accepted"), "INTEGER")
    types |= dict.fromkeys(TEXTS, "TEXT")
    with filling_sqlite(path) as database:
        database.execute(
            f"CREATE TABLE faces ({', '.join(f'{name} {kind}' for name, kind in types.items())})"
        )
        places = ", ".join("?" * len(names))
        lines = (_values(row, 3 * n_points) for row in rows)
        database.executemany(f"INSERT INTO faces VALUES ({places})", lines)
