"""FaceRejector: image in, faces out, each with landmarks, an uncertainty and a decision."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject._deprecation import warn_deprecated
from facereject.faces.detectors import Detector, check_detector, make_detector
from facereject.faces.detectors.base import find_faces
from facereject.faces.domain_monitor import compared, why_not_compared
from facereject.faces.face import EMPTY, Detection, Face, FaceFrame, Lazy, changed, lazy_thumbnail
from facereject.faces.features.context import FaceContext
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.features.recipe import FaceFeatures, LandmarkCorrection, MirroredRuns, Runs, Stability
from facereject.faces.geometry import FloatArray, check_box, check_landmarks, disagreement
from facereject.faces.images import ImageLike, Views
from facereject.faces.landmarks import LandmarkModelError, Landmarks, make_landmarks
from facereject.faces.landmarks.base import (
    NoLandmarksError,
    check_predictor,
    place_landmarks,
    placement_of,
    warn_of_failure,
)
from facereject.faces.landmarks.conversion import converted
from facereject.faces.landmarks.from_files import FilePredictor
from facereject.faces.landmarks.point_set import PointSet, PoseLimits, check_limits, pose_of
from facereject.faces.models._unit import unit_record
from facereject.faces.models.calibration import INTERVAL_LEVEL, Calibration, RegionSample, Target
from facereject.faces.models.domain import Domain, DomainCheck
from facereject.faces.models.score_models import CompactScoreModel, RegionScore, ScoreModel, details_of
from facereject.faces.models.storage import pretrained_models, read_stored, write_stored
from facereject.faces.models.unlike import UnlikeFactor
from facereject.faces.plugins import fingerprint_of
from facereject.faces.regions import region_names
from facereject.modelfile import ModelFileContentError
from facereject.selection import InfeasibleTargetError, Selector

if TYPE_CHECKING:
    import pandas


class PredictorMismatchWarning(UserWarning):
    """The model was trained for another landmark predictor: its expected errors may be off."""


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
        With the point set of the predictor.
    stability : LandmarkStability, MirroredRuns or None
        More runs of the predictor. With `MirroredRuns` the landmarks of a face are the mean of all runs.
    context : FaceContext or None
        Features of shape, place and image quality.
    correction : LandmarkCorrection or None
        Moves the landmarks of the predictor it was learned for; those of others stay as they are.
    detector : Detector or None
        Any object with ``detect(image)``, see `facereject.faces.detectors`; None is dlib's, `FaceDetector()`.
    predictor : callable or None
        (image, box) -> (n, 2), see `facereject.faces.landmarks`; None is dlib's published model. A face on
        which it raises an error is rejected with the reason ``no_landmarks`` and a `LandmarkFailureWarning`.
    upright_beyond : float or None
        Degrees of tilt, by the five points of the detector, above which landmarks are placed on an upright
        copy of the face; None is never.
    info : dict or None
        Plain JSON kept with the model: data, protocol, results.

    Attributes
    ----------
    pose_limits : PoseLimits
        How far heads may be turned, see `with_pose_limits`; no limits at first.

    See Also
    --------
    facereject.score_files : Faces of many files, as a table and other outputs.
    facereject.faces.train_face_rejector : Train one for your predictor.

    Examples
    --------
    >>> import skimage.data
    >>> from facereject import FaceRejector
    >>> rejector = FaceRejector.pretrained("dlib").with_target(max_error=3)
    >>> faces = rejector(skimage.data.astronaut())
    >>> [face.accepted for face in faces]
    [True]
    """

    pose_limits = PoseLimits()

    def __init__(
        self,
        score: ScoreModel,
        calibration: Calibration,
        target: Target,
        *,
        hog: LandmarkHOG,
        stability: Stability | None = None,
        context: FaceContext | None = None,
        correction: LandmarkCorrection | None = None,
        detector: Detector | None = None,
        predictor: Landmarks | None = None,
        upright_beyond: float | None = None,
        info: dict[str, Any] | None = None,
    ) -> None:
        given = make_landmarks("dlib") if predictor is None else predictor
        self.predictor: Landmarks = check_predictor(given, hog.points.n)
        if correction is not None and correction.predictor != fingerprint_of(self.predictor):
            correction = None
        self.features = FaceFeatures(hog, stability, context, correction)
        n_features = self.features.n_features
        if score.n_features != n_features:
            raise ValueError(
                f"score takes {score.n_features} features, hog, stability and context give {n_features}"
            )
        self.score = score
        self.calibration = calibration
        self.target = target
        self.selector: Selector = calibration.select(target)
        self.detector: Detector = make_detector("dlib") if detector is None else check_detector(detector)
        if upright_beyond is not None and not 0 <= upright_beyond <= 180:
            raise ValueError(f"upright_beyond must lie between 0 and 180 degrees, got {upright_beyond!r}")
        self.upright_beyond = upright_beyond
        self.info = dict(info or {})
        #: whether dlib's detector takes the place of YuNet, whose weights could not be downloaded
        self.fell_back = False

    @classmethod
    def pretrained(
        cls,
        name: str = "default",
        *,
        detector: Detector | None = None,
        predictor: Landmarks | None = None,
    ) -> FaceRejector:
        """Load a model that is installed with the package.

        ``"default"``: YuNet finds faces, dlib's published predictor places 68 landmarks in two runs: on the
        image, or on an upright copy of tilted faces, and on a mirrored copy. ``"thorough"`` is more accurate
        and ranks better: it runs the predictor six times. Both return a mean of the runs, in which the first
        counts less the further it is off the others. ``"dlib"`` is the stack of
        the paper: dlib's detector and predictor, and a linear score on HOG values. ``"mesh"`` and, without
        any part that excludes commercial use, ``"mesh-free"`` use MediaPipe's face mesh on faces that YuNet
        found; they need ``facereject models get``. Cards are beside them in ``facereject/pretrained``.

        The weights of YuNet are downloaded when they are first needed. If that fails, or
        ``FACEREJECT_OFFLINE=1`` forbids it, dlib's detector takes its place, with a warning, and
        ``fell_back`` is true.

        Parameters
        ----------
        name : str, default="default"
            Name of the model.
        detector : Detector or None
            None is the detector the model was trained with.
        predictor : callable or None
            None is the landmark predictor the model was trained for.

        Returns
        -------
        FaceRejector
        """
        if name not in (names := pretrained_models()):
            raise ValueError(f"name must be one of {', '.join(names)}; got {name!r}")
        folder = resources.files("facereject") / "pretrained"
        with resources.as_file(folder / f"{name}.safetensors") as path:
            return cls.load(path, detector=detector, predictor=predictor)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        detector: Detector | None = None,
        predictor: Landmarks | None = None,
    ) -> FaceRejector:
        """Read a model file; see `facereject.modelfile` for what is checked and which errors are raised.

        Parameters
        ----------
        path : path
            A file that `save` wrote.
        detector : Detector or None
            None is the detector the model was trained with, restored by its registered name.
        predictor : callable or None
            None is the one the model was trained for, restored by its registered name. If another one is
            given, or the file behind the name has changed, a `PredictorMismatchWarning` says so.

        Raises
        ------
        ModelFileError
            The file cannot be used, or names a detector or predictor that is not registered here.
        LandmarkModelError
            The landmark predictor it was trained for is missing, or another number of points is given.
        """
        stored = read_stored(path, detector, predictor)
        try:
            rejector = cls(**stored.parts)
        except LandmarkModelError:
            raise
        except (TypeError, ValueError) as error:
            raise ModelFileContentError(f"{path}: {type(error).__name__}: {error}") from None
        rejector.fell_back = stored.fell_back
        trained_for, used = stored.trained_for, fingerprint_of(rejector.predictor)
        if used != trained_for:
            names = [
                f"the predictor {name[:12]}…" if name else "a predictor that has no fingerprint"
                for name in (trained_for, used)
            ]
            warnings.warn(
                f"{path}: trained for {names[0]}, but used with {names[1]}: expected errors and thresholds "
                "may be off. Use the predictor it was trained for, or train a model for this one.",
                PredictorMismatchWarning,
                stacklevel=2,
            )
        return rejector

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file: score, calibration, target, points, and the names of detector and predictor.

        Parameters
        ----------
        path : path
            The file appears in one step, and replaces one of that name.

        Raises
        ------
        ValueError
            The detector or the predictor could not be restored from the file: both need a ``definition`` and
            a registered name (docs/plugins.md). Nothing is written.
        """
        if self.pose_limits != PoseLimits():
            raise ValueError(
                "a model file holds no pose limits: save the model without them, set them after loading"
            )
        write_stored(path, self)

    @property
    def hog(self) -> LandmarkHOG:
        """The features of the image around each point."""
        return self.features.hog

    @property
    def stability(self) -> Stability | None:
        """The features that take more runs of the predictor."""
        return self.features.stability

    @property
    def context(self) -> FaceContext | None:
        """The features of shape, place and image quality."""
        return self.features.context

    @property
    def points(self) -> PointSet:
        """The points of the predictor: how many, their mean shape, how errors are normalised."""
        return self.hog.points

    @property
    def n_points(self) -> int:
        """How many points the predictor places."""
        return self.hog.points.n

    @property
    def relative(self) -> bool:
        """Whether the model was trained without annotation, so that its errors have no unit.

        It ranks faces by uncertainty; expected errors are unknown until `with_unit` gives them a unit.
        """
        return self.info.get("relative") is True

    @property
    def from_files(self) -> bool:
        """Whether the model scores landmarks read from files and has no predictor to run: use `assess`."""
        return isinstance(self.predictor, FilePredictor)

    @property
    def needs_others(self) -> bool:
        """Whether the model compares landmarks with those of other tools: `assess` needs ``others``."""
        return self.context is not None and self.context.disagreement

    @property
    def region(self) -> tuple[str, ...]:
        """The regions that decide, see `for_region`; empty for the whole face."""
        return self.score.names if isinstance(self.score, RegionScore) else ()

    @overload
    def __call__(self, image: ImageLike) -> list[Face]: ...

    @overload
    def __call__(self, image: list[Any] | tuple[Any, ...]) -> list[list[Face]]: ...

    def __call__(self, image: ImageLike | list[Any] | tuple[Any, ...]) -> list[Face] | list[list[Face]]:
        """Find and assess all faces of an image, best detector score first; no face gives an empty list.

        A list of images gives a list with such a list for each. For many files see `table` and
        `facereject.score_files`. The faces carry a thumbnail of about 4 KB for notebooks.
        """
        if isinstance(image, list | tuple):
            return [self(each) for each in image]
        view = Views(image)
        faces = self.assess_detections(view, find_faces(self.detector, view))
        return [changed(face, thumbnail=lazy_thumbnail(view.rgb, face.box)) for face in faces]

    def table(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        workers: int = 1,
        **options: Any,
    ) -> pandas.DataFrame:
        """The faces of images and videos as a pandas DataFrame, with the columns of the table.

        Parameters
        ----------
        paths : path or sequence of paths
            As in `facereject.score_files`, which writes tables that need not fit into memory.
        workers : int, default=1
            Processes that share the work.
        **options
            Further options of `facereject.score_files`.

        Returns
        -------
        pandas.DataFrame
            A row per face, or one that says why there is none. What is unknown is NA.
        """
        # by its public name: tables are made in a layer above this one
        import facereject

        return facereject.score_table(self, paths, workers=workers, **options)

    def assess(
        self,
        image: ImageLike | Views,
        landmarks: ArrayLike,
        box: Sequence[float] | None = None,
        *,
        confidence: float = math.nan,
        others: Sequence[ArrayLike | None] | None = None,
    ) -> Face:
        """Assess landmarks that came from elsewhere.

        Expected errors are right for the predictor the model was trained for. For another predictor the
        ranking is still informative; train a model for it with `train_face_rejector`. The landmarks are
        scored and returned unchanged, also by models that average several runs of their predictor.

        Parameters
        ----------
        image : path, PIL image or array
            Image that the landmarks belong to.
        landmarks : array-like of shape (n, 2)
            x, y in pixels, in the order of the predictor; the 68 of 300-W for the installed models. The 468
            or 478 of MediaPipe and the 98 of WFLW are converted
            (`facereject.faces.landmarks.conversion`).
        box : (x, y, width, height) or None
            Face box; None estimates it from the landmarks.
        confidence : float
            Confidence the tool gave, for a model trained with it; NaN if unknown.
        others : sequence of array-like of shape (n, 2) or None
            Landmarks of the same face by other predictors, None where one has none; for a model that was
            trained to compare them.

        Returns
        -------
        Face
        """
        view = image if isinstance(image, Views) else Views(image)
        points = converted(check_landmarks(landmarks), self.n_points)
        face = self.points.box_of(points) if box is None else check_box(box)
        apart = None
        if others is not None:
            told = (None if o is None else converted(check_landmarks(o), self.n_points) for o in others)
            apart = disagreement(points, told)
        found = Detection(face, confidence, disagreement=apart)
        return self._assess(view, found, self._runs(view, found, points), "given")

    def assess_many(self, images: Sequence[ImageLike], landmarks: Sequence[ArrayLike]) -> list[Face]:
        """Assess the landmarks of many faces, as `assess` does for one.

        Parameters
        ----------
        images : sequence of paths, PIL images or arrays
            The image of each face. Consecutive faces of one image read it once.
        landmarks : sequence of array-like of shape (n, 2)
            The landmarks of each face.

        Returns
        -------
        list of Face
        """
        if len(images) != len(landmarks):
            raise ValueError(
                f"images and landmarks must have the same length, got {len(images)} and {len(landmarks)}"
            )
        faces: list[Face] = []
        last: Any = None
        view: Views | None = None
        for image, points in zip(images, landmarks, strict=True):
            # comparing the pixels of two arrays would take longer than it saves
            same = image == last if isinstance(image, str | os.PathLike) else image is last
            view = view if same and view is not None else Views(image)
            last = image
            faces.append(self.assess(view, points))
        return faces

    def assess_box(self, image: ImageLike | Views, box: Sequence[float]) -> Face:
        """Predict and assess the landmarks of a face that another detector found.

        Parameters
        ----------
        image : path, PIL image, array, or Views
            `facereject.faces.images.Views` shares conversions between the faces of an image.
        box : (x, y, width, height)
            Box of the face in pixels.

        Returns
        -------
        Face
        """
        return self.assess_detections(image, [Detection(check_box(box), math.nan)])[0]

    def assess_detections(self, image: ImageLike | Views, found: Sequence[Detection]) -> list[Face]:
        """Predict and assess the landmarks of faces that a detector found in an image.

        Parameters
        ----------
        image : path, PIL image, array, or Views
            As in `assess_box`.
        found : sequence of Detection
            Five points of a face, if there are any, give its tilt and are compared with the landmarks.

        Returns
        -------
        list of Face
            In the same order.
        """
        view = image if isinstance(image, Views) else Views(image)
        # dlib's predictor takes less time while its data are in the caches, so all of its runs come first
        runs = [self._runs(view, each) for each in found]
        return [
            self._assess(view, each, done, self._placement(each))
            for each, done in zip(found, runs, strict=True)
        ]

    def _runs(self, view: Views, found: Detection, given: FloatArray | None = None) -> Runs | None:
        """All runs of the predictor on a face, which keeps landmarks that are given; None if it fails."""
        try:
            points = given
            if points is None:
                shown = view.shown_to(self.predictor)
                points = place_landmarks(self.predictor, shown, found, self.n_points, self.upright_beyond)
            runs = self.features.runs(view, found, points, self.predictor)
        except NoLandmarksError as error:
            # landmarks that cannot be predicted again nearby cannot be trusted either
            warn_of_failure(error)
            return None
        return runs if given is None else runs._replace(landmarks=given)

    def _placement(self, found: Detection) -> str:
        """How the landmarks of a face that was found are placed."""
        where = placement_of(self.predictor, found, self.upright_beyond)
        if isinstance(self.stability, MirroredRuns):
            where += f"+{len(self.stability.angles)}"
        return where if self.features.correction is None else f"{where}+corrected"

    def video(
        self, path: str | os.PathLike[str], tracking: Any = None, **options: Any
    ) -> Iterator[FaceFrame]:
        """Score the faces of every frame of a video; decoding runs ahead in a thread.

        Parameters
        ----------
        path : path
            A video or an animation.
        tracking : Tracking or None
            How faces are followed; None is ``Tracking()``.
        **options
            ``max_pixels``: videos with larger frames are refused.

        Yields
        ------
        FaceFrame
            A frame with ``index``, ``time_s``, ``image`` and ``faces``.
        """
        # by its public name: videos are read in a layer above this one
        import facereject

        yield from facereject.scored_video(self, path, tracking, **options)

    @overload
    def decide(self, uncertainty: float) -> bool: ...

    @overload
    def decide(self, uncertainty: NDArray[np.floating[Any]]) -> NDArray[np.bool_]: ...

    def decide(self, uncertainty: Any) -> Any:
        """Decide whether to accept faces of this uncertainty.

        The one place where the threshold is applied. The acceptance probability at the threshold itself
        (``selector.acceptance_``) matters for samples with ties, not for one face, and is not used.

        Parameters
        ----------
        uncertainty : float or array-like
            NaN is rejected.

        Returns
        -------
        bool or ndarray of bool
        """
        if isinstance(uncertainty, float):
            return bool(uncertainty <= self.selector.threshold_) and math.isfinite(uncertainty)
        values = np.asarray(uncertainty, dtype=np.float64)
        # an infinite threshold accepts every face that has an uncertainty
        accepted = (values <= self.selector.threshold_) & np.isfinite(values)
        return bool(accepted) if accepted.ndim == 0 else accepted

    def error_interval(self, uncertainty: float, level: float = INTERVAL_LEVEL) -> tuple[float, float]:
        """Interval that holds the error of a face of this uncertainty with probability ``level``.

        It is about one face, ``expected_error`` about the mean of such faces. Both hold for faces like the
        calibration faces.

        Parameters
        ----------
        uncertainty : float
            Uncertainty of the face.
        level : float, default=0.8
            Between 0 and 1.

        Returns
        -------
        low, high : float
            In percent; NaN if errors have no unit yet.
        """
        if self.relative or not math.isfinite(uncertainty):
            return math.nan, math.nan
        low, high = self.calibration.error_interval(uncertainty, level)
        return float(low), float(high)

    def check_domain(self, faces: Sequence[Face]) -> DomainCheck | None:
        """Compare faces with those the model was calibrated on.

        Parameters
        ----------
        faces : sequence of Face
            Independent ones: of a video, one per track.

        Returns
        -------
        DomainCheck or None
            None for fewer than 40 faces with a ``description``, if the model has no summary of its
            calibration faces, or if its expected errors were fitted to faces of your own.

        Examples
        --------
        >>> from facereject import FaceRejector
        >>> rejector = FaceRejector.pretrained()
        >>> rejector.check_domain([]) is None
        True
        """
        domain = self.domain
        if domain is None or why_not_compared(self, len(faces)):
            return None
        described = [face.description for face in faces]
        # faces of another model, or read from a table, have another description or none
        k = len(domain.columns.described)
        kept = [i for i, row in enumerate(described) if row is not None and row.shape == (k,)]
        rows = np.array([described[i] for i in kept], dtype=np.int8).reshape(-1, k)
        return compared(self, rows, np.array([faces[i].uncertainty for i in kept]))

    def for_unlike_faces(self, check: DomainCheck) -> FaceRejector:
        """A rejector for faces unlike the calibration faces: larger expected errors, wider intervals.

        Expected errors are multiplied by ``check.factor``, which is estimated from what the faces look like,
        as learned from images of other kinds. Intervals are wider for its uncertainty. 30 annotated faces
        tell more: see `with_unit`. If the target's mean error can no longer be reached, the target becomes
        the share of faces accepted before.

        Parameters
        ----------
        check : DomainCheck
            Of these faces, from `check_domain`.

        Returns
        -------
        FaceRejector
            This one if the faces are like the calibration faces, or if it has no estimate for others.

        Examples
        --------
        >>> from facereject import FaceRejector
        >>> from facereject.faces.models.domain import DomainCheck
        >>> rejector = FaceRejector.pretrained()
        >>> other = rejector.for_unlike_faces(DomainCheck(60, 0.97, 0.0, factor=1.2))
        >>> float(round(other.calibration.expected_error(0) / rejector.calibration.expected_error(0), 2))
        1.2
        """
        if not check.unlike or self.unlike is None:
            return self
        own = self.calibration
        larger = own.scaled(np.full(len(own.losses), check.factor))
        error = math.hypot(own.unit_error, self.unlike.spread)
        # as before, it is not known which faces the predictor has seen
        ratio = own.unseen_ratio if len(own.unseen_ratio) else None
        wider = Calibration(larger.losses, own.uncertainty, larger.regions, error, ratio)
        other = self._rescaled(wider, check.factor)
        other.info["unit"] = {"factor": check.factor, "standard_error": error}
        other.info["unlike_faces"] = check.n
        return other

    @property
    def unlike(self) -> UnlikeFactor | None:
        """How much larger the errors of unlike faces are; None if the model does not know."""
        score = self.score.score if isinstance(self.score, RegionScore) else self.score
        return score.unlike if isinstance(score, CompactScoreModel) else None

    @property
    def domain(self) -> Domain | None:
        """Summary of the calibration faces; None if the model has none."""
        score = self.score.score if isinstance(self.score, RegionScore) else self.score
        return score.domain if isinstance(score, CompactScoreModel) else None

    def judge(self, face: Face, uncertainty: float) -> Face:
        """Deprecated name of `rescore`."""
        warn_deprecated("FaceRejector.judge", replacement="FaceRejector.rescore", removed_in="0.5.0")
        return self.rescore(face, uncertainty)

    def rescore(self, face: Face, uncertainty: float) -> Face:
        """Replace the uncertainty of a face, and the expected error and decision that follow from it.

        Parameters
        ----------
        face : Face
            It stays as it is.
        uncertainty : float
            Its new uncertainty.

        Returns
        -------
        Face
        """
        if not math.isfinite(uncertainty):
            unknown = {"expected_error": math.nan, "error_interval": (math.nan, math.nan)}
            return changed(face, uncertainty=math.inf, accepted=False, reason="", **unknown)
        points = face.landmarks.copy()
        pose = Lazy(lambda: face.pose or pose_of(points))
        turned = self.pose_limits != PoseLimits() and not self.pose_limits.allow(pose())
        certain = self.decide(uncertainty)
        return changed(
            face,
            uncertainty=uncertainty,
            expected_error=math.nan if self.relative else float(self.calibration.expected_error(uncertainty)),
            error_interval=Lazy(lambda: self.error_interval(uncertainty)),
            accepted=certain and not turned,
            reason="turned" if turned else "",
            pose=pose,
            cause="" if certain else Lazy(lambda: face.likely_cause),
        )

    def _assess(self, view: Views, found: Detection, runs: Runs | None, placement: str) -> Face:
        """One face of an image; ``runs`` is None if the predictor failed."""
        if runs is None:
            nowhere = np.full((self.n_points, 2), np.nan)
            return Face(found.box, found.score, nowhere, math.inf, math.nan, False, detector=found.found_by)
        points, values = self.features.seen(view, found, runs, keep=placement == "given")
        # one row at a time: sums over several rows may differ in the last bit, and decisions with them
        with np.errstate(over="ignore", invalid="ignore"):
            said = details_of(self.score, values[None])
        later = said.of_face(points, found.box, view.size, self.points, relative=self.relative)
        face = Face(
            found.box,
            found.score,
            points,
            said.uncertainty,
            math.nan,
            False,
            detector=found.found_by,
            placement=placement,
            later=EMPTY | later,
        )
        return self.rescore(face, said.uncertainty)

    def with_target(
        self,
        *,
        max_error: float | None = None,
        coverage: float | None = None,
        cost: float | None = None,
        threshold: float | None = None,
        max_expected_error: float | None = None,
        max_error_bound: float | None = None,
    ) -> FaceRejector:
        """A rejector with another rule, tuned on the same calibration faces.

        Give exactly one. A rule that accepts all calibration faces accepts every face. Calibration faces tied
        at the threshold are all accepted, since decisions are never random (``selector.acceptance_`` is not
        used), so coverage and error may exceed the target by these.

        Parameters
        ----------
        max_error : float
            Accept as many faces as their mean error of at most this, in percent, allows.
        coverage : float
            Accept at least this share of the faces, those of least uncertainty; more if that lowers their
            mean error.
        cost : float
            Rejecting a face is as bad as an error of this many percent: accept where less is expected.
        threshold : float
            Accept up to this uncertainty.
        max_expected_error : float
            Accept each face whose expected error is at most this, in percent.
        max_error_bound : float
            Accept each face whose error is at most this with a probability of 90 %: the upper end of its
            ``error_interval``, in percent.

        Returns
        -------
        FaceRejector
        """
        options = {
            "max_error": max_error,
            "coverage": coverage,
            "cost": cost,
            "threshold": threshold,
            "max_expected_error": max_expected_error,
            "max_error_bound": max_error_bound,
        }
        given = {kind: float(value) for kind, value in options.items() if value is not None}
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(options)}; got {', '.join(given) or 'none'}")
        ((kind, value),) = given.items()
        if self.relative and kind not in ("coverage", "threshold"):
            raise ValueError(
                f"{kind} is in percent, and this model was trained without annotation: give its errors a "
                "unit with about 30 annotated faces (with_unit, facereject calibrate --unit), or choose "
                "coverage"
            )
        return self._changed(self.calibration, Target(kind, value))

    def with_pose_limits(
        self,
        *,
        max_yaw: float | None = None,
        max_pitch: float | None = None,
        max_roll: float | None = None,
    ) -> FaceRejector:
        """A rejector that also rejects heads turned too far, with the reason "turned".

        Targets are tuned without these limits, so coverage is lower with them. They are not saved in a model
        file.

        Parameters
        ----------
        max_yaw, max_pitch, max_roll : float or None
            Largest angle to either side in degrees, see `Pose`; None is no limit.

        Returns
        -------
        FaceRejector
        """
        limits = check_limits(PoseLimits(max_yaw, max_pitch, max_roll))
        if any(limit is not None for limit in limits) and pose_of(self.points.mean_shape) is None:
            raise ValueError("max_yaw, max_pitch and max_roll need the 68 points of 300-W to tell the pose")
        other = copy.copy(self)
        other.pose_limits = limits
        return other

    def with_calibration(
        self,
        losses: ArrayLike,
        uncertainty: ArrayLike,
        regions: RegionSample | None = None,
    ) -> FaceRejector:
        """A rejector whose expected errors and threshold come from your own annotated faces.

        `check_domain` then returns None: its faces are those of the calibration.

        Parameters
        ----------
        losses, uncertainty : array-like of shape (n,)
            Losses in percent.
        regions : RegionSample or None
            Of the same faces; `for_region` needs it.

        Returns
        -------
        FaceRejector
        """
        other = self._changed(Calibration(losses, uncertainty, regions), self.target)
        other.info.pop("unit", None)
        return other._at_home(len(other.calibration.losses))

    def with_unit(self, losses: ArrayLike, uncertainty: ArrayLike) -> FaceRejector:
        """A rejector whose expected errors are corrected to fit a few annotated faces of your own.

        20 to 50 faces are enough, drawn at random from those the rejector is meant for. Expected errors are
        multiplied by a factor that may change with the expected error and is shrunk towards 1 for very few
        faces. ``info["unit"]`` has the factor and its 95 % interval; error intervals widen accordingly.
        Nothing is guaranteed. If the target's mean error can no longer be reached, the target becomes the
        share of faces accepted before. `check_domain` then returns None.

        Parameters
        ----------
        losses, uncertainty : array-like of shape (n,)
            Of at least 10 annotated faces; losses in percent.

        Returns
        -------
        FaceRejector

        Examples
        --------
        >>> from facereject import FaceRejector
        >>> rejector = FaceRejector.pretrained()
        >>> uncertainty = rejector.calibration.uncertainty[::100]
        >>> losses = 1.5 * rejector.calibration.expected_error(uncertainty)
        >>> round(rejector.with_unit(losses, uncertainty).info["unit"]["factor"], 1)
        1.5
        """
        calibration, unit = self.calibration.with_unit(losses, uncertainty, relative=self.relative)
        other = self._rescaled(calibration, unit.factor)
        other.info["unit"] = unit_record(unit)
        return other._at_home(unit.n)

    def with_unseen_losses(self, factor: FloatArray) -> FaceRejector:
        """A rejector whose calibration losses are those of faces that the predictor has not seen.

        Parameters
        ----------
        factor : ndarray of shape (n,)
            Loss on unseen faces over that on seen ones, for each of the calibration faces.

        Returns
        -------
        FaceRejector
        """
        calibration = self.calibration.scaled(factor, unseen=True)
        mean = float(calibration.losses.mean() / max(self.calibration.losses.mean(), 1e-9))
        return self._rescaled(calibration, mean)

    def _rescaled(self, calibration: Calibration, factor: float) -> FaceRejector:
        """A rejector with a calibration in another unit, and the errors of points multiplied by a factor."""
        try:
            other = self._changed(calibration, self.target)
        except InfeasibleTargetError:
            # the target cannot be met in the new unit: accept the same faces until another one is chosen
            other = self._changed(calibration, Target("coverage", max(self.selector.coverage_, 1e-6)))
        if isinstance(other.score, CompactScoreModel) and other.score.point_errors is not None:
            errors = other.score.point_errors
            scaled = dataclasses.replace(errors, errors=(errors.errors * factor).astype(np.float32))
            other.score = dataclasses.replace(other.score, point_errors=scaled)
        return other

    def _at_home(self, n_faces: int) -> FaceRejector:
        """Record that expected errors come from annotated faces of the user; changes this rejector."""
        for name in ("relative", "unlike_faces"):
            self.info.pop(name, None)
        self.info["own_faces"] = n_faces
        return self

    def for_region(self, names: str | Iterable[str]) -> FaceRejector:
        """A rejector for the points that matter: uncertainty, expected error and threshold are theirs.

        A face with a covered mouth is then accepted for its eyes and rejected for its mouth. Until
        `with_target` says otherwise it accepts the same share of the calibration faces as this one.

        Parameters
        ----------
        names : str or iterable of str
            Of `facereject.faces.REGIONS`, such as "eyes,mouth".

        Returns
        -------
        FaceRejector

        Raises
        ------
        ValueError
            For an unknown region, or if the model does not tell the error of each point.
        """
        chosen = region_names(names)
        score = self.score.score if isinstance(self.score, RegionScore) else self.score
        regions = self.calibration.regions
        if not isinstance(score, CompactScoreModel) or score.point_errors is None or regions is None:
            raise ValueError(
                "this model does not tell the error of each point: use `default` or `thorough`, or train "
                "one with the score 'compact' for 68 points"
            )
        target = Target("coverage", max(self.selector.coverage_, 1e-6))
        return self._changed(regions.calibration(chosen), target, RegionScore(score, chosen))

    def _changed(
        self, calibration: Calibration, target: Target, score: ScoreModel | None = None
    ) -> FaceRejector:
        other = copy.copy(self)
        other.score = self.score if score is None else score
        other.calibration, other.target = calibration, target
        other.selector = calibration.select(target)
        # a guarantee holds only for the threshold it was computed for
        other.info = {key: value for key, value in self.info.items() if key != "certificate"}
        return other

    def __repr__(self) -> str:
        region = f", for {','.join(self.region)}" if self.region else ""
        rule = f"{self.target.kind}={self.target.value:g}"
        return f"FaceRejector({self.score.kind}{region}, {rule}, threshold={self.selector.threshold_:.4g})"
