"""Options of the commands that work on many inputs, and the checks that come before any work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from facereject._cli._shared import stop

if TYPE_CHECKING:
    from facereject.parallel import Engine

_RUN_PANEL = "How to run"

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Images, videos, folders (with all subfolders), patterns in quotes such as 'photos/*.jpg', or "
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
        help="Continue after Ctrl-C or a crash; a finished table is completed by the inputs it lacks.",
        rich_help_panel=_RUN_PANEL,
    ),
]
OverwriteOption = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Start again although an unfinished table is there; a finished one is always replaced, unless "
        "--resume is given.",
        rich_help_panel=_RUN_PANEL,
    ),
]
MaxPixelsOption = Annotated[
    int,
    typer.Option(
        "--max-pixels",
        metavar="N",
        min=1,
        help="Refuse larger images before decoding them.",
        rich_help_panel=_RUN_PANEL,
    ),
]


def check_paths(paths: Sequence[str], *, resume: bool = False) -> None:
    """Stop at once if an argument names nothing; on resuming that is known only with the journal."""
    from facereject.batch.inputs import InputError, expand_inputs

    try:
        expand_inputs(paths)
    except InputError as error:
        if not resume:
            stop(str(error))


def check_output(output: str | None, *, resume: bool, overwrite: bool) -> None:
    """Stop at once if no table can be written there."""
    from facereject.tables.sinks import TableError, check_table_path

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


def folder_of_inputs(engine: str) -> str:
    """Where relative paths are taken from: workers of a cluster have current folders of their own."""
    return os.getcwd() if engine == "dask" else ""


def make_engine(name: str, workers: int, scheduler: str | None) -> Engine:
    """The engine for --engine, --workers and --scheduler."""
    from facereject import parallel as engine

    if workers < 1:
        stop(f"--workers must be at least 1; got {workers}")
    if name == "local":
        if scheduler is not None:
            stop("--scheduler belongs to --engine dask")
        if workers == 1:
            return engine.SerialEngine()
        return engine.WorkerEngine(workers, preload=["facereject._cli", "facereject.batch.task"])
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
