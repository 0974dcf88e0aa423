"""What `score` and `filter` have in common: inputs, table, engine, progress, report, exit code."""

from __future__ import annotations

import contextlib
import copy
import fnmatch
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from ._progress import RunProgress, duration
from ._shared import console, say, stop

if TYPE_CHECKING:
    from facereject.engine import Engine
    from facereject.media.inputs import Input
    from facereject.media.placement import Placement
    from facereject.media.run import Observer
    from facereject.media.sinks import Sink
    from facereject.media.summary import Summary
    from facereject.media.task import ScoreTask

# so many inputs are kept in memory; beyond that the folders are walked a second time
_MAX_LISTED = 10_000

# films among so few inputs are opened to learn how many frames there will be
_MAX_OPENED = 20

_RUN_PANEL = "How to run"

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Images, films, folders (with all subfolders), patterns in quotes such as 'photos/*.jpg', or "
        "@list.txt, a text file with one path per line.",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int,
    typer.Option(
        "--workers",
        "-j",
        metavar="N",
        help="Processes that share the work; as many as the machine has cores is a good choice.",
        rich_help_panel=_RUN_PANEL,
    ),
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|dask",
        help="Where the work is done: here, or on a Dask cluster that sees the files under the same paths.",
        rich_help_panel=_RUN_PANEL,
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of the Dask scheduler, such as tcp://host:8786.",
        rich_help_panel=_RUN_PANEL,
    ),
]
ResumeOption = Annotated[
    bool,
    typer.Option(
        "--resume",
        metavar="",
        help="Continue after Ctrl-C or a crash; a finished table is completed by the inputs it lacks.",
        rich_help_panel=_RUN_PANEL,
    ),
]
OverwriteOption = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        metavar="",
        help="Start again although an unfinished table is there.",
        rich_help_panel=_RUN_PANEL,
    ),
]
MaxPixelsOption = Annotated[
    int,
    typer.Option(
        "--max-pixels",
        metavar="N",
        help="Refuse larger images before decoding them.",
        rich_help_panel=_RUN_PANEL,
    ),
]


