"""The inputs that stand in a table: which of them are done, which have changed or are to be tried again."""

from __future__ import annotations

import os
import time

from facereject._files import Identities, display_name, stamp_of
from facereject.outputs.summary import Tally
from facereject.pipeline._store.journal import Entry
from facereject.tables.rows import is_lost

# inputs of a finished table without a record are known by the name shown there; no path holds a NUL
_BY_NAME = "\0"

# the stamp of a file of which nobody knows which state was read; no file has it
_CHANGED = "changed"

# how often an input that has cost its worker is tried again without being asked to
_RETRIES = 1


class KnownInputs:
    """What is known of the inputs of a table, by the files themselves: real path, size, time of change.

    Parameters
    ----------
    retry_failed : bool, default=False
        Every input that is unreadable or failed is to be tried again. Else that is done once for those whose
        worker was killed or out of memory.
    """

    def __init__(self, *, retry_failed: bool = False) -> None:
        self._retry_failed = retry_failed
        self._identity = Identities()
        self._opened_ns = time.time_ns()
        self._done: set[str] = set()
        self._outdated: dict[str, Entry] = {}

    def has(self, path: str) -> bool:
        """Whether this input is done."""
        return bool(self._done) and (
            self._identity(path) in self._done or _BY_NAME + display_name(path) in self._done
        )

    def add(self, entry: Entry) -> None:
        """An input that stands in the table: it is done, unless it changed or is to be tried again."""
        if self.has_changed(entry) or self._is_tried_again(entry):
            self._outdated[entry.identity] = entry
        else:
            self._done.add(entry.identity)

    def entry(self, path: str, offset: int, counts: Tally, rows: int) -> Entry:
        """What the journal is to say of an input of this run."""
        key = self._identity(path)
        stamp = stamp_of(key)
        # a file that was changed during the run may have been read before
        if stamp and self._opened_ns <= int(stamp.split()[1]) <= time.time_ns():
            stamp = _CHANGED
        return Entry(path, offset, counts, rows=rows, key="" if key == path else key, stamp=stamp)

    def key_of_source(self, source: str) -> str:
        """The key of an input of which only the name in the table is known."""
        return self._identity(source) if os.path.lexists(source) else _BY_NAME + source

    def path_of(self, entry: Entry) -> str:
        """A path that leads to the input from here: as it was written then, unless that was elsewhere."""
        if is_by_name(entry) or self._identity(entry.path) == entry.identity:
            return entry.path
        return entry.identity

    def take_outdated(self, entry: Entry) -> Entry | None:
        """The entry whose rows those of ``entry`` replace, once; None if there is none."""
        return self._outdated.pop(entry.identity, None)

    def is_outdated(self, entry: Entry) -> bool:
        """Whether the rows of the input are to be replaced, and have not been."""
        return entry.identity in self._outdated

    def has_changed(self, entry: Entry) -> bool:
        """Whether the file is another one than that which was read."""
        return bool(entry.stamp) and stamp_of(entry.identity) not in ("", entry.stamp)

    def _is_tried_again(self, entry: Entry) -> bool:
        failure = entry.counts.failure
        return bool(failure) and (self._retry_failed or (is_lost(failure) and entry.tries <= _RETRIES))


def is_by_name(entry: Entry) -> bool:
    """Whether only the name in the table is known of an input."""
    return entry.key.startswith(_BY_NAME)
