"""The journal beside an unfinished table: which inputs stand in it, up to which byte, under which settings.

Lines of a checksum (CRC-32) and JSON: first ``{"journal": 2, "settings": {…}}``, then ``{"pid": …}`` for
every run that wrote on, and for every finished input the fields of an `Entry`. The finished parts of a long
video have such lines, too, with a note that says how to go on. A line is written after the rows it speaks of,
so whatever moment a run dies at, the last whole line is true; from a line on that is damaged, nothing is
believed. While a run lasts it holds a lock on the journal.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from facereject._files import is_regular, open_own, replacing
from facereject.tables.summary import Tally

try:
    import fcntl
except ImportError:  # Windows: two runs on one table are not told apart there
    fcntl = None  # type: ignore[assignment]

_VERSION = 2

# bytes at the end of a table that its record knows
_TAIL = 1 << 16


class TableError(RuntimeError):
    """A table cannot be written; the message names the file and the reason."""


class UnfinishedTableError(TableError):
    """An earlier run left an unfinished table, and nobody said whether to continue it."""


class SettingsError(TableError):
    """An unfinished table was written with other settings."""


class Entry(NamedTuple):
    """One finished input, or the finished parts of the input that is being worked on.

    Attributes
    ----------
    path : str
        As the operating system takes it.
    offset : int
        Bytes of the table up to and with its last row.
    counts : Tally
    part : str
        For a video of which some parts are finished and others are not, what is needed to go on; else empty.
    rows : int
        Rows of the table up to and with its last one.
    key : str
        Which input it is, see `facereject._files.Identities`; empty is the path.
    stamp : str
        Size and time of change of the file that was read, see `facereject._files.stamp_of`.
    again : bool
        Its rows take the place of those of earlier entries with the same key.
    tries : int
        How often this file was worked on in a row, as far as it failed before.
    """

    path: str
    offset: int
    counts: Tally
    part: str = ""
    rows: int = 0
    key: str = ""
    stamp: str = ""
    again: bool = False
    tries: int = 1

    @property
    def identity(self) -> str:
        """Which input it is."""
        return self.key or self.path


class Journal:
    """The journal of one table, locked as long as it is open.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    settings : dict of str to str, or None
        Those of the run that began it; None if the file is new, empty or not understood.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = _open_locked(path)
        self._pending: list[str] = []
        self.settings: dict[str, str] | None = None
        self._end = self._start = 0
        with contextlib.suppress(StopIteration, TypeError, KeyError, AttributeError):
            header, length = next(self._values(0))
            if header["journal"] == _VERSION:
                self.settings = {str(name): str(value) for name, value in header["settings"].items()}
                self._end = self._start = length

    def begin(self, settings: Mapping[str, str]) -> None:
        """Forget what the journal says and start a new one."""
        self.settings = dict(settings)
        self._file.truncate(0)
        self._end = 0
        self._append({"journal": _VERSION, "settings": self.settings})
        self._start = self._end
        self.sign()

    def sign(self) -> None:
        """Note which process writes from here on."""
        self._append({"pid": os.getpid()})

    def resume(self, table_size: int) -> int:
        """Go on behind the last entry the table still covers; returns the length the table is to have."""
        kept = 0
        for value, length in self._values(self._start):
            entry = _entry(value)
            if entry is not None:
                # a table on a disk that lost power may be shorter than what was written
                if entry.offset > table_size:
                    break
                kept = entry.offset
            self._end += length
        self._file.truncate(self._end)
        return kept

    def entries(self) -> Iterator[Entry]:
        """The finished inputs and parts, in the order of the table."""
        for value, _ in self._values(self._start):
            entry = _entry(value)
            if entry is not None:
                yield entry

    def add(self, entry: Entry) -> None:
        """Note an input; `commit` writes it."""
        self._pending.append(_line(list(entry)).decode())

    def commit(self, sync: bool = False) -> None:
        """Write what was noted. May be repeated after it was interrupted: nothing then stands twice."""
        if self._pending:
            data = "".join(self._pending).encode()
            self._write(data)
            if sync:
                os.fsync(self._file.fileno())
            self._end += len(data)
            self._pending.clear()

    def close(self) -> None:
        """Give the lock back; the file stays."""
        self._file.close()

    def remove(self) -> None:
        """Delete the file and give the lock back."""
        with contextlib.suppress(OSError):
            os.unlink(self.path)
        self.close()

    def _values(self, position: int) -> Iterator[tuple[Any, int]]:
        """The whole lines from a byte on, as far as they are JSON, and their lengths."""
        self._file.seek(position)
        reader = io.BufferedReader(self._file)
        try:
            yield from _values(reader)
        finally:
            reader.detach()

    def _append(self, value: Any) -> None:
        data = _line(value)
        self._write(data)
        self._end += len(data)

    def _write(self, data: bytes) -> None:
        self._file.seek(self._end)
        write_all(self._file, data)


