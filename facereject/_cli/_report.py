"""What is said at the end of a run: counts, where things are, and which inputs failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from facereject._cli._progress import duration, figure
from facereject._cli._shared import say

if TYPE_CHECKING:
    from facereject.batch.sorting import Placement
    from facereject.tables.summary import Summary


def report_run(
    summary: Summary,
    before: Summary,
    seconds: float,
    *,
    output: str | None,
    placement: Placement | None,
    quiet: bool,
) -> None:
    """Report a run that came to its end; if quiet, only what failed.

    Parameters
    ----------
    summary, before : Summary
        All inputs of the table, and those that stood in it before this run.
    """
    if not quiet:
        new = summary.inputs - before.inputs
        if before.inputs and not new:
            say("Nothing left to do: the table is complete.")
        for line in _counts(summary):
            say(line)
        if placement:
            say(_places(placement))
        if output not in (None, "-"):
            say(f"Table: {output}")
        if new:
            say(_time(new, summary.total.frames - before.total.frames, before.inputs, seconds))
    _list_failures(f"{inputs(summary.failed)} failed", summary.failed, summary.failures)
    if placement:
        failed = placement.failed
        _list_failures(f"{_files(failed)} could not be placed", failed, placement.failures)
        if failed and output not in (None, "-"):
            say("To place them once that is mended, run the same command with --resume.")


def inputs(number: int) -> str:
    """A number of inputs in words."""
    return f"{number:,} input{'' if number == 1 else 's'}"


def _files(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def _counts(summary: Summary) -> Iterator[str]:
    total = summary.total
    parts = [inputs(summary.inputs)]
    if total.frames > summary.inputs:
        parts.append(f"{total.frames:,} frames{_accepted(total.accepted_frames, total.frames)}")
    faces = f"{total.faces:,} face{'' if total.faces == 1 else 's'}"
    parts.append(faces + _accepted(total.accepted_faces, total.faces))
    if total.no_face:
        parts.append(f"{total.no_face:,} without a face")
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    yield "; ".join(parts)
    if total.undecodable:
        yield f"{total.undecodable:,} frames of videos could not be decoded and have no row"


def _accepted(number: int, total: int) -> str:
    return f", {number:,} accepted ({number / total:.1%})" if total else ""


def _places(placement: Placement) -> str:
    verb = {"copy": "copied", "link": "linked", "move": "moved"}[placement.mode]
    parts = []
    if placement.accepted is not None:
        parts.append(f"{_files(placement.n_accepted)} {verb} to {placement.accepted}")
    if placement.rejected is not None:
        parts.append(f"{_files(placement.n_rejected)} {verb} to {placement.rejected}")
    if placement.n_there:
        parts.append(f"{_files(placement.n_there)} in place already")
    if placement.n_left:
        parts.append(f"{_files(placement.n_left)} taken out of the other folder")
    return "; ".join(parts)


def _time(new: int, frames: int, before: int, seconds: float) -> str:
    number, unit = (frames, "frames") if frames > new else (new, "inputs")
    earlier = f"; {inputs(before)} had been done before" if before else ""
    return f"Time: {duration(seconds)}, {figure(number / max(seconds, 1e-9))} {unit} per second{earlier}"


def _list_failures(title: str, number: int, first: Sequence[tuple[str, str]]) -> None:
    if not number:
        return
    say(f"{title}:")
    for name, reason in first:
        say(f"  {name}: {reason}")
    if number > len(first):
        say(f"  ... and {number - len(first):,} more")
