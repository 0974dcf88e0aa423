"""What a run has to do: the inputs that are still missing, how many they are, and that none is replaced."""

from __future__ import annotations

import fnmatch
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from facereject._files import Identities, InputError, display_name, file_id
from facereject._options import OptionError
from facereject.outputs.base import Output
from facereject.parallel import Engine, WorkerEngine
from facereject.parallel.base import SerialEngine
from facereject.pipeline.store import Store
from facereject.sources.inputs import Input, check_inputs, read_list, walk_inputs
from facereject.sources.video import VideoError, open_video

# bytes of the names of inputs that are kept in memory; more are written to a temporary file
_MAX_BYTES = 1 << 20

# up to this many videos are opened to count their frames, each for this many seconds at most
_MAX_OPENED = 20
_MAX_SECONDS = 10.0


class Plan(NamedTuple):
    """The work of one run.

    Attributes
    ----------
    inputs : iterable of Input
        Those that are missing; to be taken once.
    total : int or None
        How many they are; None if that is not known beforehand.
    frames : int or None
        How many frames they have, a photo one, where that is known beforehand: a few videos, alone or
        among photos.
    videos : int
        How many of them are videos.
    """

    inputs: Iterable[Input]
    total: int | None
    frames: int | None
    videos: int = 0

    @property
    def mixed(self) -> bool:
        """Whether both photos and videos are among them, which take very different times."""
        return self.total is not None and 0 < self.videos < self.total


def plan_run(
    paths: Sequence[str],
    store: Store,
    outputs: Sequence[Output] = (),
    *,
    checked: bool = False,
    engine: Engine | None = None,
) -> Plan:
    """List the inputs that are not in the store yet; folders and lists are read here, once.

    Parameters
    ----------
    paths : sequence of str
        As in `expand_inputs`. One that leads to nothing is fine if the store knows inputs it has led to: an
        earlier run may have moved the files away.
    store : Store
        Inputs in it are done.
    outputs : sequence of Output
        What they hold is no input, and they must not replace one.
    checked : bool, default=False
        The paths have passed `check_inputs`.
    engine : Engine or None
        Looks into a few videos to learn how many frames they have, in a worker process if it has any, for
        some seconds each; None leaves that open.

    Raises
    ------
    InputError
        As from `expand_inputs`, or if there is no room for the names of very many inputs.
    OptionError
        An output would replace an input, or cannot be used with these.
    """
    listing, kept, n_videos = _Listing(), KeptInputs(outputs), 0
    for item in walk_inputs(paths if checked else _remaining(paths, store)):
        if any(output.holds(item.path) for output in outputs):
            continue
        kept(item)
        n_videos += item.kind == "video"
        if not store.has(item.path):
            listing.add(item)
    kept.check()
    # a resumed run may have moved its videos
    if n_videos or checked:
        for output in outputs:
            output.planned(n_videos)
    frames = None
    if engine is not None and 0 < listing.videos <= _MAX_OPENED:
        frames = _frames_of(listing.first_videos, listing.total - listing.videos, engine)
    return Plan(listing, listing.total, frames, listing.videos)


class KeptInputs:
    """Checks before the work begins that no output replaces an input, not even with ``overwrite``.

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
        self._files: dict[tuple[int, int], str] = {}
        self._targets: dict[tuple[int, int], str] = {}
        self._inputs: set[tuple[int, int]] = set()
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


class _Listing:
    """Inputs in order, to be taken once; very many are kept in a temporary file."""

    def __init__(self) -> None:
        self.total = self.videos = 0
        self.first_videos: list[Input] = []
        # closed once all inputs have been taken
        self._file = tempfile.SpooledTemporaryFile(_MAX_BYTES, prefix="facereject-")  # noqa: SIM115

    def add(self, item: Input) -> None:
        self.total += 1
        self.videos += item.kind == "video"
        if item.kind == "video" and self.videos <= _MAX_OPENED:
            self.first_videos.append(item)
        try:
            self._file.write(json.dumps([item.path, item.kind]).encode() + b"\n")
        except OSError as error:
            raise InputError(
                "this many inputs need a temporary file for their names, which cannot be written "
                f"({error.strerror}); set TMPDIR to a folder with more space"
            ) from None

    def __iter__(self) -> Iterator[Input]:
        with self._file as file:
            file.seek(0)
            for line in file:
                yield Input(*json.loads(line))


def _remaining(paths: Sequence[str], store: Store) -> list[str]:
    """The paths that lead somewhere; a wrong one is an InputError unless an earlier run knew it."""
    kept = []
    for path in paths:
        try:
            check_inputs([path])
        except InputError:
            if not _led_to(path, store.earlier()):
                raise
        else:
            kept.append(path)
    if not paths:
        check_inputs(paths)
    return kept


def _led_to(argument: str, names: Iterable[str]) -> bool:
    """Whether an argument matches inputs of an earlier run."""
    identity = Identities()
    known = map(identity, names)
    if argument.startswith("@"):
        listed = set(map(identity, read_list(argument[1:])))
        return any(name in listed for name in known)
    argument = identity(argument)
    below = argument.rstrip(os.sep) + os.sep
    return any(
        name == argument or name.startswith(below) or fnmatch.fnmatch(name, argument) for name in known
    )


def frames_said(item: Input) -> Iterator[int | None]:
    """How many frames a video says it has, None if it does not; a task."""
    try:
        with open_video(item.path) as video:
            yield video.frame_count_hint or None
    except VideoError:
        yield 0


def _frames_of(videos: Sequence[Input], total: int, engine: Engine) -> int | None:
    """Frames of a few videos, if these say how many they have, and of other inputs."""
    if isinstance(engine, WorkerEngine):
        # a file that holds its reader up must not do so before the work begins
        engine = WorkerEngine(1, timeout=_MAX_SECONDS)
    elif not isinstance(engine, SerialEngine):
        # for the bar alone a cluster is not asked
        return None
    with closing(engine.run(frames_said, videos)) as outcomes:
        for outcome in outcomes:
            if outcome.chunk is None:
                return None
            total += outcome.chunk
    return total or None
