"""The one loop: frames in, frames with faces out, for images, videos, cameras, the server and `assess`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TypeAlias

from facereject.faces import FaceRejector
from facereject.faces.face import FaceFrame
from facereject.faces.images import MAX_PIXELS
from facereject.outputs.base import Output
from facereject.sources.frame import Frame
from facereject.sources.prefetch import prefetch
from facereject.sources.video import open_video
from facereject.tracking.tracker import FaceTracker, Tracking

#: finds and scores the faces of a frame; a `FaceTracker` does so for the frames of a video
Scorer: TypeAlias = Callable[[Frame], FaceFrame]


def feed(frames: Iterable[FaceFrame], outputs: Iterable[Output]) -> Iterator[FaceFrame]:
    """Write frames to all outputs and pass them on."""
    outputs = list(outputs)
    for frame in frames:
        for output in outputs:
            output.write(frame)
        yield frame


def scored_video(
    rejector: FaceRejector,
    path: str | os.PathLike[str],
    tracking: Tracking | None = None,
    *,
    max_pixels: int = MAX_PIXELS,
) -> Iterator[FaceFrame]:
    """Score the frames of a video file; decoding runs ahead in a thread.

    Parameters
    ----------
    rejector : FaceRejector
        Finds and scores the faces.
    path : path
        A video or an animation.
    tracking : Tracking or None
        How faces are followed; None is ``Tracking()``.
    max_pixels : int
        Videos with larger frames are refused.

    Yields
    ------
    FaceFrame

    Raises
    ------
    VideoError
        With the first frame: the video cannot be read.

    See Also
    --------
    facereject.score_files : Videos and images to tables and other outputs.

    Examples
    --------
    >>> from facereject import FaceRejector, scored_video
    >>> for frame in scored_video(FaceRejector.pretrained(), "clip.mp4"):  # doctest: +SKIP
    ...     print(frame.time_s, frame.accepted())
    """
    tracker = FaceTracker(rejector, tracking)
    with open_video(path, max_pixels=max_pixels) as reader, closing(prefetch(reader)) as frames:
        yield from map(tracker, frames)
