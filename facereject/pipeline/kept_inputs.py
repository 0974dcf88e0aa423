"""Inputs are never replaced: looked at before any work, whatever may be overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from facereject._files import display_name, file_id
from facereject._options import OptionError
from facereject.outputs.base import Output
from facereject.sources.inputs import Input

_FileId: TypeAlias = "tuple[int, int]"


class KeptInputs:
    """Looks at every input before the work begins.

    Parameters
    ----------
    outputs : iterable of Output

    Raises
    ------
    OptionError
        Two outputs share a file; later, an output would replace an input.
    """

    def __init__(self, outputs: Iterable[Output]) -> None:
        self._outputs = list(outputs)
        self._files: dict[_FileId, str] = {}
        self._targets: dict[_FileId, str] = {}
        self._inputs: set[_FileId] = set()
        named: set[str] = set()
        for path in (path for output in self._outputs for path in output.files()):
            real = os.path.realpath(path)
            if real in named:
                raise OptionError(f"{display_name(path)}: two outputs have this name; choose another one")
            named.add(real)
            identity = file_id(path)
            if identity is not None:
                self._files[identity] = path

    def check_arguments(self, paths: Sequence[str]) -> None:
        """Look at lists of inputs, and at files that were named one by one."""
        for path in paths:
            self._check(path.removeprefix("@"))

    def __call__(self, item: Input) -> None:
        """Look at an input."""
        self._check(item.path)
        targets = [target for output in self._outputs if (target := output.target_of(item.path))]
        if not targets:
            return
        identity = file_id(item.path)
        if identity is not None:
            self._inputs.add(identity)
        for target in targets:
            written = file_id(target)
            if written is not None:
                self._targets[written] = target

    def check(self) -> None:
        """All inputs are known."""
        for identity in self._inputs & self._targets.keys():
            name = display_name(self._targets[identity])
            raise OptionError(f"{name}: this is an input and would be replaced; choose another folder")

    def _check(self, path: str) -> None:
        identity = file_id(path) if self._files else None
        if identity in self._files:
            name = display_name(self._files[identity])
            raise OptionError(f"{name}: this is an input and would be replaced; choose another name")
