"""A table in a file that appears whole at the end and survives any interruption."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType

from facereject._files import display_name, open_new, open_own, replacing, suffix_of, sync_folder
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.outputs.summary import Summary, Tally
from facereject.pipeline._store.finished import FinishedTable
from facereject.pipeline._store.journal import Entry, Journal, write_all
from facereject.pipeline._store.known_inputs import KnownInputs, is_by_name
from facereject.pipeline._store.record import write_record
from facereject.pipeline._store.replaced_rows import current, entries_in_order, without_old_rows
from facereject.tables.errors import SettingsError, TableError, TableFormatError, UnfinishedTableError
from facereject.tables.formats import csv_to_parquet, parquet_to_csv, text_format
from facereject.tables.rows import Row
from facereject.tables.table_path import check_own_table, check_table_path

# a crash costs the inputs finished since the last commit, a commit some milliseconds of waiting for the disk
_COMMIT_SECONDS = 2.0


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
    free : collection of str
        Names of settings that may be others where a finished table is completed.
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
        free: Collection[str] = (),
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
        self._free = free
        self._known = KnownInputs(retry_failed=retry_failed)
        self._n_rows = 0
        self._begun: Entry | None = None
        self._whole = self._whole_rows = 0
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
        return self._known.has(path)

    def earlier(self) -> Iterator[str]:
        """The inputs that stand in the table from earlier runs."""
        return (self._known.path_of(entry) for entry in self._journal.entries())

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows of the current input; they are in the file at once."""
        data = self._format.encode(rows)
        with self._errors(self.partial):
            write_all(self._file, data)
        self._size += len(data)
        self._n_rows += len(rows)

    def end_input(self, path: str, counts: Tally) -> None:
        """All rows of the input have been written; now and then this commits."""
        entry = self._known.entry(path, self._size, counts, self._n_rows)
        old = self._known.take_outdated(entry)
        if old is not None:
            entry = entry._replace(again=True, tries=old.tries + 1 if old.stamp == entry.stamp else 1)
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
        entry = self._known.entry(path, self._size, counts, self._n_rows)
        self._journal.add(entry._replace(part=note))
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
                self._place(self._after_input, entry)
        return self

    def _place(self, place: Callable[[str, Tally], None], entry: Entry) -> None:
        """Hand over an input of the table if its file is the one that was judged, as far as is known."""
        path = self._known.path_of(entry)
        # names in a finished table may lead nowhere: moved files, and bytes that are no UTF-8
        known = not is_by_name(entry) and self._copied < 0
        if not self._known.is_outdated(entry) and (known or os.path.lexists(path)):
            place(path, entry.counts)

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
        for entry, _ in current(self._journal.entries):
            self._know(entry)
        file = open_own(self.partial)
        file.truncate(self._size)
        file.seek(self._size)
        if self._begun is not None and self._known.has_changed(self._begun):
            self._file = file
            self.forget_begun()
        return file

    def _extend(self) -> io.FileIO:
        """Start from a finished table: its inputs are done, what is missing will be added."""
        table = FinishedTable(self.path, self.partial, len(self._format.header), self._rule, self._check)
        try:
            table.check_points(self._n_points)
            with open_new(self.partial) as copy, open(self.path, "rb") as finished:
                if self._suffix == ".parquet":
                    parquet_to_csv(self.path, self.partial)
                else:
                    shutil.copyfileobj(finished, copy)
            self._size = self._copied = os.path.getsize(self.partial)
            for entry in table.entries(self._known, self._settings, self._free):
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

    def _know(self, entry: Entry) -> None:
        """An input that stands in the table: it is done, unless it changed or is to be tried again."""
        self.summary.add(display_name(entry.path), entry.counts)
        self._known.add(entry)

    def _finish(self) -> None:
        if not self._overwrite:
            # somebody may have saved a file under this name while the run lasted
            check_own_table(self.path)
        with self._errors(self.path):
            os.fsync(self._file.fileno())
            self._file.close()
            self._deliver()
            sync_folder(os.path.dirname(self.path) or os.curdir)
        self._journal.remove()

    def _deliver(self) -> None:
        """All rows are safe: the table gets its name, and what was unfinished goes."""
        if self._size != self._copied:
            with self._rows_that_count() as made:
                if self._suffix == ".parquet":
                    with replacing(self.path) as table:
                        csv_to_parquet(made, table.name)
                        self._write_record(table.name)
                else:
                    # first, so that there is a record whenever the unfinished table is gone
                    self._write_record(made)
                    os.replace(made, self.path)
        # else nothing was missing: the finished table stays as it is
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.partial)

    def _rows_that_count(self) -> contextlib.AbstractContextManager[str]:
        """The name of a file with the header and the rows of all inputs, without those that were replaced."""
        return without_old_rows(self.partial, self._journal.entries, len(self._format.header))

    def _write_record(self, content: str) -> None:
        if self._settings:
            write_record(self.path, self._settings, self._final_entries(), content)

    def _final_entries(self) -> Iterator[Entry]:
        """The entries as they are in the finished table."""
        return entries_in_order(self._journal.entries, len(self._format.header))

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            # of a stream that an observer writes to
            raise
        except OSError as error:
            raise TableError(f"{path}: cannot be written ({error.strerror or error})") from error