@dataclass
class Job:
    """One run of the tool over many inputs.

    Attributes
    ----------
    paths : sequence of str
        As given on the command line.
    output : str or None
        Table file, "-" for stdout, or None.
    settings : mapping
        What the rows and files depend on besides the task.
    """

    paths: Sequence[str]
    task: ScoreTask
    engine: Engine
    output: str | None
    resume: bool = False
    overwrite: bool = False
    quiet: bool = False
    rule: str = "all"
    placement: Placement | None = None
    observers: Sequence[Observer] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def run(self) -> Summary:
        """Do the work and report it; ends the command with 1 (failed inputs), 2 or 130 where that is due."""
        from facereject.engine import EngineError
        from facereject.media.inputs import InputError
        from facereject.media.sinks import TableError

        sink = self._sink()
        before = copy.copy(sink.summary)
        try:
            with _terminate_like_ctrl_c(), sink:
                inputs, progress = self._plan(self._remaining_paths(sink), sink)
                with progress:
                    self._score(inputs, sink, progress)
        except KeyboardInterrupt:
            say(f"Interrupted after {_inputs(sink.summary.inputs)}.{self._how_to_continue(sink)}")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # whoever read our output has seen enough, as `head` does; nothing is left to be flushed at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except InputError as error:
            stop(str(error))
        except (TableError, EngineError) as error:
            if sink.summary.inputs == before.inputs:
                stop(str(error))
            say(str(error))
            stop(f"Stopped after {_inputs(sink.summary.inputs)}.{self._how_to_continue(sink)}", 1)
        self._report(sink.summary, before, progress.seconds)
        if sink.summary.failed or (self.placement and self.placement.failed):
            raise typer.Exit(1)
        return sink.summary

    def _sink(self) -> Sink:
        from facereject import __version__
        from facereject.media.run import settings_of
        from facereject.media.sinks import NullSink, StreamSink, TableError, TableSink, UnfinishedTableError

        if self.output is None:
            return NullSink(self.placement)
        if self.output == "-":
            return StreamSink(sys.stdout.buffer, self.placement)
        try:
            return TableSink(
                self.output,
                settings={"facereject": __version__, **settings_of(self.task), **self.settings},
                resume=self.resume,
                overwrite=self.overwrite,
                rule=self.rule,
                after_input=self.placement,
            )
        except UnfinishedTableError as error:
            stop(f"{error}: pass --resume to continue it, or --overwrite to start again")
        except TableError as error:
            stop(str(error))

    def _score(self, inputs: Iterable[Input], sink: Sink, progress: RunProgress) -> None:
        from facereject.media.run import score_inputs

        observers: list[Observer] = [*self.observers, progress]
        score_inputs(inputs, self.task, sink, self.engine, observers=observers, rule=self.rule)

    def _missing(self, paths: Sequence[str], sink: Sink) -> Iterator[Input]:
        """The inputs that are not in the table yet, nor among the sorted files."""
        from facereject.media.inputs import expand_inputs

        for item in expand_inputs(paths) if paths else ():
            if not sink.has(item.path) and not (self.placement and self.placement.holds(item.path)):
                yield item

    def _remaining_paths(self, sink: Sink) -> list[str]:
        """The arguments that still lead to inputs: an earlier run may have moved the files of others."""
        from facereject.media.inputs import InputError, expand_inputs

        kept = []
        for path in self.paths:
            try:
                expand_inputs([path])
            except InputError:
                if not any(_leads_to(path, name) for name in getattr(sink, "earlier", list)()):
                    raise
            else:
                kept.append(path)
        return kept

    def _plan(self, paths: Sequence[str], sink: Sink) -> tuple[Iterable[Input], RunProgress]:
        """What is to be done: listing files takes little beside reading them, so they are counted first."""
        total, listed = 0, []
        for item in self._missing(paths, sink):
            total += 1
            if total <= _MAX_LISTED:
                listed.append(item)
        frames = _frames_of(listed) if total <= _MAX_OPENED else None
        # figures between the rows would garble both
        quiet = self.quiet or (self.output == "-" and console.is_terminal and sys.stdout.isatty())
        progress = RunProgress(frames or total, frames=frames is not None, quiet=quiet)
        return listed if total <= _MAX_LISTED else self._missing(paths, sink), progress

    def _how_to_continue(self, sink: Sink) -> str:
        if not os.path.exists(getattr(sink, "partial", "")):
            return ""
        return " To continue, run the same command with --resume."

    def _report(self, summary: Summary, before: Summary, seconds: float) -> None:
        if not self.quiet:
            new = summary.inputs - before.inputs
            if before.inputs and not new:
                say(f"Nothing left to do: all {_inputs(before.inputs)} were in the table already.")
            for line in _summary_lines(summary):
                say(line)
            if self.placement:
                say(_placement_line(self.placement))
            if self.output not in (None, "-"):
                say(f"Table: {self.output}")
            if new:
                frames = summary.total.frames - before.total.frames
                number, unit = (frames, "frames") if frames > new else (new, "inputs")
                rate = f"{number / max(seconds, 1e-9):.3g} {unit} per second"
                earlier = f"; {_inputs(before.inputs)} had been done before" if before.inputs else ""
                say(f"Time: {duration(seconds)}, {rate}{earlier}")
        _list_failures(f"{_inputs(summary.failed)} failed", summary.failed, summary.failures)
        if self.placement:
            failed = self.placement.failed
            _list_failures(f"{_files(failed)} could not be placed", failed, self.placement.failures)


def check_paths(paths: Sequence[str], *, resume: bool = False) -> None:
    """Stop at once if an argument names nothing; on resuming that is known only with the journal."""
    from facereject.media.inputs import InputError, expand_inputs

    try:
        expand_inputs(paths)
    except InputError as error:
        if not resume:
            stop(str(error))


