"""The record beside a finished table: how it was made and which files were read, so that it can be completed.

Lines as in the journal, and a last one that tells which table it speaks of; a record with a damaged line, or
one of another table, is not believed.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from facereject._files import is_regular, replacing
from facereject.pipeline._store.journal import VERSION, Entry, entry_of, line_of, values_in

# bytes at the end of a table that its record knows
_TAIL = 1 << 16


def record_path(table: str) -> str:
    """Where the record of a table is."""
    return f"{table}.journal"


def write_record(table: str, settings: Mapping[str, str], entries: Iterator[Entry], content: str) -> None:
    """Write the record of a table; a file of another kind under its name stays.

    Parameters
    ----------
    table : str
    settings, entries
        As in the journal.
    content : str
        The file that is the table, or becomes it.
    """
    path = record_path(table)
    if os.path.lexists(path) and not _is_record(path):
        return
    with replacing(path) as file:
        file.write(line_of({"journal": VERSION, "settings": dict(settings)}))
        for entry in entries:
            file.write(line_of(list(entry)))
        file.write(line_of({"table": _signature(content)}))


class Record:
    """What is known of a finished table beside its rows.

    Parameters
    ----------
    table : str

    Attributes
    ----------
    settings : dict of str to str, or None
        None if there is no record, it is damaged, or the table is not the one it was made for.
    """

    def __init__(self, table: str) -> None:
        self._path = record_path(table)
        self.settings: dict[str, str] | None = None
        if not is_regular(self._path):
            return
        header: Any = None
        value: Any = None
        length = 0
        with open(self._path, "rb") as file:
            for value, n_bytes in values_in(file):
                header = value if header is None else header
                length += n_bytes
        with contextlib.suppress(TypeError, KeyError, AttributeError):
            whole = length == os.path.getsize(self._path) and value["table"] == _signature(table)
            if header["journal"] == VERSION and whole:
                self.settings = {str(name): str(text) for name, text in header["settings"].items()}

    def entries(self) -> Iterator[Entry]:
        """The inputs of the table, in its order."""
        with open(self._path, "rb") as file:
            for value, _ in values_in(file):
                entry = entry_of(value)
                if entry is not None:
                    yield entry


def _signature(table: str) -> list[int]:
    """Length and checksum of the end of a table: enough to tell that another one took its place."""
    size = os.path.getsize(table)
    with open(table, "rb") as file:
        file.seek(max(0, size - _TAIL))
        return [size, zlib.crc32(file.read())]


def _is_record(path: str) -> bool:
    if not is_regular(path):
        return False
    with open(path, "rb") as file:
        start = file.read(100)
    return not start or start[9:].startswith(b'{"journal": ')
