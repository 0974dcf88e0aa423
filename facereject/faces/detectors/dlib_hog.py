"""Finding faces: dlib's HOG detector, one instance per thread, grey inside."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import cv2
import dlib
import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.images import MIN_SIDE, ImageLike, load_rgb, to_gray

# dlib's detector keeps scratch memory between calls and must not be shared by threads; building one takes
# 0.3 s, so every thread keeps the one it built. Being module state, it is never pickled with a FaceDetector.
_per_thread = threading.local()

# side of dlib's sliding window in pixels: faces smaller than this are not found without upsampling
_WINDOW = 80

# a face of this many pixels is larger than any photograph; scores lie between -3 and 5
_MAX_FACE = 10_000
_MAX_THRESHOLD = 10


@dataclass(frozen=True)
class DlibDetection(Detection):
    """A detection that also says which of dlib's five templates found the face.

    0 front, 1 left, 2 right, 3 front rotated left, 4 front rotated right.
    """

    sub_detector: int


@dataclass(frozen=True)
class FaceDetector:
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
    """

    upsample: int = 0
    threshold: float = 0.0
    min_face: float | None = None

    def __post_init__(self) -> None:
        if not (_is_number(self.upsample) and self.upsample in range(5)):
            raise ValueError(f"upsample must be a whole number from 0 to 4, got {self.upsample!r}")
        if not (_is_number(self.threshold) and abs(self.threshold) <= _MAX_THRESHOLD):
            raise ValueError(f"threshold must lie between -10 and 10; got {self.threshold!r}")
        if self.min_face is not None and not (_is_number(self.min_face) and 0 < self.min_face <= _MAX_FACE):
            raise ValueError(
                f"min_face must be None or positive, at most {_MAX_FACE:,}; got {self.min_face!r}"
            )
        # plain numbers, as a model file needs them
        object.__setattr__(self, "upsample", int(self.upsample))
        object.__setattr__(self, "threshold", float(self.threshold))
        if self.min_face is not None:
            object.__setattr__(self, "min_face", float(self.min_face))

    def detect(self, image: ImageLike) -> list[Detection]:
        """Find the faces of an image (see `images.load_rgb` for what is accepted), best score first."""
        # grey levels need no detour over RGB; an array too small to search is refused on that way
        if isinstance(image, np.ndarray) and image.ndim == 2 and image.dtype == np.uint8:
            gray = image if min(image.shape) >= MIN_SIDE else to_gray(load_rgb(image))
        else:
            gray = to_gray(load_rgb(image))
        zoom = 1.0
        if self.min_face is not None and self.min_face > _WINDOW:
            zoom = _WINDOW / self.min_face
            if min(gray.shape) * zoom < MIN_SIDE:
                return []
            gray = cv2.resize(gray, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA)
        boxes, scores, kinds = _dlib_detector().run(np.ascontiguousarray(gray), self.upsample, self.threshold)
        found = [
            # dlib's right and bottom edges are inclusive
            DlibDetection(
                Box(box.left() / zoom, box.top() / zoom, box.width() / zoom, box.height() / zoom),
                float(score),
                int(kind),
            )
            for box, score, kind in zip(boxes, scores, kinds, strict=True)
        ]
        if self.min_face is not None:
            found = [face for face in found if min(face.box.width, face.box.height) >= self.min_face]
        return sorted(found, key=lambda face: -face.score)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _dlib_detector() -> Any:
    if not hasattr(_per_thread, "detector"):
        _per_thread.detector = dlib.get_frontal_face_detector()
    return _per_thread.detector
