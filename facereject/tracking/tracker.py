"""Following faces through a video: known faces are located in every frame, new ones searched for in turns.

The detector says where the faces of a frame are. One that can (`VideoDetector`: YuNet) gives known faces the
boxes they would get in a photo and searches a part of the frame for new ones, so that no frame takes much
longer than others. Every other detector searches the whole frame.
Boxes of two frames are the same face if they overlap, or else if they are near each other. A face that is
hidden keeps its number if it comes back within `MEMORY` frames, not farther away than people walk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from facereject._options import OptionError, option
from facereject.faces import Face, FaceRejector
from facereject.faces.detectors.base import find_faces, find_next
from facereject.faces.face import Detection, FaceFrame, Lazy, changed
from facereject.faces.images import ImageLike, Views
from facereject.faces.landmarks.point_set import pose_of
from facereject.sources.frame import Frame
from facereject.tracking.smoothing import LandmarkSmoother
from facereject.tracking.tracks import Track, match

#: the whole frame has been searched for new faces after this many frames
DETECT_EVERY = 6

#: frames for which a face that is not found keeps its number
MEMORY = 60

# seconds that a new face waits at most, where frames come slowly
_WAIT_S = 0.2

# seconds between frames without times
_FRAME_S = 1 / 30


@dataclass(frozen=True)
class Tracking:
    """How faces are followed through a video.

    Parameters
    ----------
    detect_every : int, default=6
        Search the whole frame for new faces at least every this many frames, and every 0.2 seconds. With
        YuNet each frame searches a part of it; other detectors search every frame.
    every_frame : bool, default=False
        Treat every frame as a photo.
    smooth : float, default=0
        Time constant, in seconds, of an exponential mean over the uncertainty of each track; 0 is off.
        Expected error and decision follow the mean.
    smooth_landmarks : bool, default=False
        Smooth the landmarks that are returned, and the pose with them. Uncertainty and decision are those of
        the landmarks of the frame itself.

    Raises
    ------
    OptionError
        A value cannot be used.

    See Also
    --------
    FaceTracker : Takes it.
    facereject.score_files : Takes it, for videos among its inputs.

    Examples
    --------
    >>> from facereject.tracking import Tracking
    >>> Tracking(smooth=0.3).detect_every
    6
    """

    detect_every: int = option(
        DETECT_EVERY,
        "--detect-every",
        metavar="K",
        help="Search the whole frame for new faces at least every K frames.",
    )
    every_frame: bool = option(False, "--every-frame", help="Treat every frame as a photo: slower.")
    smooth: float = option(
        0.0,
        "--smooth",
        metavar="SECONDS",
        help="Average the uncertainty of each face over about this time; 0 turns it off.",
    )
    smooth_landmarks: bool = option(
        False,
        "--smooth-landmarks",
        help="Smooth the landmarks over time. Uncertainty and decision are those of the frame itself.",
    )

    panel = "Videos"

    def __post_init__(self) -> None:
        if self.detect_every < 1:
            raise OptionError(f"`detect_every` must be at least 1 frame; got {self.detect_every}")
        if not (math.isfinite(self.smooth) and self.smooth >= 0):
            raise OptionError(f"`smooth` must be seconds, 0 or more; got {self.smooth:g}")


class TrackedFace(NamedTuple):
    """A face in a video.

    Attributes
    ----------
    face : Face
    track : int
        The same number through the video, from 0; never used again for another face.

    See Also
    --------
    FaceTracker.update : Returns them.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject import FaceRejector
    >>> from facereject.tracking import FaceTracker
    >>> tracker = FaceTracker(FaceRejector.pretrained("dlib"))
    >>> [tracked.track for tracked in tracker.update(np.zeros((120, 160, 3), np.uint8))]
    []
    """

    face: Face
    track: int


class FaceTracker:
    """Finds and scores the faces of the frames of one video, with stable numbers.

    Call it with one frame after the other; it is a scorer of `facereject.pipeline.task`.

    Parameters
    ----------
    rejector : FaceRejector
        Finds and scores the faces.
    tracking : Tracking or None
        None is ``Tracking()``.
    first_frame : int, default=0
        Number of the first frame in its video. Which part of a frame is searched depends on its number, so
        that trackers that start at different frames of a video soon agree.

    Attributes
    ----------
    frames : int
        Frames so far.

    See Also
    --------
    facereject.FaceRejector.video : Scores a video file.

    Examples
    --------
    >>> from facereject import FaceRejector
    >>> from facereject.sources import open_video
    >>> from facereject.tracking import FaceTracker, Tracking
    >>> tracker = FaceTracker(FaceRejector.pretrained(), Tracking(smooth=0.3))  # doctest: +SKIP
    >>> with open_video("clip.mp4") as video:  # doctest: +SKIP
    ...     frames = [tracker(frame) for frame in video]
    """

    def __init__(
        self, rejector: FaceRejector, tracking: Tracking | None = None, *, first_frame: int = 0
    ) -> None:
        self.rejector = rejector
        self.tracking = tracking or Tracking()
        self.frames = 0
        self._first_frame = first_frame
        self._tracks: list[Track] = []
        self._n_tracks = 0
        self._time = math.nan

    def use(self, rejector: FaceRejector) -> None:
        """Go on with another rejector.

        Parameters
        ----------
        rejector : FaceRejector
            For example one with another target.
        """
        self.rejector = rejector

    def __call__(self, frame: Frame) -> FaceFrame:
        """Find and score the faces of the next frame.

        Parameters
        ----------
        frame : Frame

        Returns
        -------
        FaceFrame
        """
        tracked = self.update(frame.image, frame.time_s)
        faces = [changed(each.face, track=each.track) for each in tracked]
        return FaceFrame(frame.index, frame.time_s, frame.image, faces, frame.source)

    def update(self, image: ImageLike, time_s: float | None = None) -> list[TrackedFace]:
        """The faces of the next frame, by track number.

        Parameters
        ----------
        image : path, PIL image or array
            See `facereject.faces.load_rgb`.
        time_s : float or None
            Time of the frame in seconds, for smoothing; None counts 30 frames per second.

        Returns
        -------
        list of TrackedFace
        """
        # converted once, not again for every face
        view = Views(image)
        time = self.frames * _FRAME_S if time_s is None else time_s
        found = self._detect(view, time)
        faces = self.rejector.assess_detections(view, found)
        self.frames, self._time = self.frames + 1, time
        places = [track.expected.box for track in self._tracks]
        pairs = match(places, [each.box for each in found], [track.reach for track in self._tracks])
        for i, track in enumerate(self._tracks):
            if i in pairs:
                track.see(found[pairs[i]], faces[pairs[i]])
            else:
                track.miss()
        for j, face in enumerate(faces):
            if j not in pairs.values():
                self._tracks.append(Track(self._n_tracks, found[j], face))
                self._n_tracks += 1
        self._tracks = [track for track in self._tracks if track.lost <= MEMORY]
        return [
            TrackedFace(self._shown(track, time), track.number) for track in self._tracks if not track.lost
        ]

    def _detect(self, view: Views, time: float) -> list[Detection]:
        every = self.tracking.detect_every
        if self.tracking.every_frame:
            return find_faces(self.rejector.detector, view)
        gap = time - self._time
        if gap > 0:
            # rounding must not cost a frame: five frames of 0.04 s are 0.2 s
            every = max(1, min(every, int(_WAIT_S / gap + 1e-6)))
        # a face that was missed is expected for another while, as some are found in every other frame only
        expected = [track.expected for track in self._tracks if track.lost <= every]
        return find_next(self.rejector.detector, view, expected, self._first_frame + self.frames, every)

    def _shown(self, track: Track, time: float) -> Face:
        """The face as it is given out; the track itself goes on with what it saw."""
        face = self._smoothed(track, time)
        if not self.tracking.smooth_landmarks:
            return face
        if track.smoother is None:
            track.smoother = LandmarkSmoother(self.rejector.points.mean_shape)
        points = track.smoother(face, time)
        kept = points.copy()
        return changed(face, landmarks=points, pose=Lazy(lambda: pose_of(kept)))

    def _smoothed(self, track: Track, time: float) -> Face:
        face = track.face
        if self.tracking.smooth == 0 or not math.isfinite(face.uncertainty):
            return face
        if math.isnan(track.smooth):
            track.smooth = face.uncertainty
        else:
            kept = math.exp(-max(time - track.smooth_time, 0.0) / self.tracking.smooth)
            track.smooth = kept * track.smooth + (1 - kept) * face.uncertainty
        track.smooth_time = time
        return self.rejector.rescore(face, track.smooth)
