"""The options of a run, checked before any work: what is wrong with them is said in one sentence."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from facereject._files import display_name
from facereject._options import OptionError
from facereject.outputs._images import PictureError
from facereject.outputs._video.writer import CODECS, VideoWriteError
from facereject.outputs.timeline import TimelineError
from facereject.parallel import DaskEngine, Engine, SerialEngine, WorkerEngine
from facereject.pipeline._old.contact_sheet import check_sheet_path
from facereject.pipeline._old.crops import PictureOutput
from facereject.pipeline._old.saved_video import VideoOutput
from facereject.pipeline._old.segments import AS_THEY_ARE, Steadiness
from facereject.pipeline._old.sorted_files import Placement, PlacementError, base_of
from facereject.pipeline._old.timeline import check_timeline_path
from facereject.pipeline._store.sinks import Sink, TableError
from facereject.sources.inputs import Input, InputError
from facereject.tables.table_path import check_table_path

#: time limit of several workers unless another one is set; the largest image takes a minute on a slow machine
GENEROUS_SECONDS = 600.0


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


def check_frame_rule(rule: str) -> None:
    """Raise OptionError if there is no such rule for frames with several faces."""
    if rule not in ("all", "any", "largest"):
        raise OptionError(f"`frame_rule` must be all, any or largest; got {rule}")


def check_tracking(detect_every: int, smooth_s: float) -> None:
    """Raise OptionError if faces cannot be followed like this."""
    if detect_every < 1:
        raise OptionError(f"`detect_every` must be at least 1 frame; got {detect_every}")
    if not (math.isfinite(smooth_s) and smooth_s >= 0):
        raise OptionError(f"`smooth_s` must be seconds, 0 or more; got {smooth_s:g}")


def check_table(output: object, *, resume: bool, overwrite: bool, retry_failed: bool = False) -> None:
    """Raise OptionError if no table can be written there."""
    if retry_failed and not resume:
        raise OptionError("`retry_failed` belongs to `resume`: it works again on what failed before")
    if resume and overwrite:
        raise OptionError("`resume` and `overwrite` exclude each other")
    if not isinstance(output, str | os.PathLike):
        if resume:
            raise OptionError("`resume` needs a table file: name one with `output`")
        if isinstance(output, io.TextIOBase):
            raise OptionError("`output` is a stream of text; open it in binary mode, or pass its .buffer")
        if not (output is None or isinstance(output, Sink) or hasattr(output, "write")):
            kind = type(output).__name__
            raise OptionError(f"`output` must be a path, a binary stream, a sink or None; got {kind}")
        return
    try:
        check_table_path(output, overwrite=overwrite)
    except TableError as error:
        raise OptionError(f"`output` {error}") from None


def check_keep_best(
    amount: float | None, *, output: object, save: str | None, pictures: PictureOutput | None = None
) -> None:
    """Raise OptionError if this is no share or number of faces, or does not go with the other options."""
    if amount is None:
        return
    number = isinstance(amount, int) and not isinstance(amount, bool) and amount >= 1
    if not number and not (isinstance(amount, float) and 0 < amount <= 1):
        raise OptionError(
            "`keep_best` must be a share of the faces, above 0.0 and up to 1.0, or a whole number of faces; "
            f"got {amount}"
        )
    if save is not None:
        raise OptionError(
            "`keep_best` and `save` exclude each other: videos are written while the faces are judged, and "
            "which are the best is known only afterwards"
        )
    if pictures is not None:
        raise OptionError(
            "`keep_best` excludes `crops`, `annotated` and `frames`: pictures are made while the faces are "
            "judged, and which are the best is known only afterwards"
        )
    if isinstance(output, Sink):
        raise OptionError("`keep_best` needs a file, a stream or None as `output`")


def check_timeline(path: str | None, *, overwrite: bool = False) -> None:
    """Raise OptionError if no timeline can be written there."""
    if path is not None:
        try:
            check_timeline_path(path, overwrite=overwrite)
        except TimelineError as error:
            raise OptionError(f"`timeline` {error}") from None


def make_engine(workers: int = 1, engine: Engine | str | None = None, timeout: float | None = None) -> Engine:
    """The engine for a number of processes, or the one given; a string is the address of a Dask scheduler."""
    if engine is not None and timeout is not None:
        raise OptionError("`timeout` and `engine` exclude each other: an engine has its own limits")
    if engine is not None and workers != 1:
        raise OptionError("`workers` and `engine` exclude each other: an engine has its own workers")
    if isinstance(engine, str):
        return DaskEngine(engine)
    if engine is not None:
        return engine
    if workers == 1 and timeout is None:
        return SerialEngine()
    try:
        # only a process of its own can be stopped, whatever it does
        limit = GENEROUS_SECONDS if timeout is None else timeout
        return WorkerEngine(workers, preload=["facereject.pipeline.task"], timeout=limit)
    except ValueError as error:
        name = "timeout" if str(error).startswith("timeout") else "workers"
        raise OptionError(f"`{name}`: {error}") from None


def folder_of_inputs(engine: Engine) -> str:
    """Where relative paths are taken from: workers elsewhere have current folders of their own."""
    return "" if isinstance(engine, SerialEngine | WorkerEngine) else os.getcwd()


def make_video_output(
    save: str | None,
    annotate: bool,
    audio: bool,
    paths: Sequence[str],
    rule: str,
    folder: str,
    *,
    steadiness: Steadiness = AS_THEY_ARE,
    overwrite: bool = False,
) -> VideoOutput | None:
    """The videos to be written; OptionError if that cannot work for these inputs."""
    if save is None:
        if annotate:
            raise OptionError(
                "`annotate` needs a video to write: name it with `save`, or a folder for several"
            )
        if not audio:
            raise OptionError("`audio` needs a video to write: name it with `save`, or a folder for several")
        return None
    shown = display_name(save)
    single = os.path.splitext(save)[1].lower() in CODECS and not os.path.isdir(save)
    # any other suffix is a mistake rather than the name of a folder
    if not single and not os.path.isdir(save) and 2 <= len(os.path.splitext(save)[1]) <= 5:
        raise OptionError(f"`save` {shown}: videos are written as {', '.join(CODECS)}; or name a folder")
    output = VideoOutput(
        os.path.join(folder, save),
        None if single else base_of(paths),
        annotate,
        rule,
        audio,
        steadiness,
        overwrite,
    )
    try:
        output.check()
    except VideoWriteError as error:
        raise OptionError(f"`save` {error}") from None
    if not single:
        _check_apart("save", save, paths)
    return output


def check_steadiness(steadiness: Steadiness) -> None:
    """Raise OptionError if kept stretches cannot be steadied like this."""
    try:
        steadiness.check()
    except ValueError as error:
        name, rest = str(error).split(" ", 1)
        raise OptionError(f"`{name}` {rest}") from None


def make_pictures(
    folders: Mapping[str, str | None],
    paths: Sequence[str],
    folder: str,
    *,
    size: int = 256,
    best_per_track: int | None = None,
    overwrite: bool = False,
) -> PictureOutput | None:
    """The pictures to be written into folders by option; OptionError if that cannot work for these inputs."""
    if not 16 <= size <= 4096:
        raise OptionError(f"`size` must be the side of the crops in pixels, from 16 to 4096; got {size}")
    if best_per_track is not None and best_per_track < 1:
        raise OptionError(f"`best_per_track` must be at least 1 picture; got {best_per_track}")
    given = {name: path for name, path in folders.items() if path is not None}
    if best_per_track is not None and not {"crops", "frames"} & given.keys():
        raise OptionError("`best_per_track` needs a folder: give `crops`, `frames` or both")
    for name, path in given.items():
        if os.path.lexists(path) and not os.path.isdir(path):
            raise OptionError(f"`{name}` {display_name(path)}: this is a file; name a folder")
        _check_apart(name, path, paths)
    places = {name: os.path.join(folder, path) for name, path in given.items()}
    if not places:
        return None
    return PictureOutput(
        base_of(paths), size=size, best_per_track=best_per_track or 1, overwrite=overwrite, **places
    )


def _check_apart(name: str, folder: str, paths: Sequence[str]) -> None:
    """OptionError if a folder of outputs lies in one that is read."""
    target = os.path.realpath(folder) + os.sep
    for path in paths:
        if os.path.isdir(path) and target.startswith(os.path.realpath(path).rstrip(os.sep) + os.sep):
            raise OptionError(
                f"`{name}` {display_name(folder)}: lies in {display_name(path)}, which is read; "
                "choose a folder apart from the inputs"
            )


def check_sheet(path: str | None, *, overwrite: bool = False) -> None:
    """Raise OptionError if no contact sheet can be written there."""
    if path is not None:
        try:
            check_sheet_path(path, overwrite=overwrite)
        except PictureError as error:
            raise OptionError(f"`contact_sheet` {error}") from None


def make_placement(
    accepted: str | None, rejected: str | None, mode: str, video_share: float, paths: Sequence[str]
) -> Placement | None:
    """How files are sorted, None if they are not; OptionError or InputError if that cannot work."""
    if accepted is None and rejected is None:
        if mode != "copy":
            raise OptionError(f"`mode` {mode} needs a folder: give `accepted`, `rejected` or both")
        return None
    try:
        placement = Placement(accepted, rejected, base_of(paths), mode, video_share)
    except PlacementError as error:
        raise OptionError(f"`accepted`, `rejected`: {error}") from None
    except ValueError as error:
        name = "video_share" if "video_share" in str(error) else "mode"
        raise OptionError(f"`{name}`: {error}") from None
    for path in paths:
        if placement.holds(path):
            raise InputError(
                f"{display_name(path)}: lies in the folder for sorted files; choose a folder apart from the "
                "inputs"
            )
    return placement


class SingleVideo:
    """Sees to it that what is to be saved as one video comes from one video."""

    def __init__(self, save: str) -> None:
        self._save = save
        self._found = 0

    def __call__(self, item: Input) -> None:
        if item.kind != "video":
            return
        self._found += 1
        if self._found > 1:
            name = display_name(self._save)
            raise OptionError(
                f"`save` {name}: there are several videos to read; name a folder, such as `save` videos"
            )

    def check(self) -> None:
        """All inputs are known."""
        if not self._found:
            raise OptionError(f"`save` {display_name(self._save)}: there is no video to read")
