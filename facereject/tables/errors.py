"""What can go wrong with a table."""

from __future__ import annotations


class TableError(RuntimeError):
    """A table cannot be written; the message names the file and the reason."""


class UnfinishedTableError(TableError):
    """An earlier run left an unfinished table, and neither ``resume`` nor ``overwrite`` was given."""


class SettingsError(TableError):
    """An unfinished table was written with other settings."""


class TableFormatError(ValueError):
    """A file is not a table of facereject; the message names it."""