def check_output(output: str | None, *, resume: bool, overwrite: bool) -> None:
    """Stop at once if no table can be written there."""
    from facereject.media.sinks import TableError, check_table_path

    if resume and overwrite:
        stop("--resume and --overwrite exclude each other")
    if output is None or output == "-":
        if resume:
            stop("--resume needs a table file: name one with -o")
        return
    try:
        check_table_path(output)
    except TableError as error:
        stop(f"--output {error}")


def make_engine(name: str, workers: int, scheduler: str | None) -> Engine:
    """The engine for --engine, --workers and --scheduler."""
    from facereject import engine

    if workers < 1:
        stop(f"--workers must be at least 1; got {workers}")
    if name == "local":
        if scheduler is not None:
            stop("--scheduler belongs to --engine dask")
        if workers == 1:
            return engine.SerialEngine()
        return engine.WorkerEngine(workers, preload=["facereject._cli", "facereject.media.task"])
    if name != "dask":
        stop(f"--engine must be local or dask; got {name}")
    if workers != 1:
        stop("--workers belongs to --engine local; a Dask cluster has its own workers")
    if scheduler is None:
        stop("--engine dask needs the address of the cluster: --scheduler tcp://host:8786")
    try:
        return engine.DaskEngine(scheduler)
    except (engine.EngineError, ImportError, ValueError) as error:
        stop(f"--engine dask: {error}")


@contextlib.contextmanager
def _terminate_like_ctrl_c() -> Iterator[None]:
    """A cluster or service manager stops jobs by SIGTERM: end as cleanly as on Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _frames_of(items: Sequence[Input]) -> int | None:
    """Frames of a few inputs with films among them, if the films say how many they have."""
    from facereject.media.video import VideoError, open_video

    if all(item.kind == "image" for item in items):
        return None
    total = 0
    for item in items:
        if item.kind == "image":
            total += 1
            continue
        try:
            with open_video(item.path) as film:
                if not film.frame_count_hint:
                    return None
                total += film.frame_count_hint
        except VideoError:
            continue
    return total or None


def _leads_to(argument: str, path: str) -> bool:
    if path == argument or path.startswith(argument.rstrip(os.sep) + os.sep):
        return True
    return fnmatch.fnmatch(path, argument)


def _inputs(number: int) -> str:
    return f"{number:,} input{'' if number == 1 else 's'}"


def _files(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def _summary_lines(summary: Summary) -> Iterator[str]:
    total = summary.total
    parts = [_inputs(summary.inputs)]
    if total.frames > summary.inputs:
        parts.append(f"{total.frames:,} frames")
    faces = f"{total.faces:,} face{'' if total.faces == 1 else 's'}"
    if total.faces:
        faces += f", {total.accepted_faces:,} accepted ({total.accepted_faces / total.faces:.1%})"
    parts.append(faces)
    if total.no_face:
        parts.append(f"{total.no_face:,} without a face")
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    yield "; ".join(parts)
    if total.undecodable:
        yield f"{total.undecodable:,} frames of films could not be decoded and have no row"


def _placement_line(placement: Placement) -> str:
    verb = {"copy": "copied", "link": "linked", "move": "moved"}[placement.mode]
    parts = []
    if placement.accepted is not None:
        parts.append(f"{_files(placement.n_accepted)} {verb} to {placement.accepted}")
    if placement.rejected is not None:
        parts.append(f"{_files(placement.n_rejected)} {verb} to {placement.rejected}")
    return "; ".join(parts)


def _list_failures(title: str, number: int, first: Sequence[tuple[str, str]]) -> None:
    if not number:
        return
    say(f"{title}:")
    for name, reason in first:
        # messages about files name them; once is enough here
        say(f"  {name}: {reason.replace(f'{name}: ', '', 1)}")
    if number > len(first):
        say(f"  ... and {number - len(first):,} more")
