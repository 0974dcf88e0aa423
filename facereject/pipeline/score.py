"""The one entry: files in; a table, sorted files, saved videos and a summary out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from facereject.faces import FaceRejector
from facereject.faces.images.files import MAX_PIXELS
from facereject.outputs.summary import Summary
from facereject.parallel import Engine
from facereject.pipeline.job import Output, ScoreJob
from facereject.pipeline.options import make_engine, path_list
from facereject.pipeline.run import RunProgress
from facereject.sources.inputs import Input
from facereject.tables.rows import Chunk, Row, columns
from facereject.tracking.tracker import DETECT_EVERY

if TYPE_CHECKING:
    import pandas

PathName: TypeAlias = "str | os.PathLike[str]"


def score_files(
    paths: PathName | Iterable[PathName],
    output: Output = None,
    *,
    rejector: FaceRejector | None = None,
    workers: int = 1,
    engine: Engine | str | None = None,
    timeout: float | None = None,
    resume: bool = False,
    overwrite: bool = False,
    retry_failed: bool = False,
    progress: Callable[[RunProgress], None] | None = None,
    on_rows: Callable[[list[Row]], None] | None = None,
    frame_rule: str = "all",
    max_pixels: int = MAX_PIXELS,
    every_frame: bool = False,
    detect_every: int = DETECT_EVERY,
    smooth_s: float = 0.0,
    smooth_landmarks: bool = False,
    accepted: PathName | None = None,
    rejected: PathName | None = None,
    mode: str = "copy",
    video_share: float = 0.5,
    save: PathName | None = None,
    annotate: bool = False,
    audio: bool = True,
    bridge_s: float = 0.0,
    min_span_s: float = 0.0,
    crops: PathName | None = None,
    size: int = 256,
    annotated: PathName | None = None,
    frames: PathName | None = None,
    best_per_track: int | None = None,
    contact_sheet: PathName | None = None,
    timeline: PathName | None = None,
    keep_best: float | None = None,
) -> Summary:
    """Find and judge the faces of any number of images and videos.

    This is what ``facereject score`` and ``facereject filter`` do; the target is that of the rejector (see
    `FaceRejector.with_target`). With ``workers`` above 1 a script needs the usual
    ``if __name__ == "__main__":`` guard.

    Parameters
    ----------
    paths : path or iterable of paths
        Files; folders (with all subfolders); patterns such as ``"photos/*.jpg"``; ``"@list.txt"``, a text
        file with one path per line.
    output : path, binary stream, Sink or None
        Table with a row per face: ``.csv``, ``.jsonl`` or ``.parquet``; a stream gets CSV; None writes no
        table. While the run lasts the file is called ``<output>.partial``.
    rejector : FaceRejector or None
        None is ``FaceRejector.pretrained()``.
    workers : int, default=1
        Processes that share the work.
    engine : Engine, str or None
        Where the work is done instead: an engine of `facereject.parallel` or one of your own, or the address
        of a Dask scheduler.
    timeout : float or None
        Give an input up if nothing comes of it for so many seconds (of a video: its next frames); its row
        says so. Needs a process of its own, also for one worker. None is 600 for several workers, and no
        limit for one, which works in this process.
    resume : bool, default=False
        Continue after an interruption; a finished table is completed by the inputs it lacks. A file that has
        changed since, by its size or time of change, is worked on again, and its rows are replaced; so is,
        once, an input whose worker was killed or out of memory.
    overwrite : bool, default=False
        Start again although an unfinished table is there, and replace files that facereject has not made.
        Without it, a table, timeline or video takes the place of one of its own kind only. A file that is
        read is never replaced.
    retry_failed : bool, default=False
        With ``resume``, work again on all inputs that are unreadable or failed.
    progress : callable or None
        Gets a `RunProgress` when the inputs are counted and after every chunk of rows.
    on_rows : callable or None
        Gets the rows of every chunk after they were written.
    frame_rule : {"all", "any", "largest"}
        An image or frame with several faces is accepted if all of them are, any of them, or the largest.
    max_pixels : int
        Larger images are refused before they are decoded.
    every_frame : bool, default=False
        Look for faces in the whole of every frame of a video.
    detect_every : int, default=15
        Look for new faces at least every so many frames.
    smooth_s : float, default=0.0
        Average the uncertainty of a face over about so many seconds.
    smooth_landmarks : bool, default=False
        Steady the landmarks of videos: certain points follow at once, uncertain ones lean on the past and on
        their neighbours. Uncertainty and decision are those of the frame itself.
    accepted, rejected : path or None
        Folders for the files by decision; subfolders are kept, nothing is overwritten.
    mode : {"copy", "link", "move"}
        How files get there.
    video_share : float, default=0.5
        A video is accepted if at least this share of its frames is.
    save : path or None
        Write the accepted frames as a video; for several videos, a folder.
    annotate : bool, default=False
        Save all frames, with faces and decisions drawn.
    audio : bool, default=True
        Saved videos keep the sound of the frames they keep.
    bridge_s, min_span_s : float, default=0.0
        For saved videos and timelines: a rejected stretch between accepted ones is kept if it is shorter than
        ``bridge_s`` seconds; then an accepted stretch shorter than ``min_span_s`` seconds is dropped.
    crops : path or None
        Folder for accepted faces, upright and in one size: every face of an image, the best of each person in
        a video.
    size : int, default=256
        Side of the crops in pixels.
    annotated : path or None
        Folder for images with landmarks and decisions drawn.
    frames : path or None
        Folder for the frames that show each person of a video best: certain, sharp and frontal.
    best_per_track : int or None
        How many such frames of each person, at least half a second apart; None is one.
    contact_sheet : path or None
        One picture of faces from certain to uncertain: ``.png`` or ``.jpg``.
    timeline : path or None
        Write the accepted and rejected stretches of the videos: ``.csv`` or ``.json``.
    keep_best : int, float or None
        Accept the best faces of this batch, whatever the target of the rejector: a float up to 1.0 is the
        share of the faces that have an uncertainty, at least; an int is their number. Faces exactly as
        certain as the last one of them are accepted, too. All faces are judged first; then the table gets its
        decisions, ``on_rows`` gets all rows, and files are sorted. With ``resume`` a finished table gets the
        decisions for another amount without being made again.

    Returns
    -------
    Summary
        Counts, failures and seconds. Inputs that are unreadable or failed are no exceptions: they have a row
        and are named here.

    Raises
    ------
    OptionError
        An option is wrong, or does not go with another one. A ValueError, raised before any work.
    InputError
        A path leads nowhere. A ValueError, raised before any work.
    UnfinishedTableError, SettingsError, TableError
        An earlier run left its table, with other settings, or the table cannot be written.
    EngineError
        No worker starts, or no scheduler answers.
    TimelineError
        The timeline cannot be written; the table is complete.
    """
    job = ScoreJob(
        path_list(paths),
        output,
        make_engine(workers, engine, timeout),
        resume=resume,
        overwrite=overwrite,
        retry_failed=retry_failed,
        frame_rule=frame_rule,
        max_pixels=max_pixels,
        every_frame=every_frame,
        detect_every=detect_every,
        smooth_s=smooth_s,
        smooth_landmarks=smooth_landmarks,
        accepted=_text(accepted),
        rejected=_text(rejected),
        mode=mode,
        video_share=video_share,
        save=_text(save),
        annotate=annotate,
        audio=audio,
        bridge_s=bridge_s,
        min_span_s=min_span_s,
        crops=_text(crops),
        size=size,
        annotated=_text(annotated),
        frames=_text(frames),
        best_per_track=best_per_track,
        contact_sheet=_text(contact_sheet),
        timeline_path=_text(timeline),
        keep_best=keep_best,
    )
    observers = [] if on_rows is None else [_RowsOf(on_rows)]
    return job.run(
        FaceRejector.pretrained() if rejector is None else rejector, progress=progress, observers=observers
    )


def score_table(
    rejector: FaceRejector | None, paths: PathName | Iterable[PathName], *, workers: int = 1, **options: Any
) -> pandas.DataFrame:
    """The table of `score_files` as a pandas DataFrame, for as many files as fit into memory.

    Parameters
    ----------
    rejector : FaceRejector or None
    paths, workers
        As in `score_files`.
    **options
        Further options of `score_files`.

    Returns
    -------
    pandas.DataFrame
        A row per face, or one that says why there is none. What is unknown is NA.
    """
    try:
        import pandas
    except ImportError:
        raise ImportError("a table in memory needs pandas: pip install pandas") from None
    rejector = FaceRejector.pretrained() if rejector is None else rejector
    names = columns(rejector.n_points)
    values: list[list[Any]] = []
    score_files(
        paths,
        rejector=rejector,
        workers=workers,
        on_rows=lambda rows: values.extend(row.values(rejector.n_points) for row in rows),
        **options,
    )
    table = pandas.DataFrame(values, columns=list(names))
    whole = dict.fromkeys(("frame", "face", "track"), "Int64")
    kinds = dict.fromkeys(names, "float64") | whole | {"accepted": "bool"}
    kinds |= dict.fromkeys(("source", "reason", "cause"), "str")
    return table.astype(kinds)


class _RowsOf:
    """An observer that hands on rows alone."""

    def __init__(self, receive: Callable[[list[Row]], None]) -> None:
        self._receive = receive

    def __call__(self, item: Input, chunk: Chunk, last: bool) -> None:
        if chunk.rows:
            self._receive(chunk.rows)


def _text(path: PathName | None) -> str | None:
    return None if path is None else os.fspath(path)
