"""The nouns: a box, a detection, a face with its landmarks and whether to trust them, a frame with faces.

In notebooks a face shows itself: the crop as a JPEG, the landmarks as SVG on top of it.
"""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject._html import facts_html
from facereject.faces.images import ImageArray
from facereject.faces.regions import region_means

T = TypeVar("T")

#: why a found face is not accepted, and what that means
EXPLANATIONS = {
    "uncertain": "the uncertainty is above the threshold",
    "no_landmarks": "the landmark predictor gave no usable points",
    "no_score": "the model gave no finite uncertainty",
    "turned": "the head is turned further than the limits allow",
}

#: the most likely cause of a large error, and what to do about it
CAUSES = {
    "blur": "out of focus: focus, or clean the lens",
    "motion": "moving too fast: hold still, or use a shorter exposure",
    "dark": "too dark: add light",
    "bright": "too bright: use less light, or expose less",
    "low_resolution": "too little detail: come closer, focus, or use a higher resolution",
    "occluded": "covered: uncover the face",
    "turned": "turned away or tilted: look at the camera",
    "cut_off": "cut off by the frame: bring the whole face into view",
    "noise": "noisy: add light, or use a lower ISO",
    "no_face_in_box": "probably not a face",
    "unclear": "no single cause found",
}


