"""FaceRejector: image in, faces out, each with landmarks, an uncertainty and a decision."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..modelfile import ModelFileContentError, read_model, write_model
from ..selection import Selector
from .calibration import Calibration, Target
from .detector import FaceDetector
from .features import LandmarkHOG
from .geometry import Box, FloatArray, box_of_landmarks, check_box, check_landmarks
from .images import ImageArray, ImageLike, load_rgb, to_gray
from .landmarks import LandmarkFunction, LandmarkPredictor
from .score_models import SCORE_MODELS, ScoreModel, array_specs
from .stability import LandmarkStability

_KIND = "face-rejector"
_CALIBRATION = {
    "calibration_uncertainty": ("float32", (None,)),
    "calibration_losses": ("float32", (None,)),
}


class PredictorMismatchWarning(UserWarning):
    """The model was trained for another landmark predictor: its expected errors may be off."""


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class Face:
    """One face and whether its landmarks can be trusted.

    Attributes
    ----------
    box : Box
        x, y, width, height in pixels.
    detector_score : float
        The detector's own score, for comparison; NaN if the face was not found by the detector.
    landmarks : ndarray of shape (68, 2)
        x, y in pixels; NaN if the predictor gave none.
    uncertainty : float
        Higher = less certain; only its order means something. +inf if the predictor gave no landmarks.
    expected_nme : float
        Expected mean landmark error in percent of the distance of the outer eye corners.
    accepted : bool
    reason : str
        Why the face was rejected; empty if it was accepted.
    """

    box: Box
    detector_score: float
    landmarks: FloatArray
    uncertainty: float
    expected_nme: float
    accepted: bool
    reason: str


class FaceRejector:
    """Detects faces, predicts landmarks and says which to trust.

    Get one from `pretrained`, `load` or `facereject.faces.train_face_rejector`. It never changes afterwards
    and pickles, so threads and processes may share it.

    Parameters
    ----------
    score : ScoreModel
        Features to uncertainty.
    calibration : Calibration
        Uncertainties and losses of faces the score was not trained on.
    target : Target
        What acceptance is tuned for, on the calibration sample.
    hog : LandmarkHOG
    stability : LandmarkStability or None
    detector : FaceDetector or None
        None is `FaceDetector()`.
    predictor : callable or None
        (image, box) -> (68, 2); None is dlib's published model.
    info : dict or None
        Plain JSON kept with the model: data, protocol, results.
    """

    def __init__(
        self,
        score: ScoreModel,
        calibration: Calibration,
        target: Target,
        *,
        hog: LandmarkHOG,
        stability: LandmarkStability | None = None,
        detector: FaceDetector | None = None,
        predictor: LandmarkFunction | None = None,
        info: dict[str, Any] | None = None,
    ) -> None:
        n_features = hog.n_features + (stability.n_features if stability else 0)
        if score.n_features != n_features:
            raise ValueError(f"score takes {score.n_features} features, hog and stability give {n_features}")
        self.score = score
        self.calibration = calibration
        self.target = target
        self.selector: Selector = calibration.select(target)
        self.hog = hog
        self.stability = stability
        self.detector = detector or FaceDetector()
        self.predictor: LandmarkFunction = LandmarkPredictor() if predictor is None else predictor
        self.info = dict(info or {})

    @classmethod
    def pretrained(
        cls,
        name: str = "default",
        *,
        detector: FaceDetector | None = None,
        predictor: LandmarkFunction | None = None,
    ) -> FaceRejector:
        """The models that come with the package, for dlib's published 68-point predictor.

        ``"default"`` costs a fraction of the landmark predictor's time; ``"thorough"`` ranks better and runs
        the predictor six more times per face. Their cards lie beside them in ``facereject/pretrained``.
        """
        folder = resources.files("facereject") / "pretrained"
        files = [Path(item.name) for item in folder.iterdir()]
        names = sorted(file.stem for file in files if file.suffix == ".safetensors")
        if name not in names:
            raise ValueError(f"name must be one of {', '.join(names)}; got {name!r}")
        with resources.as_file(folder / f"{name}.safetensors") as path:
            return cls.load(path, detector=detector, predictor=predictor)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        detector: FaceDetector | None = None,
        predictor: LandmarkFunction | None = None,
    ) -> FaceRejector:
        """Read a model file; see `facereject.modelfile` for what is checked and which errors are raised.

        Parameters
        ----------
        path : path
        detector : FaceDetector or None
            None is the detector with the options the model was trained with.
        predictor : callable or None
            None is dlib's published model. If it is not the one the model was trained for, a
            `PredictorMismatchWarning` says so.
        """
        header, arrays = read_model(path, _KIND, lambda h: array_specs(h.get("score")) | _CALIBRATION)
        try:
            hog = LandmarkHOG.from_definition(header["hog"])
            given = header["stability"]
            stability = LandmarkStability.from_definition(given) if given is not None else None
            n_features = hog.n_features + (stability.n_features if stability else 0)
            rejector = cls(
                SCORE_MODELS[header["score"]].from_arrays(arrays, n_features),
                Calibration(arrays["calibration_uncertainty"], arrays["calibration_losses"]),
                Target(str(header["target"]["kind"]), float(header["target"]["value"])),
                hog=hog,
                stability=stability,
                detector=detector or FaceDetector(**header["detector"]),
                predictor=predictor,
                info=header["info"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileContentError(f"{path}: {type(error).__name__}: {error}") from None
        trained_for, used = header.get("predictor"), rejector._fingerprint()
        if used != trained_for:
            names = [(str(name) if name else "without a fingerprint")[:21] for name in (trained_for, used)]
            warnings.warn(
                f"{path}: trained for the landmark predictor {names[0]}, used with {names[1]}; expected "
                "errors and thresholds may be off: pass the one it was trained for, or train for this one",
                PredictorMismatchWarning,
                stacklevel=2,
            )
        return rejector

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file: score, calibration, target and definitions, but not the predictor."""
        header = {
            "score": self.score.kind,
            "hog": self.hog.definition,
            "stability": self.stability.definition if self.stability else None,
            "target": {"kind": self.target.kind, "value": self.target.value},
            "detector": vars(self.detector),
            "predictor": self._fingerprint(),
            "info": self.info,
        }
        calibration = {
            "calibration_uncertainty": self.calibration.uncertainty.astype(np.float32),
            "calibration_losses": self.calibration.losses.astype(np.float32),
        }
        write_model(path, _KIND, header, {**self.score.arrays(), **calibration})

    def __call__(self, image: ImageLike) -> list[Face]:
        """Find and assess all faces of an image, best detector score first; no face gives an empty list."""
        rgb = load_rgb(image)
        gray = to_gray(rgb)
        shown = self._shown(rgb, gray)
        return [
            self._assess(gray, shown, self.predictor(shown, found.box), found.box, found.score)
            for found in self.detector.detect(gray)
        ]

    def assess(self, image: ImageLike, landmarks: ArrayLike, box: Sequence[float] | None = None) -> Face:
        """Assess landmarks that came from elsewhere.

        The expected error is right for the predictor the model was trained for; for another one the order is
        still informative, and `train_face_rejector` makes a model of its own.

        Parameters
        ----------
        image : path, PIL image or array
        landmarks : array-like of shape (68, 2)
            x, y in pixels, in the 300-W order.
        box : (x, y, width, height) or None
            Face box; None estimates it from the landmarks.
        """
        points = check_landmarks(landmarks)
        rgb = load_rgb(image)
        gray = to_gray(rgb)
        face = box_of_landmarks(points) if box is None else check_box(box)
        return self._assess(gray, self._shown(rgb, gray), points, face, float("nan"))

    def assess_box(self, image: ImageLike, box: Sequence[float]) -> Face:
        """Predict and assess the landmarks of a face that another detector found."""
        face = check_box(box)
        rgb = load_rgb(image)
        gray = to_gray(rgb)
        shown = self._shown(rgb, gray)
        return self._assess(gray, shown, self.predictor(shown, face), face, float("nan"))

    def with_target(
        self,
        *,
        max_error: float | None = None,
        coverage: float | None = None,
        cost: float | None = None,
        threshold: float | None = None,
    ) -> FaceRejector:
        """A rejector with another rule, tuned on the same calibration faces.

        Parameters
        ----------
        max_error : float
            Accept as many faces as possible with a mean error of at most this, in percent.
        coverage : float
            Accept this share of the faces, those of least uncertainty.
        cost : float
            Rejecting a face is as bad as an error of this many percent: accept where less is expected.
        threshold : float
            Accept up to this uncertainty.

        Exactly one of them is to be given.
        """
        options = {"max_error": max_error, "coverage": coverage, "cost": cost, "threshold": threshold}
        given = {kind: float(value) for kind, value in options.items() if value is not None}
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(options)}; got {', '.join(given) or 'none'}")
        ((kind, value),) = given.items()
        return self._changed(self.calibration, Target(kind, value))

    def with_calibration(self, uncertainty: ArrayLike, losses: ArrayLike) -> FaceRejector:
        """A rejector whose expected errors and threshold come from your own annotated faces."""
        return self._changed(Calibration(uncertainty, losses), self.target)

    def _changed(self, calibration: Calibration, target: Target) -> FaceRejector:
        other = copy.copy(self)
        other.calibration, other.target = calibration, target
        other.selector = calibration.select(target)
        return other

    def _shown(self, rgb: ImageArray, gray: ImageArray) -> ImageArray:
        return gray if getattr(self.predictor, "color", "rgb") == "gray" else rgb

    def _assess(self, gray: ImageArray, shown: ImageArray, landmarks: Any, box: Box, score: float) -> Face:
        try:
            points = check_landmarks(landmarks)
        except ValueError:
            nothing = np.full((68, 2), np.nan)
            nan, reason = float("nan"), "the predictor gave no usable landmarks"
            return Face(box, score, nothing, float("inf"), nan, False, reason)
        features: NDArray[np.float32] = self.hog(gray, points)
        if self.stability is not None:
            features = np.concatenate([features, self.stability(shown, box, points, self.predictor)])
        uncertainty = float(self.score(features[None])[0])
        expected = float(self.calibration.expected_error(uncertainty))
        # the acceptance probability at the threshold itself matters for samples with ties, not for one face
        accepted = uncertainty <= self.selector.threshold_
        reason = "" if accepted else f"uncertain: expected error {expected:.1f} % of the eye distance"
        return Face(box, score, points, uncertainty, expected, accepted, reason)

    def _fingerprint(self) -> str | None:
        return getattr(self.predictor, "fingerprint", None)

    def __repr__(self) -> str:
        rule = f"{self.target.kind}={self.target.value:g}"
        return f"FaceRejector({self.score.kind}, {rule}, threshold={self.selector.threshold_:.4g})"
