"""How a run is done: processes, time limits, resuming, what may be replaced."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from facereject._options import OptionError, option
from facereject.faces.images import MAX_PIXELS
from facereject.parallel import DaskEngine, Engine, WorkerEngine
from facereject.parallel.base import SerialEngine

#: time limit of several workers unless another one is set; the largest image takes a minute on a slow machine
GENEROUS_SECONDS = 600.0


@dataclass(frozen=True)
class Running:
    """How a run over many files is done.

    Parameters
    ----------
    workers : int, default=1
        Processes that share the work. Above 1 a script needs the usual ``if __name__ == "__main__":`` guard.
    timeout : float or None
        Time limit per input, in seconds without a new result (of a video: its next frames). An input that
        exceeds it has failed. Needs a worker process, also with ``workers=1``. None is 600 for several
        workers, and no limit for one, which works in this process.
    resume : bool, default=False
        Continue after an interruption; a finished table is completed by the inputs it lacks. Files that have
        changed since, by size or time of change, are scored again; inputs whose worker crashed are retried
        once.
    retry_failed : bool, default=False
        With ``resume``, score all inputs again that are unreadable or failed.
    overwrite : bool, default=False
        Start again although an unfinished table exists, and allow replacing files that facereject did not
        create. Inputs are never replaced.
    max_pixels : int
        Larger images are refused before they are decoded.
    engine : Engine, str or None
        Where the work is done instead: an engine of `facereject.parallel`, any object like it, or the address
        of a Dask scheduler.

    Raises
    ------
    OptionError
        A value cannot be used, or two exclude each other.

    See Also
    --------
    facereject.score_files : Takes it.

    Examples
    --------
    >>> from facereject.pipeline import Running
    >>> Running(workers=4, resume=True).timeout is None
    True
    """

    workers: int = option(
        1,
        "--workers",
        "-j",
        metavar="N",
        help="Worker processes; the number of cores is a good choice.",
    )
    timeout: float | None = option(
        None,
        "--timeout",
        metavar="SECONDS",
        help=f"Time limit per input, in seconds; for a video, between results. Default: "
        f"{GENEROUS_SECONDS:.0f}, none for a few images named one by one.",
    )
    resume: bool = option(
        False,
        "--resume",
        help="Continue after an interruption, or add new inputs to a finished table. Changed files are "
        "scored again, and inputs whose worker crashed are retried once.",
    )
    retry_failed: bool = option(
        False, "--retry-failed", help="With --resume: score unreadable and failed inputs again."
    )
    overwrite: bool = option(
        False,
        "--overwrite",
        help="Start again although an unfinished table exists, and allow replacing files that facereject did "
        "not create. Inputs are never replaced.",
    )
    max_pixels: int = option(
        MAX_PIXELS, "--max-pixels", metavar="N", help="Refuse larger images before they are decoded."
    )
    engine: Engine | str | None = None

    panel = "How to run"

    def __post_init__(self) -> None:
        if self.retry_failed and not self.resume:
            raise OptionError("`retry_failed` belongs to `resume`: it scores again what failed before")
        if self.resume and self.overwrite:
            raise OptionError("`resume` and `overwrite` exclude each other")
        for name, value, empty in (("timeout", self.timeout, None), ("workers", self.workers, 1)):
            if self.engine is not None and value != empty:
                raise OptionError(f"`{name}` and `engine` exclude each other: an engine has its own {name}")

    def make_engine(self) -> Engine:
        """The engine that these options ask for.

        Returns
        -------
        Engine
            This process, worker processes, or a Dask cluster.
        """
        if isinstance(self.engine, str):
            return DaskEngine(self.engine)
        if self.engine is not None:
            return self.engine
        if self.workers == 1 and self.timeout is None:
            return SerialEngine()
        try:
            # only a separate process can always be stopped
            limit = GENEROUS_SECONDS if self.timeout is None else self.timeout
            return WorkerEngine(self.workers, preload=["facereject.pipeline.task"], timeout=limit)
        except ValueError as error:
            name = "timeout" if str(error).startswith("timeout") else "workers"
            raise OptionError(f"`{name}`: {error}") from None


def path_list(paths: Any) -> list[str]:
    """The inputs as strings: one path or several; a path object is always the file of that very name."""
    if isinstance(paths, str | bytes | os.PathLike):
        paths = [paths]
    names = []
    for path in paths if isinstance(paths, Iterable) else [paths]:
        if not isinstance(path, str | bytes | os.PathLike):
            raise OptionError(
                f"`paths` must be a path or several, got {type(path).__name__}; a rejector takes images"
            )
        name = os.fsdecode(path)
        if not isinstance(path, str | bytes) and name.startswith("@"):
            name = os.path.join(os.curdir, name)
        names.append(name)
    return names
