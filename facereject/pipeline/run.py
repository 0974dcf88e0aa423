"""The run: inputs through a task on an engine into a sink, each input exactly once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import NamedTuple, TypeAlias

from facereject._files import display_name
from facereject.outputs.summary import Summary, Tally, tally
from facereject.parallel import Engine
from facereject.pipeline._store.journal import Entry
from facereject.pipeline._store.sinks import Sink
from facereject.pipeline.parts import JoinedParts, cut_long_videos
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input
from facereject.tables.rows import Chunk, Row, failed_row, unreadable_row

#: gets the input, its next chunk and whether that is the last one
Observer: TypeAlias = Callable[[Input, Chunk, bool], None]


class RunProgress(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    done : int
        Inputs that are finished, or frames, by ``unit``.
    total : int or None
        How many this run has to do; a video may hold more frames than it says.
    unit : {"inputs", "frames"}
        Frames where a few videos are among the inputs; a photograph counts as one.
    faces : int
        Faces found so far.
    accepted : int or None
        How many of them were accepted; None where that is decided at the end.
    failed : int
        Inputs that are unreadable or failed.
    alike : bool
        The inputs, or frames, take about equally long, so that the time left can be told from the rate;
        False for photographs with many videos among them.
    """

    done: int = 0
    total: int | None = None
    unit: str = "inputs"
    faces: int = 0
    accepted: int | None = 0
    failed: int = 0
    alike: bool = True

    def plus(self, item: Input, chunk: Chunk, last: bool) -> RunProgress:
        """After one more chunk of an input, which may be its last one."""
        rows = chunk.rows
        # a photograph counts as one frame, also if it cannot be read
        by_input = self.unit == "inputs" or item.kind == "image"
        failed = last and bool(rows) and rows[-1].reason.startswith(("unreadable", "failed"))
        return self._replace(
            done=self.done + (last if by_input else chunk.frames),
            faces=self.faces + sum(row.box is not None for row in rows),
            accepted=None if self.accepted is None else self.accepted + sum(row.accepted for row in rows),
            failed=self.failed + failed,
        )


def score_inputs(
    inputs: Iterable[Input],
    task: Callable[[Input], Iterable[Chunk]],
    sink: Sink,
    engine: Engine,
    *,
    observers: Sequence[Observer] = (),
    rule: str = "all",
) -> Summary:
    """Write the rows of all inputs that are not in the sink yet.

    Parameters
    ----------
    inputs : iterable of Input
        Taken as they are needed.
    task : callable
        Usually a `ScoreTask`. What it raises becomes a row of that input, and the run goes on.
    sink : Sink
    engine : Engine
    observers : sequence of callables
        Called with every chunk after its rows have been written.
    rule : {"all", "any", "largest"}
        When a frame with several faces counts as accepted.

    Returns
    -------
    Summary
        That of the sink: inputs of earlier runs are counted, too.
    """
    missing = (item for item in inputs if not sink.has(item.path))
    begun = sink.begun()
    counts, n_rows, joined, given_up = Tally(), 0, None, ""
    with closing(engine.run(task, cut_long_videos(missing, task, sink, engine))) as outcomes:
        for outcome in outcomes:
            item: Input = outcome.item
            part, whole, last = item.part, item._replace(part=None), outcome.last
            if part is not None:
                if item.path == given_up:
                    continue
                if joined is None:
                    joined = _joined(begun, item) if part.number else JoinedParts(part.cuts)
                    counts, n_rows = joined.counts, joined.frames
                last = outcome.last and (part.number + 1 == part.count or bool(outcome.error))
            chunk = _complete(item, outcome.chunk, outcome.error, last and not n_rows)
            if joined is not None:
                chunk = joined.join(chunk)
            n_rows += len(chunk.rows)
            if chunk.rows:
                sink.write(chunk.rows)
            counts = counts.plus(tally(chunk, rule))
            for observe in observers:
                observe(whole, chunk, last)
            if joined is not None and outcome.last and not outcome.error:
                joined.end_part()
            if last:
                # a video ends with the part that failed, as it would if it were not cut
                given_up = item.path if outcome.error and part is not None else ""
                sink.end_input(item.path, counts)
                counts, n_rows, joined = Tally(), 0, None
            elif joined is not None and outcome.last:
                sink.end_part(item.path, counts, joined.note)
    return sink.summary


def row_check(task: ScoreTask, *, decisions: bool = True) -> Callable[[Row], bool]:
    """A test whether the model and target of a task would give a row the same expected error and decision.

    Without ``decisions`` the target does not matter.
    """
    rejector = task.rejector

    def fits(row: Row) -> bool:
        if row.uncertainty is None:
            return True
        if decisions and row.reason != "turned" and row.accepted != rejector.decide(row.uncertainty):
            return False
        if rejector.relative:
            return row.expected_error is None
        expected = float(rejector.calibration.expected_error(row.uncertainty))
        return math.isclose(row.expected_error or 0.0, expected, rel_tol=1e-6)

    return fits


def _joined(begun: Entry | None, item: Input) -> JoinedParts:
    """What an earlier run has done of the video."""
    joined = None
    if begun is not None and begun.path == item.path:
        joined = JoinedParts.from_note(begun.part, begun.counts)
    if joined is None:
        raise ValueError(f"{display_name(item.path)}: its first part is missing")
    return joined


def _complete(item: Input, chunk: Chunk | None, error: str, bare: bool) -> Chunk:
    """The chunk with the row that an input without any, or with an error, still needs."""
    chunk = chunk or Chunk([])
    source = display_name(item.path)
    if error:
        return chunk._replace(rows=[*chunk.rows, failed_row(source, error)])
    if bare and not chunk.rows:
        return chunk._replace(rows=[unreadable_row(source, "no frame could be decoded")])
    return chunk