def write_all(file: io.FileIO, data: bytes) -> None:
    """Write to an unbuffered file, which may take less than it was given."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def current(entries: Callable[[], Iterator[Entry]]) -> Iterator[tuple[Entry, Entry | None]]:
    """The finished inputs whose rows count, each with the entry that stands before it in the table.

    Parameters
    ----------
    entries : callable
        Gives the entries from the first one on, whenever it is called.
    """
    last = {entry.identity: number for number, entry in enumerate(entries()) if entry.again}
    before = None
    for number, entry in enumerate(entries()):
        if entry.part:
            continue
        if number >= last.get(entry.identity, 0):
            yield entry, before
        before = entry


def write_record(path: str, settings: Mapping[str, str], entries: Iterator[Entry], table: str) -> None:
    """Keep beside a finished table how it was made; a file of another kind under that name stays.

    Parameters
    ----------
    path : str
        The record.
    settings, entries
        As in the journal.
    table : str
        The finished table.
    """
    if os.path.lexists(path) and not _is_record(path):
        return
    with replacing(path) as file:
        file.write(_line({"journal": _VERSION, "settings": dict(settings)}))
        for entry in entries:
            file.write(_line(list(entry)))
        file.write(_line({"table": _signature(table)}))


class Record:
    """What is known of a finished table beside its rows.

    Parameters
    ----------
    path : str
    table : str

    Attributes
    ----------
    settings : dict of str to str, or None
        None if there is no record, it is damaged, or the table is not the one it was made for.
    """

    def __init__(self, path: str, table: str) -> None:
        self._path = path
        self.settings: dict[str, str] | None = None
        if not is_regular(path):
            return
        header: Any = None
        value: Any = None
        length = 0
        with open(path, "rb") as file:
            for value, n_bytes in _values(file):
                header = value if header is None else header
                length += n_bytes
        with contextlib.suppress(TypeError, KeyError, AttributeError):
            whole = length == os.path.getsize(path) and value["table"] == _signature(table)
            if header["journal"] == _VERSION and whole:
                self.settings = {str(name): str(text) for name, text in header["settings"].items()}

    def entries(self) -> Iterator[Entry]:
        """The inputs of the table, in its order."""
        with open(self._path, "rb") as file:
            for value, _ in _values(file):
                entry = _entry(value)
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


def _line(value: Any) -> bytes:
    text = json.dumps(value).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _values(lines: Iterable[bytes]) -> Iterator[tuple[Any, int]]:
    """The values of the lines and the lengths of these, up to the first one that is cut off or damaged."""
    for line in lines:
        checksum, _, text = line.partition(b" ")
        if not text.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text[:-1]):
            return
        try:
            yield json.loads(text), len(line)
        except ValueError:
            return


def _entry(value: Any) -> Entry | None:
    if not isinstance(value, list):
        return None
    path, offset, counts, *more = value
    return Entry(path, offset, Tally(*counts), *more)


def _open_locked(path: str) -> io.FileIO:
    while True:
        file = open_own(path, create=True)
        try:
            _lock(file, path)
            # whoever held the lock may have deleted the file meanwhile
            if os.path.exists(path) and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: io.FileIO, path: str) -> None:
    if fcntl is None:
        return
    try:
        # a record lock belongs to the process: workers forked from it do not keep it alive
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            holder = _last_pid(file)
            raise TableError(
                f"{path}: another run{holder} is writing this table; wait for it or stop it first"
            ) from None
        # some network disks know no locks: better to run without than not at all
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise


def _last_pid(file: io.FileIO) -> str:
    holder = ""
    for line in file:
        if line[9:].startswith(b'{"pid": '):
            with contextlib.suppress(ValueError):
                holder = f" (process {json.loads(line[9:])['pid']})"
    return holder
