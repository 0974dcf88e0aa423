"""What a detector is: an object with ``detect(image) -> list of Detection``, and what else it may offer."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import check_box
from facereject.faces.images.load import MIN_SIDE, ImageArray
from facereject.faces.plugins import definition_of, name_of, offers
from facereject.faces.views import Views

# side of the part of the image that is searched around a box, in sides of the box
_REACH = 2.0


@runtime_checkable
class Detector(Protocol):
    """Finds faces; see `facereject.faces.plugins` for what it may declare besides."""

    def detect(self, image: ImageArray, /) -> Sequence[Detection]:
        """The faces of an RGB image (H, W, 3) of uint8, or of a grey one if ``color`` is "gray"."""
        ...


@runtime_checkable
class LocalDetector(Detector, Protocol):
    """A detector with a cheap search of its own around a place."""

    def near(self, image: ImageArray, box: Box, /) -> Sequence[Detection]:
        """The faces around ``box``, in pixels of the whole image."""
        ...


@runtime_checkable
class CandidateDetector(Detector, Protocol):
    """A detector that also tells where a face nearly is, so that it can be seen coming in a video."""

    @property
    def threshold(self) -> float:
        """The least score of a face."""
        ...

    @property
    def margin(self) -> float:
        """By how much the score of a candidate may miss the threshold, at most."""
        ...

    def candidates(self, image: ImageArray, box: Box | None = None, /) -> Sequence[Detection]:
        """As ``detect``, or as ``near`` if there is a box, with scores down to ``threshold - margin``."""
        ...


@runtime_checkable
class RecallingDetector(CandidateDetector, Protocol):
    """A detector that finds a face of an earlier frame again for less than a search around it costs."""

    def again(self, image: ImageArray, box: Box, found: Detection, /) -> Sequence[Detection]:
        """As ``candidates`` around the box where a face that was ``found`` before should be by now."""
        ...


@runtime_checkable
class AdjustableDetector(Detector, Protocol):
    """A detector with options that can be changed, such as ``threshold`` or ``min_face``."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Names and present values; an option ``threshold`` is the least score of a face."""
        ...

    def with_options(self, **changes: Any) -> Detector:
        """Another detector with some options changed; ValueError for bad values."""
        ...


@runtime_checkable
class TrainingDetector(Detector, Protocol):
    """A detector that finds more faces in training than it should in a finished model."""

    def for_judging(self) -> Detector:
        """The detector of the finished model."""
        ...


@runtime_checkable
class DescribedDetector(Detector, Protocol):
    """A detector that describes itself in words."""

    @property
    def description(self) -> str: ...


def check_detector(detector: Any, name: str = "detector") -> Detector:
    """The detector itself; TypeError if it is none."""
    needed = f"{name} must be an object with a method detect(image) that returns a list of Detection"
    if inspect.isclass(detector):
        raise TypeError(f"{needed}; got the class {detector.__name__}: pass {detector.__name__}()")
    if inspect.isroutine(detector):
        raise TypeError(f"{needed}; got the function {name_of(detector)}: make it the method of a class")
    # a protocol would accept an attribute that cannot be called
    if not isinstance(detector, Detector) or not callable(detector.detect):
        raise TypeError(f"{needed}; got {type(detector).__name__}")
    return detector


def find_faces(detector: Detector, view: Views) -> list[Detection]:
    """The faces of a picture, best score first; TypeError or ValueError if the answer is not understood."""
    return _checked(detector, detector.detect(view.shown_to(detector)))


class Candidates(NamedTuple):
    """Faces, and what may become one.

    Attributes
    ----------
    faces : list of Detection
    nearly : list of (Box, float)
        Each place with the share of the margin by which it misses being a face, 0 to 1.
    """

    faces: list[Detection]
    nearly: list[tuple[Box, float]]


def lead_of(detector: Detector, score: float) -> float:
    """By how many of its margins a detector's score is above its threshold; 0 if it tells no margin."""
    if not offers(detector, CandidateDetector):
        return 0.0
    return max(0.0, (score - detector.threshold) / _margin_of(detector))


def _margin_of(detector: CandidateDetector) -> float:
    if not detector.margin > 0:
        raise ValueError(f"margin of {name_of(detector)} must be positive, got {detector.margin}")
    return detector.margin


def find_candidates(detector: Detector, view: Views, box: Box | None = None) -> Candidates:
    """The faces of a picture, or those around a place; and what nearly is one, if the detector tells."""
    if not offers(detector, CandidateDetector):
        return Candidates(find_faces(detector, view) if box is None else find_near(detector, view, box), [])
    return _divided(detector, detector.candidates(view.shown_to(detector), box))


