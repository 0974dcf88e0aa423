"""Sorting files into folders by decision: copied, linked or moved; nothing is overwritten, nothing is lost.

The last copy of a file is never removed: before a source is unlinked, its target is a regular file, synced
and compared with it. Nothing is moved onto or through links.
"""

from __future__ import annotations

import errno
import filecmp
import glob
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from facereject._files import display_name, is_regular, remove_unfinished, sync_folder, unfinished
from facereject.outputs.summary import MAX_FAILURES, Tally

#: how a file gets into its folder
MODES = ("copy", "link", "move")


class PlacementError(ValueError):
    """Folders cannot be used for sorting files; the message names them and says what to do."""


@dataclass
class Placement:
    """Puts every finished input into the folder of its decision, below the same subfolders it came from.

    Placing is repeatable: what stands in its place already is left alone, so that after a crash everything
    can be placed again. A file that an earlier run has put into the other folder leaves it. Inputs that are
    unreadable or failed stay where they are, and so do links and files behind linked folders if files are
    moved.

    Parameters
    ----------
    accepted, rejected : str or None
        The folders; None leaves those inputs alone. They are made when first needed.
    base : str
        Subfolders are kept from here on; see `base_of`.
    mode : {"copy", "link", "move"}, default="copy"
        A link is symbolic and absolute.
    video_share : float, default=0.5
        A video is accepted if at least this share of its frames is.

    Attributes
    ----------
    n_accepted, n_rejected : int
        Files that were copied, linked or moved.
    n_there, n_left : int
        Files that stood in their place already, and files of earlier runs that left the other folder.
    failed : int
    failures : list of (name, reason)
        The first files that could not be placed.
    """

    accepted: str | None
    rejected: str | None
    base: str
    mode: str = "copy"
    video_share: float = 0.5
    n_accepted: int = field(default=0, init=False)
    n_rejected: int = field(default=0, init=False)
    n_there: int = field(default=0, init=False)
    n_left: int = field(default=0, init=False)
    failed: int = field(default=0, init=False)
    failures: list[tuple[str, str]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}; got {self.mode!r}")
        if not 0 < self.video_share <= 1:
            raise ValueError(f"video_share must lie above 0 and at most at 1; got {self.video_share!r}")
        folders = [
            os.path.realpath(folder) for folder in (self.accepted, self.rejected) if folder is not None
        ]
        for folder in folders:
            if os.path.lexists(folder) and not os.path.isdir(folder):
                raise PlacementError(f"{folder}: this is a file; name a folder")
        if len(folders) == 2 and (_inside(folders[0], folders[1]) or _inside(folders[1], folders[0])):
            raise PlacementError(
                f"accepted and rejected files need folders apart; {self.accepted} and {self.rejected} overlap"
            )
        self._folders = folders
        self._cleaned: set[str] = set()

    def __call__(self, path: str, counts: Tally) -> None:
        """Place one input."""
        if counts.failure or not counts.frames:
            return
        accepted = counts.accepted_frames >= self.video_share * counts.frames
        folder, other = (self.accepted, self.rejected) if accepted else (self.rejected, self.accepted)
        try:
            placed = folder is not None and self._place(path, folder)
            if other is not None:
                self._leave(path, folder, other)
        except OSError as error:
            self.failed += 1
            if len(self.failures) < MAX_FAILURES:
                self.failures.append((display_name(path), error.strerror or str(error)))
            return
        if folder is None:
            return
        self.n_there += not placed
        self.n_accepted += accepted and placed
        self.n_rejected += placed and not accepted

    def _place(self, path: str, folder: str) -> bool:
        target = self.target(path, folder)
        linked = _linked_folder(target, os.path.abspath(folder))
        if linked is None and self.mode == "move":
            linked = _linked_folder(path, self._root(path))
        if linked is not None:
            text = f"behind the linked folder {display_name(linked)}; name the folder it leads to"
            raise OSError(errno.ELOOP, text)
        inner = os.path.dirname(target)
        if inner not in self._cleaned:
            self._cleaned.add(inner)
            remove_unfinished(inner)
        return place(path, target, self.mode)

    def _leave(self, path: str, folder: str | None, other: str) -> None:
        """Take away what an earlier run, with another decision, has put into the other folder."""
        old = self.target(path, other)
        if not os.path.lexists(old) or _linked_folder(old, os.path.abspath(other)) is not None:
            return
        kept = [path] if folder is None else [self.target(path, folder), path]
        if os.path.islink(old):
            # by name, as the file it led to may just have been moved
            if os.path.realpath(old) not in map(os.path.realpath, kept):
                return
        elif not (is_regular(old) and any(_same_bytes(old, file) for file in kept)):
            # another file of that name
            return
        if folder is None:
            text = f"{display_name(old)} is there from an earlier run that decided otherwise; remove it"
            raise FileExistsError(errno.EEXIST, text)
        if os.path.islink(old):
            os.unlink(old)
        else:
            _remove(old, os.lstat(old), next(filter(is_regular, kept), path))
        self.n_left += 1

    def _root(self, path: str) -> str:
        """The folder below which links are looked for: the base, or for files from elsewhere the disk."""
        whole = os.path.abspath(path)
        if _inside(whole, self.base):
            return self.base
        # systems link folders of the first level themselves
        return os.sep.join(whole.split(os.sep)[:2]) or os.sep

    def target(self, path: str, folder: str) -> str:
        """Where a file goes in one of the folders."""
        whole = os.path.abspath(path)
        if _inside(whole, self.base):
            return os.path.join(folder, os.path.relpath(whole, self.base))
        # from elsewhere: the whole path, so that equal names stay apart
        return os.path.join(folder, os.path.splitdrive(whole)[1].lstrip(os.sep))

    def where(self, path: str) -> str:
        """Where a file is now that was at ``path`` before it was placed."""
        folders = (folder for folder in (self.accepted, self.rejected) if folder is not None)
        places = (path, *(self.target(path, folder) for folder in folders))
        return next(filter(os.path.lexists, places), path)

    def holds(self, path: str) -> bool:
        """Whether a file lies in one of the folders: what was placed there is no new input."""
        if not self._folders:
            return False
        whole = os.path.join(os.path.realpath(os.path.dirname(path) or os.curdir), os.path.basename(path))
        return any(_inside(whole, folder) for folder in self._folders)


