"""The store of a run: a SQLite file with the finished inputs and their faces, exported as the table."""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from facereject._files import (
    Identities,
    connect_sqlite,
    display_name,
    filling_sqlite,
    has_locks,
    is_planted,
    is_regular,
    open_own,
    replacing,
    stamp_of,
    suffix_of,
)
from facereject._log import logger
from facereject._words import counted
from facereject.faces.face import Face, FaceFrame
from facereject.faces.landmarks.point_set import N_LANDMARKS
from facereject.outputs.summary import Counts, Summary
from facereject.tables.columns import HEAD, chosen_columns, count_points, is_lost, is_own
from facereject.tables.errors import SettingsError, TableError, TableFormatError, UnfinishedTableError
from facereject.tables.packing import PackedRow, frames_of, rows_of, valid_text
from facereject.tables.reading import column_names, read_rows, read_table
from facereject.tables.writing import (
    check_own_table,
    check_sqlite_points,
    check_table_path,
    record_path,
    write_rows,
)

_LOG = logger(__name__)

# a crash costs the inputs finished since the last commit, a commit some milliseconds of waiting for the disk
_COMMIT_SECONDS = 2.0

# inputs whose worker crashed are retried once
_RETRIES = 1

# inputs of a finished table without a record are known by the name shown there; no path holds a NUL
_BY_NAME = b"\0"

# the stamp of a file that changed while it was read; no file has it
_CHANGED = "changed"

# a message of SQLite may quote damaged text, which Python then cannot decode
_SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)

# marks the files of this module, in their header
_APPLICATION = 0x66726A31

# the setting that tells which table a record belongs to
_TABLE = "(table)"

_ADVICE = "use the same options, or pass `overwrite` to start again"

# the rows of an input behind those that were counted when it, or a part of it, was finished
_FORGET_UNFINISHED = (
    "DELETE FROM faces WHERE id IN (SELECT id FROM faces WHERE input = :input ORDER BY id LIMIT -1 "
    "OFFSET ifnull((SELECT n_rows FROM inputs WHERE id = :input), 0))"
)

# of the inputs that are finished, those with one of the two keys that a path has
_SAME_INPUT = "key IN (?, ?) AND part = ''"

# bytes at both ends of a table that its record knows
_HEADER, _TAIL = 100, 1 << 16

_INPUT_FIELDS = ("path", "key", "stamp", "tries", "part", *Counts._fields, "n_rows")
_FACE_FIELDS = ("input", *HEAD, "landmarks")

_UNCERTAINTY, _ACCEPTED, _REASON = (HEAD.index(name) for name in ("uncertainty", "accepted", "reason"))

_RECORD_SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT)",
    f"CREATE TABLE inputs (id INTEGER PRIMARY KEY, {', '.join(_INPUT_FIELDS)}, checksum)",
    "CREATE INDEX inputs_key ON inputs (key)",
)
_SCHEMA = (
    *_RECORD_SCHEMA,
    f"CREATE TABLE faces (id INTEGER PRIMARY KEY, {', '.join(_FACE_FIELDS)}, checksum)",
    "CREATE INDEX faces_input ON faces (input)",
    "CREATE TRIGGER forget AFTER DELETE ON inputs BEGIN DELETE FROM faces WHERE input = old.id; END",
)


class StoredInput(NamedTuple):
    """An input that is in a store.

    Attributes
    ----------
    number : int
        Inputs are numbered in the order of the table.
    path : str
        A path that leads to the file from here.
    counts : Counts
    stamp : str
        Size and time of change of the file that was read, see `facereject._files.stamp_of`; no file has the
        stamp of one that changed while it was read. Empty if unknown.
    part : str
        For a video of which only some parts are finished, what is needed to go on; else empty.
    tries : int
        How often this file was worked on in a row, as far as it failed before.
    current : bool
        False if the file has changed since an earlier run read it, or is to be tried again.
    gone : bool
        The input is from a finished table that this run completes, and its file is not found.
    """

    number: int
    path: str
    counts: Counts
    stamp: str = ""
    part: str = ""
    tries: int = 1
    current: bool = True
    gone: bool = False


