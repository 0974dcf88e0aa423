"""Sorting files into folders by decision: copied, linked or moved; nothing is overwritten, nothing is lost.

The last copy of a file is never removed: before a source is unlinked, its target is a regular file, synced
and compared with it. Nothing is moved onto or through links, and only the file that was scored is placed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from dataclasses import dataclass, field
from typing import IO

from facereject._files import (
    InputError,
    copy_bytes,
    display_name,
    is_regular,
    make_stamp,
    open_regular,
    remove_unfinished,
    stamp_of,
    sync_folder,
    unfinished,
)
from facereject._options import OptionError, option
from facereject.faces.face import FaceFrame
from facereject.outputs._folders import check_writable, is_inside, name_below
from facereject.outputs.base import Media, Output, RunInfo
from facereject.outputs.summary import MAX_FAILURES, Counts, Placed

_PIECE = 1 << 20


@dataclass
class SortedFiles(Output):
    """Copy, link or move every input into the folder of its decision, below the subfolders it came from.

    Sorting can be repeated: what is in its place is left alone, and a file that an earlier run has put into
    the other folder leaves it. Inputs that are unreadable or failed stay where they are. So do links, files
    that have changed since they were scored, and, if files are moved, files behind linked folders.

    Parameters
    ----------
    accepted, rejected : path or None
        The folders, made when first needed; None leaves those inputs alone.
    mode : {"copy", "link", "move"}, default="copy"
        A link is symbolic and absolute.
    video_share : float, default=0.5
        A video is accepted if at least this share of its frames is.

    Attributes
    ----------
    placed : Placed
        What was done.

    See Also
    --------
    facereject.score_files : Runs it.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import SortedFiles
    >>> score_files("photos", SortedFiles("good", "bad", mode="link"))  # doctest: +SKIP
    """

    place = "end"
    moves_inputs = True
    panel = "Where files go (subfolders are kept, nothing is overwritten)"

    accepted: str | None = option(None, metavar="DIR", help="Folder for accepted files.")
    rejected: str | None = option(
        None,
        metavar="DIR",
        help="Folder for rejected files and files without a face; unreadable files stay where they are.",
    )
    mode: str = option(
        "copy",
        switches={
            "--link": "Create symbolic links instead of copies.",
            "--move": "Move the files instead of copying.",
        },
        help="How files get into their folder.",
    )
    video_share: float = option(
        0.5,
        metavar="SHARE",
        help="A video counts as accepted if at least this share of its frames is.",
    )

    placed: Placed = field(default_factory=Placed, init=False, repr=False)
    _base: str = field(default="", init=False, repr=False)
    _rule: str = field(default="all", init=False, repr=False)
    _media: Media | None = field(default=None, init=False, repr=False)
    _counts: Counts = field(default_factory=Counts, init=False, repr=False)
    _cleaned: set[str] = field(default_factory=set, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check the folders."""
        if self.mode not in MODES:
            raise OptionError(f"`SortedFiles.mode` must be one of {', '.join(MODES)}; got {self.mode!r}")
        if not 0 < self.video_share <= 1:
            raise OptionError(
                f"`SortedFiles.video_share` must be above 0 and at most 1; got {self.video_share!r}"
            )
        for name in ("accepted", "rejected"):
            folder = getattr(self, name)
            if folder is not None:
                setattr(self, name, os.fspath(folder))
                check_writable(f"SortedFiles.{name}", folder)
        folders = self._folders()
        if not folders:
            raise OptionError(
                "`SortedFiles` needs a folder: give `SortedFiles.accepted`, `SortedFiles.rejected` or both"
            )
        if len(folders) == 2 and (is_inside(folders[0], folders[1]) or is_inside(folders[1], folders[0])):
            raise OptionError(
                "`SortedFiles.accepted` and `SortedFiles.rejected` must be separate folders; "
                f"{self.accepted} and {self.rejected} overlap"
            )
        for path in run.paths:
            if self.holds(path):
                raise InputError(
                    f"{display_name(path)}: this input is in the folder for sorted files; choose a folder "
                    "outside the inputs"
                )
        self._base, self._rule = run.base, run.frame_rule

    def begin(self, media: Media) -> None:
        """Another input begins."""
        self._media, self._counts = media, Counts()

    def write(self, frame: FaceFrame) -> None:
        """Count accepted frames."""
        self._counts = self._counts.plus(Counts.of([frame], self._rule))

    def end(self, *, failed: bool = False) -> None:
        """Put the input into its folder."""
        counts = self._counts
        if self._media is None or failed or counts.failure or not counts.frames:
            return
        accepted = counts.accepted_frames >= self.video_share * counts.frames
        try:
            self._place(self._media.path, self._media.stamp, accepted)
        except OSError as error:
            self.placed.failed += 1
            if len(self.placed.failures) < MAX_FAILURES:
                self.placed.failures.append((self._media.source, error.strerror or str(error)))

    def where(self, path: str) -> str:
        """Where an input is now."""
        folders = (folder for folder in (self.accepted, self.rejected) if folder is not None)
        places = (path, *(self._target(path, folder) for folder in folders))
        return next(filter(os.path.lexists, places), path)

    def holds(self, path: str) -> bool:
        """Whether a file lies in one of the folders."""
        whole = os.path.join(os.path.realpath(os.path.dirname(path) or os.curdir), os.path.basename(path))
        return any(is_inside(whole, folder) for folder in self._folders())

    def _target(self, path: str, folder: str) -> str:
        """Where a file goes in one of the folders."""
        return os.path.join(folder, name_below(path, self._base))

    def _folders(self) -> list[str]:
        return [os.path.realpath(each) for each in (self.accepted, self.rejected) if each is not None]

    def _place(self, path: str, stamp: str, accepted: bool) -> None:
        folder, other = (self.accepted, self.rejected) if accepted else (self.rejected, self.accepted)
        home = None if folder is None else self._target(path, folder)
        old = None if other is None else self._target(path, other)
        new = False
        if old is not None and self._was_moved(path, stamp, old) and not (home and os.path.lexists(home)):
            # without a folder for this decision it goes back to where it came from
            new = self._put(old, home or path, "move", stamp)
            self.placed.taken_out += 1
        else:
            new = home is not None and self._put(path, home, self.mode, stamp)
            if old is not None:
                self._take_out(path, home, old)
        if home is not None:
            self.placed.there += not new
            self.placed.accepted += new and accepted
            self.placed.rejected += new and not accepted

    def _was_moved(self, path: str, stamp: str, old: str) -> bool:
        """Whether an earlier run that decided otherwise has moved the input to ``old``."""
        return bool(stamp) and not os.path.lexists(path) and is_regular(old) and stamp_of(old) == stamp

    def _put(self, source: str, target: str, mode: str, stamp: str) -> bool:
        linked = _linked_folder(target, self._root(target))
        if linked is None and mode == "move":
            linked = _linked_folder(source, self._root(source))
        if linked is not None:
            text = f"behind the linked folder {display_name(linked)}; name the folder it leads to"
            raise OSError(errno.ELOOP, text)
        inner = os.path.dirname(target)
        if inner not in self._cleaned:
            self._cleaned.add(inner)
            remove_unfinished(inner)
        return place(source, target, mode, stamp)

    def _take_out(self, path: str, home: str | None, old: str) -> None:
        """Take away what an earlier run, with another decision, has put into the other folder."""
        if not os.path.lexists(old) or _linked_folder(old, self._root(old)) is not None:
            return
        kept = [path] if home is None else [home, path]
        if os.path.islink(old):
            # by name, as the file it led to may just have been moved
            if os.path.realpath(old) not in map(os.path.realpath, kept):
                return
            os.unlink(old)
        elif is_regular(old) and any(_same_bytes(old, file) for file in kept):
            _remove(old, os.lstat(old), next(filter(is_regular, kept), path))
        else:
            # another file of that name
            return
        self.placed.taken_out += 1

    def _root(self, path: str) -> str:
        """The folder below which links are looked for: that of the decision, the base, or the disk."""
        whole = os.path.abspath(path)
        for folder in (self.accepted, self.rejected, self._base):
            if folder is not None and is_inside(whole, os.path.abspath(folder)):
                return os.path.abspath(folder)
        # systems link folders of the first level themselves
        return os.sep.join(whole.split(os.sep)[:2]) or os.sep