def find_again(detector: Detector, view: Views, box: Box, found: Detection) -> Candidates:
    """As `find_candidates` around the box where a face of an earlier frame should be."""
    if not offers(detector, RecallingDetector):
        return find_candidates(detector, view, box)
    return _divided(detector, detector.again(view.shown_to(detector), box, found))


def _divided(detector: CandidateDetector, answer: Any) -> Candidates:
    found, threshold, margin = _checked(detector, answer), detector.threshold, _margin_of(detector)
    nearly = [(face.box, (threshold - face.score) / margin) for face in found if face.score < threshold]
    return Candidates([face for face in found if face.score >= threshold], nearly)


def find_within(detector: Detector, view: Views, box: Box) -> Candidates:
    """What is found on a part of the picture alone; boxes may differ a little from those of the whole."""
    if isinstance(detector, LocalDetector) and not offers(detector, CandidateDetector):
        return Candidates(find_near(detector, view, box), [])
    width, height = view.size
    x0, y0 = max(0, math.floor(box.x)), max(0, math.floor(box.y))
    x1, y1 = min(width, math.ceil(box.x + box.width)), min(height, math.ceil(box.y + box.height))
    if min(x1 - x0, y1 - y0) < MIN_SIDE:
        return Candidates([], [])
    part = Views(np.ascontiguousarray(view.shown_to(detector)[y0:y1, x0:x1]))
    faces, nearly = find_candidates(detector, part)
    moved = [dataclasses.replace(face, box=_moved(face.box, x0, y0)) for face in faces]
    return Candidates(moved, [(_moved(place, x0, y0), missed) for place, missed in nearly])


def _moved(box: Box, x: float, y: float) -> Box:
    return box._replace(x=box.x + x, y=box.y + y)


def find_near(detector: Detector, view: Views, box: Box) -> list[Detection]:
    """The faces around a place: by the detector's own ``near``, or on a part of the picture."""
    image = view.shown_to(detector)
    if isinstance(detector, LocalDetector):
        return _checked(detector, detector.near(image, box))
    (x, y), half = box.center, _REACH * max(box.width, box.height) / 2
    return find_within(detector, view, Box(x - half, y - half, 2 * half, 2 * half)).faces


def change_options(detector: Detector, **changes: Any) -> Detector:
    """The detector with other options; ValueError if it has none of these names."""
    if not changes:
        return detector
    known = detector.options if isinstance(detector, AdjustableDetector) else {}
    missing = [name for name in changes if name not in known]
    if missing or not isinstance(detector, AdjustableDetector):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise ValueError(f"the detector {name_of(detector)} has no option {', '.join(missing)}; {has}")
    return check_detector(detector.with_options(**changes))


def judging_detector(detector: Detector, threshold: float | None) -> tuple[Detector, float]:
    """The detector of a finished model, and the least score of the faces it finds (-inf if any will do).

    Parameters
    ----------
    detector : Detector
        The one that found the faces to train on.
    threshold : float or None
        Least score; never lower than in training. None leaves it to the detector.
    """
    known = detector.options if isinstance(detector, AdjustableDetector) else {}
    if threshold is not None:
        detector = change_options(detector, threshold=max(threshold, known.get("threshold", threshold)))
    elif isinstance(detector, TrainingDetector):
        detector = check_detector(detector.for_judging())
    known = detector.options if isinstance(detector, AdjustableDetector) else {}
    return detector, float(known.get("threshold", -math.inf))


def describe_detector(detector: Detector) -> str:
    """A detector in words: its own, or its name and options."""
    if isinstance(detector, DescribedDetector):
        return detector.description
    options = {name: value for name, value in (definition_of(detector) or {}).items() if name != "name"}
    return ", ".join([name_of(detector), *(f"{name} {value}" for name, value in options.items())])


def _checked(detector: Detector, answer: Any) -> list[Detection]:
    """The answer of a detector, with boxes that can be used."""
    who = f"the detector {name_of(detector)}"
    try:
        faces = list(answer)
    except TypeError:
        raise TypeError(f"{who} must return a list of Detection, got {type(answer).__name__}") from None
    checked = []
    for face in faces:
        if not isinstance(face, Detection):
            raise TypeError(
                f"{who} must return facereject.faces.Detection(Box(x, y, width, height), score), got "
                f"{type(face).__name__}"
            )
        box = check_box(face.box, f"box of {who}")
        score = float(face.score)
        if not math.isfinite(score):
            raise ValueError(f"score of {who} must be finite, got {score}; give 1.0 if it has no scores")
        if box != face.box or not isinstance(face.box, Box):
            face = Detection(box, score, face.points, face.found_by)
        checked.append(face if face.found_by else dataclasses.replace(face, found_by=name_of(detector)))
    return sorted(checked, key=lambda face: -face.score)
