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
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from facereject._files import open_own
from facereject.outputs.summary import Tally
from facereject.tables.errors import TableError

try:
    import fcntl
except ImportError:  # Windows: two runs on one table are not told apart there
    fcntl = None  # type: ignore[assignment]

#: of the form of journals and records
VERSION = 2


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
            if header["journal"] == VERSION:
                self.settings = {str(name): str(value) for name, value in header["settings"].items()}
                self._end = self._start = length

    def begin(self, settings: Mapping[str, str]) -> None:
        """Forget what the journal says and start a new one."""
        self.settings = dict(settings)
        self._file.truncate(0)
        self._end = 0
        self._append({"journal": VERSION, "settings": self.settings})
        self._start = self._end
        self.sign()

    def sign(self) -> None:
        """Note which process writes from here on."""
        self._append({"pid": os.getpid()})

    def resume(self, table_size: int) -> int:
        """Go on behind the last entry the table still covers; returns the length the table is to have."""
        kept = 0
        for value, length in self._values(self._start):
            entry = entry_of(value)
            if entry is not None:
                # a table on a disk that lost power may be shorter than what was written
                if entry.offset > table_size:
                    break
                kept = entry.offset
            self._end += length
        self._file.truncate(self._end)
        return kept

    def entries(self) -> Generator[Entry, None, None]:
        """The finished inputs and parts, in the order of the table."""
        for value, _ in self._values(self._start):
            entry = entry_of(value)
            if entry is not None:
                yield entry

    def add(self, entry: Entry) -> None:
        """Note an input; `commit` writes it."""
        self._pending.append(line_of(list(entry)).decode())

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
            yield from values_in(reader)
        finally:
            reader.detach()

    def _append(self, value: Any) -> None:
        data = line_of(value)
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


def line_of(value: Any) -> bytes:
    """A line of a journal."""
    text = json.dumps(value).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def values_in(lines: Iterable[bytes]) -> Iterator[tuple[Any, int]]:
    """The values of the lines and the lengths of these, up to the first one that is cut off or damaged."""
    for line in lines:
        checksum, _, text = line.partition(b" ")
        if not text.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text[:-1]):
            return
        try:
            yield json.loads(text), len(line)
        except ValueError:
            return


def entry_of(value: Any) -> Entry | None:
    """The entry that a line holds; None if it holds something else."""
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
