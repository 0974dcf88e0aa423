"""Rows as CSV and as JSON lines, and back; a CSV table into Parquet. Every number comes back as it was."""

from __future__ import annotations

import csv
import functools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from facereject._files import cell_name, name_of_cell, suffix_of
from facereject.faces.face import Box, Pose
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.tables.errors import TableFormatError
from facereject.tables.rows import Row, columns, count_points, frame_accepted

_INTEGERS = ("frame", "face", "track")
_TEXTS = ("source", "reason", "cause")

# of a file that may be no table; rows of 1,000 landmarks are a tenth of that
_LONGEST_LINE = 1 << 20


class TextFormat(NamedTuple):
    """A table as text, a line per row (a quoted name may hold line ends of its own)."""

    header: bytes
    encode: Callable[[Sequence[Row]], bytes]
    read: Callable[[str], Iterator[Row]]


def text_format(suffix: str, n_points: int = N_LANDMARKS) -> TextFormat:
    """The format of a suffix, for faces with so many landmarks; Parquet is made from CSV."""
    if suffix == ".jsonl":
        return TextFormat(b"", functools.partial(encode_jsonl, n_points=n_points), read_jsonl)
    header = (",".join(columns(n_points)) + "\n").encode()
    encode = encode_csv if suffix == ".csv" else encode_plain_csv
    return TextFormat(header, functools.partial(encode, n_points=n_points), read_csv)


def encode_csv(rows: Sequence[Row], n_points: int = N_LANDMARKS) -> bytes:
    """UTF-8, RFC 4180 quoting, lines end with a line feed; empty fields are missing values.

    A source that a spreadsheet would run as a formula gets ``./`` in front (`facereject._files.cell_name`).
    """
    cells = [cell_name(row.source) for row in rows]
    pairs = zip(rows, cells, strict=True)
    safe = [row if row.source == cell else replace(row, source=cell) for row, cell in pairs]
    return encode_plain_csv(safe, n_points)


def encode_plain_csv(rows: Sequence[Row], n_points: int = N_LANDMARKS) -> bytes:
    """As `encode_csv`, with every source as it is: on the way to Parquet."""
    return "".join(_csv_line(row, n_points) for row in rows).encode()


def encode_jsonl(rows: Sequence[Row], n_points: int = N_LANDMARKS) -> bytes:
    """One object per line with all columns; missing values are null."""
    return "".join(json.dumps(_object(row, n_points), ensure_ascii=False) + "\n" for row in rows).encode()


def encode_frame(rows: Sequence[Row], rule: str = "all", n_points: int = N_LANDMARKS) -> bytes:
    """One line of JSON for a frame, given by all its rows.

    ``accepted`` is the decision on the frame and ``reason`` that of its first rejected face;
    ``uncertainty`` and ``expected_error`` are those of its least certain face; ``faces`` holds all columns of
    every face.
    """
    first, faces = rows[0], [row for row in rows if row.face is not None]
    accepted = frame_accepted(rows, rule)
    worst = max(
        faces, key=lambda row: math.inf if row.uncertainty is None else row.uncertainty, default=first
    )
    frame = {
        "source": first.source,
        "frame": first.frame,
        "time_s": first.time_s,
        "accepted": accepted,
        "reason": "" if accepted else next(row.reason for row in rows if not row.accepted),
        "uncertainty": worst.uncertainty,
        "expected_error": worst.expected_error,
        "faces": [_object(row, n_points) for row in faces],
    }
    return (json.dumps(frame, ensure_ascii=False) + "\n").encode()


def read_csv(path: str, *, whole: bool = False, plain: bool = False) -> Iterator[Row]:
    """The rows of a CSV table.

    Parameters
    ----------
    path : str
    whole : bool, default=False
        Everything that stands there; else source, frame and time, box, uncertainty and decision.
    plain : bool, default=False
        The table is one of `encode_plain_csv`.
    """
    make = _whole if whole else _outline
    # spreadsheets put a mark in front
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        try:
            names = reader.fieldnames or ()
            if count_points(names) is None:
                raise TableFormatError(f"{path}: not a table of facereject, its columns are others")
            for values in reader:
                if values[names[-1]] is None:
                    raise TableFormatError(f"{path}: line {reader.line_num} is cut off")
                if not plain:
                    values["source"] = name_of_cell(values["source"])
                yield make({name: value if value != "" else None for name, value in values.items()})
        except (csv.Error, ValueError) as error:
            if isinstance(error, TableFormatError):
                raise
            raise TableFormatError(f"{path}: damaged near line {reader.line_num} ({error})") from None


