"""Sorting files into folders by decision: copied, linked or moved; nothing is ever overwritten."""

from __future__ import annotations

import contextlib
import filecmp
import glob
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from facereject._files import display_name
from facereject.tables.summary import MAX_FAILURES, Tally

#: how a file gets into its folder
MODES = ("copy", "link", "move")


class PlacementError(ValueError):
    """Folders cannot be used for sorting files; the message names them and says what to do."""


@dataclass
class Placement:
    """Puts every finished input into the folder of its decision, below the same subfolders it came from.

    Placing is repeatable: what stands in its place already is left alone, so that after a crash everything
    can be placed again. Inputs that are unreadable or failed stay where they are.

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
        Files in their place.
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

    def __call__(self, path: str, counts: Tally) -> None:
        """Place one input."""
        if counts.failure or not counts.frames:
            return
        accepted = counts.accepted_frames >= self.video_share * counts.frames
        folder = self.accepted if accepted else self.rejected
        if folder is None:
            return
        try:
            place(path, self.target(path, folder), self.mode)
        except OSError as error:
            self.failed += 1
            if len(self.failures) < MAX_FAILURES:
                self.failures.append((display_name(path), error.strerror or str(error)))
            return
        if accepted:
            self.n_accepted += 1
        else:
            self.n_rejected += 1

    def target(self, path: str, folder: str) -> str:
        """Where a file goes in one of the folders."""
        whole = os.path.abspath(path)
        if _inside(whole, self.base):
            return os.path.join(folder, os.path.relpath(whole, self.base))
        # from elsewhere: the whole path, so that equal names stay apart
        return os.path.join(folder, os.path.splitdrive(whole)[1].lstrip(os.sep))

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


def place(source: str, target: str, mode: str) -> None:
    """Copy, link or move a file; what is there already is left alone if it is the same, else an OSError."""
    if os.path.lexists(target):
        _settle(source, target, mode)
        return
    if mode == "move" and not os.path.lexists(source):
        raise FileNotFoundError(2, "the file is gone")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if mode == "link":
        os.symlink(os.path.abspath(source), target)
    elif mode == "move" and os.path.islink(source):
        # moved as a link, which must still lead to the same file
        os.symlink(os.path.realpath(source), target)
        os.unlink(source)
    else:
        if mode == "copy" or not _hard_link(source, target):
            _copy(source, target)
        if mode == "move":
            os.unlink(source)


def _settle(source: str, target: str, mode: str) -> None:
    """Something stands in the place: fine if it is this very file, else an error."""
    if mode == "move" and not os.path.lexists(source):
        return
    same = False
    with contextlib.suppress(OSError):
        same = os.path.samefile(source, target) or (
            mode != "link" and not os.path.islink(target) and filecmp.cmp(source, target, shallow=False)
        )
    if not same:
        raise FileExistsError(
            17, f"{display_name(target)} exists and is another file; it was not overwritten"
        )
    if mode == "move" and os.path.abspath(source) != os.path.abspath(target):
        os.unlink(source)


def _hard_link(source: str, target: str) -> bool:
    try:
        # unlike a rename, this never replaces a file
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        return False
    return True


def _copy(source: str, target: str) -> None:
    # a short name, as the file's own may be as long as the disk allows
    made = os.path.join(os.path.dirname(target), f".facereject-{os.getpid()}")
    try:
        shutil.copy2(source, made)
        if not _hard_link(made, target):
            # a disk without hard links
            if os.path.lexists(target):
                raise FileExistsError(17, f"{display_name(target)} exists; it was not overwritten")
            os.rename(made, target)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(made)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
