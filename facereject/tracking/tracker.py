"""Following faces through a video: the uncertainty of the landmarks decides when the detector runs.

While a face is certain, its box in the next frame comes from its landmarks in the last one. When it becomes
doubtful, the detector looks around the face only. The whole frame is searched every ``detect_every``
frames, when the picture changes at once, and when a face is gone at once; so a new face waits for at most
``detect_every`` frames, half of that while no face is in view. In between, the detector looks where a lost
face has gone, where a face nearly was (candidates just below its threshold), and where the picture has
changed.

Doubtful means: so close to the threshold that another box could change the decision, or less certain than
three quarters of the calibration faces. The second does not count for some frames after the detector found it
with a score far above its own threshold, unless it becomes less certain than it was then. A doubtful face
that the detector does not confirm is lost; it keeps its number if it is found again at the same place within
``MEMORY`` frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from facereject._lazy import Lazy
from facereject._options import OptionError, option
from facereject.faces import Face, FaceRejector
from facereject.faces.detectors.base import Candidates, find_candidates, find_faces, lead_of
from facereject.faces.face import Box, Detection, FaceFrame, changed
from facereject.faces.geometry import overlap
from facereject.faces.images.load import ImageArray, ImageLike
from facereject.faces.pose import pose_of
from facereject.faces.views import Views
from facereject.sources.frame import Frame
from facereject.tracking._looks import Looks
from facereject.tracking._motion import drift
from facereject.tracking.smoothing import LandmarkSmoother
from facereject.tracking.tracks import SAME, Track, anchor_of, inside, match

#: the whole frame is searched at least every so many frames, half a second of most videos: a new face must
#: not go unseen for longer
DETECT_EVERY = 15

#: frames for which the place of a lost face is remembered, and looked at
MEMORY = 60

# one face found twice in a frame, by overlap of the boxes
_TWICE = 0.5

# how far another box of the same face moves its uncertainty, in quartile distances of the calibration sample
_NOISE = 0.15

# a face within this many times that distance is looked at before its landmarks are predicted
_CAUTION = 1.5

# frames for which a score that is one margin of the detector above its threshold vouches for a face. Scores
# change by a sixth of the margin from frame to frame, so three times that is far from sudden
_VOUCHED = 2

# least number of frames between two searches of the whole frame because a face is gone
_PAUSE = 4

# mean change of the grey levels of a small copy from one frame to the next that tells a cut from motion
_CUT = 20


@dataclass(frozen=True)
class Tracking:
    """How faces are followed through a video.

    Parameters
    ----------
    detect_every : int, default=15
        Search the whole frame at least every this many frames, twice as often while no face is in view.
    every_frame : bool, default=False
        Search the whole of every frame: the faces are those of ``rejector(image)``.
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

    Examples
    --------
    >>> from facereject.tracking import Tracking
    >>> Tracking(smooth=0.3).detect_every
    15
    """

    detect_every: int = option(
        DETECT_EVERY,
        "--detect-every",
        metavar="K",
        help="Search the whole frame for new faces at least every K frames.",
    )
    every_frame: bool = option(
        False, "--every-frame", help="Search every frame as a whole instead of following faces: slower."
    )
    smooth: float = option(
        0.0,
        "--smooth",
        metavar="SECONDS",
        help="Average the uncertainty of each face over about this time; 0 is off.",
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
        Its ``detector_score`` is NaN where the box came from the landmarks of the frame before.
    track : int
        The same number through the video, from 0; never used again for another face.
    detected : bool
        Whether the detector found it in this very frame.
    """

    face: Face
    track: int
    detected: bool


