"""A finished table as the start of a run: which inputs stand in it, and whether they may stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count, groupby, islice

from facereject._files import suffix_of
from facereject.outputs.summary import tally_rows
from facereject.pipeline._store.journal import Entry
from facereject.pipeline._store.known_inputs import KnownInputs
from facereject.pipeline._store.record import Record
from facereject.tables.errors import SettingsError
from facereject.tables.formats import points_in_table, read_table, record_ends
from facereject.tables.rows import Row


class FinishedTable:
    """The inputs of a finished table.

    Parameters
    ----------
    path : str
    copy : str
        The same rows as text, to which others will be added.
    header : int
        Bytes of the copy before its first row.
    rule : str
        As in `frame_accepted`.
    check : callable or None
        Whether a row could have been made under the settings of this run.
    """

    def __init__(
        self, path: str, copy: str, header: int, rule: str, check: Callable[[Row], bool] | None
    ) -> None:
        self._path, self._copy, self._header = path, copy, header
        self._rule, self._check = rule, check

    def check_points(self, n_points: int) -> None:
        """Raise SettingsError if the faces have another number of landmarks."""
        found = points_in_table(self._path)
        if found not in (None, n_points):
            raise SettingsError(
                f"{self._path}: cannot be completed, as its faces have {found} landmarks and not {n_points}"
            )

    def entries(
        self, known: KnownInputs, settings: Mapping[str, str], free: Collection[str]
    ) -> Iterator[Entry]:
        """The inputs, as the record has them, or else as the rows show them.

        Raises
        ------
        SettingsError
            The table was made with other ``settings``, apart from those that are ``free``.
        """
        ends = record_ends(self._copy, suffix_of(self._path))
        if self._header:
            next(ends, 0)
        record = Record(self._path)
        if record.settings is None:
            yield from self._entries_of_rows(known, ends)
            return
        before = {name: text for name, text in record.settings.items() if name in settings}
        changes = [
            f"{name}: {text} then, {settings[name]} now"
            for name, text in before.items()
            if name not in free and text != settings[name]
        ]
        if changes:
            raise SettingsError(
                f"{self._path}: cannot be completed, as it was made with other settings "
                f"({'; '.join(changes)})"
            )
        n_rows, offset = 0, self._header
        for entry in record.entries():
            # Parquet has become CSV of other lengths
            offset = _last(ends, entry.rows - n_rows, offset)
            n_rows = entry.rows
            yield entry._replace(offset=offset)

    def _entries_of_rows(self, known: KnownInputs, ends: Iterator[int]) -> Iterator[Entry]:
        n_rows, offset = 0, self._header
        for source, group in groupby(self._checked(read_table(self._path)), key=lambda row: row.source):
            numbers = count(1)
            counts = tally_rows((row for row, _ in zip(group, numbers, strict=False)), self._rule)
            # zip takes no number where there is no row
            found = next(numbers) - 1
            offset = _last(ends, found, offset)
            n_rows += found
            yield Entry(source, offset, counts, rows=n_rows, key=known.key_of_source(source))

    def _checked(self, rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if self._check is not None and not self._check(row):
                raise SettingsError(
                    f"{self._path}: cannot be completed, as it was made with another model or target (see "
                    f"{row.source})"
                )
            yield row


def _last(numbers: Iterator[int], count: int, default: int) -> int:
    """The last one of the next ``count`` numbers."""
    for number in islice(numbers, count):
        default = number
    return default
