"""What a detector is: an object with ``detect(image) -> list of Detection``, and optional methods."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from facereject.faces.face import Box, Detection
from facereject.faces.geometry import check_box
from facereject.faces.images import ImageArray, Views
from facereject.faces.plugins import definition_of, name_of, offers

_Own = TypeVar("_Own")


@runtime_checkable
class Detector(Protocol):
    """Finds faces: any object with this method.

    docs/plugins.md lists what else a detector may have.

    See Also
    --------
    register_detector : Makes a detector known by name.

    Examples
    --------
    >>> from facereject.faces import Box, Detection, Detector
    >>> class WholeImage:
    ...     def detect(self, image):
    ...         return [Detection(Box(0, 0, image.shape[1], image.shape[0]), 1.0)]
    >>> isinstance(WholeImage(), Detector)
    True
    """

    def detect(self, image: ImageArray, /) -> Sequence[Detection]:
        """Find the faces of an image.

        Parameters
        ----------
        image : ndarray of uint8
            RGB, of shape (H, W, 3); of shape (H, W) if ``color`` of the detector is "gray".

        Returns
        -------
        sequence of Detection
        """
        ...


@runtime_checkable
class VideoDetector(Detector, Protocol):
    """A detector with a cheaper search for the frames of a video."""

    def detect_next(
        self, image: ImageArray, expected: Sequence[Detection], frame: int, n_frames: int, /
    ) -> Sequence[Detection]:
        """The faces of the next frame.

        Parameters
        ----------
        image : ndarray
            As for ``detect``.
        expected : sequence of Detection
            Where faces are expected, as they were found last.
        frame : int
            Number of the frame in its video.
        n_frames : int
            A part of each frame may be searched for new faces; after this many frames all has been searched,
            with 1 in this frame.

        Returns
        -------
        sequence of Detection
            Known and new faces, each once.
        """
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


class Options:
    """Options that are the fields of a frozen dataclass, as the detectors of this package have them."""

    registered_name: ClassVar[str]

    @property
    def options(self) -> dict[str, Any]:
        """The parameters by name."""
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(cast(Any, self))}

    def with_options(self: _Own, **changes: Any) -> _Own:
        """A detector with some parameters changed.

        Parameters
        ----------
        **changes
            New values by name.

        Returns
        -------
        Detector
        """
        changed: _Own = dataclasses.replace(cast(Any, self), **changes)
        return changed

    @property
    def definition(self) -> dict[str, Any]:
        """What a model file keeps, as plain JSON."""
        return {"name": self.registered_name, **self.options}

    def _check(self, name: str, low: float, high: float, *, whole: bool = False, none: bool = False) -> None:
        """Make an option a plain number, as a model file needs it; ValueError if it is outside its range."""
        value = getattr(self, name)
        if value is None and none:
            return
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not low <= value <= high or (whole and value != int(value)):
            kind = f"{'None or ' if none else ''}a {'whole ' if whole else ''}number"
            raise ValueError(f"{name} must be {kind} from {low:g} to {high:,g}; got {value!r}")
        object.__setattr__(self, name, int(value) if whole else float(value))


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
    """The faces of an image, best score first; TypeError or ValueError for results of another form."""
    return _checked(detector, detector.detect(view.shown_to(detector)))


def find_next(
    detector: Detector, view: Views, expected: Sequence[Detection], frame: int, n_frames: int
) -> list[Detection]:
    """The faces of the next frame of a video; see `VideoDetector`. Other detectors search the whole frame."""
    if not offers(detector, VideoDetector):
        return find_faces(detector, view)
    return _checked(detector, detector.detect_next(view.shown_to(detector), expected, frame, n_frames))


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
    """The detector of a finished model, and the least score of the faces it finds (-inf if it has none).

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
    """A description of a detector: its own, or its name and options."""
    if description := getattr(detector, "description", ""):
        return str(description)
    options = {name: value for name, value in (definition_of(detector) or {}).items() if name != "name"}
    return ", ".join([name_of(detector), *(f"{name} {value}" for name, value in options.items())])


def _checked(detector: Detector, answer: Any) -> list[Detection]:
    """The detections of a detector, after checks of their boxes and scores."""
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
