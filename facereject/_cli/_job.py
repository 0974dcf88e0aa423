"""What `score` and `filter` have in common: inputs, table, engine, progress, report, exit code."""

from __future__ import annotations

import contextlib
import copy
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from facereject._cli._progress import RunProgress
from facereject._cli._report import inputs, report_run
from facereject._cli._shared import console, say, stop

if TYPE_CHECKING:
    from facereject.batch.plan import Plan
    from facereject.batch.run import Observer
    from facereject.batch.sorting import Placement
    from facereject.batch.task import ScoreTask
    from facereject.parallel import Engine
    from facereject.tables.sinks import Sink
    from facereject.tables.summary import Summary


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
        from facereject.batch.inputs import InputError
        from facereject.batch.plan import plan_run
        from facereject.batch.run import score_inputs
        from facereject.parallel import EngineError
        from facereject.tables.sinks import TableError

        sink = self._sink()
        before = copy.copy(sink.summary)
        skipped = self.placement.holds if self.placement else None
        try:
            with _terminate_like_ctrl_c(), sink:
                plan = plan_run(self.paths, sink, skipped=skipped)
                with self._progress(plan) as progress:
                    score_inputs(
                        plan.inputs,
                        self.task,
                        sink,
                        self.engine,
                        observers=[*self.observers, progress],
                        rule=self.rule,
                    )
        except KeyboardInterrupt:
            say(f"Interrupted after {inputs(sink.summary.inputs)}.{self._how_to_continue(sink)}")
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
            stop(f"Stopped after {inputs(sink.summary.inputs)}.{self._how_to_continue(sink)}", 1)
        report_run(
            sink.summary,
            before,
            progress.seconds,
            output=self.output,
            placement=self.placement,
            quiet=self.quiet,
        )
        if sink.summary.failed or (self.placement and self.placement.failed):
            raise typer.Exit(1)
        return sink.summary

    def _sink(self) -> Sink:
        from facereject import __version__
        from facereject.batch.run import row_check, settings_of
        from facereject.tables.sinks import (
            NullSink,
            SettingsError,
            StreamSink,
            TableError,
            TableSink,
            UnfinishedTableError,
        )

        if self.output is None:
            return NullSink(self.placement)
        if self.output == "-":
            return StreamSink(sys.stdout.buffer, self.placement, n_points=self.task.rejector.n_points)
        try:
            return TableSink(
                self.output,
                settings={"facereject": __version__, **settings_of(self.task), **self.settings},
                resume=self.resume,
                overwrite=self.overwrite,
                rule=self.rule,
                check=row_check(self.task),
                after_input=self.placement,
                n_points=self.task.rejector.n_points,
            )
        except SettingsError as error:
            stop(f"{error}; use the same options, or pass --overwrite to start again")
        except UnfinishedTableError as error:
            stop(f"{error}: pass --resume to continue it, or --overwrite to start again")
        except TableError as error:
            stop(str(error))

    def _progress(self, plan: Plan) -> RunProgress:
        # figures between the rows would garble both
        quiet = self.quiet or (self.output in (None, "-") and console.is_terminal and sys.stdout.isatty())
        return RunProgress(plan.frames or plan.total, frames=plan.frames is not None, quiet=quiet)

    def _how_to_continue(self, sink: Sink) -> str:
        if not os.path.exists(getattr(sink, "partial", "")):
            return ""
        return " To continue, run the same command with --resume."


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
