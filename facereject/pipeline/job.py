"""A run over files, from its options to its summary: table, sorted files, saved videos, timeline."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, TypeAlias, cast

from facereject import __version__
from facereject._options import OptionError
from facereject.faces import FaceRejector
from facereject.faces.images.files import MAX_PIXELS
from facereject.outputs.summary import Placed, Summary
from facereject.parallel import Engine, SerialEngine
from facereject.pipeline._old.contact_sheet import SheetCollector
from facereject.pipeline._old.crops import PictureOutput
from facereject.pipeline._old.saved_video import VideoOutput
from facereject.pipeline._old.segments import Steadiness
from facereject.pipeline._old.sorted_files import Placement
from facereject.pipeline._old.timeline import SpanCollector
from facereject.pipeline._store.sinks import (
    NullSink,
    SettingsError,
    Sink,
    StreamSink,
    TableSink,
    UnfinishedTableError,
)
from facereject.pipeline.keep_best import KeepBestSink
from facereject.pipeline.kept_inputs import KeptInputs
from facereject.pipeline.options import (
    SingleVideo,
    check_frame_rule,
    check_keep_best,
    check_sheet,
    check_steadiness,
    check_table,
    check_timeline,
    check_tracking,
    folder_of_inputs,
    make_pictures,
    make_placement,
    make_video_output,
)
from facereject.pipeline.plan import Plan, plan_run
from facereject.pipeline.run import Observer, RunProgress, row_check, score_inputs
from facereject.pipeline.task import ScoreTask, settings_of
from facereject.sources.inputs import Input, check_inputs
from facereject.tables.rows import Chunk
from facereject.tracking.tracker import DETECT_EVERY

#: where the rows go: a table file, a binary stream that gets CSV, a sink, or nowhere
Output: TypeAlias = "str | os.PathLike[str] | BinaryIO | Sink | None"

# settings on which the rows do not depend
_SORTING = ("folder of accepted files", "folder of rejected files", "files", "video share")


@dataclass
class ScoreJob:
    """What `score_files` does, in two steps: options are checked when it is made, `run` does the work.

    For programs that check what a user asked for before they load a model, and that report a run which was
    interrupted. The parameters are those of `facereject.score_files`; ``paths`` are strings here, ``engine``
    is an `Engine`. A job is run once.

    Parameters
    ----------
    stream_suffix : {".csv", ".jsonl"}
        What is written where ``output`` is a stream.

    Attributes
    ----------
    summary : Summary
        Kept up to date while the job runs, so that it can be read after an exception.
    timeline : SpanCollector
        The stretches of the videos, if ``keep_timeline`` is true or ``timeline_path`` is given.
    placement : Placement or None
    video : VideoOutput or None
    pictures : PictureOutput or None
    on_sheet : int
        Faces on the contact sheet.
    """

    paths: Sequence[str]
    output: Output = None
    engine: Engine = field(default_factory=SerialEngine)
    resume: bool = False
    overwrite: bool = False
    retry_failed: bool = False
    frame_rule: str = "all"
    max_pixels: int = MAX_PIXELS
    every_frame: bool = False
    detect_every: int = DETECT_EVERY
    smooth_s: float = 0.0
    smooth_landmarks: bool = False
    accepted: str | None = None
    rejected: str | None = None
    mode: str = "copy"
    video_share: float = 0.5
    save: str | None = None
    annotate: bool = False
    audio: bool = True
    bridge_s: float = 0.0
    min_span_s: float = 0.0
    crops: str | None = None
    size: int = 256
    annotated: str | None = None
    frames: str | None = None
    best_per_track: int | None = None
    contact_sheet: str | None = None
    timeline_path: str | None = None
    keep_timeline: bool = False
    keep_best: float | None = None
    stream_suffix: str = ".csv"

    summary: Summary = field(default_factory=Summary, init=False)
    timeline: SpanCollector = field(init=False)
    placement: Placement | None = field(init=False)
    video: VideoOutput | None = field(init=False)
    pictures: PictureOutput | None = field(init=False)
    on_sheet: int = field(default=0, init=False)
    _sink: Sink | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_frame_rule(self.frame_rule)
        check_tracking(self.detect_every, self.smooth_s)
        KeptInputs(self._outputs()).check_arguments(self.paths)
        check_timeline(self.timeline_path, overwrite=self.overwrite)
        self._folder = folder_of_inputs(self.engine)
        self._steadiness = Steadiness(self.bridge_s, self.min_span_s)
        check_steadiness(self._steadiness)
        self.video = make_video_output(
            self.save,
            self.annotate,
            self.audio,
            self.paths,
            self.frame_rule,
            self._folder,
            steadiness=self._steadiness,
            overwrite=self.overwrite,
        )
        check_sheet(self.contact_sheet, overwrite=self.overwrite)
        self.pictures = make_pictures(
            {"crops": self.crops, "annotated": self.annotated, "frames": self.frames},
            self.paths,
            self._folder,
            size=self.size,
            best_per_track=self.best_per_track,
            overwrite=self.overwrite,
        )
        check_table(self.output, resume=self.resume, overwrite=self.overwrite, retry_failed=self.retry_failed)
        check_keep_best(self.keep_best, output=self.output, save=self.save, pictures=self.pictures)
        if not self.resume:
            # else it is known only with the table whether a path led to inputs that have been moved since
            check_inputs(self.paths)
        self.placement = make_placement(self.accepted, self.rejected, self.mode, self.video_share, self.paths)
        if self.placement is not None and isinstance(self.output, Sink):
            raise OptionError("`output` must be a file, a stream or None where files are sorted")
        self.timeline = SpanCollector(self.frame_rule, self._steadiness)
        self._sheet = SheetCollector(max_pixels=self.max_pixels)
        self.keep_timeline = self.keep_timeline or self.timeline_path is not None

    @property
    def can_be_resumed(self) -> bool:
        """Whether an unfinished table is there to be continued."""
        return isinstance(self._sink, TableSink) and os.path.exists(self._sink.partial)

    def run(
        self,
        rejector: FaceRejector,
        *,
        progress: Callable[[RunProgress], None] | None = None,
        observers: Sequence[Observer] = (),
    ) -> Summary:
        """Do the work; ``observers`` get every chunk after its rows were written, ``progress`` how far it is.

        Raises
        ------
        OptionError, InputError, TableError, EngineError, TimelineError
            As `facereject.score_files`.
        """
        start = time.monotonic()
        task = self._task(rejector)
        everyone = [*observers]
        if self.keep_timeline:
            everyone.insert(0, self.timeline)
        if self.contact_sheet is not None:
            everyone.append(self._sheet)
        sink = self._sink = self._open_sink(task, everyone)
        self.summary = sink.summary
        if self.resume:
            self.summary.earlier = dataclasses.replace(self.summary, failures=list(self.summary.failures))
        try:
            with sink:
                plan = self._plan(sink, with_frames=progress is not None)
                if self.keep_best is not None:
                    # they see the rows when these are decided upon
                    everyone = []
                if progress is not None:
                    everyone.append(_Counter(plan, progress, decided=self.keep_best is None))
                score_inputs(plan.inputs, task, sink, self.engine, observers=everyone, rule=self.frame_rule)
        finally:
            self.summary.seconds = time.monotonic() - start
            if self.placement is not None:
                placed = self.placement
                self.summary.placed = Placed(
                    placed.n_accepted,
                    placed.n_rejected,
                    placed.n_there,
                    placed.n_left,
                    placed.failed,
                    placed.failures,
                )
        self._write_timeline()
        self._write_sheet()
        return self.summary

    def _task(self, rejector: FaceRejector) -> ScoreTask:
        return ScoreTask(
            rejector,
            max_pixels=self.max_pixels,
            every_frame=self.every_frame,
            detect_every=self.detect_every,
            smooth_s=self.smooth_s,
            smooth_landmarks=self.smooth_landmarks,
            video=self.video,
            pictures=self.pictures,
            folder=self._folder,
        )

    def _outputs(self) -> dict[str, str]:
        """The files that this run writes, by the option that names them."""
        named = {"output": self.output, "timeline": self.timeline_path, "contact_sheet": self.contact_sheet}
        if self.save is not None and not os.path.isdir(self.save):
            named["save"] = self.save
        return {name: os.fspath(path) for name, path in named.items() if isinstance(path, str | os.PathLike)}

    def _plan(self, sink: Sink, *, with_frames: bool) -> Plan:
        single = None
        if self.save is not None and self.video is not None and self.video.base is None:
            single = SingleVideo(self.save)
        skipped = self.placement.holds if self.placement is not None else None

        kept = KeptInputs(self._outputs(), self.video)

        def look_at(item: Input) -> None:
            kept(item)
            if single is not None:
                single(item)

        engine = self.engine if with_frames else None
        plan = plan_run(
            self.paths, sink, skipped=skipped, on_input=look_at, checked=not self.resume, engine=engine
        )
        kept.check()
        if single is not None and not self.resume:
            single.check()
        return plan

    def _write_timeline(self) -> None:
        known = self.keep_best is not None or not self.keep_timeline
        if self.resume and isinstance(self.output, str | os.PathLike) and not known:
            # the table knows the videos of earlier runs, too
            self.timeline = SpanCollector.of_table(os.fspath(self.output), self.frame_rule, self._steadiness)
        if self.timeline_path is not None:
            self.timeline.write(self.timeline_path, overwrite=self.overwrite)

    def _write_sheet(self) -> None:
        if self.contact_sheet is None:
            return
        if self.resume and isinstance(self.output, str | os.PathLike):
            # as above
            self._sheet = SheetCollector.of_table(os.fspath(self.output), max_pixels=self.max_pixels)
        where = str if self.placement is None else self.placement.where
        self.on_sheet = self._sheet.write(
            self.contact_sheet, overwrite=self.overwrite, engine=self.engine, folder=self._folder, where=where
        )

    def _open_sink(self, task: ScoreTask, observers: Sequence[Observer]) -> Sink:
        if isinstance(self.output, Sink):
            return self.output
        if self.keep_best is None and not isinstance(self.output, str | os.PathLike):
            if self.output is None:
                return NullSink(self.placement)
            return StreamSink(
                self.output, self.placement, n_points=task.rejector.n_points, suffix=self.stream_suffix
            )
        settings = {"facereject": __version__, **settings_of(task), "frame rule": self.frame_rule}
        # a rejector of another kind has none that is known
        settings.setdefault("target", "that of the rejector")
        if self.placement is not None:
            files = f"{self.mode} from {self.placement.base}"
            values = (str(self.accepted), str(self.rejected), files, str(self.video_share))
            settings |= dict(zip(_SORTING, values, strict=True))
        if self.keep_best is not None:
            settings["target"] = f"the best {self.keep_best} of the batch"
        options: dict[str, Any] = {
            "settings": settings,
            "free": _SORTING if self.keep_best is None else (*_SORTING, "target"),
            "resume": self.resume,
            "overwrite": self.overwrite,
            "retry_failed": self.retry_failed,
            "rule": self.frame_rule,
            "check": row_check(task, decisions=self.keep_best is None),
            "n_points": task.rejector.n_points,
        }
        try:
            if self.keep_best is not None:
                return KeepBestSink(
                    self.output, self.keep_best, observers=observers, place=self.placement, **options
                )
            path = cast("str | os.PathLike[str]", self.output)
            return TableSink(path, after_input=self.placement, **options)
        except SettingsError as error:
            advice = "use the same options, or pass `overwrite` to start again"
            raise SettingsError(f"{error}; {advice}") from None
        except UnfinishedTableError as error:
            advice = "pass `resume` to continue it, or `overwrite` to start again"
            raise UnfinishedTableError(f"{error}: {advice}") from None


class _Counter:
    """Counts what a run has done and tells it; an observer."""

    def __init__(self, plan: Plan, tell: Callable[[RunProgress], None], *, decided: bool) -> None:
        unit, total = ("inputs", plan.total) if plan.frames is None else ("frames", plan.frames)
        alike = plan.frames is not None or not plan.mixed
        self._state = RunProgress(0, total, unit, accepted=0 if decided else None, alike=alike)
        self._tell = tell
        tell(self._state)

    def __call__(self, item: Input, chunk: Chunk, last: bool) -> None:
        self._state = self._state.plus(item, chunk, last)
        self._tell(self._state)
