"""Where a table may be written."""

from __future__ import annotations

import importlib.util
import os

from facereject._files import NOT_MADE_HERE, output_problem, suffix_of
from facereject.tables.errors import TableError
from facereject.tables.reading import is_own_table
from facereject.tables.writing import SUFFIXES

# SQLite, in which a table is kept until it is finished, takes 512 with what is added to its name
_LONGEST_PATH = 450


def check_table_path(path: str | os.PathLike[str], *, overwrite: bool = False) -> str:
    """The path a table can be written to, links resolved, or a TableError that says why it cannot.

    Parameters
    ----------
    path : path
    overwrite : bool, default=False
        A file that is not a table of facereject may be replaced.
    """
    name = os.fspath(path)
    suffix = suffix_of(name)
    if suffix not in SUFFIXES:
        raise TableError(f"{name}: a table ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise TableError(f"{name}: Parquet needs pyarrow: pip install pyarrow")
    # a link is kept and the file it leads to replaced
    real = os.path.realpath(name) if os.path.islink(name) else name
    problem = output_problem(real)
    if problem:
        raise TableError(f"{name}: {problem}")
    if len(os.fsencode(os.path.abspath(real))) > _LONGEST_PATH:
        raise TableError(f"{name}: this path is longer than {_LONGEST_PATH} bytes; choose a shorter one")
    if not overwrite:
        check_own_table(real)
    return real


def record_path(table: str) -> str:
    """Where the settings and inputs of a finished table are kept."""
    return f"{table}.run"


def files_of(table: str) -> tuple[str, ...]:
    """All files that are written for a table: itself, its store with the rollback journal, and its record."""
    return table, f"{table}.partial", f"{table}.partial-journal", record_path(table)


def check_own_table(path: str) -> None:
    """Raise TableError if there is a file under this name that is not a table of facereject."""
    try:
        own = not os.path.lexists(path) or os.path.getsize(path) == 0 or is_own_table(path)
    except OSError:
        # what cannot be read is not known to be a table
        own = False
    if not own:
        raise TableError(f"{path}: {NOT_MADE_HERE}")