class Store:
    """The inputs of a run and their faces; the table appears at its end, whole.

    While the run lasts, everything is in the SQLite file ``<path>.partial``, locked against other runs.
    Finished inputs are committed every two seconds and on every way out, so that a run that was interrupted
    or killed can be resumed. `finish` writes the table in one step and deletes that file. With ``settings``,
    a small SQLite file ``<path>.run`` stays beside the table, with the settings and the files that were read
    (path, size, time of change), so that the table can be completed later: files that have changed since are
    worked on again. Checksums tell a damaged store, which is refused, and a damaged record, which is ignored.

    A store is a context manager: the end of the block is `finish`, an exception `close`.

    Parameters
    ----------
    path : path or None
        The table: ``.csv``, ``.jsonl``, ``.parquet`` or ``.sqlite``. None is a temporary store without one;
        `export` writes it to a stream.
    settings : mapping of str to str, optional
        What the rows depend on. A table is not continued with other settings.
    free : collection of str
        Names of settings that may differ where a finished table is completed.
    resume : bool, default=False
        Continue an unfinished table, or add to a finished one; if neither exists, start.
    overwrite : bool, default=False
        Start again even if that loses an unfinished table, or a file that facereject did not create.
    retry_failed : bool, default=False
        On resuming, work again on every input that is unreadable or failed. Without it, only inputs whose
        worker crashed or ran out of memory are retried, once.
    rule : {"all", "any", "largest"}
        When a frame with several faces counts as accepted.
    check : callable or None
        Whether a `Face` of a finished table without a record could have been made with these settings.
    n_points : int, default=68
        Number of landmarks of the faces.
    columns : str
        Columns of the table, as in `facereject.tables.columns.chosen_columns`. The store itself has all.
    keep_rows : bool, default=True
        False keeps counts only, where no output needs the frames again.

    Attributes
    ----------
    path, partial : str or None
        The table, links resolved, and the file of the unfinished one.
    summary : Summary
        Counts of all finished inputs, those of earlier runs included.

    Raises
    ------
    TableError
        The table cannot be written, is damaged, or another run is writing it.
    UnfinishedTableError
        There is an unfinished table, and neither ``resume`` nor ``overwrite``.
    SettingsError
        The table was written with other settings.

    Examples
    --------
    >>> from facereject.faces.face import NO_IMAGE
    >>> with Store(None) as store:
    ...     store.write([FaceFrame(0, math.nan, NO_IMAGE, [], source="photo.jpg")])
    ...     store.end_input("photo.jpg", Counts(frames=1, no_face=1))
    ...     [frame.source for frame in store.frames()]
    ['photo.jpg']
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        settings: Mapping[str, str] | None = None,
        free: Collection[str] = (),
        resume: bool = False,
        overwrite: bool = False,
        retry_failed: bool = False,
        rule: str = "all",
        check: Callable[[Face], bool] | None = None,
        n_points: int = N_LANDMARKS,
        columns: str = "all",
        keep_rows: bool = True,
    ) -> None:
        self.summary = Summary()
        self.keeps_rows = keep_rows
        self._settings, self._free = dict(settings or {}), free
        self._overwrite, self._retry_failed = overwrite, retry_failed
        self._rule, self._check, self._n_points = rule, check, n_points
        self._columns, self._names = columns, chosen_columns(columns, n_points)
        self._identity = Identities()
        self._opened_ns = time.time_ns()
        self._last_commit = time.monotonic()
        self._threshold: float | None = None
        # the last input of earlier runs, and the one that is being worked on
        self._earlier, self._current = 0, 1
        self._begun: StoredInput | None = None
        # this run completes a finished table: whether it has added anything, and read its rows, if need be
        self._completes = self._unchanged = False
        self._unread: str | None = None
        self.path: str | None = None
        self.partial: str | None = None
        if path is None:
            self._database = sqlite3.connect("", check_same_thread=False)
            self._create()
            return
        self.path = check_table_path(path, overwrite=overwrite)
        if suffix_of(self.path) == ".sqlite":
            check_sqlite_points(self.path, n_points, columns)
        self.partial = f"{self.path}.partial"
        with table_errors(self.partial):
            self._database = open_locked(self.partial, overwrite=overwrite)
        # a change begins a transaction
        self._database.isolation_level = "DEFERRED"
        try:
            with table_errors(self.partial):
                self._open(self.path, resume)
        except BaseException:
            self._leave()
            raise

    def has(self, path: str) -> bool:
        """Whether this input is done, and its file has not changed since."""
        item = self._find(path)
        return item is not None and item.current

    def earlier(self) -> Iterator[str]:
        """The paths of the inputs of earlier runs."""
        return (item.path for item in self._stored() if item.number <= self._earlier)

    def inputs(self) -> Iterator[StoredInput]:
        """All finished inputs, in the order of the table; they are safe before the first one is returned."""
        self.commit()
        return (item for item in self._stored() if not item.part)

    def frames(self, item: StoredInput | None = None) -> Iterator[FaceFrame]:
        """The frames of an input, or of all finished inputs, in the order of the table."""
        self._read_finished()
        for each in self.inputs() if item is None else (item,):
            yield from frames_of(self._rows(each.number), self._n_points)

    def write(self, frames: Sequence[FaceFrame]) -> None:
        """Add frames of the current input."""
        if self.keeps_rows:
            self._read_finished()
            self._insert(self._current, (row for frame in frames for row in rows_of(frame)))

    def end_input(self, path: str, counts: Counts, stamp: str = "") -> None:
        """All frames of the current input have been written; they replace those of an earlier run.

        ``stamp`` is that of the file before it was read, if known: a file that has changed is not the one
        that was scored.
        """
        self._end(path, counts, "", stamp)
        self.summary.add(display_name(path), counts)
        if time.monotonic() - self._last_commit >= _COMMIT_SECONDS:
            self.commit()

    def begun(self) -> StoredInput | None:
        """The video of which an earlier run has finished some parts and not all.

        Go on with it, or `forget_begun`, before anything else is written.
        """
        return self._begun

    def forget_begun(self) -> None:
        """Remove the frames of that video."""
        if self._begun is not None:
            self._execute("DELETE FROM inputs WHERE id = ?", self._begun.number)
            self._begun = None

    def end_part(self, path: str, counts: Counts, note: str) -> None:
        """Commit the frames of the current input so far; ``note`` is what is needed to go on."""
        self._end(path, counts, note)
        self.commit()

    def commit(self) -> None:
        """Make all finished inputs and parts safe."""
        if not self._unchanged:
            with table_errors(self.partial):
                self._database.commit()
        self._last_commit = time.monotonic()

    def keep_best(self, amount: float, *, photos: bool = False) -> float:
        """Accept the best of all faces and reject the others.

        Parameters
        ----------
        amount : int or float
            As in `threshold_of_best`. Faces that are turned too far are never among the best.
        photos : bool, default=False
            Count images and frames instead of faces; each is as uncertain as the face that decides on it.

        Returns
        -------
        threshold : float
            The uncertainty up to which faces are accepted.
        """
        self._read_finished()
        if photos:
            values: Iterable[float] = (
                value
                for frame in self.frames()
                if math.isfinite(value := _uncertainty_of(frame.faces, self._rule))
            )
        else:
            found = self._execute(
                "SELECT uncertainty FROM faces WHERE uncertainty IS NOT NULL AND reason != 'turned'"
            )
            values = (value for (value,) in found)
        threshold = threshold_of_best(np.fromiter(values, np.float64), amount)
        self.decide(threshold)
        return threshold

    def decide(self, threshold: float) -> None:
        """Decide anew on all faces: accept those with an uncertainty of at most ``threshold``."""
        self._threshold, self._unchanged = threshold, False
        self.summary.total = Counts()
        for number, *fields in _checked_inputs(self._database):
            item = self._item((number, *fields))
            if item.part:
                continue
            found = Counts.of(self.frames(item), self._rule)
            counts = item.counts._replace(
                accepted_faces=found.accepted_faces, accepted_frames=found.accepted_frames
            )
            self._put_input(number, (*fields[:5], *counts, fields[-1]))
            self.summary.total = self.summary.total.plus(counts)

    def export(self, file: IO[bytes], suffix: str = ".csv") -> None:
        """Write the table to an open binary file, in the format of a suffix."""
        self._read_finished()
        # a video of which only some parts are finished is not in the table
        numbers = (number for number, _, _, _, _, part, *_ in _checked_inputs(self._database) if not part)
        rows = (row for number in numbers for row in self._rows(number))
        write_rows(file, suffix, rows, self._n_points, self._columns)

    def finish(self) -> None:
        """Write the table under its name, and close the store."""
        try:
            if self.path is not None:
                with table_errors(self.path):
                    self._deliver(self.path)
        except BaseException:
            self._leave()
            raise
        self._leave(remove=True)

    def close(self) -> None:
        """Leave the table unfinished, to be resumed; if nothing was added, nothing is left behind."""
        # the reason for leaving matters more than what else goes wrong now
        with contextlib.suppress(*_SQLITE_ERRORS, TableError):
            # frames of an input that was not finished
            self._database.execute(_FORGET_UNFINISHED, {"input": self._current})
            self.commit()
        self._leave()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        (self.finish if kind is None else self.close)()

    def _open(self, path: str, resume: bool) -> None:
        """Decide between a new table, one to continue and a finished one."""
        schema, n_inputs = _schema_of(self._database), 0
        if schema and schema != _SCHEMA:
            raise TableError(
                f"{self.partial}: damaged, or left by another version of facereject; delete it to start again"
            )
        if schema:
            (n_inputs,) = self._database.execute("SELECT count(*) FROM inputs").fetchone()
        if n_inputs and not resume:
            raise UnfinishedTableError(
                f"{self.partial}: an unfinished table with {counted(n_inputs, 'input')} from an earlier run; "
                "pass `resume` to continue it, or `overwrite` to start again"
            )
        if n_inputs:
            self._continue()
        else:
            self._create()
            if resume and os.path.exists(path):
                self._complete(path)
        (self._earlier,) = self._database.execute("SELECT ifnull(max(id), 0) FROM inputs").fetchone()
        for item in self._stored():
            if item.part:
                self._begun = item
            else:
                self.summary.add(display_name(item.path), item.counts)
        self._current = self._earlier + (self._begun is None)
        if self._begun is not None and not self._begun.current:
            self.forget_begun()

    def _create(self) -> None:
        self._database.execute("BEGIN")
        for table in ("faces", "inputs", "settings"):
            self._database.execute(f"DROP TABLE IF EXISTS {table}")
        _define(self._database, _SCHEMA, self._settings)

    def _continue(self) -> None:
        """Go on with an unfinished table, if it is whole and was begun with the same settings."""
        before = _settings_of(self._database)
        _check_settings(self.partial, before, self._settings, {**before, **self._settings})
        _check_pages(self._database)
        total = 0
        for number, *_, n_rows in _checked_inputs(self._database):
            if sum(1 for _ in self._rows(number)) != n_rows:
                raise sqlite3.DatabaseError("rows are missing")
            total += n_rows
        if self._database.execute("SELECT count(*) FROM faces").fetchone() != (total,):
            raise sqlite3.DatabaseError("inputs are missing")

    def _complete(self, path: str) -> None:
        """Start with the inputs of a finished table."""
        self._completes = self._unchanged = True
        try:
            self._check_columns(path)
            with _open_record(path) as record:
                if record is None:
                    self._take_rows(path)
                else:
                    self._take_record(path, record)
        except TableFormatError as error:
            raise TableError(f"cannot be continued: {error}") from None

    def _check_columns(self, path: str) -> None:
        """Raise SettingsError if a finished table has other columns than this run writes."""
        names = column_names(path)
        n_points = count_points(names)
        if n_points not in (None, 0, self._n_points):
            raise SettingsError(
                f"{path}: cannot be completed, as its faces have {n_points} landmarks, not {self._n_points}"
            )
        if is_own(names) and names != self._names:
            raise SettingsError(f"{path}: cannot be completed, as it has other columns; {_ADVICE}")

    def _take_record(self, path: str, record: sqlite3.Connection) -> None:
        before = _settings_of(record)
        shared = before.keys() & self._settings.keys() - set(self._free)
        _check_settings(path, before, self._settings, sorted(shared))
        for number, *fields in _checked_inputs(record):
            self._put_input(number, tuple(fields))
        self._unread = path

    def _take_rows(self, path: str) -> None:
        for source, frames in groupby(read_table(path), key=lambda frame: frame.source):
            counts = Counts.of(self._taken(path, frames), self._rule)
            by_path, by_name = self._keys(source)
            key = by_path if os.path.lexists(source) else by_name
            self._put_current(os.fsencode(source), key, "", 1, "", counts)

    def _taken(self, path: str, frames: Iterable[FaceFrame]) -> Iterator[FaceFrame]:
        for frame in frames:
            if self._check is not None and not all(map(self._check, frame.faces)):
                raise SettingsError(
                    f"{path}: cannot be completed, as it was made with another model or target (see "
                    f"{frame.source}); {_ADVICE}"
                )
            self._insert(self._current, rows_of(frame))
            yield frame

    def _read_finished(self) -> None:
        """Read the rows of the finished table into the store, once they are needed."""
        if self._unread is None:
            return
        path, self._unread = self._unread, None
        rows = read_rows(path)
        for number, *_, n_rows in _checked_inputs(self._database):
            if self._insert(number, islice(rows, n_rows)) != n_rows:
                raise TableError(f"{path}: has changed since it was opened")

    def _end(self, path: str, counts: Counts, part: str, before: str = "") -> None:
        """Note what is finished of the current input; what an earlier run knew of it goes."""
        self._read_finished()
        key, stamp, tries = self._identity(path), stamp_of(path), 1
        # a file that was changed during the run may have been read before
        if stamp and self._opened_ns <= int(stamp.split()[1]) <= time.time_ns():
            stamp = _CHANGED
        if before and stamp != before:
            stamp = _CHANGED
        old = self._find(path) if self._earlier and not part else None
        if old is not None and old.number <= self._earlier:
            tries = old.tries + 1 if old.stamp == stamp else 1
            self._execute(
                f"DELETE FROM inputs WHERE {_SAME_INPUT} AND id <= ?", *self._keys(path), self._earlier
            )
            self.summary.remove(display_name(old.path), old.counts)
        self._unchanged = False
        self._put_current(os.fsencode(path), os.fsencode(key), stamp, tries, part, counts)
        if not part:
            self._begun = None

    def _put_current(
        self, path: bytes, key: bytes, stamp: str, tries: int, part: str, counts: Counts
    ) -> None:
        (n_rows,) = self._execute("SELECT count(*) FROM faces WHERE input = ?", self._current).fetchone()
        numbers, failure = map(int, counts[:-1]), valid_text(counts.failure)
        self._put_input(self._current, (path, key, stamp, tries, part, *numbers, failure, n_rows))
        self._current += not part

    def _put_input(self, number: int, fields: tuple[Any, ...]) -> None:
        values = (number, *fields)
        self._execute(
            f"INSERT OR REPLACE INTO inputs VALUES {_places(_INPUT_FIELDS)}", *values, _checksum(values)
        )

    def _insert(self, number: int, rows: Iterable[PackedRow]) -> int:
        """Add rows to an input; returns how many."""
        with table_errors(self.partial):
            query = f"INSERT INTO faces VALUES {_places(_FACE_FIELDS)}"
            return self._database.executemany(query, self._stored_rows(number, rows)).rowcount

    def _stored_rows(self, number: int, rows: Iterable[PackedRow]) -> Iterator[tuple[Any, ...]]:
        for *head, landmarks in rows:
            if landmarks is not None and len(landmarks) != 24 * self._n_points:
                raise ValueError(
                    f"a face with {len(landmarks) // 24} landmarks in a table of {self._n_points}"
                )
            head[_ACCEPTED] = int(head[_ACCEPTED])
            values = (number, *head)
            yield None, *values, landmarks, _checksum(values, landmarks)

    def _rows(self, number: int) -> Iterator[PackedRow]:
        """The rows of an input, with the decisions of `decide`."""
        found = self._execute("SELECT * FROM faces WHERE input = ? ORDER BY id", number)
        for _, *values, landmarks, checksum in found:
            if _checksum(values, landmarks) != checksum:
                raise TableError(_damaged(self.partial, "a row is damaged"))
            row = values[1:]
            uncertainty, reason = row[_UNCERTAINTY], row[_REASON]
            if self._threshold is not None and uncertainty is not None and reason != "turned":
                row[_ACCEPTED] = uncertainty <= self._threshold
                row[_REASON] = "" if row[_ACCEPTED] else "uncertain"
            row[_ACCEPTED] = bool(row[_ACCEPTED])
            yield (*row, landmarks)

    def _stored(self) -> Iterator[StoredInput]:
        return map(self._item, _checked_inputs(self._database))

    def _find(self, path: str) -> StoredInput | None:
        """What is known of an input."""
        query = f"SELECT * FROM inputs WHERE {_SAME_INPUT} ORDER BY id DESC LIMIT 1"
        found = self._execute(query, *self._keys(path)).fetchone()
        return None if found is None else self._item(found[:-1])

    def _keys(self, path: str) -> tuple[bytes, bytes]:
        return os.fsencode(self._identity(path)), _BY_NAME + display_name(path).encode()

    def _item(self, fields: tuple[Any, ...]) -> StoredInput:
        number, raw_path, key, stamp, tries, part, *numbers, _ = fields
        counts, path, by_name = Counts(*numbers), os.fsdecode(raw_path), key.startswith(_BY_NAME)
        if not by_name and os.fsencode(self._identity(path)) != key:
            # the earlier run was started in another folder
            path = os.fsdecode(key)
        current, gone = True, False
        if number <= self._earlier:
            lost = is_lost(counts.failure) and tries <= _RETRIES
            again = bool(counts.failure) and (self._retry_failed or lost)
            changed = bool(stamp) and stamp_of(path) not in ("", stamp)
            current = not (again or changed)
            gone = (by_name or self._completes) and not os.path.lexists(path)
        return StoredInput(number, path, counts, stamp, part, tries, current, gone)

    def _execute(self, query: str, *values: Any) -> sqlite3.Cursor:
        with table_errors(self.partial):
            return self._database.execute(query, values)

    def _deliver(self, path: str) -> None:
        self.commit()
        if not self._overwrite:
            # another program may have saved a file under this name during the run
            check_own_table(path)
        if self._unchanged:
            return
        with replacing(path) as file:
            self.export(file, suffix_of(path))
        _LOG.info("table of %s written", counted(self.summary.inputs, "input"))
        if self._settings:
            self._write_record(path)

    def _write_record(self, table: str) -> None:
        """Write the record of a table; a file of that name which is no record stays."""
        path = record_path(table)
        if os.path.lexists(path) and not _is_record(path):
            return
        with replacing(path) as file, filling_sqlite(file.name) as record:
            _define(record, _RECORD_SCHEMA, {**self._settings, _TABLE: _signature(table)})
            rows = self._database.execute("SELECT * FROM inputs WHERE part = '' ORDER BY id")
            record.executemany(f"INSERT INTO inputs VALUES {_places(_INPUT_FIELDS)}", rows)

    def _leave(self, *, remove: bool = False) -> None:
        """Close the store; a file without any finished input is deleted."""
        with contextlib.closing(self._database), contextlib.suppress(*_SQLITE_ERRORS, OSError):
            self._database.rollback()
            if self.partial is not None and (remove or _is_empty(self._database)):
                _remove(self._database, self.partial)


def threshold_of_best(uncertainty: ArrayLike, amount: float) -> float:
    """The uncertainty up to which faces are among the best: the k-th smallest of all.

    Parameters
    ----------
    uncertainty : array-like of shape (n,)
        Of all faces that have one.
    amount : int or float
        k as an int; a float in (0, 1] is a share, k = ceil(amount * n). Faces exactly as certain as the last
        one are accepted, too.

    Returns
    -------
    float
        -inf if there is no face, so that none is accepted.

    Examples
    --------
    >>> threshold_of_best([0.3, 0.1, 0.2, 0.4], 0.5)
    0.2
    """
    values = np.asarray(uncertainty, dtype=np.float64)
    # a share such as 0.07 of 100 faces is 7.000000000000001 in floating point
    wanted = amount if isinstance(amount, int) else math.ceil(round(amount * len(values), 9))
    wanted = min(wanted, len(values))
    return float(np.partition(values, wanted - 1)[wanted - 1]) if wanted else -math.inf


def _uncertainty_of(faces: Sequence[Face], rule: str) -> float:
    """The threshold from which on a frame with these faces is accepted; inf if it never is."""
    if not faces:
        return math.inf
    values = [math.inf if face.reason == "turned" else face.uncertainty for face in faces]
    if rule == "largest":
        return values[max(range(len(faces)), key=lambda i: faces[i].box.width * faces[i].box.height)]
    return max(values) if rule == "all" else min(values)


def open_locked(path: str, *, overwrite: bool = False) -> sqlite3.Connection:
    """A SQLite file, new or left by an earlier run, locked as long as it is open.

    Raises TableError if another process has locked it.
    """
    files = (f"{path}-journal", path)
    while True:
        for name in filter(is_planted, files):
            if not overwrite:
                raise TableError(f"{name}: a link, or not a regular file; remove it")
            os.unlink(name)
        if not os.path.lexists(path):
            open_own(path, create=True).close()
        before = os.lstat(path)
        try:
            database = _locked(path)
        except _SQLITE_ERRORS as error:
            if isinstance(error, sqlite3.OperationalError) or not overwrite:
                raise
            for name in filter(os.path.lexists, files):
                os.unlink(name)
            continue
        # the process that held the lock may have deleted the file
        if os.path.lexists(path) and os.path.samestat(before, os.lstat(path)):
            if not (overwrite and before.st_size):
                return database
            _remove(database, path)
        database.close()


def _locked(path: str) -> sqlite3.Connection:
    try:
        return _lock(connect_sqlite(path))
    except sqlite3.OperationalError as error:
        if not has_locks(os.path.dirname(path) or os.curdir):
            # some network disks know no locks: better to run without than not at all
            return _lock(connect_sqlite(path, locks=False))
        if "locked" not in str(error):
            raise
        raise TableError(f"{path}: another run is writing this table; wait for it or stop it first") from None


def _lock(database: sqlite3.Connection) -> sqlite3.Connection:
    try:
        # kept until the connection is closed
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        database.execute("COMMIT")
    except BaseException:
        database.close()
        raise
    return database


def _remove(database: sqlite3.Connection, path: str) -> None:
    """Delete the file of a store, if possible before another run can lock it."""
    if os.name == "nt":
        database.close()
    else:
        # else closing would delete a journal that may be another run's by then; fails if the file is damaged
        with contextlib.suppress(*_SQLITE_ERRORS):
            database.execute("PRAGMA journal_mode = MEMORY")
    for name in (f"{path}-journal", path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _is_empty(database: sqlite3.Connection) -> bool:
    return not _schema_of(database) or not database.execute("SELECT count(*) FROM inputs").fetchone()[0]


def _schema_of(database: sqlite3.Connection) -> tuple[str, ...]:
    found = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    return tuple(sql for (sql,) in found)


def _define(database: sqlite3.Connection, schema: Sequence[str], settings: Mapping[str, str]) -> None:
    for statement in schema:
        database.execute(statement)
    database.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
    database.execute(f"PRAGMA application_id = {_APPLICATION}")
    database.execute(f"PRAGMA user_version = {_settings_checksum(settings)}")


def _settings_of(database: sqlite3.Connection) -> dict[str, str]:
    settings = dict(database.execute("SELECT name, value FROM settings"))
    if database.execute("PRAGMA user_version").fetchone() != (_settings_checksum(settings),):
        raise sqlite3.DatabaseError("the settings are damaged")
    return settings


def _check_settings(
    path: str | None, before: Mapping[str, str], now: Mapping[str, str], names: Iterable[str]
) -> None:
    changes = [
        f"{name}: {before.get(name, 'none')} then, {now.get(name, 'none')} now"
        for name in names
        if before.get(name) != now.get(name)
    ]
    if changes:
        raise SettingsError(f"{path}: was made with other settings ({'; '.join(changes)}); {_ADVICE}")


def _settings_checksum(settings: Mapping[str, str]) -> int:
    # a signed number is expected
    return _checksum(sorted(settings.items())) >> 1


def _checked_inputs(database: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """The inputs in order, some at a time, so that they may be changed meanwhile."""
    last, query = 0, "SELECT * FROM inputs WHERE id > ? ORDER BY id LIMIT 1000"
    while batch := database.execute(query, (last,)).fetchall():
        for *values, checksum in batch:
            if _checksum(values) != checksum:
                raise sqlite3.DatabaseError("an input is damaged")
            yield tuple(values)
        last = batch[-1][0]


def _check_pages(database: sqlite3.Connection) -> None:
    found = database.execute("PRAGMA integrity_check(1)").fetchone()
    if found != ("ok",):
        raise sqlite3.DatabaseError(str(found[0]))


def _checksum(values: Iterable[Any], data: bytes | None = None) -> int:
    return zlib.crc32(data or b"", zlib.crc32(repr([*values]).encode()))


def _places(fields: Sequence[str]) -> str:
    """Placeholders for the fields, a number before and a checksum behind them."""
    return f"({', '.join('?' * (len(fields) + 2))})"


@contextlib.contextmanager
def _open_record(table: str) -> Iterator[sqlite3.Connection | None]:
    """The record of a finished table; None if there is none, it is damaged, or it is of another table."""
    path = record_path(table)
    if not _is_record(path):
        yield None
        return
    with contextlib.closing(connect_sqlite(path, read_only=True)) as record:
        yield record if _is_whole(record, table) else None


def recorded_stamps(table: str) -> dict[str, str]:
    """Size and time of change of the inputs of a finished table, by name; empty if nothing is known."""
    with _open_record(table) as record:
        if record is None:
            return {}
        return {display_name(os.fsdecode(path)): stamp for _, path, _, stamp, *_ in _checked_inputs(record)}


def _is_whole(record: sqlite3.Connection, table: str) -> bool:
    try:
        _check_pages(record)
        all(_checked_inputs(record))
        return _schema_of(record) == _RECORD_SCHEMA and _settings_of(record)[_TABLE] == _signature(table)
    except (*_SQLITE_ERRORS, KeyError):
        return False


def _is_record(path: str) -> bool:
    if not is_regular(path):
        return False
    with open(path, "rb") as file:
        header = file.read(_HEADER)
    return not header or header[68:72] == _APPLICATION.to_bytes(4, "big")


def _signature(table: str) -> str:
    """Length and checksum of both ends of a table: enough to tell that another one took its place."""
    size = os.path.getsize(table)
    with open(table, "rb") as file:
        start = file.read(_HEADER)
        file.seek(max(0, size - _TAIL))
        return f"{size} {zlib.crc32(file.read(), zlib.crc32(start))}"


@contextlib.contextmanager
def table_errors(path: str | None) -> Iterator[None]:
    """Turn what SQLite and the disk report into a TableError that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except sqlite3.OperationalError as error:
        raise TableError(f"{path or 'the temporary table'}: cannot be written ({error})") from error
    except _SQLITE_ERRORS as error:
        raise TableError(_damaged(path, str(error))) from error
    except OSError as error:
        raise TableError(f"{path}: cannot be written ({error.strerror or error})") from error


def _damaged(path: str | None, why: str) -> str:
    return f"{path}: is damaged ({why}), so it cannot be continued; pass `overwrite` to start again"