class Box(NamedTuple):
    """Axis-parallel box in pixels. It may reach beyond the image.

    Attributes
    ----------
    x, y : float
        Left and top.
    width, height : float
        Size.

    See Also
    --------
    Detection : A box with a score.

    Examples
    --------
    >>> from facereject.faces import Box
    >>> Box(10, 20, 30, 40).width
    30
    """

    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        """Centre (x, y) in pixels."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class Detection:
    """One face candidate of a detector.

    Attributes
    ----------
    box : Box
        In pixels.
    score : float
        Higher = more face-like; its scale is the detector's own.
    points : tuple of five (x, y), or None
        Centres of the eyes, tip of the nose and corners of the mouth in pixels, left in the image first; None
        if the detector does not give them.
    found_by : str
        Name of the detector.
    disagreement : float or None
        Mean distance in pixels between the landmarks and those that other predictors placed on this face;
        infinite if they have none there, None if there are no other predictors.

    See Also
    --------
    Face : A face with landmarks and a decision.

    Examples
    --------
    >>> from facereject.faces import Box, Detection
    >>> Detection(Box(10.0, 20.0, 80.0, 80.0), 0.9).roll
    0.0
    """

    box: Box
    score: float
    points: tuple[tuple[float, float], ...] | None = None
    found_by: str = ""
    disagreement: float | None = None

    @property
    def roll(self) -> float:
        """How far the line of the eyes is tilted clockwise in the image, in degrees; 0 without points."""
        if self.points is None:
            return 0.0
        (left_x, left_y), (right_x, right_y) = self.points[:2]
        return math.degrees(math.atan2(right_y - left_y, right_x - left_x))


class Pose(NamedTuple):
    """How the head is turned, in degrees; 0, 0, 0 looks straight into the camera.

    Attributes
    ----------
    yaw : float
        Positive: turned to the right of the image.
    pitch : float
        Positive: looking up.
    roll : float
        Positive: tilted clockwise in the image.
    """

    yaw: float
    pitch: float
    roll: float


class Lazy(Generic[T]):
    """The result of a function without arguments, called once, when the result is first needed."""

    __slots__ = ("_value", "_work")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._value: T | None = None

    def __call__(self) -> T:
        # threads that ask at once may both do the work, with the same result
        if (work := self._work) is not None:
            self._value = work()
            # frees the inputs of the work
            self._work = None
        return cast(T, self._value)


class _Later(Generic[T]):
    """An attribute of a face whose value a rejector may leave as a `Lazy` until it is first read."""

    def __init__(self, default: T, doc: str) -> None:
        self.default, self.__doc__ = default, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, face: Face, owner: type) -> T:
        if face is None:
            # help() and the reference look at the class
            return cast(T, self)
        value = face.later[self._name]
        return cast(T, value() if isinstance(value, Lazy) else value)


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False, repr=False, init=False)
class Face:
    """One face and whether its landmarks can be trusted.

    Attributes
    ----------
    box : Box
        x, y, width, height in pixels.
    detector_score : float
        The detector's own score, for comparison; NaN if the face was not found by the detector.
    landmarks : ndarray of shape (n, 2)
        x, y in pixels; NaN if the predictor gave none.
    uncertainty : float
        Higher = less certain; only its order means something. +inf if the predictor gave no landmarks, or
        none on a box moved for a stability feature.
    expected_error : float
        Expected mean landmark error in percent, for 68 points of the distance of the outer eye corners (for
        others see ``FaceRejector.points``); NaN if unknown.
    accepted : bool
    reason : str
        Why the face was rejected, as in the table: "uncertain", "no_landmarks", "no_score" or "turned"; empty
        if it was accepted. What is left out follows from the other values.
    track : int or None
        In a video, the number of the face, the same through all frames; None elsewhere.
    detector : str
        Name of the detector that found the face; empty if none did.
    placement : str
        How the landmarks were placed: "image", by the predictor on the image; "upright", on a copy turned
        upright, as the face is tilted; "five", on a copy cut out by five points of the detector. "upright+5"
        is the mean of that and five further runs on copies levelled by it; "upright+5+corrected" is that mean
        after the model's correction. "given" if they came from elsewhere; empty if there are none, or if it
        is not known, as in a table.
    landmark_errors : ndarray of shape (n,) or None
        Expected error of each point, in the unit of ``expected_error``; None if the model does not give it.
    visible : ndarray of shape (n,), bool, or None
        False where a point is probably covered or outside the image; None if the model does not say.
    cause : str
        The most likely reason why the face is uncertain, one of `CAUSES`; empty if none is given.
    pose : Pose or None
        How the head is turned; None if the points do not tell.
    likely_cause : str
        What ``cause`` would be if the face were uncertain: another threshold may decide otherwise.
    typicality : float
        Share of the calibration faces that are at least as unusual, above 0 and up to 1: small for faces of
        another kind. NaN if the model does not say.
    description : ndarray of int8 or None
        Shape, local contrast and image quality in steps of 1/20 standard deviation of the calibration faces,
        by which `FaceRejector.check_domain` compares faces; None if the model does not say, or for a face
        that was read from a table.
    error_interval : tuple (low, high) of float
        Interval that holds the error with a probability of 80 %, in the unit of ``expected_error``; NaN if
        unknown.
    thumbnail : bytes
        A small JPEG of the face, shown in notebooks; empty unless a rejector was called on an image.

    See Also
    --------
    FaceRejector : Gives the faces of an image.

    Notes
    -----
    A rejector computes what follows ``detector`` when it is first read: it takes as long as the uncertainty
    itself. ``dataclasses.replace`` leaves it alone.

    Examples
    --------
    >>> import skimage.data
    >>> from facereject import FaceRejector
    >>> face = FaceRejector.pretrained("dlib")(skimage.data.astronaut())[0]
    >>> face.landmarks.shape, face.accepted, face.reason
    ((68, 2), True, '')
    """

    box: Box
    detector_score: float
    landmarks: NDArray[np.float64]
    uncertainty: float
    expected_error: float
    accepted: bool
    reason: str
    track: int | None
    detector: str
    placement: str
    #: values or `Lazy` ones of the attributes below; see the notes
    later: Mapping[str, Any]

    landmark_errors = _Later[NDArray[np.float64] | None](None, "Expected error of each landmark in percent.")
    visible = _Later[NDArray[np.bool_] | None](None, "False where a landmark is probably hidden.")
    cause = _Later("", "The most likely reason why the face is uncertain.")
    pose = _Later[Pose | None](None, "How the head is turned.")
    likely_cause = _Later("", "What ``cause`` would be if the face were uncertain.")
    typicality = _Later(math.nan, "Share of the calibration faces that are at least as unusual.")
    description = _Later[NDArray[np.int8] | None](None, "Shape, contrast and quality, for `check_domain`.")
    error_interval = _Later((math.nan, math.nan), "Interval that holds the error with probability 0.8.")
    thumbnail = _Later(b"", "A small JPEG of the face.")

    def __init__(
        self,
        box: Box,
        detector_score: float,
        landmarks: NDArray[np.float64],
        uncertainty: float,
        expected_error: float,
        accepted: bool,
        reason: str = "",
        track: int | None = None,
        detector: str = "",
        placement: str = "",
        later: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> None:
        if unknown := values.keys() - EMPTY:
            raise TypeError(f"Face has no {', '.join(sorted(unknown))}")
        if not accepted and not reason:
            reason = "uncertain"
            if not math.isfinite(uncertainty):
                reason = "no_score" if np.isfinite(landmarks).all() else "no_landmarks"
        vars(self).update(
            box=box,
            detector_score=detector_score,
            landmarks=landmarks,
            uncertainty=uncertainty,
            expected_error=expected_error,
            accepted=accepted,
            reason=reason,
            track=track,
            detector=detector,
            placement=placement,
            later={**(later or EMPTY), **values},
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "later": {name: getattr(self, name) for name in EMPTY}}

    @property
    def explanation(self) -> str:
        """The reason as a sentence; empty for an accepted face."""
        if self.reason == "uncertain" and math.isfinite(self.expected_error):
            return f"uncertain: expected error {self.expected_error:.1f} %"
        return EXPLANATIONS.get(self.reason, self.reason)

    @property
    def hint(self) -> str:
        """The cause and what to do about it, as a phrase; empty if no cause is given."""
        return CAUSES.get(self.cause, self.cause)

    @property
    def region_errors(self) -> dict[str, float]:
        """Expected error of each region of the face, see `REGIONS`; empty if the model does not give it."""
        return {} if self.landmark_errors is None else region_means(self.landmark_errors)

    def to_dict(self) -> dict[str, Any]:
        """The face as plain JSON values, without its thumbnail.

        Returns
        -------
        dict
            None for what is unknown.
        """
        known = bool(np.isfinite(self.landmarks).all())
        return {
            "box": {name: float(value) for name, value in self.box._asdict().items()},
            "detector": self.detector,
            "placement": self.placement,
            "detector_score": _finite(self.detector_score),
            "uncertainty": _finite(self.uncertainty),
            "expected_error": _finite(self.expected_error),
            "error_interval": [_finite(end) for end in self.error_interval],
            "typicality": _finite(self.typicality),
            "description": None if self.description is None else self.description.tolist(),
            "accepted": bool(self.accepted),
            "reason": self.reason,
            "landmarks": self.landmarks.tolist() if known else None,
            "landmark_errors": None
            if self.landmark_errors is None
            else [_finite(error) for error in self.landmark_errors],
            "region_errors": {name: _finite(error) for name, error in self.region_errors.items()},
            "visible": None if self.visible is None else [bool(seen) for seen in self.visible],
            "cause": self.cause,
            "pose": None if self.pose is None else {k: _finite(v) for k, v in self.pose._asdict().items()},
        }

    def __repr__(self) -> str:
        box = self.box
        parts = ["accepted" if self.accepted else f"rejected: {self.reason}"]
        if math.isfinite(self.expected_error):
            parts.append(f"expected error {self.expected_error:.1f} %")
        if math.isfinite(self.uncertainty):
            parts.append(f"uncertainty {self.uncertainty:.3f}")
        parts.append(f"box {box.width:.0f} x {box.height:.0f} at ({box.x:.0f}, {box.y:.0f})")
        return f"Face({', '.join(parts)}, {len(self.landmarks)} landmarks)"

    def _repr_html_(self) -> str:
        return face_html(self)


#: the lazy attributes where nothing is given
EMPTY = {name: part.default for name, part in vars(Face).items() if isinstance(part, _Later)}


def changed(face: Face, **changes: Any) -> Face:
    """The face with other values; lazy values stay lazy."""
    return dataclasses.replace(face, **changes)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


#: image of a frame whose pixels are no longer needed
NO_IMAGE: NDArray[np.uint8] = np.empty((0, 0, 3), dtype=np.uint8)

#: when an image or frame with several faces is accepted
FRAME_RULES = ("all", "any", "largest")


class FaceFrame(NamedTuple):
    """An image, or one frame of a video or camera, with its faces.

    Attributes
    ----------
    index : int
        Number of the frame, from 0; 0 for an image, -1 where an input gave no frame (see ``problem``).
    time_s : float
        Seconds since the start of the video; NaN for an image.
    image : ndarray of shape (H, W, 3), uint8, RGB
        `NO_IMAGE` where the pixels are no longer needed.
    faces : list of Face
        In an image the best detector score first, in a video the oldest track.
    source : str
        Name of the input, as the table shows it.
    problem : str
        Why there are no faces: "unreadable: ..." or "failed: ..."; empty otherwise.

    Examples
    --------
    >>> frame = FaceFrame(0, math.nan, NO_IMAGE, [], source="photo.jpg")
    >>> frame.accepted()
    False
    """

    index: int  # type: ignore[assignment]  # hides tuple.index
    time_s: float
    image: NDArray[np.uint8]
    faces: list[Face]
    source: str = ""
    problem: str = ""

    def accepted(self, rule: str = "all") -> bool:
        """Whether the frame counts as accepted.

        Parameters
        ----------
        rule : {"all", "any", "largest"}
            Every face, at least one, or the one with the largest box must be accepted. A frame without a
            face never is.
        """
        if rule not in FRAME_RULES:
            raise ValueError(f"rule must be one of {', '.join(FRAME_RULES)}; got {rule!r}")
        if not self.faces:
            return False
        if rule == "largest":
            return max(self.faces, key=lambda face: face.box.width * face.box.height).accepted
        return (all if rule == "all" else any)(face.accepted for face in self.faces)


#: pixels of a thumbnail's side, at most
SIDE = 128

# side of the shown square, in sides of the face box
_REACH = 1.6

_GREEN, _RED, _GREY = "#2ebe6e", "#eb4034", 128


def lazy_thumbnail(image: ImageArray, box: Box) -> Lazy[bytes]:
    """A small JPEG, about 4 KB, of the face in a box of an RGB image, encoded when it is first asked for.

    Empty if the box lies outside, or is so large that the image would be a speck in it. Until then it holds
    a small copy, not the image.
    """
    left, top, side = square_of(box)
    crop = None if side > 4 * max(image.shape[:2]) else cut_square(image, left, top, side)
    small = None if crop is None else reduced(crop, SIDE).copy()
    return Lazy(lambda: b"" if small is None else encode_jpeg(small, 80))


def square_of(box: Box, reach: float = _REACH) -> tuple[int, int, int]:
    """Left, top and side of a square around a box, ``reach`` times as large, in whole pixels of the image."""
    side = max(1, round(reach * max(box.width, box.height)))
    x, y = box.center
    return round(x - side / 2), round(y - side / 2), side


def cut_square(image: ImageArray, left: int, top: int, side: int) -> ImageArray | None:
    """A square of an image, grey where it reaches beyond; None if nothing of the image is in it."""
    height, width = image.shape[:2]
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + side, width), min(top + side, height)
    if x0 >= x1 or y0 >= y1:
        return None
    crop = image[y0:y1, x0:x1]
    if crop.shape[:2] != (side, side):
        crop = np.full((side, side, 3), _GREY, dtype=np.uint8)
        crop[y0 - top : y1 - top, x0 - left : x1 - left] = image[y0:y1, x0:x1]
    return crop


def encode_jpeg(image: ImageArray, quality: int) -> bytes:
    """An RGB image as JPEG; empty if that fails."""
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality]
    )
    return bytes(data) if done else b""


def reduced(crop: ImageArray, most: int) -> ImageArray:
    """A square image, reduced to a side of ``most`` pixels if it is larger."""
    if len(crop) <= most:
        return crop
    factor = len(crop) // most
    if factor > 1:
        # means of whole blocks, and the rest by interpolation: parts of pixels take five times as long
        side = len(crop) // factor
        whole = crop[: side * factor, : side * factor]
        crop = np.asarray(cv2.resize(whole, (side, side), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    return np.asarray(cv2.resize(crop, (most, most), interpolation=cv2.INTER_LINEAR), dtype=np.uint8)


def face_html(face: Face) -> str:
    """The face in a notebook: its image with the landmarks; decision and numbers beside it."""
    known = face.to_dict()
    numbers = {
        "expected error": ("expected_error", "{:.1f} %"),
        "uncertainty": ("uncertainty", "{:.3f}"),
        "detector score": ("detector_score", "{:.2f}"),
    }
    facts = {"decision": "accepted" if face.accepted else f"rejected, {face.explanation}"}
    facts |= {
        name: form.format(known[key]) if known[key] is not None else "unknown"
        for name, (key, form) in numbers.items()
    }
    if face.hint:
        facts["likely cause"] = face.hint
    box = face.box
    facts["box"] = f"{box.width:.0f} x {box.height:.0f} pixels at ({box.x:.0f}, {box.y:.0f})"
    return facts_html("Face", facts, picture=_picture(face))


def _picture(face: Face) -> str:
    left, top, side = square_of(face.box)
    color = _GREEN if face.accepted else _RED
    pieces = []
    if face.thumbnail:
        data = base64.b64encode(face.thumbnail).decode("ascii")
        pieces.append(f'<image href="data:image/jpeg;base64,{data}" width="{side}" height="{side}"/>')
    points = face.landmarks[np.isfinite(face.landmarks).all(axis=1)] - (left, top)
    radius = side / 100
    pieces += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.2f}"/>' for x, y in points.tolist()]
    return (
        f'<svg width="160" height="160" viewBox="0 0 {side} {side}" fill="{color}" '
        f'style="border:3px solid {color}">{"".join(pieces)}</svg>'
    )
