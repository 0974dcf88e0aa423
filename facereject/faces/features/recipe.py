"""All that a score sees of a face, as one vector: HOG, then stability, then context.

Stability is how far landmarks move when the predictor is run again. One that sees a landmark places it alike
from a neighbouring box, and in a mirrored and turned copy; one that guesses does not. The price is one more
prediction per run. Copies are levelled by the landmarks of an earlier run, and their boxes fit them: a tilted
face or a poor box is seen better the second time, and the mean of the runs is a better estimate than the
first one.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import Box, Detection
from facereject.faces.features.context import FaceContext, looked_at
from facereject.faces.features.hog import DefinedFeatures, LandmarkHOG
from facereject.faces.geometry import FloatArray, fit_similarity
from facereject.faces.images import ImageArray, Views
from facereject.faces.landmarks.base import Landmarks, predict_landmarks, predict_turned
from facereject.faces.landmarks.point_set import POINTS_300W, PointSet, mirror_partners
from facereject.modelfile import ArraySpec

#: the further runs of the model `thorough`, in degrees
THOROUGH_ANGLES = (0.0, 8.0, -8.0, -8.0, 8.0)

# keeps the logarithm finite where runs agree: 0.1 % of the face's scale, far below one pixel
_FLOOR = 1e-3

# distance of the first run from the others, in the length that normalises errors, at which it counts half
_FIRST_OFF = 0.05


@dataclass(frozen=True)
class LandmarkStability(DefinedFeatures):
    """Log mean displacement of each landmark under six perturbed boxes.

    value_i = log(0.001 + mean_k ||p_i(box_k) - p_i(box)|| / d), with d the length that normalises errors,
    measured on the prediction: for 68 points the distance of the outer eye corners. The boxes are shifted by
    ``shift`` of their size left, right, up and down, and scaled by ``scale`` and 1 / ``scale``.

    Parameters
    ----------
    shift : float, default=0.06
        Between 0 and 1.
    scale : float, default=1.08
        Between 1 and 2.
    points : PointSet, default=the 68 points of 300-W
    """

    shift: float = 0.06
    scale: float = 1.08
    points: PointSet = POINTS_300W

    def __post_init__(self) -> None:
        # NaN fails both comparisons
        if not 0 < self.shift < 1:
            raise ValueError(f"shift must lie between 0 and 1, got {self.shift}")
        if not 1 < self.scale < 2:
            raise ValueError(f"scale must lie between 1 and 2, got {self.scale}")

    @property
    def n_features(self) -> int:
        """Length of the vector: one value per landmark that is used."""
        return self.points.n_used

    def boxes(self, box: Box) -> list[Box]:
        """The six perturbed boxes."""
        x, y = box.center
        moves = [(-self.shift, 0.0), (self.shift, 0.0), (0.0, -self.shift), (0.0, self.shift)]
        changes = [(dx, dy, 1.0) for dx, dy in moves] + [(0.0, 0.0, self.scale), (0.0, 0.0, 1 / self.scale)]
        return [
            Box(
                x + dx * box.width - zoom * box.width / 2,
                y + dy * box.height - zoom * box.height / 2,
                zoom * box.width,
                zoom * box.height,
            )
            for dx, dy, zoom in changes
        ]

    def __call__(
        self, image: ImageArray, box: Box, landmarks: FloatArray, predictor: Landmarks
    ) -> NDArray[np.float32]:
        """The values for ``landmarks = predictor(image, box)``.

        Raises NoLandmarksError if the predictor fails on a perturbed box.
        """
        n, chosen = self.points.n, self.points.chosen
        moved = [chosen(predict_landmarks(predictor, image, other, n)) for other in self.boxes(box)]
        distance = np.linalg.norm(np.array(moved) - chosen(landmarks), axis=2).mean(axis=0)
        # a collapsed prediction has no size; one pixel keeps the ratio large and finite
        size = max(self.points.scale(landmarks), 1.0)
        return np.asarray(np.log(_FLOOR + distance / size), dtype=np.float32)


class Runs(NamedTuple):
    """The landmarks after all runs of the predictor, and what the differences say: values of a stability."""

    landmarks: FloatArray
    values: NDArray[np.float32]


@dataclass(frozen=True)
class MirroredRuns(DefinedFeatures):
    """More predictions on mirrored and turned images: log distances between them, and their mean.

    With p_0 the prediction itself, p_1 ... p_K those on images that are mirrored, levelled by p_0, turned
    by ``angles``, and brought back, and d the length that normalises errors:

        values = log(0.001 + ||mean_k>0 p_k - p_0|| / d),  log(0.001 + mean_k>0 ||p_k - mean_k>0 p_k|| / d)

    for every point that is used. Where the mean shape of the points is not symmetric, the images are only
    turned. Images are turned at their own resolution, as far as the box is at most 300 pixels large.

    Parameters
    ----------
    angles : tuple of float, default=(10, -15)
        In degrees, between -45 and 45; one run each, at most eight.
    points : PointSet, default=the 68 points of 300-W
    """

    angles: tuple[float, ...] = (10.0, -15.0)
    points: PointSet = POINTS_300W

    def __post_init__(self) -> None:
        angles = tuple(float(angle) for angle in self.angles)
        # NaN fails the comparison
        if not 1 <= len(angles) <= 8 or not all(-45 <= angle <= 45 for angle in angles):
            raise ValueError(f"angles must be one to eight numbers between -45 and 45, got {self.angles!r}")
        object.__setattr__(self, "angles", angles)

    @property
    def n_features(self) -> int:
        """Length of the vector: two values per landmark that is used."""
        return 2 * self.points.n_used

    def __call__(self, image: ImageArray, landmarks: FloatArray, predictor: Landmarks) -> Runs:
        """The runs for the landmarks of a face in ``image``, in the colours that the predictor asks for.

        Raises NoLandmarksError if the predictor fails on a turned image.
        """
        more = np.array([self._run(predictor, image, landmarks, angle, True) for angle in self.angles])
        together = (landmarks + more.sum(axis=0)) / (len(more) + 1)
        return Runs(together, self._values(landmarks, more))

    def _run(
        self, predictor: Landmarks, image: ImageArray, near: FloatArray, angle: float, mirrored: bool
    ) -> FloatArray:
        """A prediction on a copy that is levelled by some landmarks and turned by an angle."""
        partners = mirror_partners(self.points) if mirrored else None
        frame = fit_similarity(self.points.mean_shape, near)
        tilt = float(np.degrees(np.arctan2(frame[1, 0], frame[0, 0])))
        # what levels an image turns its mirror image the other way
        level = -tilt if partners is None else tilt
        box, n = self.points.box_of(near), self.points.n
        return predict_turned(predictor, image, box, level + angle, n, partners)

    def _values(self, landmarks: FloatArray, more: FloatArray) -> NDArray[np.float32]:
        mean = more.mean(axis=0)
        chosen = self.points.chosen
        # a collapsed prediction has no size; one pixel keeps the ratio large and finite
        size = max(self.points.scale(landmarks), 1.0)
        moved = np.linalg.norm(chosen(mean - landmarks), axis=1)
        spread = np.linalg.norm(more - mean, axis=2).mean(axis=0)
        spread = spread if self.points.used is None else spread[list(self.points.used)]
        values = np.log(_FLOOR + np.concatenate([moved, spread]) / size)
        return np.asarray(values, dtype=np.float32)


@dataclass(frozen=True)
class RefinedRuns(MirroredRuns):
    """More predictions on copies levelled by better landmarks: log distances between them, a robust mean.

    The second run is on a mirrored copy, levelled by the first prediction p_0; the others are on copies
    levelled by the mean of these two, every other one mirrored. The mean weights every run by 1, the first by

        w = 1 / (1 + (d / 0.05)^2),  d = mean distance of p_0 and the mean of the others,

    in the length that normalises errors: its box came from the detector, those of the others from landmarks,
    so that the others are right where they differ. The values are those of `MirroredRuns`.

    Parameters
    ----------
    angles : tuple of float, default=(0,)
        In degrees, between -45 and 45; one run each, at most eight.
    points : PointSet, default=the 68 points of 300-W

    Examples
    --------
    >>> from facereject.faces import RefinedRuns
    >>> RefinedRuns().definition
    {'name': 'RefinedRuns', 'version': 1, 'angles': [0.0]}
    """

    angles: tuple[float, ...] = (0.0,)

    def __call__(self, image: ImageArray, landmarks: FloatArray, predictor: Landmarks) -> Runs:
        """The runs for the landmarks of a face in ``image``, in the colours that the predictor asks for.

        Raises NoLandmarksError if the predictor fails on a copy.
        """
        together, runs = landmarks, []
        for number, angle in enumerate(self.angles):
            runs.append(self._run(predictor, image, together, angle, number % 2 == 0))
            # the copies of all further runs are levelled by the first two
            if number in (0, len(self.angles) - 1):
                together = self._mean(landmarks, np.array(runs))
        return Runs(together, self._values(landmarks, np.array(runs)))

    def _mean(self, landmarks: FloatArray, more: FloatArray) -> FloatArray:
        """The mean of all runs, in which the first counts less the further it is off the others."""
        size = max(self.points.scale(landmarks), 1.0)
        off = float(np.linalg.norm(more.mean(axis=0) - landmarks, axis=1).mean()) / size
        weight = 1 / (1 + (off / _FIRST_OFF) ** 2)
        return np.asarray((weight * landmarks + more.sum(axis=0)) / (weight + len(more)))


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class LandmarkCorrection:
    """Moves landmarks by (x W) A + b in the frame of the mean shape, where x are their HOG values.

    One more step of a cascade: a predictor makes errors that its surroundings show, such as a jaw line beside
    the edge it should follow. A ridge regression from the HOG values to the true displacement removes a part
    of them, for two small matrix products. It is learned for one predictor and used with no other.

    Parameters
    ----------
    points : PointSet
    predictor : str
        Fingerprint of the predictor whose landmarks it corrects.
    weights : ndarray of shape (h, r), float32
        W, from the HOG values to r coefficients.
    axes : ndarray of shape (r, 2 n), float32
        A, the displacement of all points, x and y one after the other, for every coefficient.
    offset : ndarray of shape (2 n,), float32
        b.
    """

    points: PointSet
    predictor: str
    weights: NDArray[np.float32]
    axes: NDArray[np.float32]
    offset: NDArray[np.float32]

    specs: ClassVar[dict[str, ArraySpec]] = {
        "correction_weights": ("float32", (None, None)),
        "correction_axes": ("float32", (None, None)),
        "correction_offset": ("float32", (None,)),
    }

    def __post_init__(self) -> None:
        coordinates = 2 * self.points.n
        if self.axes.shape != (self.weights.shape[1], coordinates) or self.offset.shape != (coordinates,):
            shapes = [array.shape for array in (self.weights, self.axes, self.offset)]
            raise ValueError(f"the correction is not one of {self.points.n} points: shapes {shapes}")

    @property
    def n_features(self) -> int:
        """How many HOG values it takes."""
        return len(self.weights)

    @property
    def definition(self) -> dict[str, Any]:
        """What it is, as plain JSON: for the model file, and to tell cached features apart."""
        digest = hashlib.sha256()
        for array in self.arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
        return {"version": 1, "predictor": self.predictor, "digest": digest.hexdigest()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file stores."""
        return {name: getattr(self, name.removeprefix("correction_")) for name in self.specs}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], definition: dict[str, Any], points: PointSet
    ) -> LandmarkCorrection:
        """The inverse of `arrays` and `definition`."""
        tables = {name.removeprefix("correction_"): arrays[name] for name in cls.specs}
        correction = cls(points, str(definition["predictor"]), **tables)
        if correction.definition != definition:
            raise ValueError(f"unknown correction {definition!r}")
        return correction

    def __call__(self, hog: NDArray[np.float32], landmarks: FloatArray) -> FloatArray:
        """The corrected landmarks of a face.

        Parameters
        ----------
        hog : ndarray of shape (h,)
            HOG values at ``landmarks``.
        landmarks : ndarray of shape (n, 2)
        """
        return moved(landmarks, (hog @ self.weights) @ self.axes + self.offset, self.points)


