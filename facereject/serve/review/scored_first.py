"""A folder that is scored for a page: what the page writes in it is no input, a table is of one folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from facereject._files import display_name
from facereject.faces.face import FaceFrame
from facereject.outputs import Output
from facereject.outputs._folders import is_inside
from facereject.pipeline.decide import is_table
from facereject.tables.errors import TableError, TableFormatError
from facereject.tables.reading import read_table


class MadeHere(Output):
    """Stands for the folders that the page writes below the folder that is scored.

    Parameters
    ----------
    root : str
        The folder that is scored.
    folders : iterable of str
    """

    def __init__(self, root: str, folders: Iterable[str]) -> None:
        whole = os.path.realpath(root)
        real = map(os.path.realpath, folders)
        self._folders = [folder for folder in real if folder != whole and is_inside(folder, whole)]

    def write(self, frame: FaceFrame) -> None:
        """The page writes."""

    def holds(self, path: str) -> bool:
        """Tell whether a file is in one of these folders; a link is where it lies, not where it leads."""
        place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        return any(is_inside(place, folder) for folder in self._folders)


def check_sources(table: str, folder: str) -> None:
    """TableError if an earlier run has put faces of another folder into the table."""
    if not is_table(table):
        return
    with contextlib.suppress(TableFormatError, OSError):
        for frame in read_table(table):
            inside = (is_inside(of(frame.source), of(folder)) for of in (os.path.abspath, os.path.realpath))
            if frame.faces and not any(inside):
                raise TableError(
                    f"{display_name(table)}: holds faces of another folder, such as {frame.source}; move "
                    "this table away, or use another folder for the output"
                )
