"""Folders of outputs: the names that files get below them, and where they may be."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence

from facereject._files import NOT_MADE_HERE, display_name, output_problem, suffix_of, write_whole
from facereject._options import OptionError


class OutputError(OSError):
    """An output file cannot be written. The message names the file and says what to do."""


def write_output(path: str, content: str | bytes) -> None:
    """Write a file in one step; OutputError if that fails."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise OutputError(f"{display_name(path)}: cannot be written ({error.strerror})") from None


def base_of(paths: Sequence[str]) -> str:
    """The folder from which on outputs keep the subfolders of their inputs.

    A single folder is its own base. Otherwise it is the deepest folder that holds everything named, so that
    files of one name in several folders stay apart. Lists count as the current folder.

    Parameters
    ----------
    paths : sequence of str
        As `facereject.sources.inputs.expand_inputs` takes them: files, folders, patterns, lists.
    """
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return os.path.abspath(paths[0])
    parents = []
    for path in paths:
        if path.startswith("@"):
            parents.append(os.getcwd())
            continue
        while glob.has_magic(path) and not os.path.lexists(path):
            path = os.path.dirname(path)
            if not glob.has_magic(path):
                # a file in place of what was cut off
                path = os.path.join(path, "_")
        parents.append(os.path.dirname(os.path.abspath(path)))
    try:
        return os.path.commonpath(parents)
    except ValueError:
        # several drives, or no path at all
        return os.getcwd()


def name_below(path: str, base: str) -> str:
    """The name of a file below the base; of a file elsewhere its whole path, to keep equal names apart."""
    whole = os.path.abspath(path)
    return (
        os.path.relpath(whole, base)
        if is_inside(whole, base)
        else os.path.splitdrive(whole)[1].lstrip(os.sep)
    )


def is_inside(path: str, folder: str) -> bool:
    """Whether an absolute path is the folder, or inside it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def check_writable(option: str, folder: str) -> None:
    """OptionError if no files can be put into a folder of outputs, which is made if needed."""
    above = os.path.realpath(folder)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        why = f"{'this' if os.path.lexists(folder) else display_name(above)} is a file; name a folder"
    elif not os.access(above, os.W_OK):
        why = f"nothing may be written to the folder {display_name(above)}; choose another one"
    else:
        return
    raise OptionError(f"`{option}` {display_name(folder)}: {why}")


def check_file(
    option: str,
    path: str | os.PathLike[str],
    suffixes: Sequence[str],
    *,
    overwrite: bool,
    is_own: Callable[[str], bool] | None = None,
) -> str:
    """The name of an output file, or an OptionError that says why it cannot be written.

    Parameters
    ----------
    option : str
        As users write it, ``Class.field``.
    path : path
    suffixes : sequence of str
        What its name may end in.
    overwrite : bool
        Allow replacing a file that facereject did not create.
    is_own : callable or None
        Tells whether a file was created by this output, which may replace it.
    """
    path = os.fspath(path)
    problem = output_problem(path)
    if suffix_of(path) not in suffixes:
        problem = f"its name must end in {' or '.join(suffixes)}"
    elif not problem and os.path.lexists(path) and not overwrite:
        try:
            own = is_own is not None and is_own(path)
        except OSError:
            # what cannot be read is not known to be an output
            own = False
        problem = "" if own else NOT_MADE_HERE
    if problem:
        raise OptionError(f"`{option}` {display_name(path)}: {problem}")
    return path


def check_folder(option: str, folder: str, paths: Sequence[str]) -> None:
    """OptionError if a folder of outputs cannot be written to, or lies in a folder that is read."""
    check_writable(option, folder)
    target = os.path.realpath(folder)
    for path in paths:
        if os.path.isdir(path) and is_inside(target, os.path.realpath(path)):
            raise OptionError(
                f"`{option}` {display_name(folder)}: lies in {display_name(path)}, which is read; choose a "
                "folder apart from the inputs"
            )