def place(source: str, target: str, mode: str, stamp: str = "") -> bool:
    """Copy, link or move a file; whether that was still to be done.

    What is in its place already is left alone. A file is never overwritten, and a source is removed only
    when the target is a regular file that has been synced and compared with it. Anything else is an OSError.

    Parameters
    ----------
    source, target : str
    mode : {"copy", "link", "move"}
    stamp : str
        Of the file that was scored, empty if it is not known; another file is not placed.
    """
    return MODES[mode](source, target, stamp)


def _open_scored(source: str, stamp: str) -> IO[bytes]:
    """Open the file that was scored; OSError if it was replaced or is not a regular file."""
    if os.path.islink(source):
        raise OSError(errno.ELOOP, "a link, which is not followed; name the file it leads to")
    file = open_regular(source)
    if stamp and make_stamp(os.fstat(file.fileno())) != stamp:
        file.close()
        raise _changed()
    return file


def _changed() -> OSError:
    return OSError(errno.ESTALE, "the file has changed since it was scored; score it again")


def _link(source: str, target: str, stamp: str) -> bool:
    if os.path.lexists(target):
        if not _is_same_file(source, target):
            raise _exists(target)
        return False
    _open_scored(source, stamp).close()
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.symlink(os.path.abspath(source), target)
    try:
        # again, now that the link leads to it
        _open_scored(source, stamp).close()
    except OSError:
        os.unlink(target)
        raise
    return True


