"""Whether the faces of a running camera or video are like those a model was calibrated on."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.faces.face import EMPTY, Face, changed
from facereject.faces.models.domain import LEAST_FACES, LEVEL, STEPS, DomainCheck

if TYPE_CHECKING:
    from facereject.faces.rejector import FaceRejector

# faces kept for the comparison, and the recent ones whose median typicality is shown
_KEPT, _RECENT = 1000, 100


def why_not_compared(rejector: FaceRejector, n_described: int) -> str:
    """Why `FaceRejector.check_domain` gives None for this number of faces, in words; empty if it compares."""
    if rejector.domain is None:
        reason = "the model has no summary of them"
    elif rejector.info.get("own_faces"):
        reason = f"expected errors were fitted to {rejector.info['own_faces']:,} annotated faces"
    elif rejector.info.get("unlike_faces"):
        reason = "expected errors are already those of faces unlike them"
    elif n_described < LEAST_FACES:
        reason = f"that takes at least {LEAST_FACES} different faces in one run"
    else:
        return ""
    return f"The faces were not compared with the calibration faces: {reason}."


def compared(
    rejector: FaceRejector, described: NDArray[np.int8], uncertainty: FloatArray
) -> DomainCheck | None:
    """Compare faces, given as `Domain.describe` does, with the calibration faces of a model that has some."""
    assert rejector.domain is not None
    check = rejector.domain.check(described)
    if check is None or not check.unlike or rejector.unlike is None:
        return check
    expected = rejector.calibration.expected_error(uncertainty)
    return check._replace(factor=rejector.unlike(described / STEPS, expected))


class FaceReservoir:
    """A random sample of bounded size of all faces, of each track the first.

    Attributes
    ----------
    kept : list of Face
        At most 1000.
    n_seen : int
        Faces it is a sample of.
    """

    def __init__(self) -> None:
        self.kept: list[Face] = []
        self.n_seen = 0
        self._rng = np.random.default_rng(0)
        self._tracks: set[int] = set()

    def add(self, face: Face) -> None:
        """Take a face, unless its track was seen before."""
        if face.track is not None:
            if face.track in self._tracks:
                return
            self._tracks.add(face.track)
        self.n_seen += 1
        place = len(self.kept) if self.n_seen <= _KEPT else int(self._rng.integers(self.n_seen))
        if place < _KEPT:
            # without values that are still to be computed: they would keep the image in memory
            later = {"typicality": face.typicality, "description": face.description}
            self.kept[place : place + 1] = [changed(face, later=EMPTY | later)]

    @property
    def n_described(self) -> int:
        """Kept faces that can be compared."""
        return sum(face.description is not None for face in self.kept)

    def new_input(self) -> None:
        """Forget the numbers of tracks: those of the next video or camera start anew."""
        self._tracks.clear()


class DomainMonitor:
    """Compares faces with the calibration faces of a model while they come in.

    A camera mostly sees one person, and frames of one person are not independent. So there are two answers:
    `typicality` of the faces seen last, and `check`, which compares one face per track with the calibration
    faces once there are 40 tracks.

    Parameters
    ----------
    rejector : FaceRejector
        Its calibration faces are compared with.

    See Also
    --------
    FaceRejector.check_domain : Compares a batch.

    Examples
    --------
    >>> from facereject.faces import DomainMonitor, FaceRejector
    >>> monitor = DomainMonitor(FaceRejector.pretrained())
    >>> monitor.add([])
    >>> monitor.to_dict()  # doctest: +ELLIPSIS
    {'typicality': None, 'unusual': False, 'check': None, 'sentence': '', 'not_compared': '...'}
    """

    def __init__(self, rejector: FaceRejector) -> None:
        self._rejector = rejector
        self._sample = FaceReservoir()
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._check: DomainCheck | None = None
        self._n_checked = 0

    def add(self, faces: Iterable[Face]) -> None:
        """Take the faces of one frame.

        Parameters
        ----------
        faces : iterable of Face
            Those of a video need their tracks.
        """
        for face in faces:
            # unknown for faces without landmarks
            if not math.isnan(typicality := face.typicality):
                self._recent.append(typicality)
            self._sample.add(face)

    @property
    def typicality(self) -> float:
        """Median typicality of the last 100 faces; NaN if there is none or the model does not say."""
        return float(np.median(self._recent)) if self._recent else math.nan

    @property
    def unusual(self) -> bool:
        """Whether the last faces, at least 40, are more unusual than 95 % of the calibration faces."""
        return len(self._recent) >= LEAST_FACES and self.typicality < LEVEL

    def check(self) -> DomainCheck | None:
        """Compare the faces kept with the calibration faces; None for fewer than 40.

        It takes about 50 ms, and is repeated only after a quarter more faces were seen.

        Returns
        -------
        DomainCheck or None
        """
        n_seen = self._sample.n_seen
        if n_seen >= max(LEAST_FACES, 1.25 * self._n_checked):
            self._check, self._n_checked = self._rejector.check_domain(self._sample.kept), n_seen
        return self._check

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values.

        Returns
        -------
        dict
            ``sentence`` is empty unless the faces are unlike the calibration faces; ``not_compared`` says why
            ``check`` is None.
        """
        check, typicality = self.check(), self.typicality
        sentence = ""
        if check is not None and check.unlike:
            sentence = check.sentence
        elif self.unusual:
            sentence = (
                f"These faces are more unusual than {1 - LEVEL:.0%} of the calibration faces of the model: "
                "expected errors may be too small."
            )
        return {
            "typicality": None if math.isnan(typicality) else typicality,
            "unusual": self.unusual,
            "check": None if check is None else check.to_dict(),
            "sentence": sentence,
            "not_compared": why_not_compared(self._rejector, self._sample.n_described),
        }