def base_of(arguments: Sequence[str]) -> str:
    """The folder from which on subfolders are kept, for arguments as `expand_inputs` takes them.

    A single folder is its own base. Otherwise it is the deepest folder that holds everything named: the
    names of several folders are kept, so that equal names in them stay apart. Lists count as the current
    folder.
    """
    if len(arguments) == 1 and os.path.isdir(arguments[0]):
        return os.path.abspath(arguments[0])
    parents = []
    for argument in arguments:
        if argument.startswith("@"):
            parents.append(os.getcwd())
            continue
        while glob.has_magic(argument) and not os.path.lexists(argument):
            argument = os.path.dirname(argument)
            if not glob.has_magic(argument):
                # a file in place of what was cut off
                argument = os.path.join(argument, "_")
        parents.append(os.path.dirname(os.path.abspath(argument)))
    try:
        return os.path.commonpath(parents)
    except ValueError:  # drives of their own
        return os.getcwd()


def place(source: str, target: str, mode: str) -> bool:
    """Copy, link or move a file; whether that was still to be done.

    What is in its place already is left alone. A file is never overwritten, and a source is removed only
    when the target is a regular file that has been synced and compared with it. Anything else is an OSError.
    """
    if mode == "link":
        return _link(source, target)
    if mode == "move":
        return _move(source, target)
    return _copy(source, target)


def _link(source: str, target: str) -> bool:
    if os.path.lexists(target):
        if not _is_same_file(source, target):
            raise _exists(target)
        return False
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.symlink(os.path.abspath(source), target)
    return True


