"""Videos: their frames in order, with their times, for all containers; read ahead in a thread if wanted."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

from facereject._files import display_name, is_special, suffix_of
from facereject.faces.images import MAX_PIXELS, MEDIA_SUFFIXES, is_animation, starts_like_video
from facereject.sources._video.animation import Animation
from facereject.sources._video.decoder import DecodedVideo, FrameRange
from facereject.sources.frame import Frame, VideoError, VideoReader

__all__ = ["Frame", "VideoError", "VideoReader", "open_video", "prefetch"]

T = TypeVar("T")

_END = object()


def open_video(
    path: str | os.PathLike[str],
    *,
    max_pixels: int = MAX_PIXELS,
    segment: FrameRange | None = None,
    check: Callable[[], None] | None = None,
) -> VideoReader:
    """Open a video or an animation; its first frame is decoded at once.

    Parameters
    ----------
    path : path
        A file of one of the `facereject.sources._video.container.FORMATS`, through FFmpeg; GIF, WebP, APNG
        and AVIF animations through Pillow. Playlists and other files that refer to files are refused.
    max_pixels : int
        Videos with larger frames (width times height) are refused before they are decoded.
    segment : FrameRange or None
        Read this segment only, see `facereject.sources.video_parts`; not for animations.
    check : callable or None
        Called before every packet is decoded; what it raises ends the reading. Damaged videos may hold
        millions of packets without a frame. Not for animations.

    Returns
    -------
    VideoReader
        Iterates over frames, once; a context manager.

    Raises
    ------
    VideoError
        The file cannot be opened, or holds no frame that can be decoded.

    See Also
    --------
    facereject.FaceRejector.video : The frames with their faces.

    Examples
    --------
    >>> from facereject.sources import open_video
    >>> with open_video("talk.mp4") as video:  # doctest: +SKIP
    ...     times = [frame.time_s for frame in video]
    """
    path = os.fspath(path)
    name = display_name(path)
    if is_special(path):
        raise VideoError(f"{name}: not a regular file; save the data to a file first")
    try:
        with open(path, "rb") as file:
            if not file.read(1):
                raise VideoError(f"{name}: the file is empty")
    except FileNotFoundError:
        raise VideoError(f"{name}: no such file") from None
    except PermissionError:
        raise VideoError(f"{name}: the file may not be read (permission denied)") from None
    except OSError as error:
        raise VideoError(f"{name}: cannot be read ({(error.strerror or str(error)).lower()})") from None
    if is_animation(path):
        return Animation(path, max_pixels)
    if suffix_of(path) not in MEDIA_SUFFIXES and not starts_like_video(path):
        # FFmpeg would show a text as a video of scrolling letters
        raise VideoError(f"{name}: not a video in a format that can be read")
    return DecodedVideo(path, max_pixels, segment, check)


def prefetch(items: Iterable[T], depth: int = 4) -> Generator[T, None, None]:
    """Give the items of ``items``, which runs in a separate thread.

    Parameters
    ----------
    items : iterable
        Used by the thread only. If it is closed early, its iterator is closed too.
    depth : int
        Largest number of items that wait.

    Yields
    ------
    item
        In order. What ``items`` raises is raised here, after the items before it. The thread starts with
        the first item and has ended when the generator is closed or exhausted.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    return _run_ahead(items, depth)


def _run_ahead(items: Iterable[T], depth: int) -> Generator[T, None, None]:
    with ThreadPoolExecutor(1, "prefetch") as pool:
        iterator = pool.submit(iter, items).result()
        waiting = deque(pool.submit(next, iterator, _END) for _ in range(depth))
        try:
            while (item := waiting.popleft().result()) is not _END:
                waiting.append(pool.submit(next, iterator, _END))
                yield cast(T, item)
                # the consumer is done with it; its memory need not wait for the next one
                del item
        finally:
            for each in waiting:
                each.cancel()
            if hasattr(iterator, "close"):
                pool.submit(iterator.close).result()
