"""Finding faces: dlib's HOG detector, one instance per thread, grey inside."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import cv2
import numpy as np

from facereject.faces.detectors._frontal import frontal_detector
from facereject.faces.detectors.base import Options
from facereject.faces.face import Box, Detection
from facereject.faces.images import MIN_SIDE, ImageLike, Views

# side of dlib's sliding window in pixels: faces smaller than this are not found without upsampling
_WINDOW = 80

# least score in a finished model, dlib's own, and while training, so that hard faces are learned from
_JUDGING, _TRAINING = 0.0, -1.0

# pixels that are searched, at most: dlib keeps 8 bytes for each of them, and 200 million of a photo that
# is doubled twice would be 26 GB
_MAX_SEARCHED = 64_000_000


@dataclass(frozen=True)
class DlibDetection(Detection):
    """A detection that also says which of dlib's five templates found the face.

    0 front, 1 left, 2 right, 3 front rotated left, 4 front rotated right.

    Attributes
    ----------
    sub_detector : int
    """

    sub_detector: int = 0


@dataclass(frozen=True)
class FaceDetector(Options):
    """dlib's frontal face detector.

    Parameters
    ----------
    upsample : int, default=0
        How often the image is doubled before the search; each step finds faces half the size and takes four
        times as long.
    threshold : float, default=0.0
        Candidates with a score below are dropped. dlib's own default is 0; at -1 nearly every face is found,
        with false candidates among them.
    min_face : float or None, default=None
        Smallest face side of interest in pixels, at most 10,000. Above 80 the image is shrunk first, which is
        faster by (min_face / 80)^2; smaller boxes are dropped. None: no lower bound but the detector's own
        (80 pixels / 2^upsample).

    See Also
    --------
    make_detector : Makes a detector by name, YuNet among them.

    Notes
    -----
    At most 64 million pixels are searched, after doubling. A larger image is reduced first, so that the
    smallest face that is found is 80 * sqrt(pixels / 64e6) pixels for ``upsample=0``.

    Examples
    --------
    >>> import skimage.data
    >>> from facereject.faces import FaceDetector
    >>> len(FaceDetector().detect(skimage.data.astronaut()))
    1
    """

    upsample: int = 0
    threshold: float = 0.0
    min_face: float | None = None

    registered_name = "dlib"

    #: it uses grey levels only
    color = "gray"

    def __post_init__(self) -> None:
        self._check("upsample", 0, 4, whole=True)
        self._check("threshold", -10, 10)
        self._check("min_face", 1, 10_000, none=True)

    @classmethod
    def for_training(cls) -> FaceDetector:
        """The detector that finds faces to train on, hard ones among them: threshold -1."""
        return cls(threshold=_TRAINING)

    def for_judging(self) -> FaceDetector:
        """The detector of a model trained on the faces of this one: threshold 0 or more.

        Returns
        -------
        FaceDetector
        """
        return dataclasses.replace(self, threshold=max(self.threshold, _JUDGING))

    @property
    def description(self) -> str:
        """A sentence for the card of a model."""
        smallest = self.min_face or _WINDOW / 2**self.upsample
        return f"dlib's HOG detector, threshold {self.threshold:g}, faces from {smallest:.0f} pixels"

    def _scale(self, pixels: int) -> float:
        """By how much an image of this many pixels is scaled before it is searched, without doublings."""
        scale = min(1.0, math.sqrt(_MAX_SEARCHED / pixels) / float(2**self.upsample))
        return scale if self.min_face is None else min(scale, _WINDOW / self.min_face)

    def detect(self, image: ImageLike) -> list[Detection]:
        """Find the faces of an image.

        Parameters
        ----------
        image : path, PIL image or array
            See `facereject.faces.load_rgb`.

        Returns
        -------
        list of Detection
            Best score first.
        """
        gray = Views(image).gray
        zoom = self._scale(gray.size)
        if zoom < 1.0:
            if min(gray.shape) * zoom < MIN_SIDE:
                return []
            smaller = cv2.resize(gray, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA)
            gray = np.asarray(smaller, dtype=np.uint8)
        boxes, scores, kinds = frontal_detector().run(
            np.ascontiguousarray(gray), self.upsample, self.threshold
        )
        found = [
            # dlib's right and bottom edges are inclusive
            DlibDetection(
                Box(box.left() / zoom, box.top() / zoom, box.width() / zoom, box.height() / zoom),
                float(score),
                found_by="dlib",
                sub_detector=int(kind),
            )
            for box, score, kind in zip(boxes, scores, kinds, strict=True)
        ]
        if self.min_face is not None:
            found = [face for face in found if min(face.box.width, face.box.height) >= self.min_face]
        return sorted(found, key=lambda face: -face.score)
