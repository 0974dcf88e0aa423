"""The frame loop: frames in, the same frames with their judged faces out, for files and cameras alike."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing

from facereject.faces import FaceRejector
from facereject.faces.face import FaceFrame, changed
from facereject.faces.images.files import MAX_PIXELS
from facereject.sources.frame import Frame
from facereject.sources.prefetch import prefetch
from facereject.sources.video import open_video
from facereject.tracking.tracker import DETECT_EVERY, FaceTracker


def judge_frame(frame: Frame, tracker: FaceTracker) -> FaceFrame:
    """The next frame of the tracker's video with its faces."""
    tracked = tracker.update(frame.image, frame.time_s)
    faces = [changed(each.face, track=each.track) for each in tracked]
    return FaceFrame(frame.index, frame.time_s, frame.image, faces, frame.source)


def judged_frames(frames: Iterable[Frame], tracker: FaceTracker) -> Iterator[FaceFrame]:
    """All frames of a video with their faces, in order."""
    return (judge_frame(frame, tracker) for frame in frames)


def judged_video(
    rejector: FaceRejector,
    path: str | os.PathLike[str],
    *,
    every: int = DETECT_EVERY,
    every_frame: bool = False,
    smooth_s: float = 0.0,
    smooth_landmarks: bool = False,
    max_pixels: int = MAX_PIXELS,
) -> Iterator[FaceFrame]:
    """The frames of a video file with their faces, decoded ahead while faces are looked at.

    Parameters
    ----------
    rejector : FaceRejector
    path : path
        A video or an animation.
    every, every_frame, smooth_s, smooth_landmarks
        As in `FaceTracker`.
    max_pixels : int
        Videos with larger frames are refused.

    Yields
    ------
    FaceFrame

    Raises
    ------
    VideoError
        With the first frame: the video cannot be read.
    """
    tracker = FaceTracker(
        rejector,
        every=every,
        every_frame=every_frame,
        smooth_s=smooth_s,
        smooth_landmarks=smooth_landmarks,
    )
    with open_video(path, max_pixels=max_pixels) as reader, closing(prefetch(reader)) as frames:
        yield from judged_frames(frames, tracker)
