"""Deciding anew about the faces of a table: another target, other outputs, no pixels."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from typing import Any, NamedTuple

from facereject._files import InputError, display_name, stamp_of
from facereject._options import OptionError
from facereject.faces import FaceRejector
from facereject.faces.face import FaceFrame
from facereject.outputs.base import Output
from facereject.outputs.summary import Summary
from facereject.parallel import RunProgress
from facereject.pipeline.job import Job, face_check
from facereject.pipeline.plan import Plan
from facereject.pipeline.store import Store, recorded_stamps
from facereject.pipeline.task import CHUNK_FRAMES, Chunk, ScoreTask, problem_frame
from facereject.tables.errors import SettingsError, TableFormatError
from facereject.tables.reading import is_own_table, read_table

# frames that tell which model made a table
_LOOKED_AT = 1000


def is_table(path: str) -> bool:
    """Whether a file is a table that facereject created."""
    try:
        return os.path.isfile(path) and is_own_table(path)
    except OSError:
        return False


class TableJob(Job):
    """As `Job`, for the faces of a table that was written before: they are not found or scored again.

    The table must have been made with this model; decisions follow the target of the rejector. A file
    that has changed since it was scored, as far as the record of the table tells, counts as failed.

    Parameters
    ----------
    table : str
    outputs : iterable of Output
        Those that need pixels cannot be used.
    **options
        As in `Job`, without ``running.resume``.
    """

    finds_faces = False

    def __init__(self, table: str, outputs: Iterable[Output] = (), **options: Any) -> None:
        self._source = table
        super().__init__([table], outputs, **options)
        if self.running.resume:
            raise OptionError("`resume` does not go with a table as input: its faces have been scored")
        if self._placed("worker"):
            raise OptionError(
                "saved videos, crops and annotated images need the pixels: name the images, not their table"
            )

    def run(
        self, rejector: FaceRejector, *, progress: Callable[[RunProgress], None] | None = None
    ) -> Summary:
        """Decide; SettingsError if the table was made with another model."""
        fits = face_check(rejector, decisions=False)
        for frame in islice(read_table(self._source), _LOOKED_AT):
            if not all(map(fits, frame.faces)):
                raise SettingsError(
                    f"{display_name(self._source)}: was made with another model (see {frame.source}); choose "
                    "that one with `model`, or score the images again"
                )
        summary = super().run(rejector, progress=progress)
        if summary.not_compared:
            reason = "that takes their images, not a table"
            summary.not_compared = f"The faces were not compared with the calibration faces: {reason}."
        return summary

    def _check_inputs(self) -> None:
        folders: set[str] = set()
        sources: set[str] = set()
        try:
            for source, frames in groupby(read_table(self._source), key=lambda frame: frame.source):
                numbers = [frame.index for frame in frames if frame.index >= 0]
                if source in sources or not all(a < b for a, b in pairwise(numbers)):
                    raise TableFormatError(
                        f"{display_name(self._source)}: has rows of {source} in two places, or twice; remove "
                        "copies, and sort it by source, frame and face"
                    )
                sources.add(source)
                folders.add(os.path.dirname(os.path.abspath(source)))
        except (TableFormatError, OSError) as error:
            raise InputError(str(error)) from None
        self._folders = folders or {os.getcwd()}

    def _base(self) -> str:
        try:
            return os.path.commonpath(self._folders)
        except ValueError:
            # several drives
            return os.getcwd()

    def _task(self, rejector: FaceRejector, outputs: tuple[Output, ...]) -> ScoreTask:
        return DecideTask(rejector, part_frames=0)

    def _plan(self, store: Store, *, with_frames: bool) -> Plan:
        groups = groupby(read_table(self._source), key=lambda frame: frame.source)
        stamps = recorded_stamps(self._source)
        inputs: Any = (_TableInput(source, frames, stamps.get(source, "")) for source, frames in groups)
        return Plan(inputs, None, None)


class _TableInput(NamedTuple):
    """The frames of one input of a table, to be taken once."""

    path: str
    frames: Iterator[FaceFrame]
    stamp: str
    kind: str = "image"
    part: None = None


@dataclass(frozen=True)
class DecideTask(ScoreTask):
    """Decides about the faces of a table."""

    def __call__(self, item: Any) -> Iterator[Chunk]:
        if item.stamp and stamp_of(item.path) not in ("", item.stamp):
            problem = "failed: the file has changed since it was scored; score it again"
            yield Chunk([problem_frame(display_name(item.path), problem)])
            return
        frames = map(self._decided, item.frames)
        while batch := list(islice(frames, CHUNK_FRAMES)):
            yield Chunk(batch)

    def _decided(self, frame: FaceFrame) -> FaceFrame:
        # a face without landmarks or uncertainty stays rejected for that reason
        faces = [
            self.rejector.rescore(face, face.uncertainty) if math.isfinite(face.uncertainty) else face
            for face in frame.faces
        ]
        return frame._replace(faces=faces)
