"""The run: inputs through a task on an engine into the store and the outputs, each input exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple, TypeAlias

from facereject._files import display_name, stamp_of
from facereject._log import logger
from facereject.faces.geometry import FloatArray
from facereject.outputs.base import Media, Output
from facereject.outputs.summary import Counts, Summary
from facereject.parallel import Engine
from facereject.pipeline.parts import JoinedParts, cut_long_videos
from facereject.pipeline.store import Store, StoredInput
from facereject.pipeline.task import NO_SHAPE, Chunk, problem_frame
from facereject.sources.inputs import Input

_LOG = logger(__name__)

#: gets the input, its next chunk and whether that is the last one
OnChunk: TypeAlias = Callable[[Input, Chunk, bool], None]


class RunProgress(NamedTuple):
    """How far a run is.

    Attributes
    ----------
    done : int
        Finished inputs or frames, by ``unit``.
    total : int or None
        How many this run has to do; a video may hold more frames than it says.
    unit : {"inputs", "frames"}
        Frames where a few videos are among the inputs; a photo counts as one.
    faces : int
        Faces found so far.
    accepted : int or None
        How many of them were accepted; None where that is decided at the end.
    failed : int
        Inputs that are unreadable or failed.
    alike : bool
        The inputs, or frames, take about equally long, so that the time left follows from the rate; False
        for photos with many videos among them.

    See Also
    --------
    facereject.score_files : Passes it to ``progress``.

    Examples
    --------
    >>> from facereject.pipeline import RunProgress
    >>> RunProgress(done=3, total=10).faces
    0
    """

    done: int = 0
    total: int | None = None
    unit: str = "inputs"
    faces: int = 0
    accepted: int | None = 0
    failed: int = 0
    alike: bool = True

    def plus(self, item: Input, chunk: Chunk, last: bool) -> RunProgress:
        """The state after one more chunk.

        Parameters
        ----------
        item : Input
            The input it is of.
        chunk : Chunk
            Frames that were scored.
        last : bool
            It is the last one of its input.

        Returns
        -------
        RunProgress
            With all counts.
        """
        # a photo counts as one frame, also if it cannot be read
        by_input = self.unit == "inputs" or item.kind == "image"
        n_frames = sum(frame.index >= 0 for frame in chunk.frames)
        faces = [face for frame in chunk.frames for face in frame.faces]
        return self._replace(
            done=self.done + (last if by_input else n_frames),
            faces=self.faces + len(faces),
            accepted=None if self.accepted is None else self.accepted + sum(face.accepted for face in faces),
            failed=self.failed + (last and any(frame.problem for frame in chunk.frames)),
        )


def score_inputs(
    inputs: Iterable[Input],
    task: Callable[[Input], Iterable[Chunk]],
    engine: Engine,
    *,
    store: Store | None = None,
    outputs: Sequence[Output] = (),
    rule: str = "all",
    mean_shape: FloatArray = NO_SHAPE,
    on_chunk: OnChunk | None = None,
) -> Summary:
    """Score all inputs that are not in the store yet.

    Parameters
    ----------
    inputs : iterable of Input
        Taken as they are needed.
    task : callable
        Usually a `ScoreTask`. What it raises concerns that input only, and the run goes on.
    engine : Engine
    store : Store or None
        None keeps counts alone.
    outputs : sequence of Output
        Those that run in this process; they get frames after these were stored.
    rule : {"all", "any", "largest"}
        When a frame with several faces counts as accepted.
    mean_shape : ndarray of shape (n, 2)
        Of the landmarks, for outputs.
    on_chunk : callable or None
        Called with every chunk after its frames were stored.

    Returns
    -------
    Summary
        That of the store: inputs of earlier runs are counted, too.
    """
    store = Store(None, keep_rows=False) if store is None else store
    stamps: dict[str, str] = {}
    missing = _stamped((item for item in inputs if not store.has(item.path)), stamps)
    begun = store.begun()
    counts, n_frames, joined, given_up = Counts(), 0, None, ""
    fresh = True
    with closing(engine.run(task, cut_long_videos(missing, task, store, engine))) as outcomes:
        for outcome in outcomes:
            item: Input = outcome.item
            part, whole, last = item.part, item._replace(part=None), outcome.last
            if part is not None:
                if item.path == given_up:
                    continue
                if joined is None:
                    joined = _joined(begun, item) if part.number else JoinedParts(part.cuts)
                    counts, n_frames = joined.counts, joined.frames
                last = outcome.last and (part.number + 1 == part.count or bool(outcome.error))
            chunk = _complete(item, outcome.chunk, outcome.error, last and not n_frames)
            if joined is not None:
                chunk = joined.join(chunk)
            n_frames += len(chunk.frames)
            if chunk.frames:
                store.write(chunk.frames)
            counts = counts.plus(Counts.of(chunk.frames, rule)._replace(undecodable=chunk.undecodable))
            if fresh:
                media = Media(item.path, display_name(item.path), item.kind, mean_shape)
                for output in outputs:
                    output.begin(media)
            for frame in chunk.frames:
                for output in outputs:
                    output.write(frame)
            if on_chunk is not None:
                on_chunk(whole, chunk, last)
            if joined is not None and outcome.last and not outcome.error:
                joined.end_part()
            fresh = last
            if last:
                # a video ends with the part that failed, as it would if it were not cut
                given_up = item.path if outcome.error and part is not None else ""
                store.end_input(item.path, counts, stamps.pop(item.path, ""))
                _LOG.debug("%s: %s", display_name(item.path), counts.failure or f"{counts.faces} faces")
                for output in outputs:
                    output.end()
                counts, n_frames, joined = Counts(), 0, None
            elif joined is not None and outcome.last:
                store.end_part(item.path, counts, joined.note)
    return store.summary


def _stamped(items: Iterable[Input], stamps: dict[str, str]) -> Iterator[Input]:
    """The inputs, with the stamps of their files noted before they are read."""
    for item in items:
        stamps[item.path] = stamp_of(item.path)
        yield item


def _joined(begun: StoredInput | None, item: Input) -> JoinedParts:
    """What an earlier run has done of the video."""
    joined = None
    if begun is not None and begun.path == item.path:
        joined = JoinedParts.from_note(begun.part, begun.counts)
    if joined is None:
        raise ValueError(f"{display_name(item.path)}: its first part is missing")
    return joined


def _complete(item: Input, chunk: Chunk | None, error: str, bare: bool) -> Chunk:
    """The chunk with the frame that an input without any, or with an error, still needs."""
    chunk = chunk or Chunk([])
    source = display_name(item.path)
    if error:
        return chunk._replace(frames=[*chunk.frames, problem_frame(source, f"failed: {error}")])
    if bare and not chunk.frames:
        return chunk._replace(frames=[problem_frame(source, "unreadable: no frame could be decoded")])
    return chunk
