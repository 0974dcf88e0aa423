"""The entry: files in; a table, sorted files, videos, images and a summary out."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from facereject.faces import FaceRejector
from facereject.faces.face import FaceFrame
from facereject.faces.images import MAX_PIXELS
from facereject.outputs.base import Output
from facereject.outputs.summary import Summary
from facereject.parallel import RunProgress
from facereject.pipeline.job import Job, as_outputs
from facereject.pipeline.running import Running, path_list
from facereject.sources.video import open_video, prefetch
from facereject.tables.columns import TEXTS, columns
from facereject.tables.packing import points_of, rows_of
from facereject.tracking.tracker import FaceTracker, Tracking

if TYPE_CHECKING:
    import pandas

PathName: TypeAlias = "str | os.PathLike[str]"


def score_files(
    paths: PathName | Iterable[PathName],
    outputs: PathName | BinaryIO | Output | Iterable[PathName | BinaryIO | Output] | None = None,
    *,
    rejector: FaceRejector | None = None,
    tracking: Tracking | None = None,
    workers: int = 1,
    running: Running | None = None,
    frame_rule: str = "all",
    keep_best: float | None = None,
    keep_best_photos: float | None = None,
    progress: Callable[[RunProgress], None] | None = None,
) -> Summary:
    """Find and score the faces of any number of images and videos.

    This is what ``facereject score`` and ``facereject filter`` do; the target is that of the rejector (see
    `FaceRejector.with_target`).

    Parameters
    ----------
    paths : path or iterable of paths
        Files; folders (with all subfolders); patterns such as ``"photos/*.jpg"``; ``"@list.txt"``, a text
        file with one path per line.
    outputs : path, binary stream, Output, or a list of these
        What to make of the faces: a path is a table with a row per face (``.csv``, ``.jsonl``, ``.parquet``
        or ``.sqlite``), a stream gets it as CSV, and `facereject.outputs` has more. None only counts.
    rejector : FaceRejector or None
        None is ``FaceRejector.pretrained()``.
    tracking : Tracking or None
        How faces are followed through videos; None is ``Tracking()``.
    workers : int, default=1
        Processes that share the work; short for ``Running(workers=...)``.
    running : Running or None
        How the run is done: resuming, time limits, another engine. None is ``Running()``.
    frame_rule : {"all", "any", "largest"}
        An image or frame with several faces is accepted if all of them are, any of them, or the largest.
    keep_best : int, float or None
        Accept the best faces of this batch instead of using the target of the rejector: a number of faces, or
        a share in (0, 1]. Decided when all inputs have been scored.
    keep_best_photos : int, float or None
        The same, counted in images and frames: accept faces up to the threshold at which that many images are
        accepted by ``frame_rule``.
    progress : callable or None
        Gets a `RunProgress` when the inputs are counted and after every chunk of frames.

    Returns
    -------
    Summary

    Raises
    ------
    OptionError, InputError
        An option or an input cannot be used; both are ValueErrors.
    TableError
        The table cannot be written, or was begun with other settings.
    EngineError
        The engine cannot go on.

    See Also
    --------
    facereject.FaceRejector.table : The same as a pandas DataFrame.
    facereject.FaceRejector.video : The frames of one video with their pixels and faces.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import SortedFiles, Table
    >>> score_files("photos", "faces.csv")  # doctest: +SKIP
    >>> score_files(
    ...     "photos", [Table("faces.csv"), SortedFiles("good", "bad")], workers=2
    ... )  # doctest: +SKIP
    """
    running = running or Running()
    if workers != 1 and isinstance(running, Running):
        running = dataclasses.replace(running, workers=workers)
    job = Job(
        path_list(paths),
        as_outputs(outputs),
        tracking=tracking,
        running=running,
        frame_rule=frame_rule,
        keep_best=keep_best,
        keep_best_photos=keep_best_photos,
    )
    return job.run(FaceRejector.pretrained() if rejector is None else rejector, progress=progress)


def score_table(
    rejector: FaceRejector | None, paths: PathName | Iterable[PathName], *, workers: int = 1, **options: Any
) -> pandas.DataFrame:
    """The table of `score_files` as a pandas DataFrame, which must fit into memory.

    Parameters
    ----------
    rejector : FaceRejector or None
        None is ``FaceRejector.pretrained()``.
    paths, workers
        As in `score_files`.
    **options
        Further options of `score_files`.

    Returns
    -------
    pandas.DataFrame
        A row per face, or one that says why there is none. What is unknown is NA.

    See Also
    --------
    score_files : Writes tables that need not fit into memory.

    Examples
    --------
    >>> from facereject import score_table
    >>> score_table(None, "photos")[["source", "expected_error", "accepted"]]  # doctest: +SKIP
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("a table in memory needs pandas: pip install pandas") from None
    rejector = FaceRejector.pretrained() if rejector is None else rejector
    rows = _Rows(rejector.n_points)
    more = as_outputs(options.pop("outputs", None))
    score_files(paths, [*more, rows], rejector=rejector, workers=workers, **options)
    names = columns(rejector.n_points)
    table = pandas.DataFrame(rows.values, columns=list(names))
    whole = dict.fromkeys(("frame", "face", "track"), "Int64")
    kinds = dict.fromkeys(names, "float64") | whole | {"accepted": "bool"}
    kinds |= dict.fromkeys(TEXTS, "str")
    return table.astype(kinds)


def scored_video(
    rejector: FaceRejector,
    path: str | os.PathLike[str],
    tracking: Tracking | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
) -> Iterator[FaceFrame]:
    """Score the frames of a video file; decoding runs ahead in a thread.

    Parameters
    ----------
    rejector : FaceRejector
        Finds and scores the faces.
    path : path
        A video or an animation.
    tracking : Tracking or None
        How faces are followed; None is ``Tracking()``.
    max_pixels : int
        Videos with larger frames are refused.

    Yields
    ------
    FaceFrame

    Raises
    ------
    VideoError
        With the first frame: the video cannot be read.

    See Also
    --------
    facereject.score_files : Videos and images to tables and other outputs.

    Examples
    --------
    >>> from facereject import FaceRejector, scored_video
    >>> for frame in scored_video(FaceRejector.pretrained(), "clip.mp4"):  # doctest: +SKIP
    ...     print(frame.time_s, frame.accepted())
    """
    tracker = FaceTracker(rejector, tracking)
    with open_video(path, max_pixels=max_pixels) as reader, closing(prefetch(reader)) as frames:
        yield from map(tracker, frames)


class _Rows(Output):
    """Collects the rows of a table."""

    def __init__(self, n_points: int) -> None:
        self.values: list[list[Any]] = []
        self._n_points = n_points

    def write(self, frame: FaceFrame) -> None:
        for row in rows_of(frame):
            points = points_of(row)
            missing = [math.nan] * (3 * self._n_points)
            self.values.append([*row[:-1], *(missing if points is None else points.tolist())])
