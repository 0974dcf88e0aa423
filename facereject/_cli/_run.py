"""A run over many inputs from the command line: progress, report, advice, and the exit code that follows."""

from __future__ import annotations

import atexit
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from facereject._cli._panels import in_flags
from facereject._cli._progress import ProgressBar, duration, figure
from facereject._cli._shared import console, drop_output, say, stop
from facereject._signals import exit_code, interruptible
from facereject._words import counted, percent

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.outputs.summary import Placed, Summary
    from facereject.pipeline import Job

# of fewer faces or frames nothing can be told
_ENOUGH = 20

# shares that are said to be almost nothing and almost everything
_FEW, _MOST = 0.1, 0.995

# pixels; YuNet finds few faces that are smaller
_SMALL_FACE = 20

# a target and its value in words
_TARGETS = {
    "max_error": "a mean error of {} %",
    "max_expected_error": "expected errors up to {} %",
    "max_error_bound": "error bounds up to {} %",
    "cost": "a cost of {} %",
    "coverage": "a coverage of {}",
    "threshold": "an uncertainty up to {}",
}


def with_listed(paths: list[str]) -> list[str]:
    """The arguments with ``-`` replaced by a list file with the names on stdin.

    A run goes through its inputs more than once. The file is removed when the program ends.
    """
    if "-" not in paths:
        return paths
    if paths.count("-") > 1:
        stop("- reads names from stdin and can be given once")
    if sys.stdin is None or sys.stdin.isatty():
        stop("- reads names from stdin, one per line: pipe them in, as in find . | facereject score -")
    folder = tempfile.TemporaryDirectory(prefix="facereject-")
    atexit.register(folder.cleanup)
    name = os.path.join(folder.name, "stdin")
    with open(name, "xb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        if not file.tell():
            stop("- reads names from stdin, one per line: there are none")
    return [f"@{name}" if path == "-" else path for path in paths]


def run_job(job: Job, rejector: FaceRejector, *, quiet: bool, remark: str = "", targets: bool = True) -> None:
    """Do the work and report it; ends the command with 1 (failed inputs), 2, 130 or 143 where that is due.

    Parameters
    ----------
    job : Job
    rejector : FaceRejector
    quiet : bool
        Say only what failed.
    remark : str
        What else there is to know about the counts.
    targets : bool
        The command has options for what to accept.
    """
    from facereject._cli._rows import report_videos
    from facereject.parallel import EngineError
    from facereject.tables.errors import TableError

    # progress between the rows would make both unreadable
    hidden = job.table is None and console.is_terminal and sys.stdout.isatty()
    problem = ""
    try:
        with interruptible(), ProgressBar(quiet=quiet or hidden) as bar:
            job.run(rejector, progress=bar)
    except KeyboardInterrupt as interrupt:
        say(f"Interrupted after {inputs(job.summary.inputs)}.{_how_to_continue(job)}")
        raise typer.Exit(exit_code(interrupt)) from None
    except BrokenPipeError:
        # the reader has closed the pipe, as `head` does
        drop_output()
        raise typer.Exit(0) from None
    except (TableError, EngineError) as error:
        earlier = job.summary.earlier
        if job.summary.inputs + job.summary.again == (earlier.inputs if earlier else 0):
            stop(in_flags(str(error)))
        say(str(error))
        stop(f"Stopped after {inputs(job.summary.inputs)}.{_how_to_continue(job)}", 1)
    except OSError as error:
        # an output at the end; the table is complete
        problem = in_flags(str(error))
    report_run(job, rejector, quiet=quiet, remark=remark)
    if not quiet:
        command = "" if targets else "facereject filter"
        decided = job.best is None
        for sentence in advice(
            job.summary, rejector, decided=decided, finds=job.finds_faces, command=command
        ):
            say(sentence)
        report_videos(job)
    if problem:
        stop(problem, 1)
    for output in () if quiet else job.outputs:
        for sentence in output.report() if output is not job.table else ():
            say(sentence)
    if job.summary.failed or (job.summary.placed and job.summary.placed.failed):
        raise typer.Exit(1)


def _how_to_continue(job: Job) -> str:
    return " To continue, run the same command with --resume." if job.can_be_resumed else ""


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
        if placed.failed and not job.finds_faces:
            say("When that is fixed, run the same command again. Names start from the current folder.")
        elif placed.failed and table is not None:
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
        # only the table knows the faces of earlier runs
        earlier = summary.earlier is not None and summary.earlier.inputs > 0
        accepted = "faces that this run accepted" if earlier else "accepted faces"
        mean = f"expected mean error of the {accepted} {summary.expected_error:.2f} %"
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
    """Up to which expected error faces are accepted; empty if the rejector does not say, or accepts none."""
    selector = getattr(rejector, "selector", None)
    if selector is None or getattr(rejector, "relative", True) or not math.isfinite(selector.threshold_):
        return ""
    if not selector.coverage_:
        # the expected error there is that of the most certain face, which is above the cut-off
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


def advice(
    summary: Summary, rejector: FaceRejector, *, decided: bool = True, finds: bool = True, command: str = ""
) -> list[str]:
    """Sentences about a run, or none.

    Parameters
    ----------
    summary : Summary
    rejector : FaceRejector
    decided : bool
        The decisions are those of its target, not of the best of a batch.
    finds : bool
        Faces were searched for, not read from a table or from landmark files.
    command : str
        The command that has the options of targets, if this one has none.
    """
    return [
        *(_on_finding(summary, rejector) if finds else ()),
        *_on_accepting(summary, rejector, decided, command),
    ]


def _on_finding(summary: Summary, rejector: FaceRejector) -> Iterator[str]:
    fell_back = getattr(rejector, "fell_back", False)
    if fell_back:
        yield (
            "Faces were found by dlib's detector, as the weights of YuNet are not installed: it finds fewer "
            "faces. `facereject models get` installs them."
        )
    total = summary.total
    if total.frames < _ENOUGH or total.no_face <= total.frames / 2:
        return
    detector = getattr(rejector, "detector", None)
    options = getattr(detector, "options", {})
    tries = []
    if (options.get("min_face") or 0) > _SMALL_FACE:
        tries.append(f"--min-face {_SMALL_FACE} for small faces")
    elif options.get("upsample") == 0:
        tries.append("--upsample 1 for small faces")
    if not fell_back and getattr(detector, "registered_name", "") != "both":
        tries.append("--detector both")
    share = percent(total.no_face, total.frames)
    hint = f": try {', or '.join(tries)}" if tries else ""
    yield f"In {share} of the images and frames no face was found{hint}."


def _on_accepting(summary: Summary, rejector: FaceRejector, decided: bool, command: str) -> Iterator[str]:
    total, target = summary.total, getattr(rejector, "target", None)
    if total.faces < _ENOUGH:
        return
    few, most = total.accepted_faces < _FEW * total.faces, total.accepted_faces > _MOST * total.faces
    poses = getattr(rejector, "pose_limits", None)
    given = {} if poses is None else poses._asdict()
    limits = [f"--{name.replace('_', '-')}" for name, limit in given.items() if limit is not None]
    if few and limits and summary.turned > total.faces / 2:
        share = percent(summary.turned, total.faces)
        allowed = f"{' and '.join(limits)} allow{'s' * (len(limits) == 1)}"
        yield f"Few faces are accepted: {share} are turned further than {allowed}."
        return
    if not decided or target is None:
        return
    # a share of the faces that is as small or large as the one asked for needs no explanation
    asked = target.value if target.kind == "coverage" else 0.5
    value, flag = _in_words(target.kind, target.value), f"--{target.kind.replace('_', '-')}"
    with_option = f" with {command}" if command else ""
    if few and asked >= 2 * _FEW:
        reached, half = percent(rejector.selector.coverage_, 1.0), _for_half(rejector)
        why = f"with {value} this model accepts {reached} of its calibration faces"
        if half:
            why += f", and half of them with {half}"
        elif rejector.selector.coverage_ >= 0.5:
            why = f"{why}, but these are less certain"
        yield f"Few faces are accepted: {why}. Try a higher {flag}{with_option}, or --keep-best."
    elif most and asked < _MOST:
        yield f"Almost all faces are accepted: they meet {value}. A lower {flag}{with_option} rejects more."


def _in_words(kind: str, value: float) -> str:
    return _TARGETS[kind].format(f"{value:.3g}")


def _for_half(rejector: FaceRejector) -> str:
    """The value of the target that accepts half of the calibration faces, in words; empty if unknown."""
    half, kind = rejector.with_target(coverage=0.5).selector, rejector.target.kind
    if kind == "coverage" or rejector.selector.coverage_ >= 0.5:
        return ""
    value = half.threshold_
    if kind == "max_error":
        value = half.selective_risk_
    elif kind == "max_error_bound":
        value = float(rejector.calibration.error_interval(half.threshold_)[1])
    elif kind != "threshold":
        value = float(rejector.calibration.expected_error(half.threshold_))
    return _in_words(kind, value) if math.isfinite(value) else ""
