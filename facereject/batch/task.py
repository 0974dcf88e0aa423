"""What is done with one input: decode it, find and judge its faces, give the rows of the table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from facereject._files import display_name
from facereject.batch.inputs import Input
from facereject.batch.saving import VideoOutput
from facereject.faces import FaceRejector
from facereject.faces.image_files import MAX_PIXELS, read_image
from facereject.faces.images import ImageError
from facereject.tables.rows import Chunk, Row, frame_accepted, rows_of_frame, unreadable_row
from facereject.video.judged import judged_frames
from facereject.video.reader import VideoError, open_video, prefetch
from facereject.video.tracker import DETECT_EVERY, FaceTracker

#: frames of a video in one chunk
CHUNK_FRAMES = 64


@dataclass(frozen=True)
class ScoreTask:
    """Turns an `Input` into rows, a chunk at a time. It pickles, so any engine can run it anywhere.

    Parameters
    ----------
    rejector : FaceRejector
    max_pixels : int
        Images and videos with larger frames are refused before they are decoded.
    detect_every, every_frame, smooth_s
        For videos; see `FaceTracker`, where the first is called ``every``.
    video : VideoOutput or None
        Videos to be written while the rows are made.
    folder : str
        Relative paths of inputs are taken from here, which matters where the task runs on another machine;
        empty for the current folder.
    """

    rejector: FaceRejector
    max_pixels: int = MAX_PIXELS
    detect_every: int = DETECT_EVERY
    every_frame: bool = False
    smooth_s: float = 0.0
    video: VideoOutput | None = None
    # the rows do not depend on it: they name inputs as these are given
    folder: str = field(default="", compare=False)

    def __call__(self, item: Input) -> Iterator[Chunk]:
        source, path = display_name(item.path), os.path.join(self.folder, item.path)
        if item.kind == "video":
            yield from self._video(path, source)
            return
        try:
            image = read_image(path, max_pixels=self.max_pixels)
        except ImageError as error:
            yield Chunk([_unreadable(source, path, error)])
            return
        yield Chunk(rows_of_frame(source, self.rejector(image)), frames=1)

    def tracker(self) -> FaceTracker:
        """A tracker for one video with the options of this task."""
        return FaceTracker(
            self.rejector, every=self.detect_every, every_frame=self.every_frame, smooth_s=self.smooth_s
        )

    def _video(self, path: str, source: str) -> Iterator[Chunk]:
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
            if self.video is not None:
                saved = stack.enter_context(self.video.open(reader))
            for frame in judged_frames(frames, tracker):
                shown = rows_of_frame(source, frame.faces, frame=frame.index, time_s=frame.time_s)
                if saved is not None and self.video is not None:
                    saved.write(frame, frame_accepted(shown, self.video.frame_rule))
                rows += shown
                n_frames += 1
                if n_frames == CHUNK_FRAMES:
                    failed = reader.undecodable
                    yield Chunk(rows, n_frames, failed - reported)
                    rows, n_frames, reported = [], 0, failed
        # what is missing at the end is known only now, and the saved video is whole
        if rows or reader.undecodable > reported:
            yield Chunk(rows, n_frames, reader.undecodable - reported)


def _unreadable(source: str, path: str, error: ImageError | VideoError) -> Row:
    # the messages of readers begin with the name, which stands in the row already
    return unreadable_row(source, str(error).removeprefix(f"{display_name(path)}: "))