def _copy(source: str, target: str, stamp: str) -> bool:
    if os.path.lexists(target):
        _check_in_place(source, target)
        return False
    with _open_scored(source, stamp) as file:
        before = os.fstat(file.fileno())
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with unfinished(target, clean=False) as made:
            copy_bytes(file, made, before.st_size)
            made.flush()
            after = os.fstat(file.fileno())
            if make_stamp(before) != make_stamp(after) or not _equal(file, made, before.st_size):
                raise OSError(errno.EIO, "the file changed while it was copied")
            with contextlib.suppress(OSError):
                # permissions and attributes; the times are those of the file that was opened
                shutil.copystat(source, made.name, follow_symlinks=False)
            os.utime(made.name, ns=(before.st_atime_ns, before.st_mtime_ns))
            # unlike a rename, this never replaces a file
            if not _hard_link(made.name, target):
                # a disk without hard links
                if os.path.lexists(target):
                    raise _exists(target)
                os.rename(made.name, target)
    return True


def _move(source: str, target: str, stamp: str) -> bool:
    if not os.path.lexists(source):
        if is_regular(target):
            # moved before
            return False
        raise FileNotFoundError(errno.ENOENT, "the file is gone")
    if not is_regular(source):
        raise OSError(errno.ELOOP, "a link or no regular file; name the file it leads to")
    with _open_scored(source, stamp) as file:
        before = os.fstat(file.fileno())
    if os.path.lexists(target):
        _check_in_place(source, target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if _hard_link(source, target):
            _check_linked(target, before)
        else:
            _copy(source, target, stamp)
    _remove(source, before, target)
    return True


#: how a file gets into its folder
MODES = {"copy": _copy, "link": _link, "move": _move}


def _check_linked(target: str, before: os.stat_result) -> None:
    """Take a new hard link back if the file was exchanged in the meantime; OSError then."""
    now = os.lstat(target)
    if not os.path.samestat(now, before):
        if stat.S_ISLNK(now.st_mode) or now.st_nlink > 1:
            os.unlink(target)
        raise _changed()


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
    """Something is in the place of a copy: fine if it is one, else an error."""
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
        if os.path.samefile(one, other):
            return True
        with open_regular(os.path.realpath(one)) as first, open_regular(os.path.realpath(other)) as second:
            size = os.fstat(first.fileno()).st_size
            return size == os.fstat(second.fileno()).st_size and _equal(first, second, size)
    except OSError:
        return False


def _equal(one: IO[bytes], other: IO[bytes], size: int) -> bool:
    """Whether the first ``size`` bytes of two files are the same."""
    one.seek(0)
    other.seek(0)
    while size > 0:
        piece = one.read(min(size, _PIECE))
        if not piece or piece != other.read(len(piece)):
            return False
        size -= len(piece)
    return True


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
    while is_inside(folder, base) and folder != base:
        if os.path.islink(folder):
            found = folder
        folder = os.path.dirname(folder)
    return found
