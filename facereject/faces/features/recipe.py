"""All that a score sees of a face, as one vector: HOG, then stability, then context."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces.face import Detection
from facereject.faces.features.context import FaceContext
from facereject.faces.features.correction import LandmarkCorrection
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.mirrored import MirroredRuns, RefinedRuns
from facereject.faces.features.quality import looked_at
from facereject.faces.features.stability import LandmarkStability
from facereject.faces.geometry import FloatArray
from facereject.faces.landmarks.base import Landmarks
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.views import Views

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
        more: NDArray[np.float32] | None = None
        if isinstance(self.stability, MirroredRuns):
            mean, more = self.stability(view.shown_to(predictor), landmarks, predictor)
            landmarks = landmarks if keep else mean
        elif self.stability is not None:
            more = self.stability(view.shown_to(predictor), found.box, landmarks, predictor)
        chip, points = self.hog.chip(view.gray, landmarks, looked_at(self.hog.chip_size))
        values = np.empty(self.n_features, dtype=np.float32)
        n = self.hog.n_features
        values[:n] = self.hog.describe(chip, points)
        if more is not None:
            values[n : n + len(more)] = more
        if self.context is not None:
            values[-self.context.n_features :] = self.context(view.size, found, landmarks, chip)
        if self.correction is not None and not keep:
            landmarks = self.correction(values[:n], landmarks)
        return Seen(landmarks, values)