def _copy(source: str, target: str) -> bool:
    if os.path.lexists(target):
        _check_in_place(source, target)
        return False
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with unfinished(target, clean=False) as made:
        shutil.copy2(source, made.name)
        if not _same_bytes(source, made.name):
            raise OSError(errno.EIO, "the file changed while it was copied")
        # unlike a rename, this never replaces a file
        if not _hard_link(made.name, target):
            # a disk without hard links
            if os.path.lexists(target):
                raise _exists(target)
            os.rename(made.name, target)
    return True


def _move(source: str, target: str) -> bool:
    if not os.path.lexists(source):
        if is_regular(target):
            # moved before
            return False
        raise FileNotFoundError(errno.ENOENT, "the file is gone")
    if not is_regular(source):
        raise OSError(errno.ELOOP, "a link or no regular file; move what it leads to, or copy it")
    before = os.lstat(source)
    if os.path.lexists(target):
        _check_in_place(source, target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not _hard_link(source, target):
            _copy(source, target)
    _remove(source, before, target)
    return True


def _remove(path: str, before: os.stat_result, kept: str) -> None:
    """Remove a file of which ``kept`` is another copy, which is made sure of here and now."""
    if not (is_regular(path) and is_regular(kept)):
        raise OSError(errno.ELOOP, f"{display_name(kept)} is no regular file; nothing was removed")
    if _is_same_entry(path, kept):
        raise OSError(errno.EEXIST, f"{display_name(kept)} is this very file; nothing was removed")
    if not _is_same_file(path, kept):
        # a second name of the same data needs no waiting for the disk
        with open(kept, "rb") as file:
            os.fsync(file.fileno())
        sync_folder(os.path.dirname(kept) or os.curdir)
    if not _same_bytes(path, kept):
        raise OSError(errno.EIO, f"{display_name(kept)} is another file now; nothing was removed")
    now = os.lstat(path)
    if (now.st_ino, now.st_size, now.st_mtime_ns) != (before.st_ino, before.st_size, before.st_mtime_ns):
        raise OSError(errno.EBUSY, "the file changed meanwhile; it was not removed")
    os.unlink(path)


def _check_in_place(source: str, target: str) -> None:
    """Something stands in the place of a copy: fine if it is one, else an error."""
    if os.path.islink(target):
        raise FileExistsError(errno.EEXIST, f"{display_name(target)} is a link, no copy; remove it first")
    if not is_regular(target) or not _same_bytes(source, target):
        raise _exists(target)


def _exists(target: str) -> FileExistsError:
    text = f"{display_name(target)} exists and is another file; it was not overwritten"
    return FileExistsError(errno.EEXIST, text)


def _same_bytes(one: str, other: str) -> bool:
    """Whether two files hold the same; files that are hard links of each other do."""
    try:
        return os.path.samefile(one, other) or filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
    finally:
        # it remembers results by size and time of change, which a changed file may share
        filecmp.clear_cache()


def _is_same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _is_same_entry(one: str, other: str) -> bool:
    """Whether two paths name one file once: a mount or a disk that ignores case shows it under two names."""
    if not _is_same_file(one, other):
        return False
    if os.lstat(one).st_nlink < 2:
        return True
    folders = (os.path.dirname(os.path.abspath(path)) for path in (one, other))
    names = {os.path.basename(path).casefold() for path in (one, other)}
    return len(names) == 1 and _is_same_file(*folders)


def _hard_link(source: str, target: str) -> bool:
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise _exists(target) from None
    except (OSError, NotImplementedError):
        return False
    return True


def _linked_folder(path: str, base: str) -> str | None:
    """The first folder between ``base`` and a file that is a link, if there is one."""
    folder = os.path.dirname(os.path.abspath(path))
    found = None
    while _inside(folder, base) and folder != base:
        if os.path.islink(folder):
            found = folder
        folder = os.path.dirname(folder)
    return found


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