def moved(landmarks: FloatArray, displacement: NDArray[np.floating[Any]], points: PointSet) -> FloatArray:
    """Landmarks moved by a displacement (2 n,) that is given in the frame of the mean shape."""
    frame = fit_similarity(points.mean_shape, landmarks)[:, :2]
    return np.asarray(landmarks + displacement.reshape(-1, 2) @ frame.T, dtype=np.float64)


#: what may tell how stable a prediction is
Stability = LandmarkStability | MirroredRuns


class Seen(NamedTuple):
    """The landmarks of a face, which more runs of the predictor may have improved, and its features."""

    landmarks: FloatArray
    values: NDArray[np.float32]


@dataclass(frozen=True)
class FaceFeatures:
    """How a face becomes a vector.

    Parameters
    ----------
    hog : LandmarkHOG
    stability : LandmarkStability, MirroredRuns or None
        With `MirroredRuns` the landmarks are the mean of its runs, and all other features are taken there.
    context : FaceContext or None
    correction : LandmarkCorrection or None
        Moves the landmarks after the features were taken, unless they came from elsewhere.
    """

    hog: LandmarkHOG
    stability: Stability | None = None
    context: FaceContext | None = None
    correction: LandmarkCorrection | None = None

    def __post_init__(self) -> None:
        for name in ("stability", "context", "correction"):
            part = getattr(self, name)
            if part is not None and part.points != self.hog.points:
                raise ValueError(f"{name} is for {part.points}, hog for {self.hog.points}")

    @property
    def points(self) -> PointSet:
        """The points of the predictor."""
        return self.hog.points

    @functools.cached_property
    def n_features(self) -> int:
        """Length of the vector."""
        parts = (self.hog, self.stability, self.context)
        return sum(part.n_features for part in parts if part is not None)

    @property
    def definition(self) -> dict[str, Any]:
        """The definitions of the parts, as plain JSON."""
        definition: dict[str, Any] = {
            "hog": self.hog.definition,
            "stability": self.stability.definition if self.stability else None,
            "context": self.context.definition if self.context else None,
        }
        if self.correction is not None:
            definition["correction"] = self.correction.definition
        return definition

    @classmethod
    def from_definition(cls, definition: dict[str, Any], points: PointSet) -> FaceFeatures:
        """The inverse of `definition`, without a correction, whose arrays the model file has.

        Raises ValueError for features this version does not know.
        """
        hog = LandmarkHOG.from_definition(definition["hog"], points)
        stability: Stability | None = None
        if (given := definition["stability"]) is not None:
            kinds: dict[Any, Any] = {each.__name__: each for each in (MirroredRuns, RefinedRuns)}
            stability = kinds.get(given.get("name"), LandmarkStability).from_definition(given, points)
        # files of earlier versions know no context
        given = definition.get("context")
        context = FaceContext.from_definition(given, points) if given is not None else None
        return cls(hog, stability, context)

    def __call__(
        self,
        view: Views,
        found: Detection,
        landmarks: FloatArray,
        predictor: Landmarks,
        *,
        keep: bool = False,
    ) -> Seen:
        """The features for the landmarks of a detected face.

        Parameters
        ----------
        view : Views
        found : Detection
        landmarks : ndarray of shape (n, 2)
        predictor : callable
        keep : bool, default=False
            Score these landmarks, which came from elsewhere, instead of the mean of all runs.

        Raises
        ------
        NoLandmarksError
            If the predictor fails in a further run.
        """
        runs = self.runs(view, found, landmarks, predictor)
        return self.seen(view, found, runs._replace(landmarks=landmarks) if keep else runs, keep=keep)

    def runs(self, view: Views, found: Detection, landmarks: FloatArray, predictor: Landmarks) -> Runs:
        """The first half of a call: all that needs the predictor.

        Raises NoLandmarksError if it fails.
        """
        if self.stability is None:
            return Runs(landmarks, np.empty(0, dtype=np.float32))
        shown = view.shown_to(predictor)
        if isinstance(self.stability, MirroredRuns):
            return self.stability(shown, landmarks, predictor)
        return Runs(landmarks, self.stability(shown, found.box, landmarks, predictor))

    def seen(self, view: Views, found: Detection, runs: Runs, *, keep: bool = False) -> Seen:
        """The second half: all that the image shows at the landmarks."""
        landmarks, more = runs
        chip, points = self.hog.chip(view.gray, landmarks, looked_at(self.hog.chip_size))
        values = np.empty(self.n_features, dtype=np.float32)
        n = self.hog.n_features
        values[:n] = self.hog.describe(chip, points)
        values[n : n + len(more)] = more
        if self.context is not None:
            values[-self.context.n_features :] = self.context(view.size, found, landmarks, chip)
        if self.correction is not None and not keep:
            landmarks = self.correction(values[:n], landmarks)
        return Seen(landmarks, values)
