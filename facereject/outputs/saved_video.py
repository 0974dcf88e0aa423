"""Videos made from videos: the accepted frames only, or all frames with their faces drawn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field
from fractions import Fraction
from itertools import islice

from facereject._files import display_name
from facereject._options import OptionError, option
from facereject.faces.face import FaceFrame
from facereject.faces.images import ImageArray
from facereject.outputs._drawing.faces import draw_frame
from facereject.outputs._folders import check_folder, name_below
from facereject.outputs._video.encoding import exact_time
from facereject.outputs._video.segments import SegmentFilter, check_seconds
from facereject.outputs._video.writer import CODECS, VideoWriteError, VideoWriter, check_video_path
from facereject.outputs.base import Media, Output, RunInfo
from facereject.sources.video import VideoReader, open_video

# bytes of frames that wait for a decision; beyond that, the video is decoded a second time
_HELD_BYTES = 1 << 28


@dataclass
class _Waiting:
    """A frame that is not decided on; without its image if that takes too much memory."""

    time_s: float
    image: ImageArray | None


@dataclass
class SavedVideo(Output):
    """Write the accepted frames of videos, or all frames with their faces drawn.

    Nothing is left of a video that could not be written as a whole, and no video is made if no frame is
    kept.

    Parameters
    ----------
    path : path
        A video (.mp4, .mov, .mkv, .webm or .avi); for several inputs a folder, below which videos keep their
        subfolders and names. ``.mp4`` is added to names of containers that cannot be written.
    annotate : bool, default=False
        Save every frame, with landmarks, score and decision drawn.
    audio : bool, default=True
        Keep the sound of the saved frames.
    bridge, min_span : float, default=0.0
        Keep rejected segments between accepted ones that are shorter than ``bridge`` seconds, then drop
        accepted segments shorter than ``min_span`` seconds. Frames wait in memory until they are decided on;
        if that takes more than 256 MB, the video is decoded a second time.

    See Also
    --------
    Timeline : The same segments as a list.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import SavedVideo
    >>> score_files("clip.mp4", SavedVideo("good.mp4", bridge=0.5))  # doctest: +SKIP
    """

    place = "worker"
    panel = "Videos"

    path: str = option(
        MISSING,
        "--save",
        metavar="VIDEO|DIR",
        help="Write the accepted frames, with their sound, as a video (.mp4, .mov, .mkv, .webm or .avi); for "
        "several videos, a folder.",
    )
    annotate: bool = option(
        False, help="With --save: the whole video, with landmarks, score and decision drawn."
    )
    audio: bool = option(True, "--no-audio", help="With --save: without sound.")
    bridge: float = option(
        0.0,
        metavar="SECONDS",
        help="With --save or --timeline: keep rejected segments shorter than this between accepted ones.",
    )
    min_span: float = option(
        0.0, metavar="SECONDS", help="With --save or --timeline: drop accepted segments shorter than this."
    )

    _base: str | None = field(default=None, init=False, repr=False)
    _run: tuple[str, str, bool] = field(default=("", "all", False), init=False, repr=False)
    _saving: _Saving | None = field(default=None, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check the name of the video or folder."""
        self.path = os.fspath(self.path)
        check_seconds(self, "bridge", "min_span")
        suffix = os.path.splitext(self.path)[1]
        single = suffix.lower() in CODECS and not os.path.isdir(self.path)
        name = f"`SavedVideo.path` {display_name(self.path)}"
        # any other suffix is a mistake rather than the name of a folder
        if not single and not os.path.isdir(self.path) and 2 <= len(suffix) <= 5:
            raise OptionError(f"{name}: videos are written as {', '.join(CODECS)}; or name a folder")
        self._base = None if single else run.base
        self._run = (run.folder, run.frame_rule, run.overwrite)
        if not single:
            check_folder("SavedVideo.path", self.path, run.paths)
            return
        try:
            check_video_path(self.path, overwrite=run.overwrite)
        except VideoWriteError as error:
            raise OptionError(f"`SavedVideo.path` {error}") from None

    def planned(self, videos: int) -> None:
        """Check that a single video is made from a single video."""
        if self._base is None and videos != 1:
            found = (
                "there are several videos to read; name a folder" if videos else "there is no video to read"
            )
            raise OptionError(f"`SavedVideo.path` {display_name(self.path)}: {found}")

    def files(self) -> list[str]:
        """The video, if it is one."""
        return [self.path] if self._base is None else []

    def target_of(self, path: str) -> str:
        """The video that is made from the video at ``path``."""
        if self._base is None:
            return self.path
        inside = name_below(path, self._base)
        return os.path.join(
            self.path, inside if os.path.splitext(inside)[1].lower() in CODECS else f"{inside}.mp4"
        )

    def begin(self, media: Media) -> None:
        """Start the video that is made from a video; images are left out."""
        self._saving = None
        if media.video is None:
            return
        folder, _, overwrite = self._run
        target = os.path.join(folder, self.target_of(media.path))
        name = display_name(target)
        if os.path.exists(target) and os.path.samefile(target, media.path):
            raise VideoWriteError(f"{name}: this is the video that is read; save it under another name")
        try:
            if self._base is not None:
                os.makedirs(os.path.dirname(target), exist_ok=True)
        except OSError as error:
            raise VideoWriteError(f"{name}: cannot be written ({error.strerror})") from None
        writer = VideoWriter(target, media.video.rate, media.video.size, overwrite=overwrite)
        self._saving = _Saving(self, writer, media.video)

    def write(self, frame: FaceFrame) -> None:
        """Take the next frame of the video that is read."""
        if self._saving is not None:
            self._saving.write(frame, frame.accepted(self._run[1]))

    def end(self, *, failed: bool = False) -> None:
        """Finish the video, or remove it."""
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.end(failed)

    def report(self) -> list[str]:
        """Where the videos are."""
        if self._base is not None:
            return [f"Videos: {self.path}"]
        return [f"Video: {self.path}"] if os.path.exists(self.path) else [f"Video: none, {self._nothing()}"]

    def _nothing(self) -> str:
        if self.annotate or not self.min_span:
            return "this run saved no accepted frame"
        return f"no accepted segment lasts {self.min_span:g} s"


