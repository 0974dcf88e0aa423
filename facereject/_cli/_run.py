"""A run over many inputs from the command line: progress, report, and the exit code that follows."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from facereject._cli._output.advice import advice
from facereject._cli._output.progress import ProgressBar
from facereject._cli._output.report import inputs, report_run
from facereject._cli._panels import in_flags
from facereject._cli._shared import console, say, stop
from facereject._signals import exit_code, interruptible

if TYPE_CHECKING:
    from facereject.faces import FaceRejector
    from facereject.pipeline import Job


def default_output() -> str | None:
    """The default output of rows: on a terminal lines for people (None), into a pipe or file CSV ("-")."""
    return None if sys.stdout.isatty() else "-"


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


def run_job(job: Job, rejector: FaceRejector, *, quiet: bool, remark: str = "") -> None:
    """Do the work and report it; ends the command with 1 (failed inputs), 2, 130 or 143 where that is due.

    Parameters
    ----------
    job : Job
    rejector : FaceRejector
    quiet : bool
        Say only what failed.
    remark : str
        What else there is to know about the counts.
    """
    from facereject._cli._output.videos import report_videos
    from facereject.outputs import Timeline
    from facereject.parallel import EngineError
    from facereject.tables.errors import TableError

    # progress between the rows would make both unreadable
    hidden = job.table is None and console.is_terminal and sys.stdout.isatty()
    problem = ""
    try:
        with interruptible(), ProgressBar(quiet=quiet or hidden) as bar, wrong_usage():
            job.run(rejector, progress=bar)
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
            stop(in_flags(str(error)))
        say(str(error))
        stop(f"Stopped after {inputs(job.summary.inputs)}.{_how_to_continue(job)}", 1)
    except OSError as error:
        # an output at the end; the table is complete
        problem = in_flags(str(error))
    report_run(job, rejector, quiet=quiet, remark=remark)
    if not quiet:
        for sentence in advice(job.summary.total, rejector, decided=job.best is None):
            say(sentence)
    if not quiet:
        for timeline in (output for output in job.outputs if isinstance(output, Timeline)):
            report_videos(timeline)
    if problem:
        stop(problem, 1)
    if not quiet:
        for sentence in (
            line for output in job.outputs if output is not job.table for line in output.report()
        ):
            say(sentence)
    if job.summary.failed or (job.summary.placed and job.summary.placed.failed):
        raise typer.Exit(1)


@contextlib.contextmanager
def wrong_usage() -> Iterator[None]:
    """End the command with one sentence and code 2 if the library refuses an option or an input."""
    from facereject.pipeline import OptionError
    from facereject.sources import InputError
    from facereject.sources.landmark_files._found import LandmarkFileError

    try:
        yield
    except LandmarkFileError:
        # the command names the option that the file was given with
        raise
    except (InputError, OptionError) as error:
        stop(in_flags(str(error)))


def _how_to_continue(job: Job) -> str:
    return " To continue, run the same command with --resume." if job.can_be_resumed else ""
