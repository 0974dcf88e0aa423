"""What a run reads is never what it writes, whatever it is told to overwrite."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from facereject._files import display_name, file_id
from facereject._options import OptionError
from facereject.pipeline._old.saved_video import VideoOutput
from facereject.sources.inputs import Input

_FileId: TypeAlias = "tuple[int, int]"


class KeptInputs:
    """Looks at every input before the work begins; an OptionError if an output would replace one.

    Parameters
    ----------
    outputs : mapping of str to str
        The files to be written, by the option that names them.
    videos : VideoOutput or None
        Where further videos go.

    Raises
    ------
    OptionError
        Two outputs have the same name.
    """

    def __init__(self, outputs: Mapping[str, str], videos: VideoOutput | None = None) -> None:
        self._videos = videos if videos is not None and videos.base is not None else None
        self._outputs: dict[_FileId, tuple[str, str]] = {}
        self._targets: dict[_FileId, str] = {}
        self._read: set[_FileId] = set()
        named: dict[str, str] = {}
        for option, path in outputs.items():
            real = os.path.realpath(path)
            if real in named:
                raise OptionError(
                    f"`{option}` {display_name(path)}: this is the file of `{named[real]}`, too; "
                    "choose another name"
                )
            named[real] = option
            # an unfinished table and its journal are written, too
            for name in (path, f"{path}.partial", f"{path}.partial.journal"):
                identity = file_id(name)
                if identity is not None:
                    self._outputs[identity] = option, name

    def check_arguments(self, paths: Sequence[str]) -> None:
        """Look at lists of inputs, and at files that were named one by one."""
        for path in paths:
            self._check(path.removeprefix("@"))

    def __call__(self, item: Input) -> None:
        """Look at an input."""
        self._check(item.path)
        if self._videos is None or item.kind != "video":
            return
        read, target = file_id(item.path), self._videos.target(item.path)
        if read is not None:
            self._read.add(read)
        written = file_id(target)
        if written is not None:
            self._targets[written] = target

    def check(self) -> None:
        """All inputs are known."""
        for identity in self._read & self._targets.keys():
            name = display_name(self._targets[identity])
            raise OptionError(f"`save` {name}: this is a video that is read; save it in another folder")

    def _check(self, path: str) -> None:
        if not self._outputs:
            return
        identity = file_id(path)
        if identity in self._outputs:
            option, name = self._outputs[identity]
            raise OptionError(
                f"`{option}` {display_name(name)}: this is a file that is read; choose another name"
            )