class _Saving:
    """One video being written."""

    def __init__(self, output: SavedVideo, writer: VideoWriter, reader: VideoReader) -> None:
        self._output, self._writer, self._reader = output, writer, reader
        self._segments: SegmentFilter[_Waiting] = SegmentFilter(output.bridge, output.min_span)
        self._end_s = 0.0
        self._pixels = 0
        # frames that are decided on with their image, and the decisions on those that follow without
        self._n_decided = 0
        self._later: list[bool] = []
        self._holding = True
        self._kept: Fraction | None = None
        self._length = Fraction(0)
        self._cuts: list[tuple[Fraction, Fraction]] = []

    def write(self, frame: FaceFrame, accepted: bool) -> None:
        if self._output.annotate:
            self._writer.write(draw_decision(frame, accepted), frame.time_s)
            return
        self._end_s = frame.time_s + 1 / float(self._writer.rate)
        self._pixels = max(self._pixels, frame.image.shape[0] * frame.image.shape[1])
        waiting = _Waiting(frame.time_s, frame.image if self._holding else None)
        self._take(self._segments.push(waiting, frame.time_s, accepted))
        if self._holding and frame.image.nbytes * self._segments.n_held > _HELD_BYTES:
            self._holding = False
            for each in self._segments.held():
                each.image = None

    def end(self, failed: bool) -> None:
        try:
            if not failed:
                self._finish()
        except BaseException:
            failed = True
            raise
        finally:
            if failed:
                self._writer.discard()
        if not failed:
            self._writer.close()

    def _finish(self) -> None:
        self._take(self._segments.finish(self._end_s))
        if any(self._later):
            with open_video(self._reader.path, max_pixels=self._pixels) as frames:
                rest = islice(frames, self._n_decided, None)
                for frame, kept in zip(rest, self._later, strict=False):
                    self._keep(frame.image, frame.time_s, kept)
        if self._kept is not None:
            self._end_kept(self._kept + 1 / self._writer.rate)
        if self._output.audio:
            cuts = [(float(start), float(end)) for start, end in self._cuts]
            self._writer.keep_sound(
                self._reader.path, self._reader.start_s, None if self._output.annotate else cuts
            )

    def _take(self, decided: Sequence[tuple[_Waiting, bool]]) -> None:
        for frame, kept in decided:
            if frame.image is None:
                self._later.append(kept)
            else:
                self._n_decided += 1
                self._keep(frame.image, frame.time_s, kept)

    def _keep(self, image: ImageArray, time: float, kept: bool) -> None:
        time_s = exact_time(time, self._writer.rate)
        self._end_kept(time_s)
        if kept:
            self._writer.write(image, float(self._length))
            self._kept = time_s

    def _end_kept(self, time_s: Fraction) -> None:
        """A kept frame lasts until the next frame of its video, kept or not."""
        if self._kept is None:
            return
        start, self._kept = self._kept, None
        self._length += time_s - start
        if self._cuts and self._cuts[-1][1] == start:
            start = self._cuts.pop()[0]
        self._cuts.append((start, time_s))


def draw_decision(frame: FaceFrame, accepted: bool) -> ImageArray:
    """Draw the faces of a frame, its time and the decision on it."""
    minutes, seconds = divmod(frame.time_s, 60)
    text = f"{int(minutes)}:{seconds:05.2f}  frame {frame.index}"
    return draw_frame(frame.image, frame.faces, accepted, text if frame.faces else f"no face  {text}")
