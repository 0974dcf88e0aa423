"""Options of the commands that work on many inputs, and the engine they ask for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from facereject._cli._shared import stop

if TYPE_CHECKING:
    from facereject.parallel import Engine

#: the largest image takes a minute on a slow machine
GENEROUS_SECONDS = 600.0

# images named one by one that are judged without a worker process: how many, and of how many bytes each
_FEW = 10
_SMALL = 32 << 20

_RUN_PANEL = "How to run"

PathsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Images, videos, folders (with all subfolders), patterns in quotes such as 'photos/*.jpg', "
        "@list.txt, a text file with one path per line, or - for such a list on stdin.",
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
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="Give an input up if nothing comes of it for so long (of a video: its next frames); its row "
        f"says so. Without it {GENEROUS_SECONDS:.0f} seconds, except for a few images named one by one.",
        show_default=False,
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
        help="Continue after Ctrl-C or a crash; a finished table is completed by the inputs it lacks. Files "
        "that have changed are worked on again, and so is, once, what has cost a worker its life.",
        rich_help_panel=_RUN_PANEL,
    ),
]
RetryFailedOption = Annotated[
    bool,
    typer.Option(
        "--retry-failed",
        help="With --resume: work again on all inputs that are unreadable or failed.",
        rich_help_panel=_RUN_PANEL,
    ),
]
OverwriteOption = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Start again although an unfinished table is there, and replace files that facereject has not "
        "made; what it has made is always replaced, unless --resume is given, and an input never.",
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


def make_engine(
    name: str, workers: int, scheduler: str | None, timeout: float | None, paths: Sequence[str]
) -> Engine:
    """The engine for --engine, --workers, --scheduler and --timeout.

    A single worker is a process of its own, too, as only that can be stopped, whatever it does. Starting one
    takes longer than judging a few images: if there are no more, this process does it.
    """
    from facereject import parallel

    if workers < 1:
        stop(f"--workers must be at least 1; got {workers}")
    if name == "local":
        if scheduler is not None:
            stop("--scheduler belongs to --engine dask")
        if timeout is not None and not 0 < timeout < float("inf"):
            stop(f"--timeout must be above 0 and finite; got {timeout:g}")
        if workers == 1 and timeout is None and _are_few_images(paths):
            return parallel.SerialEngine()
        preload = ["facereject._cli", "facereject.pipeline.task"]
        # a plug-in that cannot be pickled is no reason to stop where no process was asked for
        or_here = workers == 1 and timeout is None
        limit = timeout or GENEROUS_SECONDS
        return parallel.WorkerEngine(workers, preload=preload, timeout=limit, or_here=or_here)
    if name != "dask":
        stop(f"--engine must be local or dask; got {name}")
    if timeout is not None:
        stop("--timeout belongs to --engine local; a Dask cluster has its own limits")
    if workers != 1:
        stop("--workers belongs to --engine local; a Dask cluster has its own workers")
    if scheduler is None:
        stop("--engine dask needs the address of the cluster: --scheduler tcp://host:8786")
    try:
        return parallel.DaskEngine(scheduler)
    except (parallel.EngineError, ImportError, ValueError) as error:
        stop(f"--engine dask: {error}")


def _are_few_images(paths: Sequence[str]) -> bool:
    from facereject.faces.images.kinds import kind_of_file

    return len(paths) <= _FEW and all(
        os.path.isfile(path) and os.path.getsize(path) <= _SMALL and kind_of_file(path) == "image"
        for path in paths
    )