class FaceTracker:
    """Faces of the frames of one video, with stable numbers, detecting only when needed.

    Call it with one frame after the other; it is a scorer of `facereject.pipeline.loop`.

    Parameters
    ----------
    rejector : FaceRejector
    tracking : Tracking or None
        None is ``Tracking()``.
    first_frame : int, default=0
        Number in its video of the first frame that comes. Frames whose number is a multiple of
        ``detect_every`` are searched as a whole, so that trackers that start at different frames of a video
        soon agree.

    Attributes
    ----------
    frames, searches : int
        Frames so far, and how many of them were searched as a whole.

    Examples
    --------
    >>> from facereject import FaceRejector
    >>> from facereject.sources import open_video
    >>> tracker = FaceTracker(FaceRejector.pretrained(), Tracking(smooth=0.3))  # doctest: +SKIP
    >>> with open_video("clip.mp4") as video:  # doctest: +SKIP
    ...     frames = [tracker(frame) for frame in video]
    """

    def __init__(
        self, rejector: FaceRejector, tracking: Tracking | None = None, *, first_frame: int = 0
    ) -> None:
        self.tracking = tracking or Tracking()
        self.every = self.tracking.detect_every
        self.every_frame = self.tracking.every_frame or self.every == 1
        self.frames = self.searches = 0
        self._tracks: list[Track] = []
        self._looks = Looks()
        # the faces of this frame by their boxes
        self._judged: dict[Box, Face] = {}
        self._n_tracks = 0
        self._first_frame = first_frame
        self._since = 0
        self._wait = self._rest = 0
        self._gray: ImageArray | None = None
        self.use(rejector)

    @property
    def local_searches(self) -> int:
        """How often a part of a frame was searched."""
        return self._looks.count

    def use(self, rejector: FaceRejector) -> None:
        """Go on with another rejector, for example one with another target."""
        self.rejector = rejector
        low, high, gone = np.quantile(rejector.calibration.uncertainty, [0.25, 0.75, 0.95])
        self._noise = _NOISE * float(high - low)
        self._weak, self._gone = float(high), float(gone)

    def __call__(self, frame: Frame) -> FaceFrame:
        """Find and score the faces of the next frame."""
        tracked = self.update(frame.image, frame.time_s)
        faces = [changed(each.face, track=each.track) for each in tracked]
        return FaceFrame(frame.index, frame.time_s, frame.image, faces, frame.source)

    def update(self, image: ImageLike, time_s: float | None = None) -> list[TrackedFace]:
        """The faces of the next frame, by track number.

        Parameters
        ----------
        image : array (or what `facereject.faces.load_rgb` takes)
        time_s : float or None
            Time of the frame in seconds, for smoothing; None counts 30 frames per second.
        """
        # converted once, not again for every face
        view = Views(image)
        time = self.frames / 30 if time_s is None else time_s
        cut = self._looks.change(view.gray) > _CUT
        self._judged.clear()
        search = self.every_frame or self._since >= self._wait or cut
        if self._gray is not None and not cut and not self.every_frame:
            for track in self._tracks:
                if track.lost:
                    x, y = drift(track.box, self._gray, view.gray)
                    track.shift = (track.shift[0] + x, track.shift[1] + y)
        if not search:
            before = self._in_view()
            self._follow(view)
            for look in (self._looks.at_hints, self._looks.around):
                self._welcome(look(self.rejector.detector, view, self._places()), view)
            vanished = any(track.lost and track.last > self._gone for track in before)
            search = vanished and self._since >= _PAUSE
        if search:
            self._search(view)
        self._since += 1
        self.frames += 1
        self._gray = view.gray
        self._merge()
        self._tracks = [track for track in self._tracks if track.lost <= MEMORY]
        seen = self._in_view()
        return [TrackedFace(self._shown(track, time), track.number, track.detected) for track in seen]

    def _in_view(self) -> list[Track]:
        return sorted((track for track in self._tracks if not track.lost), key=lambda track: track.number)

    def _places(self) -> list[Box]:
        return [track.box for track in self._in_view()]

    def _follow(self, view: Views) -> None:
        """Every face from its last place; the detector only around those in doubt."""
        # those in view first: a lost one must not be found on the face of another
        for track in sorted(self._tracks, key=lambda track: track.lost):
            box = track.box
            if not inside(box, view.size):
                # it has left the picture: who comes in there is somebody new
                track.lost = MEMORY + 1
            elif track.lost:
                if not (self._looks.worth_it(track.lost) and self._look(track, box, view)):
                    track.lost += 1
            elif self._doubtful(track, track.face, _CAUTION):
                # likely to be in doubt again: one look costs less than landmarks that are thrown away
                if not self._look(track, box, view):
                    self._carry(track, box, view)
            else:
                face = self._judge(view, box)
                if not self._doubtful(track, face) or not self._look(track, box, view):
                    self._carry(track, box, view, face)
                    track.vouched -= 1

    def _welcome(self, faces: list[Detection], view: Views) -> None:
        """Faces that were found where none was followed."""
        for found in faces:
            there = [track for track in self._tracks if overlap(found.box, track.box) > SAME]
            if not there:
                self._begin(found, view)
            elif all(track.lost for track in there):
                self._found(there[0], found, view)

    def _begin(self, detection: Detection, view: Views) -> None:
        """Somebody new: there may be more."""
        self._looks.somebody_new()
        track = Track(self._n_tracks, self.rejector.points.mean_shape)
        self._n_tracks += 1
        self._found(track, detection, view)
        self._tracks.append(track)

    def _look(self, track: Track, box: Box, view: Views) -> bool:
        """Whether the detector finds the face of a track at a box."""
        known = [other.face.box for other in self._in_view()]
        found = self._looks.for_face(self.rejector.detector, view, box, track.seen, known, bool(track.lost))
        if found is None:
            track.vouched = 0
            return False
        self._found(track, found, view)
        return True

    def _search(self, view: Views) -> None:
        """The whole frame; faces take the numbers of the tracks they overlap most."""
        self.searches += 1
        detector = self.rejector.detector
        # what nearly is a face is of no use where the next frame is searched as well
        seen = (
            Candidates(find_faces(detector, view), [])
            if self.every_frame
            else find_candidates(detector, view)
        )
        faces, nearly = seen
        boxes = [track.box for track in self._tracks]
        pairs = match(boxes, [face.box for face in faces])
        for i, track in enumerate(self._tracks):
            if i in pairs:
                before = track.seen
                self._found(track, faces[pairs[i]], view)
                # a look around the face may have told more than a search of the whole frame does
                if track.seen.box == before.box:
                    track.seen = before
            elif track.lost:
                track.lost += 1
            elif not inside(boxes[i], view.size):
                track.lost = MEMORY + 1
            elif self.every_frame:
                self._lose(track)
            else:
                track.vouched = 0
                self._carry(track, boxes[i], view)
        for j, face in enumerate(faces):
            if j not in pairs.values():
                self._begin(face, view)
        self._looks.searched_whole(nearly, self._places())
        missing = any(track.lost for track in self._tracks)
        # a face that has just gone is looked for soon, then less and less often
        self._rest = min(2 * max(self._since, self._rest, _PAUSE), self.every) if missing else 0
        wait = self._rest or self.every
        # with nobody in view a new face matters most, so the whole frame is searched twice as often
        period = self.every if self._in_view() else (self.every + 1) // 2
        self._wait = min(wait, period - (self._first_frame + self.frames) % period)
        self._since = 0

    def _judge(self, view: Views, box: Box, found: Detection | None = None) -> Face:
        if box not in self._judged:
            self._judged[box] = self.rejector.assess_detection(view, found or Detection(box, math.nan))
        return self._judged[box]

    def _found(self, track: Track, detection: Detection, view: Views) -> None:
        """The detector confirms the track: its box counts from now on."""
        face = self._judge(view, detection.box, detection)
        track.face = changed(face, detector_score=detection.score)
        track.anchor, track.seen = anchor_of(face, track.mean_shape), detection
        track.detected, track.lost, track.shift = True, 0, (0.0, 0.0)
        # a face without landmarks cannot become less certain, so nothing would end the vouching
        lead = lead_of(self.rejector.detector, detection.score) if math.isfinite(face.uncertainty) else 0.0
        track.vouched = int(_VOUCHED * lead)
        track.vouched_to = face.uncertainty + self._noise

    def _carry(self, track: Track, box: Box, view: Views, face: Face | None = None) -> None:
        """The landmarks alone lead on, if they are certain; the detector was not asked or found nothing."""
        face = self._judge(view, box) if face is None else face
        if self._doubtful(track, face):
            self._lose(track, face.uncertainty)
        else:
            track.face, track.detected = face, False
            track.shift = (0.0, 0.0)

    def _lose(self, track: Track, uncertainty: float = math.inf) -> None:
        # the last good face stays: it is where the search goes on
        track.lost, track.last = 1, uncertainty
        track.smooth = math.nan

    def _doubtful(self, track: Track, face: Face, caution: float = 1.0) -> bool:
        if abs(face.uncertainty - self.rejector.selector.threshold_) < caution * self._noise:
            return True
        vouched = track.vouched > 0 and face.uncertainty <= track.vouched_to
        return face.uncertainty > self._weak and not vouched

    def _merge(self) -> None:
        """Two tracks on one face become one, with the older number."""
        seen = self._in_view()
        for i, younger in enumerate(seen):
            for older in seen[:i]:
                if not older.lost and overlap(older.box, younger.box) > _TWICE:
                    if younger.detected and not older.detected:
                        older.face, older.anchor, older.detected = younger.face, younger.anchor, True
                        older.seen = younger.seen
                    self._lose(younger)
                    break

    def _shown(self, track: Track, time: float) -> Face:
        """The face as it is given out; the track itself goes on with what it saw."""
        face = self._smoothed(track, time)
        if not self.tracking.smooth_landmarks:
            return face
        if track.smoother is None:
            track.smoother = LandmarkSmoother(track.mean_shape)
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
        return self.rejector.judge(face, track.smooth)
