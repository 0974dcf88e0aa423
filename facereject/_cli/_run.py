"""A run over many inputs from the command line: progress, report, and the exit code that follows."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from facereject._cli._output.progress import ProgressBar
from facereject._cli._output.report import inputs, report_run
from facereject._cli._output.rows import show_rows
from facereject._cli._output.videos import report_videos
from facereject._cli._shared import console, say, stop
from facereject._cli._signals import exit_code
from facereject._words import counted

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.pipeline import ScoreJob

# options that are called otherwise in Python
_OPTION_OF = {
    "smooth_s": "smooth",
    "audio": "no-audio",
    "bridge_s": "bridge",
    "min_span_s": "min-span",
    "max_seconds": "seconds",
    "Recording.path": "record",
    "Window.snapshots": "snapshots",
}

# kinds of pictures, and why there may be none
_NO_PICTURE = {
    "crops": "none, no face was accepted",
    "annotated": "none, there is no photograph (of videos: --save VIDEO --annotate)",
    "frames": "none, no face of a video was accepted",
}


def default_output() -> str | None:
    """Where rows go by default: on a terminal lines for people (None), into a pipe or file CSV ("-")."""
    return None if sys.stdout.isatty() else "-"


def with_listed(paths: list[str]) -> list[str]:
    """The arguments with ``-`` replaced by a list file that holds what stands on stdin.

    A run goes through its inputs more than once. The file is removed when the program ends.
    """
    if "-" not in paths:
        return paths
    if paths.count("-") > 1:
        stop("- stands for the names on stdin and can be given once")
    if sys.stdin is None or sys.stdin.isatty():
        stop("- reads names from stdin, one per line: pipe them in, as in find . | facereject score -")
    folder = tempfile.TemporaryDirectory(prefix="facereject-")
    atexit.register(folder.cleanup)
    name = os.path.join(folder.name, "stdin")
    with open(name, "xb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return [f"@{name}" if path == "-" else path for path in paths]


def make_job(paths: list[str], output: str | None, **options: Any) -> ScoreJob:
    """The job for the options of a command; what is wrong with them ends the command with code 2."""
    from facereject.pipeline import ScoreJob

    target: str | BinaryIO | None = sys.stdout.buffer if output == "-" else output
    with wrong_usage():
        return ScoreJob(paths, target, **options)


def run_job(
    job: ScoreJob, rejector: FaceRejector, *, quiet: bool, show: bool = False, remark: str = ""
) -> None:
    """Do the work and report it; ends the command with 1 (failed inputs), 2, 130 or 143 where that is due.

    Parameters
    ----------
    job : ScoreJob
    rejector : FaceRejector
    quiet : bool
        Say only what failed.
    show : bool, default=False
        Print a line per face.
    remark : str
        What else there is to know about the counts.
    """
    from facereject.outputs._images import PictureError
    from facereject.parallel import EngineError
    from facereject.pipeline import TimelineError
    from facereject.pipeline._store.sinks import TableError

    # progress between the rows would make both unreadable
    hidden = not isinstance(job.output, str) and console.is_terminal and sys.stdout.isatty()
    problem = ""
    try:
        with ProgressBar(quiet=quiet or hidden) as bar, wrong_usage():
            job.run(rejector, progress=bar, observers=[show_rows] if show else [])
    except KeyboardInterrupt as interrupt:
        say(f"Interrupted after {inputs(job.summary.inputs)}.{_how_to_continue(job)}")
        raise typer.Exit(exit_code(interrupt)) from None
    except BrokenPipeError:
        # the reader has closed the pipe, as `head` does; nothing must be left to be flushed at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except (TableError, EngineError) as error:
        earlier = job.summary.earlier
        if job.summary.inputs + job.summary.again == (earlier.inputs if earlier else 0):
            stop(with_options(str(error)))
        say(str(error))
        stop(f"Stopped after {inputs(job.summary.inputs)}.{_how_to_continue(job)}", 1)
    except TimelineError as error:
        problem = f"--timeline {error}"
    except PictureError as error:
        problem = f"--contact-sheet {error}"
    report_run(job, quiet=quiet, remark=remark)
    if job.keep_timeline and not quiet:
        report_videos(job)
    if problem:
        stop(problem, 1)
    if job.timeline_path is not None and not quiet:
        say(f"Timeline: {job.timeline_path}")
    if job.pictures is not None and not quiet:
        for name, nothing in _NO_PICTURE.items():
            if (folder := getattr(job, name)) is not None:
                # it is made with the first picture
                say(f"{name.capitalize()}: {folder if os.path.isdir(folder) else nothing}")
    if job.contact_sheet is not None and not quiet:
        made = (
            f"{job.contact_sheet} ({counted(job.on_sheet, 'face')})"
            if job.on_sheet
            else "none, there is no face"
        )
        say(f"Contact sheet: {made}")
    if job.summary.failed or (job.summary.placed and job.summary.placed.failed):
        raise typer.Exit(1)


@contextlib.contextmanager
def wrong_usage() -> Iterator[None]:
    """End the command with one sentence and code 2 if the library refuses an option or an input."""
    from facereject.pipeline import OptionError
    from facereject.sources import InputError

    try:
        yield
    except (InputError, OptionError) as error:
        stop(with_options(str(error)))


def with_options(text: str) -> str:
    """A message of the library with its options, in backticks there, as the command line calls them."""
    return re.sub(
        r"`([\w.]+)`", lambda found: "--" + _OPTION_OF.get(found[1], found[1]).replace("_", "-"), text
    )


def _how_to_continue(job: ScoreJob) -> str:
    return " To continue, run the same command with --resume." if job.can_be_resumed else ""
