"""What a run has to do: the inputs that are still missing, and how many they are."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from facereject.batch.inputs import Input, InputError, expand_inputs, read_list
from facereject.tables.sinks import Sink
from facereject.video.reader import VideoError, open_video

# so many inputs are kept in memory; beyond that the folders are walked a second time
_MAX_LISTED = 10_000

# videos among so few inputs are opened to learn how many frames there will be
_MAX_OPENED = 20


class Plan(NamedTuple):
    """The work of one run.

    Attributes
    ----------
    inputs : iterable of Input
        Those that are missing; to be taken once.
    total : int
        How many they are.
    frames : int or None
        How many frames they have, where that is known beforehand: a few inputs with videos among them.
    """

    inputs: Iterable[Input]
    total: int
    frames: int | None


def plan_run(paths: Sequence[str], sink: Sink, *, skipped: Callable[[str], bool] | None = None) -> Plan:
    """What is to be done for ``paths``: listing files takes little beside reading them, so it comes first.

    Parameters
    ----------
    paths : sequence of str
        As in `expand_inputs`. One that leads to nothing is fine if the sink knows inputs it has led to: an
        earlier run may have moved the files away.
    sink : Sink
        Inputs that stand in it are done.
    skipped : callable or None
        Whether a path is no input although it was found.

    Raises
    ------
    InputError
        As from `expand_inputs`.
    """
    remaining = _remaining(paths, sink)
    total, listed = 0, []
    for item in _missing(remaining, sink, skipped):
        total += 1
        if total <= _MAX_LISTED:
            listed.append(item)
    frames = _frames_of(listed) if total <= _MAX_OPENED else None
    return Plan(listed if total <= _MAX_LISTED else _missing(remaining, sink, skipped), total, frames)


def _remaining(paths: Sequence[str], sink: Sink) -> list[str]:
    kept = []
    for path in paths:
        try:
            expand_inputs([path])
        except InputError:
            if not _led_to(path, sink.earlier()):
                raise
        else:
            kept.append(path)
    return kept


def _missing(paths: Sequence[str], sink: Sink, skipped: Callable[[str], bool] | None) -> Iterator[Input]:
    for item in expand_inputs(paths) if paths else ():
        if not sink.has(item.path) and not (skipped and skipped(item.path)):
            yield item


def _led_to(argument: str, names: Iterable[str]) -> bool:
    """Whether an argument stands for some of the inputs of an earlier run."""
    if argument.startswith("@"):
        known = set(names)
        return any(entry in known for entry in read_list(argument[1:]))
    below = argument.rstrip(os.sep) + os.sep
    return any(
        name == argument or name.startswith(below) or fnmatch.fnmatch(name, argument) for name in names
    )


def _frames_of(items: Sequence[Input]) -> int | None:
    """Frames of a few inputs with videos among them, if the videos say how many they have."""
    if all(item.kind == "image" for item in items):
        return None
    total = 0
    for item in items:
        if item.kind == "image":
            total += 1
            continue
        try:
            with open_video(item.path) as video:
                if not video.frame_count_hint:
                    return None
                total += video.frame_count_hint
        except VideoError:
            continue
    return total or None
