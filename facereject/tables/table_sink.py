"""A table in a file that appears whole at the end and survives any interruption."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from types import TracebackType

from facereject._files import (
    Identities,
    copy_bytes,
    display_name,
    open_new,
    open_own,
    replacing,
    stamp_of,
    suffix_of,
    sync_folder,
    unfinished,
)
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.tables.formats import (
    TableFormatError,
    csv_to_parquet,
    parquet_to_csv,
    points_in_table,
    read_table,
    record_ends,
    text_format,
)
from facereject.tables.journal import (
    Entry,
    Journal,
    Record,
    SettingsError,
    TableError,
    UnfinishedTableError,
    current,
    write_all,
    write_record,
)
from facereject.tables.rows import Row, is_lost
from facereject.tables.summary import Summary, Tally, tally_rows
from facereject.tables.table_path import check_own_table, check_table_path

# a crash costs the inputs finished since the last commit, a commit some milliseconds of waiting for the disk
_COMMIT_SECONDS = 2.0

# inputs of a finished table are known by the name shown there, not by their path; no path holds a NUL
_BY_NAME = "\0"

# the stamp of a file of which nobody knows which state was read; no file has it
_CHANGED = "changed"

# how often an input that has cost its worker is tried again without being asked to
_RETRIES = 1


class TableSink:
    """A table in a file: CSV, JSON lines or Parquet by the suffix.

    Rows go to ``<path>.partial`` as they come; the finished inputs are noted in ``<path>.partial.journal``
    every second and on every way out. A clean end renames the table to its name in one step, so that under
    this name there is never a half-written one. Parquet is written from a CSV of that kind at the end. With
    ``settings``, a record stays in ``<path>.journal``: they, and which files were read (path, size, time of
    change). On resuming, a file that has changed since is worked on again, and its rows are replaced.

    Parameters
    ----------
    path : path
    settings : mapping of str to str, optional
        What the rows depend on; a table is not continued under other settings.
    resume : bool, default=False
        Continue an unfinished table, or add to a finished one; if there is neither, start.
    overwrite : bool, default=False
        Start again even if that loses an unfinished table, or a file that is no table of this package.
    retry_failed : bool, default=False
        On resuming, work again on every input that is unreadable or failed. Without it that is done once for
        those whose worker was killed or out of memory.
    rule : str, default="all"
        As in `frame_accepted`, for counting what stands in a finished table.
    check : callable or None
        Whether a row of a finished table without a record could have been made under these settings; see
        `row_check`.
    after_input : callable or None
        Called with path and counts of every finished input once it stands safely in table and journal; on
        resuming, first with those of earlier runs, which may have died or failed in between.
    n_points : int, default=68
        How many landmarks the faces have.

    Raises
    ------
    TableError
        The path cannot be written, or another run is writing it.
    UnfinishedTableError
        There is an unfinished table, and neither ``resume`` nor ``overwrite``.
    SettingsError
        The table was written with other settings; the message says which, as far as that is known.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        settings: Mapping[str, str] | None = None,
        resume: bool = False,
        overwrite: bool = False,
        retry_failed: bool = False,
        rule: str = "all",
        check: Callable[[Row], bool] | None = None,
        after_input: Callable[[str, Tally], None] | None = None,
        n_points: int = N_LANDMARKS,
    ) -> None:
        self.path = check_table_path(path, overwrite=overwrite)
        self._overwrite = overwrite
        self._retry_failed = retry_failed
        self._n_points = n_points
        self.partial = f"{self.path}.partial"
        self.summary = Summary()
        self._suffix = suffix_of(self.path)
        self._format = text_format(self._suffix, n_points)
        self._rule = rule
        self._check = check
        self._after_input = after_input
        self._committed: list[tuple[str, Tally]] = []
        self._last_commit = time.monotonic()
        self._settings = dict(settings or {})
        self._identity = Identities()
        self._opened_ns = time.time_ns()
        self._n_rows = 0
        self._done: set[str] = set()
        self._outdated: dict[str, Entry] = {}
        self._redone = False
        self._begun: Entry | None = None
        self._whole = 0
        self._copied = -1
        with self._errors(f"{self.partial}.journal"):
            journal = Journal(f"{self.partial}.journal")
        try:
            with self._errors(self.partial):
                self._journal = journal
                self._file = self._open(self._settings, resume, overwrite)
        except BaseException:
            # a journal that says nothing was made just now
            (journal.close if journal.settings is not None else journal.remove)()
            raise

    def has(self, path: str) -> bool:
        """Whether the rows of this input stand in the table already, from an earlier run."""
        return bool(self._done) and (
            self._identity(path) in self._done or _BY_NAME + display_name(path) in self._done
        )

    def earlier(self) -> Iterator[str]:
        """The inputs that stand in the table from earlier runs."""
        return (entry.path for entry in self._journal.entries())

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows of the current input; they are in the file at once."""
        data = self._format.encode(rows)
        with self._errors(self.partial):
            write_all(self._file, data)
        self._size += len(data)
        self._n_rows += len(rows)

    def end_input(self, path: str, counts: Tally) -> None:
        """All rows of the input have been written; now and then this commits."""
        entry = self._entry(path, counts)
        old = self._outdated.pop(entry.identity, None)
        if old is not None:
            entry = entry._replace(again=True, tries=old.tries + 1 if old.stamp == entry.stamp else 1)
            self._redone = True
            self.summary.remove(display_name(old.path), old.counts)
        self._journal.add(entry)
        self._committed.append((path, counts))
        self.summary.add(display_name(path), counts)
        if time.monotonic() - self._last_commit >= _COMMIT_SECONDS:
            self.commit()

    def begun(self) -> Entry | None:
        """The video of which an earlier run has finished some parts and not all."""
        return self._begun

    def forget_begun(self) -> None:
        """Take the rows of that video back."""
        if self._begun is not None:
            with self._errors(self.partial):
                self._file.truncate(self._whole)
                self._file.seek(self._whole)
            self._size, self._begun = self._whole, None
            self._n_rows = self._whole_rows

    def end_part(self, path: str, counts: Tally, note: str) -> None:
        """The rows of the current input up to here are complete; they are safe from now on."""
        self._journal.add(self._entry(path, counts)._replace(part=note))
        self.commit()

    def commit(self) -> None:
        """Make all finished inputs safe, then hand them to ``after_input``."""
        with self._errors(self.partial):
            os.fsync(self._file.fileno())
            self._journal.commit(sync=self._after_input is not None)
        self._last_commit = time.monotonic()
        while self._committed:
            if self._after_input is not None:
                self._after_input(*self._committed[0])
            del self._committed[0]

    def __enter__(self) -> TableSink:
        if self._after_input is not None:
            for entry, _ in current(self._journal.entries):
                # names in a finished table may lead nowhere: moved files, and bytes that are no UTF-8
                known = not entry.key.startswith(_BY_NAME) and self._copied < 0
                if entry.identity not in self._outdated and (known or os.path.lexists(entry.path)):
                    self._after_input(entry.path, entry.counts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            try:
                self.commit()
                self._finish()
            finally:
                self._close()
            return
        # the reason for leaving matters more than what else goes wrong now
        with contextlib.suppress(Exception):
            self.commit()
        if self._size in (len(self._format.header), self._copied):
            self._file.close()
            with contextlib.suppress(OSError):
                os.unlink(self.partial)
            self._journal.remove()
        self._close()

    def _close(self) -> None:
        self._file.close()
        self._journal.close()

    def _open(self, settings: dict[str, str], resume: bool, overwrite: bool) -> io.FileIO:
        """Decide between a new, a continued and a finished table; returns the file at its end."""
        header = self._format.header
        if not overwrite and os.path.exists(self.partial) and os.path.getsize(self.partial) > len(header):
            if self._journal.settings is None:
                raise TableError(
                    f"{self.partial}: left by an earlier run, but its journal is missing or damaged, so it "
                    "cannot be continued; delete it to start again"
                )
            n_inputs = len({entry.identity for entry in self._journal.entries()})
            if n_inputs and not resume:
                raise UnfinishedTableError(
                    f"{self.partial}: an unfinished table with {n_inputs:,} inputs from an earlier run"
                )
            if n_inputs:
                return self._continue(settings)
        self._journal.begin(settings)
        if resume and not overwrite and os.path.exists(self.path):
            return self._extend()
        file = open_new(self.partial)
        write_all(file, header)
        self._size = len(header)
        return file

    def _continue(self, settings: dict[str, str]) -> io.FileIO:
        before = self._journal.settings or {}
        names = [name for name in {**before, **settings} if before.get(name) != settings.get(name)]
        if names:
            changes = (f"{n}: {before.get(n, 'none')} then, {settings.get(n, 'none')} now" for n in names)
            raise SettingsError(f"{self.partial}: was begun with other settings ({'; '.join(changes)})")
        self._size = self._journal.resume(os.path.getsize(self.partial)) or len(self._format.header)
        self._journal.sign()
        self._whole, self._whole_rows = len(self._format.header), 0
        for entry in self._journal.entries():
            self._begun = entry if entry.part else None
            self._n_rows = entry.rows
            if not entry.part:
                self._whole, self._whole_rows = entry.offset, entry.rows
            self._redone = self._redone or entry.again
        for entry, _ in current(self._journal.entries):
            self._know(entry)
        file = open_own(self.partial)
        file.truncate(self._size)
        file.seek(self._size)
        if self._begun is not None and self._is_outdated(self._begun):
            self._file = file
            self.forget_begun()
        return file

    def _extend(self) -> io.FileIO:
        """Start from a finished table: its inputs are done, what is missing will be added."""
        try:
            found = points_in_table(self.path)
            if found not in (None, self._n_points):
                raise SettingsError(
                    f"{self.path}: cannot be completed, as its faces have {found} landmarks and not "
                    f"{self._n_points}"
                )
            with open_new(self.partial) as copy, open(self.path, "rb") as table:
                if self._suffix == ".parquet":
                    parquet_to_csv(self.path, self.partial)
                else:
                    shutil.copyfileobj(table, copy)
            self._size = self._copied = os.path.getsize(self.partial)
            for entry in self._entries_of_table():
                self._journal.add(entry)
                self._know(entry)
                self._n_rows = entry.rows
        except (TableFormatError, SettingsError) as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.partial)
            self._journal.settings = None
            if isinstance(error, SettingsError):
                raise
            raise TableError(f"cannot be continued: {error}") from None
        self._journal.commit()
        file = open_own(self.partial)
        file.seek(self._size)
        return file

    def _entries_of_table(self) -> Iterator[Entry]:
        """The inputs of the finished table, as its record has them, or else as its rows show them."""
        ends = record_ends(self.partial, self._suffix)
        if self._format.header:
            next(ends, 0)
        record = Record(f"{self.path}.journal", self.path)
        if record.settings is None:
            yield from self._entries_of_rows(ends)
            return
        before, now = record.settings, self._settings
        names = [name for name in before if name in now and before[name] != now[name]]
        if names:
            changes = (f"{name}: {before[name]} then, {now[name]} now" for name in names)
            raise SettingsError(
                f"{self.path}: cannot be completed, as it was made with other settings ({'; '.join(changes)})"
            )
        n_rows, offset = 0, len(self._format.header)
        for entry in record.entries():
            # Parquet has become CSV of other lengths
            offset = _last(ends, entry.rows - n_rows, offset)
            n_rows = entry.rows
            yield entry._replace(offset=offset)

    def _entries_of_rows(self, ends: Iterator[int]) -> Iterator[Entry]:
        n_rows, offset = 0, len(self._format.header)
        for source, group in groupby(self._checked(read_table(self.path)), key=lambda row: row.source):
            rows = list(group)
            offset = _last(ends, len(rows), offset)
            n_rows += len(rows)
            key = self._identity(source) if os.path.lexists(source) else _BY_NAME + source
            yield Entry(source, offset, tally_rows(rows, self._rule), rows=n_rows, key=key)

    def _entry(self, path: str, counts: Tally) -> Entry:
        key = self._identity(path)
        stamp = stamp_of(key)
        # a file that was changed during the run may have been read before
        if stamp and self._opened_ns <= int(stamp.split()[1]) <= time.time_ns():
            stamp = _CHANGED
        return Entry(path, self._size, counts, rows=self._n_rows, key="" if key == path else key, stamp=stamp)

    def _know(self, entry: Entry) -> None:
        """An input that stands in the table: it is done, unless it changed or is to be tried again."""
        self.summary.add(display_name(entry.path), entry.counts)
        if self._is_outdated(entry) or self._is_tried_again(entry):
            self._outdated[entry.identity] = entry
        else:
            self._done.add(entry.identity)

    def _is_outdated(self, entry: Entry) -> bool:
        return bool(entry.stamp) and stamp_of(entry.identity) not in ("", entry.stamp)

    def _is_tried_again(self, entry: Entry) -> bool:
        failure = entry.counts.failure
        return bool(failure) and (self._retry_failed or (is_lost(failure) and entry.tries <= _RETRIES))

    def _checked(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if self._check is not None and not self._check(row):
                raise SettingsError(
                    f"{self.path}: cannot be completed, as it was made with another model or target (see "
                    f"{row.source})"
                )
            yield row

    def _finish(self) -> None:
        if not self._overwrite:
            # somebody may have saved a file under this name while the run lasted
            check_own_table(self.path)
        with self._errors(self.path):
            os.fsync(self._file.fileno())
            self._file.close()
            if self._size == self._copied:
                # nothing was missing: the finished table stays as it is
                os.unlink(self.partial)
            else:
                with self._without_old_rows() as made:
                    self._give_name(made)
                if self._settings:
                    entries = self._entries_in_order()
                    write_record(f"{self.path}.journal", self._settings, entries, self.path)
            sync_folder(os.path.dirname(self.path) or os.curdir)
        self._journal.remove()

    def _give_name(self, made: str) -> None:
        if self._suffix != ".parquet":
            os.replace(made, self.path)
        else:
            with replacing(self.path) as table:
                csv_to_parquet(made, table.name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.partial)

    @contextlib.contextmanager
    def _without_old_rows(self) -> Iterator[str]:
        """The table without the rows of inputs that were worked on again; a new file if there are any."""
        if not self._redone:
            yield self.partial
            return
        with unfinished(self.partial) as made, open(self.partial, "rb") as table:
            made.write(table.read(len(self._format.header)))
            for entry, before in current(self._journal.entries):
                start = before.offset if before is not None else len(self._format.header)
                table.seek(start)
                copy_bytes(table, made, entry.offset - start)
            made.flush()
            os.fsync(made.fileno())
            yield made.name

    def _entries_in_order(self) -> Iterator[Entry]:
        """The entries as they are in the finished table."""
        offset, n_rows = len(self._format.header), 0
        for entry, before in current(self._journal.entries):
            offset += entry.offset - (before.offset if before else len(self._format.header))
            n_rows += entry.rows - (before.rows if before else 0)
            yield entry._replace(offset=offset, rows=n_rows, again=False)

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TableError(f"{path}: cannot be written ({error.strerror or error})") from error


def _last(numbers: Iterator[int], count: int, default: int) -> int:
    """The last one of the next ``count`` numbers."""
    for number in islice(numbers, count):
        default = number
    return default
