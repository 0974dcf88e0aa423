"""What is done with one input: decode it, find and judge its faces, give the rows of the table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import NamedTuple

from ..faces import FaceRejector
from ..faces.images import ImageError
from .film_output import FilmOutput
from .images import MAX_PIXELS, read_image
from .inputs import Input
from .table import Row, display_name, frame_accepted, rows_of_frame, unreadable_row
from .tracking import DETECT_EVERY, FaceTracker
from .video import VideoError, open_video, prefetch

#: frames of a film in one chunk
CHUNK_FRAMES = 64


class Chunk(NamedTuple):
    """Some rows of one input, in order.

    Attributes
    ----------
    rows : list of Row
    frames : int
        Decoded frames these rows cover; 0 for the row of an unreadable input.
    undecodable : int
        Frames that could not be decoded and have no row.
    """

    rows: list[Row]
    frames: int = 0
    undecodable: int = 0


@dataclass(frozen=True)
class ScoreTask:
    """Turns an `Input` into rows, a chunk at a time. It pickles, so any engine can run it anywhere.

    Parameters
    ----------
    rejector : FaceRejector
    max_pixels : int
        Images and films with larger frames are refused before they are decoded.
    detect_every, every_frame, smooth_s
        For films; see `FaceTracker`, where the first is called ``every``.
    film : FilmOutput or None
        Films to be written while the rows are made.
    folder : str
        Relative paths of inputs are taken from here, which matters where the task runs on another machine;
        empty for the current folder.
    """

    rejector: FaceRejector
    max_pixels: int = MAX_PIXELS
    detect_every: int = DETECT_EVERY
    every_frame: bool = False
    smooth_s: float = 0.0
    film: FilmOutput | None = None
    # the rows do not depend on it: they name inputs as these are given
    folder: str = field(default="", compare=False)

    def __call__(self, item: Input) -> Iterator[Chunk]:
        source, path = display_name(item.path), os.path.join(self.folder, item.path)
        if item.kind == "video":
            yield from self._film(path, source)
            return
        try:
            image = read_image(path, max_pixels=self.max_pixels)
        except ImageError as error:
            yield Chunk([_unreadable(source, path, error)])
            return
        yield Chunk(rows_of_frame(source, self.rejector(image)), frames=1)

    def tracker(self) -> FaceTracker:
        """A tracker for one film with the options of this task."""
        return FaceTracker(
            self.rejector, every=self.detect_every, every_frame=self.every_frame, smooth_s=self.smooth_s
        )

    def _film(self, path: str, source: str) -> Iterator[Chunk]:
        try:
            reader = open_video(path, max_pixels=self.max_pixels)
        except VideoError as error:
            yield Chunk([_unreadable(source, path, error)])
            return
        tracker, rows, n_frames, reported = self.tracker(), [], 0, 0
        with ExitStack() as stack:
            stack.enter_context(reader)
            # decoding goes on in a thread while faces are looked at here, encoding in another one
            frames = stack.enter_context(closing(prefetch(reader)))
            saved = None
            if self.film is not None:
                saved = stack.enter_context(self.film.open(path, reader.fps, reader.size))
            for frame in frames:
                faces = tracker.update(frame.image, frame.time_s)
                shown = rows_of_frame(
                    source,
                    [tracked.face for tracked in faces],
                    frame=frame.index,
                    time_s=frame.time_s,
                    tracks=[tracked.track for tracked in faces],
                )
                if saved is not None:
                    saved.write(frame, faces, frame_accepted(shown, saved.frame_rule))
                rows += shown
                n_frames += 1
                if n_frames == CHUNK_FRAMES:
                    failed = reader.undecodable
                    yield Chunk(rows, n_frames, failed - reported)
                    rows, n_frames, reported = [], 0, failed
        # what is missing at the end is known only now, and the saved film is whole
        if rows or reader.undecodable > reported:
            yield Chunk(rows, n_frames, reader.undecodable - reported)


def _unreadable(source: str, path: str, error: ImageError | VideoError) -> Row:
    # the messages of readers begin with the name, which stands in the row already
    return unreadable_row(source, str(error).removeprefix(f"{display_name(path)}: "))