def read_jsonl(path: str, *, whole: bool = False) -> Iterator[Row]:
    """As `read_csv`, of a JSON-lines table."""
    make = _whole if whole else _outline
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                values = json.loads(line)
                if not isinstance(values, dict) or count_points(tuple(values)) is None:
                    raise ValueError("its keys are not the columns")
                row = make({**values, "accepted": "true" if values["accepted"] is True else "false"})
            except (ValueError, TypeError) as error:
                raise TableFormatError(f"{path}: line {number} is no row of facereject ({error})") from None
            yield row


def read_parquet(path: str, *, whole: bool = False) -> Iterator[Row]:
    """As `read_csv`, of a Parquet table."""
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    wanted = ["source", "frame", "time_s", "track", "x", "y", "width", "height"]
    wanted += ["uncertainty", "expected_error", "accepted", "reason", "cause"]
    make = _whole if whole else _outline
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=None if whole else wanted):
                for values in batch.to_pylist():
                    yield make({**values, "accepted": "true" if values["accepted"] else "false"})
    except (pyarrow.ArrowException, KeyError, TypeError, ValueError) as error:
        raise TableFormatError(f"{path}: not a Parquet table of facereject ({error})") from None


def read_table(path: str) -> Iterator[Row]:
    """As `read_csv`, of a table of any kind."""
    suffix = suffix_of(path)
    return read_parquet(path) if suffix == ".parquet" else TEXT_FORMATS[suffix].read(path)


def points_in_table(path: str) -> int | None:
    """How many landmarks the rows of a table have; None if it has no rows to tell, or is no table."""
    return count_points(column_names(path))


def column_names(path: str) -> tuple[str, ...]:
    """The columns of a table; empty if it has no rows to tell, or is no table."""
    suffix = suffix_of(path)
    if suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        try:
            return tuple(pyarrow.parquet.read_schema(path).names)
        except pyarrow.ArrowException:
            return ()
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        line = file.readline(_LONGEST_LINE)
    if suffix != ".jsonl":
        return tuple(line.rstrip("\r\n").split(","))
    try:
        values = json.loads(line)
    except ValueError:
        return ()
    return tuple(values) if isinstance(values, dict) else ()


def record_ends(path: str, suffix: str) -> Iterator[int]:
    """Where the records of a text table end, in bytes; the first one of a CSV table is its header."""
    position = quotes = 0
    with open(path, "rb") as file:
        for line in file:
            position += len(line)
            # a line end between quotes belongs to a name
            quotes += line.count(b'"') if suffix != ".jsonl" else 0
            if quotes % 2 == 0:
                yield position


