"""Long videos in parts: cut before the work, joined behind it, frame by frame as if never cut.

The frames are those of a video scored in one piece, but for faces that are found in single frames only, and
for the track number of a face that is not seen in the last `WARM_UP` frames before a cut.
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

from facereject._files import Identities
from facereject.faces.face import Box, Face, FaceFrame, changed
from facereject.faces.images import MAX_PIXELS
from facereject.outputs.summary import Counts
from facereject.parallel import Engine
from facereject.pipeline.store import Store
from facereject.pipeline.task import Chunk, ScoreTask
from facereject.sources._video.decoder import FrameRange
from facereject.sources.frame import VideoError
from facereject.sources.inputs import Input, VideoPart
from facereject.sources.video_parts import PART_FRAMES, WARM_UP, find_parts
from facereject.tracking.tracks import match

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
