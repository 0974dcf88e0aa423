"""What is said at the end of a run: counts, where things are, and which inputs failed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from facereject._cli._output.progress import duration, figure
from facereject._cli._shared import say
from facereject._words import counted

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.outputs.summary import Placed, Summary
    from facereject.pipeline import Job


def report_run(job: Job, rejector: FaceRejector, *, quiet: bool, remark: str = "") -> None:
    """Report a run that came to its end, with a remark on the counts; if quiet, only what failed."""
    summary, placed = job.summary, job.summary.placed
    before = summary.earlier or type(summary)()
    table = None if job.table is None else job.table.path
    if not quiet:
        new = summary.inputs - before.inputs + summary.again
        if before.inputs and not new:
            # the best faces may still have changed
            state = "the table is complete" if job.best is None else "all faces had been scored before"
            say(f"Nothing left to do: {state}.")
        for line in _counts(summary):
            say(line)
        for line in _meaning(job, rejector):
            say(line)
        if remark:
            say(remark)
        if placed is not None:
            say(_places(job, placed))
        if table is not None:
            say(f"Table: {table}")
        if new:
            frames, known = summary.frames - before.frames, before.inputs - summary.again
            say(_time(new, frames, known, summary.seconds))
    _list_failures(f"{inputs(summary.failed)} failed", summary.failed, summary.failures)
    if placed is not None:
        _list_failures(f"{_files(placed.failed)} could not be placed", placed.failed, placed.failures)
        if placed.failed and table is not None:
            say("When that is fixed, run the same command with --resume to place them.")


def inputs(number: int) -> str:
    """A number of inputs in words."""
    return counted(number, "input")


def _files(number: int) -> str:
    return counted(number, "file")


def _counts(summary: Summary) -> Iterator[str]:
    total = summary.total
    yield str(summary)
    if summary.again:
        yield f"{inputs(summary.again)} that had changed or failed scored again"
    if total.undecodable:
        has = "has" if total.undecodable == 1 else "have"
        yield f"{counted(total.undecodable, 'frame')} of videos could not be decoded and {has} no row"


def _meaning(job: Job, rejector: FaceRejector) -> Iterator[str]:
    """What the decisions mean: the cut-off, the error to expect, faces and images, the kind of the faces."""
    summary, total = job.summary, job.summary.total
    cut_off = _cut_off(rejector) if job.best is None else ""
    if math.isfinite(summary.expected_error):
        mean = f"expected mean error of the accepted faces {summary.expected_error:.2f} %"
        yield f"{cut_off}; {mean}" if cut_off else mean[0].upper() + mean[1:]
        target = getattr(rejector, "target", None)
        if cut_off and target and target.kind == "max_error" and summary.expected_error > 1.05 * target.value:
            yield (
                f"That is more than {target.value:.3g} %: these faces are harder than the calibration faces, "
                "for which the target holds; --max-expected-error limits the expected error of every face"
            )
    elif cut_off:
        yield cut_off
    alone = total.frames - total.no_face
    if total.faces > alone and total.accepted_faces != total.accepted_frames:
        rule = {"all": "all of its faces are", "any": "any of its faces is", "largest": "its largest face is"}
        yield (
            f"{counted(total.faces, 'face')} in {counted(alone, 'image or frame', 'images and frames')}: one "
            f"with several faces is accepted if {rule[job.frame_rule]} (--frame-rule)"
        )
    if summary.domain is not None:
        yield summary.domain.sentence
    elif summary.not_compared:
        yield summary.not_compared.removesuffix(".")


def _cut_off(rejector: FaceRejector) -> str:
    """Up to which expected error faces are accepted; empty for a rejector that does not say."""
    selector = getattr(rejector, "selector", None)
    if selector is None or getattr(rejector, "relative", True) or not math.isfinite(selector.threshold_):
        return ""
    limit = float(rejector.calibration.expected_error(selector.threshold_))
    return f"Accepted up to an expected error of {limit:.2f} %"


def _places(job: Job, placed: Placed) -> str:
    from facereject.outputs import SortedFiles

    sorting = next(output for output in job.outputs if isinstance(output, SortedFiles))
    verb = {"copy": "copied", "link": "linked", "move": "moved"}[sorting.mode]
    folders = ((placed.accepted, sorting.accepted), (placed.rejected, sorting.rejected))
    parts = [f"{_files(n)} {verb} to {folder}" for n, folder in folders if folder is not None]
    if placed.there:
        parts.append(f"{_files(placed.there)} in place already")
    if placed.taken_out:
        parts.append(f"{_files(placed.taken_out)} taken out of the other folder")
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
