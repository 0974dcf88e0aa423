"""A table with one more column: what was decided by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO

from facereject._files import filling_sqlite
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.tables.columns import REVIEWED
from facereject.tables.packing import PackedRow
from facereject.tables.writing import text_format, write_rows


def write_reviewed(
    file: IO[bytes], suffix: str, rows: Iterable[tuple[PackedRow, str]], n_points: int = N_LANDMARKS
) -> None:
    """Write a whole table with the column ``reviewed`` at its end.

    Parameters
    ----------
    file : binary file
        As in `write_rows`.
    suffix : str
    rows : iterable of (packed row, str)
        Rows with the text of that column: a plain word, or empty.
    n_points : int
        Number of landmarks.
    """
    if suffix in (".parquet", ".sqlite"):
        words: list[str] = []
        write_rows(file, suffix, _split(rows, words), n_points)
        (_add_to_parquet if suffix == ".parquet" else _add_to_sqlite)(file, words)
        return
    text = text_format(suffix, n_points)
    if text.header:
        file.write(text.header[:-1] + f",{REVIEWED}\n".encode())
    for row, word in rows:
        line = text.encode([row])
        if suffix == ".jsonl":
            file.write(line[:-2] + f', "{REVIEWED}": {json.dumps(word)}}}\n'.encode())
        else:
            file.write(line[:-1] + f",{word}\n".encode())


def _split(rows: Iterable[tuple[PackedRow, str]], words: list[str]) -> Iterator[PackedRow]:
    for row, word in rows:
        words.append(word)
        yield row


def _add_to_sqlite(file: IO[bytes], words: list[str]) -> None:
    with filling_sqlite(file.name) as database:
        database.execute(f"ALTER TABLE faces ADD COLUMN {REVIEWED} TEXT")
        numbered = ((word, number) for number, word in enumerate(words, 1))
        database.executemany(f"UPDATE faces SET {REVIEWED} = ? WHERE rowid = ?", numbered)


def _add_to_parquet(file: IO[bytes], words: list[str]) -> None:
    import io

    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    file.flush()
    file.seek(0)
    made = io.BytesIO(file.read())
    file.seek(0)
    file.truncate()
    rest = iter(words)
    with pyarrow.parquet.ParquetFile(made) as source:
        schema = source.schema_arrow.append(pyarrow.field(REVIEWED, pyarrow.string()))
        with pyarrow.parquet.ParquetWriter(file, schema) as writer:
            for batch in source.iter_batches(4096):
                column = pyarrow.array(list(islice(rest, len(batch))), pyarrow.string())
                writer.write_batch(pyarrow.record_batch([*batch.columns, column], schema=schema))
