"""The table of a camera: one input without an end, saved every two seconds."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from facereject._options import OptionError
from facereject._words import counted
from facereject.faces.face import FaceFrame
from facereject.outputs.base import Media, Output, RunInfo
from facereject.outputs.summary import Counts
from facereject.pipeline.store import Store
from facereject.tables.columns import check_columns
from facereject.tables.errors import TableError
from facereject.tables.table_path import check_table_path, files_of

# what a crash or a full disk can cost
_SAVE_SECONDS = 2.0


class CameraTable(Output):
    """The table of a session, completed when the session ends.

    Parameters
    ----------
    path : str
        As in `Table`.
    columns : str
        As in `Table`.
    resume : bool, default=False
        Continue a table that a full disk or a crash left unfinished. Frames and times count on.
    """

    def __init__(self, path: str, columns: str = "all", *, resume: bool = False) -> None:
        self.path, self._columns = path, columns
        self._resume = resume
        self._store: Store | None = None
        self._counts = self._saved = Counts()
        self._first, self._start_s = 0, 0.0

    def prepare(self, run: RunInfo) -> None:
        """Check that the table can be written."""
        check_columns(self._columns)
        try:
            real = check_table_path(self.path, overwrite=run.overwrite)
        except TableError as error:
            raise OptionError(f"`output` {error}") from None
        if self._resume and run.overwrite:
            raise OptionError("`resume` and `overwrite` exclude each other")
        if self._resume and os.path.exists(real) and not os.path.exists(files_of(real)[1]):
            raise OptionError(f"`output` {self.path}: this table is finished; name another one")
        self._overwrite, self._rule = run.overwrite, run.frame_rule

    def files(self) -> list[str]:
        """The table and its unfinished form."""
        return [*files_of(self.path)]

    def begin(self, media: Media) -> None:
        """Start the table; TableError if it cannot be."""
        store = Store(
            self.path,
            resume=self._resume,
            overwrite=self._overwrite,
            rule=self._rule,
            n_points=len(media.mean_shape),
            columns=self._columns,
        )
        if (begun := store.begun()) is not None:
            store.end_input(begun.path, begun.counts)
        for frame in store.frames():
            self._first, self._start_s = frame.index + 1, frame.time_s
        # an input of the same name would be replaced
        self._name = f"{media.source} {self._first}"
        self._store, self._last_save = store, time.monotonic()

    def write(self, frame: FaceFrame) -> None:
        """Add a frame."""
        if self._store is None:
            return
        moved = frame._replace(index=self._first + frame.index, time_s=self._start_s + frame.time_s)
        with self._kept_on_failure(self._store):
            self._store.write([moved])
            self._counts = self._counts.plus(Counts.of([frame], self._rule))
            if time.monotonic() - self._last_save >= _SAVE_SECONDS:
                self._store.end_part(self._name, self._counts, "camera")
                self._saved, self._last_save = self._counts, time.monotonic()

    def close(self) -> None:
        """Complete the table with what was seen."""
        if self._store is not None:
            with self._kept_on_failure(self._store):
                self._store.end_input(self._name, self._counts)
                self._store.commit()
                self._saved = self._counts
                self._store.finish()
            self._store = None

    @contextlib.contextmanager
    def _kept_on_failure(self, store: Store) -> Iterator[None]:
        """If the table cannot be written, leave what was saved in ``TABLE.partial`` and say so."""
        try:
            yield
        except TableError as error:
            self._store = None
            store.close()
            n_frames = self._first + self._saved.frames
            if not n_frames:
                raise
            raise TableError(
                f"{error}; {counted(n_frames, 'frame')} are kept in {store.partial}: make room, then pass "
                "`resume` to complete the table"
            ) from error

    def report(self) -> list[str]:
        """Where the table is."""
        return [f"Table: {self.path}"]
