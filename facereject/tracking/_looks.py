"""Looking at small parts of a frame between two searches of the whole: where, and how often it is worth it.

Three kinds of places are looked at: where a followed or lost face should be, where a face nearly was
(candidates just below the threshold of the detector), and where the picture has changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from facereject.faces.detectors.base import Detector, find_again, find_candidates, find_within
from facereject.faces.face import Box, Detection
from facereject.faces.geometry import overlap
from facereject.faces.images.load import ImageArray
from facereject.faces.views import Views
from facereject.tracking._motion import Motion
from facereject.tracking.tracks import SAME, Hint

# a face that was lost is looked for in so many frames, then in every third only
_KEEN = 3
_SELDOM = 3

# frames between two looks at what misses the threshold of the detector by its whole margin
_HINT_WAIT = 4

# searches per frame where a lost face may be, and where one nearly was, and how many may be saved up
_WORK = 1.1
_SAVED = 5.0

# after so many looks in vain at what moves there is one frame more between two of them, up to so many
_PATIENCE = 4
_RARELY = 6


class Looks:
    """The looks of one video.

    Attributes
    ----------
    count : int
        How many there were.
    """

    def __init__(self) -> None:
        self.count = 0
        self._hints: list[Hint] = []
        self._motion = Motion()
        self._credit = 0.0
        self._in_vain = self._rested = 0

    def change(self, gray: ImageArray) -> float:
        """Take the next frame; the mean change of its grey levels, infinite if the size is another."""
        self._credit = min(self._credit + _WORK, _SAVED)
        return self._motion.update(gray)

    def worth_it(self, lost: int) -> bool:
        """Whether to look for a face that was lost so many frames ago."""
        return self._credit >= 1 or lost <= _KEEN or lost % _SELDOM == 0

    def for_face(
        self, detector: Detector, view: Views, box: Box, seen: Detection, known: Sequence[Box], lost: bool
    ) -> Detection | None:
        """A face that should be at a box, if the detector finds it there.

        Parameters
        ----------
        detector : Detector
        view : Views
        box : Box
        seen : Detection
            As it was found last.
        known : sequence of Box
            Of the faces in view. A lost face is none of them.
        lost : bool
        """
        self._count(lost)
        candidates = find_again(detector, view, box, seen)
        self._remember([near for near in candidates.nearly if overlap(near[0], box) > SAME], known)
        taken = known if lost else ()
        found = [
            (overlap(face.box, box), face)
            for face in candidates.faces
            if not any(overlap(face.box, other) > SAME for other in taken)
        ]
        shared, best = max(found, key=lambda pair: pair[0], default=(0.0, None))
        return best if shared >= SAME else None

    def at_hints(self, detector: Detector, view: Views, known: Sequence[Box]) -> list[Detection]:
        """Faces where one nearly was; the less it was one, the less often that place is looked at."""
        hints, self._hints = self._hints, []
        found: list[Detection] = []
        for hint in sorted(hints, key=lambda hint: hint.missed):
            hint.waited += 1
            if self._credit < 1 or hint.waited < _HINT_WAIT * hint.missed - 1:
                if not any(overlap(hint.box, other.box) > SAME for other in self._hints):
                    self._hints.append(hint)
                continue
            self._count(True)
            candidates = find_candidates(detector, view, hint.box)
            found += candidates.faces
            self._remember(candidates.nearly, [*known, *(face.box for face in found)])
        return found

    def around(self, detector: Detector, view: Views, known: Sequence[Box]) -> list[Detection]:
        """Faces where most has changed, where somebody new may be; rarer the more looks are in vain."""
        self._rested += 1
        if self._rested <= 1 + min(self._in_vain // _PATIENCE, _RARELY):
            return []
        place = self._motion.busiest(known)
        if place is None:
            return []
        self._count(False)
        self._rested = 0
        self._in_vain += 1
        candidates = find_within(detector, view, place)
        self._remember(candidates.nearly, known)
        found: list[Detection] = []
        for face in candidates.faces:
            if not any(overlap(face.box, other) > SAME for other in known):
                # on a part of the frame boxes are not those of the whole
                found += find_candidates(detector, view, face.box).faces
        return found

    def somebody_new(self) -> None:
        """Where one came from there may be more."""
        self._in_vain = 0

    def searched_whole(self, nearly: Sequence[tuple[Box, float]], known: Sequence[Box]) -> None:
        """The whole of this frame was searched, and these places nearly are faces."""
        self._hints.clear()
        self._remember(nearly, known)
        self._motion.searched()

    def _count(self, limited: bool) -> None:
        self.count += 1
        if limited:
            self._credit = max(self._credit - 1, -_SAVED)

    def _remember(self, nearly: Sequence[tuple[Box, float]], known: Sequence[Box]) -> None:
        for box, missed in nearly:
            if not any(overlap(box, other) > SAME for other in [*(hint.box for hint in self._hints), *known]):
                self._hints.append(Hint(box, missed))
