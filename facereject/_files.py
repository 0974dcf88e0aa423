"""Files: names for messages, kinds, and writing that never shows a part, follows a link or loses a file.

Every file is written beside its target under an unfinished name and renamed when it is
whole. Unfinished names are random, ``.NAME.XXXXXXXX.facereject-partial``, opened exclusively and locked while
they are written; what a killed run left behind is recognised by that name and the missing lock, and removed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import pathlib
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

#: why a file is not replaced; option names are in backticks
NOT_MADE_HERE = (
    "this file was not made by facereject and would be lost; choose another name, or pass `overwrite`"
)

_MARK = ".facereject-partial"
_UNFINISHED = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(_MARK)}(\.\w+){{0,2}}", re.DOTALL)

# bytes of the target's own name that an unfinished name keeps: most disks allow 255 in all
_KEPT_BYTES = 180

# without locks, leftovers are recognised by their age
_ABANDONED_SECONDS = 86_400.0

# a cell that a spreadsheet runs as a formula; any number of "./" in front, so that adding one can be undone
_FORMULA = re.compile(r"(\./)*[-=+@\t\r\n]")

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class InputError(ValueError):
    """A file, or an argument that should name files, cannot be used; the message names it and says why.

    Images, videos, data sets, model files, landmark files of other tools and files of predictions have
    subclasses of it.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.sources import InputError
    >>> try:
    ...     score_files("no-such-folder")
    ... except InputError as error:
    ...     print("cannot be used")
    cannot be used
    """


def display_name(path: str | os.PathLike[str]) -> str:
    r"""The path as valid UTF-8; bytes that are not become ``\xNN``, so that any tool reads the table."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def valid_name(name: str) -> str:
    r"""A name from a file as one that a path can have: a surrogate that is no byte becomes ``\udXXX``."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return name.encode("utf-8", "backslashreplace").decode()
    return name


def cell_name(name: str) -> str:
    """A name for a cell of a CSV file: one that a spreadsheet would run as a formula gets ``./`` in front.

    The result is a path to the same file. ``name_of_cell`` gives the name back.
    """
    return f"./{name}" if _FORMULA.match(name) else name


def name_of_cell(cell: str) -> str:
    """The name that `cell_name` has made a cell of."""
    return cell.removeprefix("./") if _FORMULA.match(cell) else cell


class Identities:
    """Which input a path leads to, however it is written: its folder with links resolved, and its name.

    Two links to one file are two inputs. An instance caches the last folder, which neighbouring files share.
    """

    def __init__(self) -> None:
        self._resolved = ("", "")

    def __call__(self, path: str) -> str:
        """The absolute path that identifies the input."""
        folder, name = os.path.split(path)
        if folder != self._resolved[0] or not os.path.isabs(folder):
            self._resolved = (folder, os.path.normcase(os.path.realpath(folder or os.curdir)))
        return os.path.join(self._resolved[1], os.path.normcase(name))


def stamp_of(path: str) -> str:
    """Size and time of change of a file, which tell whether it is still the same; empty if there is none."""
    try:
        return make_stamp(os.stat(path))
    except (OSError, ValueError):
        return ""


def make_stamp(status: os.stat_result) -> str:
    """The stamp of a file with this status, see `stamp_of`."""
    return f"{status.st_size} {status.st_mtime_ns}"


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading; an OSError for a link, a device, a pipe or a folder."""

    def opener(path: str, flags: int) -> int:
        # without O_NONBLOCK a pipe would wait for its other end
        descriptor = _never_through_links(path, flags | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file")
        return descriptor

    return open(path, "rb", opener=opener)


def suffix_of(path: str) -> str:
    """The suffix in lower case, with its dot."""
    return os.path.splitext(path)[1].lower()


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether the path is a pipe, a device or a socket, where opening may block."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether the path itself, not what a link leads to, is a regular file."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def folder_problem(path: str | os.PathLike[str]) -> str:
    """Why no file can be written under this name because of its folder; empty if nothing is wrong.

    The folder of a file must exist, since a typing error would create another one; folders that are outputs
    themselves are created.
    """
    folder = os.path.dirname(path) or os.curdir
    if not os.path.isdir(folder):
        return f"there is no folder {display_name(folder)}; make it first"
    if not os.access(folder, os.W_OK):
        return f"nothing may be written to the folder {display_name(folder)}; choose another one"
    return ""


def output_problem(path: str | os.PathLike[str]) -> str:
    """Why nothing can be written under this name even with ``overwrite``; empty if nothing is wrong.

    What exists must be a regular file: a device, a pipe or a socket is never replaced.
    """
    if os.path.isdir(path):
        return "this is a folder; name a file"
    if is_special(path):
        return "this is a device, a pipe or a socket, which is never replaced; name a file"
    return folder_problem(path)


def output_that_is_read(
    outputs: Iterable[str | os.PathLike[str]], inputs: Iterable[str | os.PathLike[str]]
) -> str | None:
    """The first output that is an input, or another name (link) of one; None if there is none.

    Inputs are never replaced, not even with ``overwrite``.
    """
    written = {identity: os.fspath(path) for path in outputs if (identity := file_id(path)) is not None}
    if not written:
        return None
    return next((written[identity] for identity in map(file_id, inputs) if identity in written), None)


def file_id(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """What tells whether two paths lead to the same file; None if there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, suffix: str = "") -> Iterator[IO[bytes]]:
    """A new file that takes the place of ``path`` when the block ends without an exception.

    Readers see the old file or the new one, never a part. The new file has the permissions of the one it
    replaces, else those of any new file. If ``path`` is a link, the link is replaced, not what it leads to.
    A device, a pipe or a socket is never replaced: an OSError.

    Parameters
    ----------
    path : path
        In an existing folder.
    suffix : str
        Ends the unfinished name, for libraries that go by it.

    Yields
    ------
    binary file
        Open for writing and reading; ``name`` is its path, for libraries that open files themselves.
    """
    path = os.fspath(path)
    _check_replaceable(path)
    with unfinished(path, suffix=suffix) as file:
        with contextlib.suppress(OSError):
            if is_regular(path) and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(os.lstat(path).st_mode) & 0o777)
        yield file
        file.flush()
        os.fsync(file.fileno())
        if fcntl is None:
            # Windows renames no open file
            file.close()
        _check_replaceable(path)
        os.replace(file.name, path)
        sync_folder(os.path.dirname(path) or os.curdir)


@contextlib.contextmanager
def unfinished(path: str | os.PathLike[str], *, suffix: str = "", clean: bool = True) -> Iterator[IO[bytes]]:
    """A new locked file beside ``path`` under an unfinished name, which is gone when the block ends.

    Parameters
    ----------
    path : path
        Where the file will be: the caller renames it when it is complete.
    suffix : str
        Ends its name.
    clean : bool
        Remove what killed runs left in the folder first.
    """
    folder, name = os.path.split(os.fspath(path))
    if clean:
        remove_unfinished(folder or os.curdir)
    # cut between characters, as some disks take no others
    short = os.fsencode(name)[:_KEPT_BYTES].decode("utf-8", "ignore")
    made = os.path.join(folder, f".{short}.{secrets.token_hex(4)}{_MARK}{suffix}")
    try:
        with open(made, "x+b", opener=_open_locked) as file:
            try:
                yield file
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(made)
    except OSError as error:
        if error.filename == made:
            # the name that the user knows
            error.filename = os.fspath(path)
        raise


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, in one step: readers see the old file or the new one, never a part."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def copy_bytes(source: IO[bytes], target: IO[bytes], n_bytes: int) -> None:
    """Copy ``n_bytes`` from the current position of one file to that of the other."""
    while n_bytes and (data := source.read(min(n_bytes, 1 << 20))):
        target.write(data)
        n_bytes -= len(data)


def open_own(path: str | os.PathLike[str], *, create: bool = False) -> io.FileIO:
    """An unbuffered file of a fixed name that an earlier run has left, to write on; an OSError for links.

    A hard link is refused, too: writing would change a file that has another name elsewhere.
    """

    def opener(path: str, flags: int) -> int:
        # without O_NONBLOCK a pipe in place of the file would wait for its other end
        flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = _never_through_links(path, flags)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(descriptor)
            raise OSError(errno.EMLINK, "a link or no regular file; remove it")
        return descriptor

    return io.FileIO(os.fspath(path), "r+", opener=opener)


def is_planted(path: str | os.PathLike[str]) -> bool:
    """Whether there is a link, a file with a second name (hard link), or something that is not a file.

    Looks without opening it: closing a file gives up the locks that the same process has on it.
    """
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(status.st_mode) or status.st_nlink > 1


def connect_sqlite(
    path: str | os.PathLike[str], *, read_only: bool = False, locks: bool = True
) -> sqlite3.Connection:
    """Open an existing SQLite file, of which nothing is trusted; transactions are begun by hand.

    Parameters
    ----------
    path : path
    read_only : bool, default=False
    locks : bool, default=True
        False if the disk has no locks, or no other process knows the file.
    """
    import sqlite3

    options = ["mode=ro" if read_only else "mode=rw"]
    if not locks and fcntl is not None:
        options.append("vfs=unix-none")
    # an absolute URI: a plain name may have another meaning, such as ":memory:"
    address = f"{pathlib.Path(os.path.abspath(path)).as_uri()}?{'&'.join(options)}"
    database = sqlite3.connect(address, timeout=0, isolation_level=None, uri=True, check_same_thread=False)
    # what a stranger has put into the file does not run
    database.execute("PRAGMA trusted_schema = OFF")
    return database


@contextlib.contextmanager
def filling_sqlite(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """A transaction that fills an empty file which no other process knows, see `replacing`."""
    with contextlib.closing(connect_sqlite(path, locks=False)) as database:
        # after a crash the file is unfinished anyway
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("BEGIN")
        yield database
        database.execute("COMMIT")


def has_locks(folder: str | os.PathLike[str]) -> bool:
    """Whether files in a folder can be locked; some network disks cannot."""
    if fcntl is None:
        return True
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            return _lock(file.fileno()) is not None
    except OSError:
        return True


def remove_unfinished(folder: str | os.PathLike[str]) -> None:
    """Remove the unfinished files that killed runs have left in a folder; those in use stay."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _UNFINISHED.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_abandoned(entry.path)


def sync_folder(folder: str) -> None:
    """Make a new name in a folder outlast a power cut, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_replaceable(path: str) -> None:
    if os.path.lexists(path) and not os.path.islink(path) and not is_regular(path):
        raise OSError(errno.EINVAL, "not a regular file, which is never replaced", path)


def _never_through_links(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | _SAFE, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a link, which is not followed; remove it", path) from None
        raise


def _open_locked(path: str, flags: int) -> int:
    """Open a new file and lock it; one that was removed as a leftover before it was locked is made again."""
    while True:
        descriptor = _never_through_links(path, flags)
        try:
            # wait: a process that removes leftovers holds the lock until the file is gone
            _lock(descriptor, wait=True)
            if os.path.lexists(path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            raise
        os.close(descriptor)


def _lock(descriptor: int, *, wait: bool = False) -> bool | None:
    """Lock exclusively: True if locked, False if held by another process, None if unsupported."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EACCES, errno.EAGAIN) else None
    return True


def _remove_abandoned(path: str) -> None:
    descriptor = _never_through_links(path, os.O_RDWR | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(descriptor)
        locked = _lock(descriptor)
        age = time.time() - status.st_mtime
        if stat.S_ISREG(status.st_mode) and (locked or (locked is None and age >= _ABANDONED_SECONDS)):
            os.unlink(path)
    finally:
        os.close(descriptor)
