"""The run: inputs through a task on an engine into the store and the outputs, each input exactly once.

Long videos are cut into parts before the work and joined behind it, frame by frame as if never cut. The
frames are those of a video scored in one piece, but for faces that are found in single frames only, and for
the track number of a face that is not seen in the last `WARM_UP` frames before a cut.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from facereject._files import Identities, display_name, stamp_of
from facereject._log import logger
from facereject.faces.face import Box, Face, FaceFrame, changed
from facereject.faces.geometry import FloatArray
from facereject.faces.images import MAX_PIXELS
from facereject.outputs.base import Media, Output
from facereject.outputs.summary import Counts, Summary
from facereject.parallel import Engine, RunProgress
from facereject.pipeline.store import Store, StoredInput
from facereject.pipeline.task import NO_SHAPE, Chunk, ScoreTask, problem_frame
from facereject.sources._video.decoder import FrameRange
from facereject.sources.frame import VideoError
from facereject.sources.inputs import Input, VideoPart
from facereject.sources.video_parts import PART_FRAMES, WARM_UP, find_parts
from facereject.tracking.tracks import match

_LOG = logger(__name__)

#: gets the input, its next chunk and whether that is the last one
OnChunk: TypeAlias = Callable[[Input, Chunk, bool], None]


class ProgressCounter:
    """Adds up what a run has done, and tells it after every chunk.

    Parameters
    ----------
    state : RunProgress
        At the beginning.
    tell : callable
    """

    def __init__(self, state: RunProgress, tell: Callable[[RunProgress], None]) -> None:
        self._state, self._tell = state, tell
        tell(state)

    def __call__(self, item: Input, chunk: Chunk, last: bool) -> None:
        """Count a chunk of an input, the last one or not."""
        state = self._state
        # a photo counts as one frame, also if it cannot be read
        by_input = state.unit == "inputs" or item.kind == "image"
        n_frames = sum(frame.index >= 0 for frame in chunk.frames)
        faces = [face for frame in chunk.frames for face in frame.faces]
        self._state = state._replace(
            done=state.done + (last if by_input else n_frames),
            faces=state.faces + len(faces),
            accepted=None
            if state.accepted is None
            else state.accepted + sum(face.accepted for face in faces),
            failed=state.failed + (last and any(frame.problem for frame in chunk.frames)),
        )
        self._tell(self._state)


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


# a file with fewer bytes per frame is no video of faces; so short videos are known without opening them
_LEAST_BYTES = 250

# inputs that are looked at together, so that workers are started once for many videos
_BATCH = 64


@dataclass(frozen=True)
class PartFinder:
    """The task that finds where to cut a video; it runs where the video is scored, not in the parent."""

    folder: str = ""
    part_frames: int = PART_FRAMES
    warm_up: int = WARM_UP
    max_pixels: int = MAX_PIXELS

    def __call__(self, item: Input) -> Iterator[list[FrameRange]]:
        try:
            yield find_parts(
                os.path.join(self.folder, item.path),
                part_frames=self.part_frames,
                warm_up=self.warm_up,
                max_pixels=self.max_pixels,
            )
        except (VideoError, OSError):
            # what is wrong is said when the video is scored
            yield []


def cut_long_videos(
    inputs: Iterable[Input],
    task: Callable[[Input], Iterable[Chunk]],
    store: Store,
    engine: Engine,
) -> Iterator[Input]:
    """The inputs with long videos in parts; a video that an earlier run has begun goes first.

    Parameters
    ----------
    inputs : iterable of Input
    task : callable
        Only a `ScoreTask` without outputs works on parts.
    store : Store
        Knows the video that was begun. If that cannot be cut as it was, its frames are taken back.
    engine : Engine
        Looks for the places to cut.
    """
    begun = store.begun()
    if not isinstance(task, ScoreTask) or task.outputs or task.part_frames < 1:
        if begun is not None:
            store.forget_begun()
        yield from inputs
        return
    # the whole frame is searched at least once before a part begins
    warm_up = max(WARM_UP, task.tracking.detect_every)
    finder = PartFinder(task.folder, task.part_frames, warm_up, task.max_pixels)
    first, identity = None, Identities()
    if begun is not None:
        item = Input(begun.path, "video")
        parts = _parts_of([item], finder, engine).get(item.path, [])
        joined = JoinedParts.from_note(begun.part)
        if joined is not None and joined.cuts == fingerprint(parts):
            first = identity(item.path)
            yield from _in_parts(item, parts, joined.done)
        else:
            store.forget_begun()
    rest = (item for item in inputs if first is None or identity(item.path) != first)
    while batch := list(islice(rest, _BATCH)):
        long = [item for item in batch if item.kind == "video" and _is_large(item, finder)]
        found = _parts_of(long, finder, engine) if long else {}
        for item in batch:
            parts = found.get(item.path, [])
            if parts:
                yield from _in_parts(item, parts)
            else:
                yield item


def _in_parts(item: Input, parts: Sequence[FrameRange], done: int = 0) -> Iterator[Input]:
    for number, segment in enumerate(parts):
        if number >= done:
            yield item._replace(part=VideoPart(number, len(parts), segment, fingerprint(parts)))


def _is_large(item: Input, finder: PartFinder) -> bool:
    try:
        size = os.path.getsize(os.path.join(finder.folder, item.path))
    except (OSError, ValueError):
        return False
    return size >= 2 * finder.part_frames * _LEAST_BYTES


def _parts_of(items: Sequence[Input], finder: PartFinder, engine: Engine) -> dict[str, list[FrameRange]]:
    found: dict[str, list[FrameRange]] = {}
    with closing(engine.run(finder, items)) as outcomes:
        for outcome in outcomes:
            if outcome.chunk:
                found[outcome.item.path] = outcome.chunk
    return found


def fingerprint(parts: Sequence[FrameRange]) -> str:
    """Tells whether a video is cut as it was before."""
    return hashlib.sha256(repr([tuple(part) for part in parts]).encode()).hexdigest()[:16]


@dataclass
class JoinedParts:
    """Joins the frames of the parts of one video, in order.

    Attributes
    ----------
    cuts : str
        The `fingerprint` of the parts.
    done, frames, tracks : int
        Finished parts, frames in them, and track numbers given so far.
    counts : Counts
        Of the finished parts, and of the current one so far.
    """

    cuts: str
    done: int = 0
    frames: int = 0
    tracks: int = 0
    counts: Counts = dataclasses.field(default_factory=Counts)
    #: time, track and box of the faces in the last frames
    _tail: list[tuple[float, int, Box]] = dataclasses.field(default_factory=list)
    _times: list[float] = dataclasses.field(default_factory=list)
    _known: dict[int, int] = dataclasses.field(default_factory=dict)
    _new_frames: int = 0

    def join(self, chunk: Chunk) -> Chunk:
        """The next chunk of the current part with the numbers of the whole video, without its run-up."""
        run_up = [frame for frame in chunk.frames if frame.index < 0 and not frame.problem]
        if run_up:
            self._recognise(run_up)
        own = [frame for frame in chunk.frames if frame.index >= 0 or frame.problem]
        return chunk._replace(frames=[frame if frame.problem else self._renumbered(frame) for frame in own])

    def end_part(self) -> None:
        """The current part is complete."""
        self.done += 1
        self.frames += self._new_frames
        self._new_frames, self._known = 0, {}

    @property
    def note(self) -> str:
        """What is needed to go on behind the last finished part."""
        tail = [[time_s, track, *box] for time_s, track, box in self._tail]
        return json.dumps([self.cuts, self.done, self.frames, self.tracks, tail])

    @classmethod
    def from_note(cls, note: str, counts: Counts | None = None) -> JoinedParts | None:
        """Go on where a run has ended; None if the note is not understood."""
        try:
            cuts, done, frames, tracks, tail = json.loads(note)
            places = [(float(time_s), int(track), Box(*map(float, box))) for time_s, track, *box in tail]
            return cls(str(cuts), int(done), int(frames), int(tracks), counts or Counts(), places)
        except (ValueError, TypeError):
            return None

    def _renumbered(self, frame: FaceFrame) -> FaceFrame:
        self._new_frames = max(self._new_frames, frame.index + 1)
        faces = [changed(face, track=self._track(face)) for face in frame.faces]
        # the oldest track comes first, as always
        faces.sort(key=lambda face: -1 if face.track is None else face.track)
        self._times = [*self._times[1 - WARM_UP :], frame.time_s]
        seen = [(frame.time_s, face.track, face.box) for face in faces if face.track is not None]
        self._tail = [place for place in self._tail if place[0] >= self._times[0]] + seen
        return frame._replace(index=self.frames + frame.index, faces=faces)

    def _track(self, face: Face) -> int | None:
        if face.track is None:
            return None
        if face.track not in self._known:
            self._known[face.track] = self.tracks
            self.tracks += 1
        return self._known[face.track]

    def _recognise(self, run_up: Sequence[FaceFrame]) -> None:
        """Give the tracks of the run-up the numbers of the faces that the part before saw at their place."""
        # the frames next to the cut tell most
        for frame in reversed(run_up):
            new = [face for face in frame.faces if face.track is not None and face.track not in self._known]
            taken = set(self._known.values())
            old = [
                (track, box)
                for time_s, track, box in self._tail
                if time_s == frame.time_s and track not in taken
            ]
            for i, j in match([box for _, box in old], [face.box for face in new]).items():
                track = new[j].track
                assert track is not None
                self._known[track] = old[i][0]
