"""A run over files, from its options to its summary: what is asked for is checked first, then done."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from typing import Any, NamedTuple

from facereject import __version__
from facereject._files import display_name
from facereject._log import logger
from facereject._options import OptionError
from facereject.faces import FaceRejector
from facereject.faces.domain_monitor import why_not_compared
from facereject.faces.face import FRAME_RULES, Face, FaceFrame
from facereject.faces.geometry import FloatArray
from facereject.outputs._folders import base_of
from facereject.outputs.base import Media, Output, RunInfo
from facereject.outputs.sorted_files import SortedFiles
from facereject.outputs.summary import AcceptedErrors, SampledFaces, Summary
from facereject.outputs.table import Table
from facereject.parallel import RunProgress, WorkerEngine
from facereject.parallel.base import SerialEngine
from facereject.pipeline.plan import KeptInputs, Plan, plan_run
from facereject.pipeline.run import ProgressCounter, score_inputs
from facereject.pipeline.running import Running
from facereject.pipeline.store import Store
from facereject.pipeline.task import ScoreTask, mean_shape_of, settings_of
from facereject.sources.inputs import check_inputs
from facereject.tracking.tracker import Tracking

_LOG = logger(__name__)


class Job:
    """What `facereject.score_files` does, in two steps: making a job checks the options, `run` does the work.

    For programs that check what a user asked for before they load a model, and that report a run which was
    interrupted. A job is run once.

    Parameters
    ----------
    paths : sequence of str
        As in `facereject.score_files`.
    outputs : iterable of Output
        What to make of the faces.
    tracking, running, frame_rule, keep_best, keep_best_photos
        As in `facereject.score_files`.

    Attributes
    ----------
    summary : Summary
        Kept up to date while the job runs, so that it can be read after an exception.
    outputs : list of Output

    Raises
    ------
    OptionError, InputError
        An option or an input cannot be used.

    See Also
    --------
    facereject.score_files : Both steps in one call.

    Examples
    --------
    >>> from facereject.outputs import Table
    >>> from facereject.pipeline import Job
    >>> job = Job(["photos"], [Table("faces.csv")])  # doctest: +SKIP
    >>> job.run(FaceRejector.pretrained()).faces  # doctest: +SKIP
    """

    #: whether a detector looks for the faces
    finds_faces = True

    def __init__(
        self,
        paths: Sequence[str],
        outputs: Iterable[Output] = (),
        *,
        tracking: Tracking | None = None,
        running: Running | None = None,
        frame_rule: str = "all",
        keep_best: float | None = None,
        keep_best_photos: float | None = None,
    ) -> None:
        self.paths, self.outputs = list(paths), list(outputs)
        self.tracking, self.running = tracking or Tracking(), running or Running()
        for name, value, kind in (("tracking", self.tracking, Tracking), ("running", self.running, Running)):
            if not isinstance(value, kind):
                raise OptionError(f"`{name}` must be a {kind.__name__}; got {type(value).__name__}")
        self.frame_rule = frame_rule
        self.best = _Best.of(keep_best, keep_best_photos)
        self.engine = self.running.make_engine()
        self.summary = Summary()
        self._errors, self._sample = AcceptedErrors(), SampledFaces()
        self._store: Store | None = None
        if frame_rule not in FRAME_RULES:
            raise OptionError(f"`frame_rule` must be one of {', '.join(FRAME_RULES)}; got {frame_rule}")
        self.table = self._the_table()
        KeptInputs(self.outputs).check_arguments(self.paths)
        # workers elsewhere have other current folders
        local = isinstance(self.engine, SerialEngine | WorkerEngine)
        self._folder = "" if local else os.getcwd()
        self._check_inputs()
        info = RunInfo(
            tuple(self.paths),
            self._base(),
            self._folder,
            frame_rule,
            self.running.overwrite,
            self.running.max_pixels,
            self.engine,
            tuple(self.outputs),
        )
        for output in self.outputs:
            output.prepare(info)
        if self.best is not None and self._placed("worker"):
            raise OptionError(
                f"`{self.best.option}` excludes saved videos, crops and annotated images: they are made "
                "while faces are scored, and which faces are the best is known only afterwards"
            )

    @property
    def can_be_resumed(self) -> bool:
        """Whether an unfinished table exists that could be continued."""
        partial = None if self._store is None else self._store.partial
        return partial is not None and os.path.exists(partial)

    def run(
        self, rejector: FaceRejector, *, progress: Callable[[RunProgress], None] | None = None
    ) -> Summary:
        """Do the work.

        Parameters
        ----------
        rejector : FaceRejector
            Finds and scores the faces.
        progress : callable or None
            Gets a `RunProgress` when the inputs are counted and after every chunk of frames.

        Returns
        -------
        Summary
            What was done.

        Raises
        ------
        OptionError, InputError, TableError, EngineError, OSError
            As `facereject.score_files`.
        """
        if not callable(rejector):
            raise OptionError(f"`rejector` must be a FaceRejector; got {type(rejector).__name__}")
        start = time.monotonic()
        task = self._task(rejector, tuple(self._placed("worker")))
        self._store = self._open_store(task)
        self.summary = self._store.summary
        try:
            with self._store as store:
                if self.running.resume:
                    before, begun = self.summary, store.begun()
                    # frames of a video that was begun are in the table, too
                    total = before.total if begun is None else before.total.plus(begun.counts)
                    before.earlier = dataclasses.replace(before, total=total, failures=list(before.failures))
                problems = self._score(store, task, progress)
        finally:
            self.summary.seconds = time.monotonic() - start
        for problem in problems:
            raise problem
        self.summary.expected_error, self.summary.turned = self._errors.mean, self._errors.n_turned
        # other rejectors have no calibration faces
        if hasattr(rejector, "domain"):
            self.summary.compare = lambda: rejector.check_domain(self._sample.kept)
            described = sum(face.description is not None for face in self._sample.kept)
            self.summary.not_compared = why_not_compared(rejector, described)
        return self.summary

    def _check_inputs(self) -> None:
        if not self.running.resume:
            # else it is known only with the table whether a path led to inputs that have been moved since
            check_inputs(self.paths)

    def _base(self) -> str:
        return base_of(self.paths)

    def _task(self, rejector: FaceRejector, outputs: tuple[Output, ...]) -> ScoreTask:
        return ScoreTask(rejector, self.tracking, outputs, self.running.max_pixels, folder=self._folder)

    def _score(
        self, store: Store, task: ScoreTask, progress: Callable[[RunProgress], None] | None
    ) -> list[OSError]:
        """Score all inputs and feed the outputs; what went wrong with outputs at the end is returned."""
        plan = self._plan(store, with_frames=progress is not None)
        _LOG.info("%s inputs to score by %s", plan.total, type(self.engine).__name__)
        shape = mean_shape_of(task.rejector)
        # which faces are the best is known only at the end
        along = [*self._placed("run"), self._errors]
        during = [self._sample, *(along if self.best is None else ())]
        count = None
        if progress is not None:
            unit, total = ("inputs", plan.total) if plan.frames is None else ("frames", plan.frames)
            if plan.frames is not None and (begun := store.begun()) is not None:
                total = max(plan.frames - begun.counts.frames, 0)
            alike = plan.frames is not None or not plan.mixed
            decided = 0 if self.best is None else None
            count = ProgressCounter(RunProgress(0, total, unit, accepted=decided, alike=alike), progress)
        with ExitStack() as stack:
            for output in during:
                stack.callback(output.close)
            score_inputs(
                plan.inputs,
                task,
                self.engine,
                store=store,
                outputs=during,
                rule=self.frame_rule,
                mean_shape=shape,
                on_chunk=count,
            )
        if not store.keeps_rows:
            return []
        if self.best is not None:
            store.keep_best(self.best.amount, photos=self.best.photos)
        at_end = self._placed("end") + ([] if self.best is None else along)
        problems = [*self._write_at_end(store, at_end, shape)]
        self.summary.placed = next((o.placed for o in self.outputs if isinstance(o, SortedFiles)), None)
        return problems

    def _write_at_end(self, store: Store, outputs: list[Output], shape: FloatArray) -> Iterable[OSError]:
        """Feed the outputs that see the whole table; those that may move the inputs come last."""
        for moving in (False, True):
            chosen = [output for output in outputs if output.moves_inputs is moving]
            if not chosen:
                continue
            for item in store.inputs():
                if moving and (item.gone or not item.current):
                    # the file is no longer, or not yet, the one that was scored
                    continue
                kind, frames = _kind_of(store.frames(item))
                media = Media(item.path, display_name(item.path), kind, shape, stamp=item.stamp)
                for output in chosen:
                    output.begin(media)
                for frame in frames:
                    for output in chosen:
                        output.write(frame)
                for output in chosen:
                    output.end()
            for output in chosen:
                try:
                    output.close()
                except OSError as error:
                    yield error

    def _placed(self, place: str) -> list[Output]:
        chosen = [output for output in self.outputs if output.place == place]
        return [output for output in chosen if output is not self.table]

    def _plan(self, store: Store, *, with_frames: bool) -> Plan:
        engine = self.engine if with_frames else None
        return plan_run(self.paths, store, self.outputs, checked=not self.running.resume, engine=engine)

    def _the_table(self) -> Table | None:
        """The table file, which goes through the store; tables on streams are outputs like any other."""
        tables = [output for output in self.outputs if isinstance(output, Table) and output.path is not None]
        if len(tables) > 1:
            raise OptionError("`outputs` has several tables; write one, and convert it afterwards")
        if not tables and self.running.resume:
            raise OptionError("`resume` needs a table file: name one with `output`")
        return tables[0] if tables else None

    def _open_store(self, task: ScoreTask) -> Store:
        path = None if self.table is None else self.table.path
        settings = {"facereject": __version__, **settings_of(task), "frame rule": self.frame_rule}
        # other rejectors have no target
        settings.setdefault("target", "that of the rejector")
        if self.best is not None:
            settings["target"] = self.best.words
        _LOG.info("settings: %s", "; ".join(f"{name}: {value}" for name, value in settings.items()))
        columns = "all" if self.table is None else self.table.columns
        return Store(
            path,
            settings=settings,
            # of a finished table nothing is written again, so other outputs may be asked for
            free=("outputs",) if self.best is None else ("outputs", "target"),
            resume=self.running.resume,
            overwrite=self.running.overwrite,
            retry_failed=self.running.retry_failed,
            rule=self.frame_rule,
            check=face_check(task.rejector, decisions=self.best is None),
            n_points=task.rejector.n_points,
            columns=columns,
            keep_rows=path is not None or self.best is not None or bool(self._placed("end")),
        )


def _kind_of(frames: Iterator[FaceFrame]) -> tuple[str, Iterator[FaceFrame]]:
    """Whether frames of a table are those of an image or a video, and the frames again."""
    first = list(islice(frames, 1))
    video = bool(first) and math.isfinite(first[0].time_s)
    return "video" if video else "image", chain(first, frames)


def face_check(rejector: FaceRejector, *, decisions: bool = True) -> Callable[[Face], bool]:
    """A test whether this rejector would give a face of a table the same expected error and decision.

    Without ``decisions`` the target does not matter.
    """

    def fits(face: Face) -> bool:
        if not math.isfinite(face.uncertainty):
            return True
        decided = face.reason == "turned" or face.accepted == rejector.decide(face.uncertainty)
        if decisions and not decided:
            return False
        if rejector.relative:
            return math.isnan(face.expected_error)
        expected = float(rejector.calibration.expected_error(face.uncertainty))
        return math.isclose(face.expected_error, expected, rel_tol=1e-6)

    return fits


class _Best(NamedTuple):
    """How many of a batch are kept."""

    option: str
    amount: float
    photos: bool

    @classmethod
    def of(cls, faces: float | None, photos: float | None) -> _Best | None:
        """The one of the two options that was given; OptionError if both were, or it is no amount."""
        if faces is not None and photos is not None:
            raise OptionError("`keep_best` and `keep_best_photos` exclude each other: give one of them")
        amount = photos if faces is None else faces
        if amount is None:
            return None
        option, unit = ("keep_best_photos", "photos") if faces is None else ("keep_best", "faces")
        number = isinstance(amount, int) and not isinstance(amount, bool) and amount >= 1
        if not number and not (isinstance(amount, float) and 0 < amount <= 1):
            raise OptionError(
                f"`{option}` must be a share of the {unit}, above 0.0 and up to 1.0, or a whole number of "
                f"{unit}; got {amount}"
            )
        return cls(option, amount, faces is None)

    @property
    def words(self) -> str:
        """As a setting of the table."""
        return f"the best {self.amount}{' photos' if self.photos else ''} of the batch"


def as_outputs(outputs: Any) -> list[Output]:
    """Outputs from what a caller may pass: a path, a binary stream, an output, or several of these."""
    if outputs is None:
        return []
    if not isinstance(outputs, list | tuple):
        outputs = [outputs]
    return [output if isinstance(output, Output) else Table(output) for output in outputs]