def csv_to_parquet(source: str, target: str) -> None:
    """Rewrite a CSV table as Parquet with typed columns, a batch of rows at a time."""
    import pyarrow
    import pyarrow.csv  # type: ignore[import-untyped]
    import pyarrow.parquet

    with open(source, encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
    types: dict[str, Any] = dict.fromkeys(names, pyarrow.float64())
    types |= dict.fromkeys(_INTEGERS, pyarrow.int64()) | dict.fromkeys(_TEXTS, pyarrow.string())
    types["accepted"] = pyarrow.bool_()
    schema = pyarrow.schema(list(types.items()))
    convert = pyarrow.csv.ConvertOptions(
        column_types=types,
        null_values=[""],
        strings_can_be_null=False,
        true_values=["true"],
        false_values=["false"],
    )
    with (
        pyarrow.csv.open_csv(
            source,
            read_options=pyarrow.csv.ReadOptions(block_size=1 << 20),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=convert,
        ) as batches,
        pyarrow.parquet.ParquetWriter(target, schema) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)


def parquet_to_csv(source: str, target: str) -> None:
    """The other way round: a CSV table that `csv_to_parquet` turns into the same Parquet table."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(source) as file:
            if count_points(file.schema_arrow.names) is None:
                raise TableFormatError(f"{source}: not a table of facereject, its columns are others")
            # the header as in any other table, without quotes
            options = pyarrow.csv.WriteOptions(include_header=False)
            with open(target, "wb") as made:
                made.write((",".join(file.schema_arrow.names) + "\n").encode())
                with pyarrow.csv.CSVWriter(made, file.schema_arrow, write_options=options) as writer:
                    for batch in file.iter_batches():
                        writer.write_batch(batch)
    except pyarrow.ArrowException as error:
        raise TableFormatError(f"{source}: not a Parquet table of facereject ({error})") from None


#: formats by suffix, for the landmarks of the models that come with the package
TEXT_FORMATS = {suffix: text_format(suffix) for suffix in (".csv", ".jsonl")}


def _csv_line(row: Row, n_points: int) -> str:
    fields = [_quoted(row.source), _integer(row.frame), _number(row.time_s)]
    fields += [_integer(row.face), _integer(row.track)]
    fields += ["", "", "", ""] if row.box is None else map(_number, row.box)
    fields += [_number(row.detector_score), _number(row.uncertainty), _number(row.expected_error)]
    fields += ["true" if row.accepted else "false", _quoted(row.reason), row.cause]
    fields += ["", "", ""] if row.pose is None else map(_number, row.pose)
    row.check_points(n_points)
    points = row.landmarks
    if points is None:
        fields.append("," * (2 * n_points - 1))
    elif np.isfinite(points).all():
        # the comma at the end shows where a ".0" ends the number
        numbers = ",".join(map(repr, points.ravel("F").tolist())) + ","
        fields.append(numbers.replace(".0,", ",")[:-1])
    else:
        fields.extend(map(_number, points.ravel("F").tolist()))
    errors = row.landmark_errors
    if errors is None:
        fields.append("," * (n_points - 1))
    else:
        fields.extend(map(_number, errors.tolist()))
    return ",".join(fields) + "\n"


def _number(value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    # the shortest text that reads back as the same number, whatever type of float it was
    return repr(float(value)).removesuffix(".0")


def _integer(value: int | None) -> str:
    return "" if value is None else str(value)


def _quoted(text: str) -> str:
    if '"' in text or "," in text or "\n" in text or "\r" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def _object(row: Row, n_points: int) -> dict[str, Any]:
    return dict(zip(columns(n_points), map(_plain, row.values(n_points)), strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.generic):
        return _plain(value.item())
    return value


def _outline(values: dict[str, Any]) -> Row:
    """A row as far as counting needs it; raises ValueError or TypeError for what is no row."""
    frame = values["frame"]
    box = None
    if values["x"] is not None:
        box = Box(*(float(values[name]) for name in ("x", "y", "width", "height")))
    return Row(
        values["source"] or "",
        None if frame is None else int(frame),
        None if values["time_s"] is None else float(values["time_s"]),
        track=_int(values["track"]),
        box=box,
        uncertainty=_float(values["uncertainty"]),
        expected_error=_float(values["expected_error"]),
        accepted=values["accepted"] == "true",
        reason=values["reason"] or "",
        cause=values["cause"] or "",
    )


def _whole(values: dict[str, Any]) -> Row:
    """A row with everything that stands in the table."""
    numbers = [value for name, value in values.items() if name.startswith(("x_", "y_"))]
    points = None
    if any(value is not None for value in numbers):
        points = np.array([np.nan if value is None else float(value) for value in numbers])
        points = np.stack(np.split(points, 2), axis=1)
    errors = [value for name, value in values.items() if name.startswith("e_")]
    angles = [_float(values[name]) for name in Pose._fields]
    return replace(
        _outline(values),
        pose=None if None in angles else Pose(*(angle or 0.0 for angle in angles)),
        face=_int(values["face"]),
        detector_score=_float(values["detector_score"]),
        landmarks=points,
        landmark_errors=None if errors[0] is None else np.array([float(error) for error in errors]),
    )


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
