"""Inputs that were worked on again: their new rows stand at the end of a table, their old ones go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator
from typing import TypeAlias

from facereject._files import copy_bytes, unfinished
from facereject.pipeline._store.journal import Entry

#: gives the entries from the first one on, whenever it is called
Entries: TypeAlias = "Callable[[], Generator[Entry, None, None]]"


def current(entries: Entries) -> Iterator[tuple[Entry, Entry | None]]:
    """The finished inputs whose rows count, each with the entry that stands before it in the table."""
    last = {entry.identity: number for number, entry in enumerate(entries()) if entry.again}
    before = None
    for number, entry in enumerate(entries()):
        if entry.part:
            continue
        if number >= last.get(entry.identity, 0):
            yield entry, before
        before = entry


def n_rows(entry: Entry, before: Entry | None) -> int:
    """How many rows an input has."""
    return entry.rows - (before.rows if before is not None else 0)


def entries_in_order(entries: Entries, header: int) -> Iterator[Entry]:
    """The entries as they are in the table without old rows; ``header`` is how many bytes come first."""
    offset, rows = header, 0
    for entry, before in current(entries):
        offset += entry.offset - (before.offset if before is not None else header)
        rows += n_rows(entry, before)
        yield entry._replace(offset=offset, rows=rows, again=False)


@contextlib.contextmanager
def without_old_rows(path: str, entries: Entries, header: int) -> Iterator[str]:
    """The name of the table without old rows: the table itself if there are none, else a temporary file."""
    with contextlib.closing(entries()) as each:
        redone = any(entry.again for entry in each)
    if not redone:
        yield path
        return
    with unfinished(path) as made, open(path, "rb") as table:
        made.write(table.read(header))
        for entry, before in current(entries):
            start = before.offset if before is not None else header
            table.seek(start)
            copy_bytes(table, made, entry.offset - start)
        made.flush()
        os.fsync(made.fileno())
        yield made.name
