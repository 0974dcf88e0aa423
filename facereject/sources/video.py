"""Videos: their frames in order, with their times, for all containers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from facereject._files import display_name, is_special, suffix_of
from facereject.faces.images import MAX_PIXELS, MEDIA_SUFFIXES, is_animation, starts_like_video
from facereject.sources._video.animation import Animation
from facereject.sources._video.decoder import DecodedVideo, FrameRange
from facereject.sources.frame import Frame, VideoError
from facereject.sources.prefetch import prefetch

__all__ = ["Frame", "VideoError", "VideoReader", "open_video", "prefetch"]


class VideoReader:
    """A video, read once from start to end: a context manager and an iterable of `Frame`.

    Attributes
    ----------
    path : str
    fps : float
        Frames per second as the container gives them, not rounded; 0 if it does not tell. For animations,
        whose frames have separate durations, that of the first frame.
    size : tuple of int
        Width and height in pixels of the first frame, turned upright as the video asks for. Where the
        resolution changes, later frames have other sizes.
    rate : Fraction
        The same as ``fps`` as an exact fraction: 30000/1001, not 29.97.
    start_s : float
        What the clock of the file shows at ``time_s`` 0, for its sound; 0 for animations.
    begin_s : float
        With a segment, the time of the first frame that belongs to it; earlier ones are only a run-up.
    frame_count_hint : int or None
        The number of frames that the container announces; often an estimate from length and rate.
    undecodable : int
        Frames so far that could not be decoded; when the iteration ends, together with those that gave
        nothing without an error, and those that are announced but missing, as in a truncated file.
    """

    def __init__(self, path: str, video: DecodedVideo | Animation):
        self.path = path
        self.fps = video.fps
        self.rate = video.rate
        self.size = video.size
        self.start_s = video.start_s
        self.begin_s = video.begin_s
        self.frame_count_hint = video.frame_count_hint
        self._video = video
        self._frames = self._read()

    @property
    def undecodable(self) -> int:
        return self._video.failed

    def __iter__(self) -> Iterator[Frame]:
        return self._frames

    def _read(self) -> Iterator[Frame]:
        for index, (time_s, image) in enumerate(self._video.frames()):
            yield Frame(index, time_s, image)

    def close(self) -> None:
        """Free the file; nothing can be read afterwards."""
        self._video.close()

    def __enter__(self) -> VideoReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


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
        return VideoReader(path, Animation(path, name, max_pixels))
    if suffix_of(path) not in MEDIA_SUFFIXES and not starts_like_video(path):
        # FFmpeg would show a text as a video of scrolling letters
        raise VideoError(f"{name}: not a video in a format that can be read")
    return VideoReader(path, DecodedVideo(path, max_pixels, segment, check))
