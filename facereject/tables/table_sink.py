"""A table in a file that appears whole at the end and survives any interruption."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import TracebackType

from facereject._files import display_name, open_new, open_own, replacing, suffix_of, sync_folder
from facereject.faces.landmarks.mean_shape import N_LANDMARKS
from facereject.tables.formats import (
    TableFormatError,
    csv_to_parquet,
    parquet_to_csv,
    points_in_table,
    read_table,
    text_format,
)
from facereject.tables.journal import (
    Entry,
    Journal,
    SettingsError,
    TableError,
    UnfinishedTableError,
    write_all,
)
from facereject.tables.rows import Row
from facereject.tables.summary import Summary, Tally, tally_rows
from facereject.tables.table_path import check_own_table, check_table_path

# a crash costs the inputs finished since the last commit, a commit some milliseconds of waiting for the disk
_COMMIT_SECONDS = 2.0

# inputs of a finished table are known by the name shown there, not by their path; no path holds a NUL
_BY_NAME = "\0"


class TableSink:
    """A table in a file: CSV, JSON lines or Parquet by the suffix.

    Rows go to ``<path>.partial`` as they come; the finished inputs are noted in ``<path>.partial.journal``
    every second and on every way out. A clean end renames the table to its name in one step, so that under
    this name there is never a half-written one. Parquet is written from a CSV of that kind at the end.

    Parameters
    ----------
    path : path
    settings : mapping of str to str, optional
        What the rows depend on; a table is not continued under other settings.
    resume : bool, default=False
        Continue an unfinished table, or add to a finished one; if there is neither, start.
    overwrite : bool, default=False
        Start again even if that loses an unfinished table, or a file that is no table of this package.
    rule : str, default="all"
        As in `frame_accepted`, for counting what stands in a finished table.
    check : callable or None
        Whether a row of a finished table could have been made under these settings, which are not kept with
        it; see `row_check`.
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
        self._done: set[str] = set()
        self._begun: Entry | None = None
        self._whole = 0
        self._copied = -1
        with self._errors(f"{self.partial}.journal"):
            journal = Journal(f"{self.partial}.journal")
        try:
            with self._errors(self.partial):
                self._journal = journal
                self._file = self._open(dict(settings or {}), resume, overwrite)
        except BaseException:
            # a journal that says nothing was made just now
            (journal.close if journal.settings is not None else journal.remove)()
            raise

    def has(self, path: str) -> bool:
        """Whether the rows of this input stand in the table already, from an earlier run."""
        return bool(self._done) and (path in self._done or _BY_NAME + display_name(path) in self._done)

    def earlier(self) -> Iterator[str]:
        """The inputs that stand in the table from earlier runs."""
        return (path.removeprefix(_BY_NAME) for path in self._done)

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows of the current input; they are in the file at once."""
        data = self._format.encode(rows)
        with self._errors(self.partial):
            write_all(self._file, data)
        self._size += len(data)

    def end_input(self, path: str, counts: Tally) -> None:
        """All rows of the input have been written; now and then this commits."""
        self._journal.add(Entry(path, self._size, counts))
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

    def end_part(self, path: str, counts: Tally, note: str) -> None:
        """The rows of the current input up to here are complete; they are safe from now on."""
        self._journal.add(Entry(path, self._size, counts, note))
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
            for entry in self._journal.entries():
                if entry.part:
                    continue
                path = entry.path.removeprefix(_BY_NAME)
                # names in a finished table may lead nowhere: moved files, and bytes that are no UTF-8
                if path == entry.path or os.path.lexists(path):
                    self._after_input(path, entry.counts)
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
                    f"{self.partial}: left by an earlier run, but its journal is missing, so it cannot be "
                    "continued; delete it to start again"
                )
            n_inputs = len({entry.path for entry in self._journal.entries()})
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
        self._whole = len(self._format.header)
        for entry in self._journal.entries():
            self._begun = entry if entry.part else None
            if entry.part:
                continue
            self._whole = entry.offset
            self._done.add(entry.path)
            self.summary.add(display_name(entry.path.removeprefix(_BY_NAME)), entry.counts)
        file = open_own(self.partial)
        file.truncate(self._size)
        file.seek(self._size)
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
            for source, rows in groupby(self._checked(read_table(self.path)), key=lambda row: row.source):
                counts = tally_rows(rows, self._rule)
                self._done.add(_BY_NAME + source)
                self.summary.add(source, counts)
                self._journal.add(Entry(_BY_NAME + source, self._size, counts))
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
            elif self._suffix == ".parquet":
                self._convert()
            else:
                os.replace(self.partial, self.path)
            sync_folder(os.path.dirname(self.path) or os.curdir)
        self._journal.remove()

    def _convert(self) -> None:
        with replacing(self.path) as made:
            csv_to_parquet(self.partial, made.name)
        os.unlink(self.partial)

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TableError(f"{path}: cannot be written ({error.strerror or error})") from error
