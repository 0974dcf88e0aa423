"""What a user chooses on the command line: model and parts, the target, where the work is done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from facereject._cli._shared import (
    DETECTOR_PANEL,
    ModelOption,
    OfflineOption,
    RegionOption,
    load_rejector,
    say,
    stop,
)
from facereject._options import option

if TYPE_CHECKING:
    from facereject.faces import Detector, FaceRejector, Landmarks
    from facereject.parallel import Engine

# images named one by one that are scored without a worker process: how many, and of how many bytes each
_FEW = 10

_SMALL = 32 << 20

_POSE_PANEL = "Reject faces turned further than"


DetectorOption = Annotated[
    str | None,
    typer.Option(
        "--detector",
        metavar="NAME",
        help="Face detector to use instead of the model's: a name from `facereject info`.",
        rich_help_panel=DETECTOR_PANEL,
    ),
]
LandmarksOption = Annotated[
    str | None,
    typer.Option(
        "--landmarks",
        metavar="NAME|FILE",
        help="Landmark predictor to use instead of the model's: a name from `facereject info`, a dlib .dat "
        "file, an .onnx network with its description beside it, or module:Class.",
    ),
]


def chosen_landmarks(landmarks: str | None) -> Landmarks | None:
    """The landmark predictor of --landmarks, or None if it was not given; what is wrong ends the command."""
    if landmarks is None:
        return None

    from facereject.faces import LandmarkModelError, make_landmarks
    from facereject.faces.landmarks import LANDMARKS
    from facereject.faces.landmarks.dlib_trees import LandmarkPredictor
    from facereject.faces.landmarks.network import NetworkLandmarks
    from facereject.faces.landmarks.python_class import NAMED, PythonLandmarks

    try:
        if landmarks.lower().endswith(".onnx"):
            return NetworkLandmarks(landmarks)
        if NAMED.fullmatch(landmarks) and not os.path.exists(landmarks):
            say(f"Warning: --landmarks {landmarks} runs the code of this module")
            return PythonLandmarks.imported(landmarks)
        if os.path.isfile(landmarks) or landmarks.endswith(".dat") or os.sep in landmarks:
            return LandmarkPredictor(landmarks)
        return make_landmarks(landmarks)
    except LandmarkModelError as error:
        stop(f"--landmarks: {error}")
    except (TypeError, ValueError) as error:
        known = "" if landmarks in LANDMARKS.origins() else "; a file would be a dlib .dat file"
        stop(f"--landmarks: {error}{known}")


def chosen_detector(name: str | None) -> Detector | None:
    """The detector of --detector, or None if it was not given; what is wrong ends the command."""
    if name is None:
        return None

    from facereject.faces import make_detector

    try:
        return make_detector(name)
    except (TypeError, ValueError) as error:
        stop(f"--detector: {error}")


@dataclass(frozen=True)
class ScoreChoice:
    """The model that scores given landmarks, and how far a head may be turned."""

    model: ModelOption = "default"
    region: RegionOption = None
    max_yaw: float | None = option(None, metavar="DEGREES", help="To the left or right.", panel=_POSE_PANEL)
    max_pitch: float | None = option(None, metavar="DEGREES", help="Up or down.", panel=_POSE_PANEL)
    max_roll: float | None = option(None, metavar="DEGREES", help="Tilted to a shoulder.", panel=_POSE_PANEL)

    def load(self, target: dict[str, float] | None = None, *, finds: bool = True) -> FaceRejector:
        """The rejector; what is wrong with the options ends the command with code 2.

        If it does not search for faces, the weights of the model's detector are not needed.
        """
        values = asdict(self)
        # the callback of --offline has acted already
        values.pop("offline", None)
        limits = {name: values.pop(name) for name in ("max_yaw", "max_pitch", "max_roll")}
        given = not isinstance(self, ModelChoice)
        rejector = load_rejector(target=target, given=given, finds=finds, **values)
        if not any(limit is not None for limit in limits.values()):
            return rejector
        try:
            return rejector.with_pose_limits(**limits)
        except ValueError as error:
            stop(str(error).replace("max_", "--max-"))


@dataclass(frozen=True)
class PartsChoice:
    """The landmark predictor and the detector in place of the model's own."""

    landmarks: LandmarksOption = None
    detector: DetectorOption = None
    offline: OfflineOption = False

    def load_parts(self, model: str, **options: Any) -> FaceRejector:
        """The rejector of a model that the command takes otherwise than as --model."""
        return load_rejector(model, detector=self.detector, landmarks=self.landmarks, **options)


@dataclass(frozen=True)
class ModelChoice(PartsChoice, ScoreChoice):
    """The model, its detector and landmark predictor, and how far a head may be turned."""

    upsample: int | None = option(
        None,
        metavar="N",
        help="dlib's detector only: double the image N times to find smaller faces. Each step takes four "
        "times as long.",
        panel=DETECTOR_PANEL,
    )
    min_face: float | None = option(
        None,
        metavar="PIXELS",
        help="Ignore faces smaller than this (YuNet: 40 by default). A larger limit makes the search faster.",
        panel=DETECTOR_PANEL,
    )
    detector_threshold: float | None = option(
        None,
        metavar="SCORE",
        help="Drop candidates below this detector score. YuNet: 0 to 1, default 0.3. dlib: usually 0; -1 "
        "finds nearly every face, and false ones.",
        panel=DETECTOR_PANEL,
    )


def percent_of(text: str) -> float:
    """A number of percent, with or without the sign."""
    return float(text.strip().removesuffix("%"))


@dataclass(frozen=True)
class TrainTarget:
    """What a new model accepts; at most one of them."""

    panel = "What to accept (at most one of these)"

    max_error: float | None = option(
        None,
        metavar="PERCENT",
        parse=percent_of,
        help="Keep the mean error of the accepted faces at or below this, in percent of the distance "
        "between the outer eye corners (4 or 4%). Single faces may be worse.",
    )
    coverage: float | None = option(
        None,
        metavar="SHARE",
        help="Accept this share (0 to 1), the most certain ones, of faces like those the model was "
        "calibrated on.",
    )
    cost: float | None = option(
        None,
        metavar="PERCENT",
        help="What rejecting a face costs, as an error in percent: faces expected to be better are accepted.",
    )

    def chosen(self) -> dict[str, float]:
        """The target that was given, for ``with_target``; empty if none was."""
        given = {kind: value for kind, value in asdict(self).items() if value is not None}
        if len(given) > 1:
            names = " and ".join("--" + kind.replace("_", "-") for kind in given)
            stop(f"{names} exclude each other: give one of them")
        return given


@dataclass(frozen=True)
class ServeTarget(TrainTarget):
    """What the page accepts at first; at most one of them."""

    threshold: float | None = option(
        None, metavar="VALUE", help="Accept faces up to this uncertainty (the column of that name)."
    )


@dataclass(frozen=True)
class TargetChoice(ServeTarget):
    """What to accept; at most one of them."""

    max_expected_error: float | None = option(
        None,
        metavar="PERCENT",
        parse=percent_of,
        help="Accept every face whose expected error (the column expected_error) is at most this.",
    )
    max_error_bound: float | None = option(
        None,
        metavar="PERCENT",
        parse=percent_of,
        help="Accept every face whose error is at most this with a probability of 90 % (the column "
        "error_high).",
    )


@dataclass(frozen=True)
class BatchTargetChoice(TargetChoice):
    """What to accept of a batch; at most one of them."""

    keep_best: str | None = option(
        None,
        metavar="SHARE|N",
        help="Accept the most certain faces of this batch: a share (0.5 or 50%) or a number of faces (100). "
        "Ties with the last one are accepted, too. In a video, the faces of every frame count.",
    )
    keep_best_photos: str | None = option(
        None,
        metavar="SHARE|N",
        help="The same, counted in photos. With --frame-rule all, a photo is as certain as its least certain "
        "face. In a video, every frame counts as a photo.",
    )

    def chosen(self) -> dict[str, float]:
        """The target that was given, for ``with_target``; empty if none was, or the best are kept."""
        best = ("keep_best", "keep_best_photos")
        return {name: value for name, value in super().chosen().items() if name not in best}

    @property
    def best(self) -> dict[str, float]:
        """The number or share of faces or photos to be kept, as an option of `Job`; empty if neither."""
        texts = {"keep_best": self.keep_best, "keep_best_photos": self.keep_best_photos}
        return {name: _amount(name, text) for name, text in texts.items() if text is not None}


def _amount(name: str, text: str) -> float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        unit = "photos" if name == "keep_best_photos" else "faces"
        flag = "--" + name.replace("_", "-")
        stop(f"{flag} must be a share such as 0.5 or 50%, or a number of {unit} such as 100; got {text}")


@dataclass(frozen=True)
class EngineChoice:
    """Where the work is done."""

    panel = "How to run"

    engine: str = option(
        "local",
        metavar="local|dask",
        help="Where to run: on this machine, or on a Dask cluster that sees the files under the same paths.",
    )
    scheduler: str | None = option(
        None, metavar="ADDRESS", help="Address of the Dask scheduler, such as tcp://host:8786."
    )

    def make(self, workers: int, timeout: float | None, paths: Sequence[str]) -> Engine:
        """The engine for this choice.

        A single worker is a separate process, too, as only that can always be stopped. Starting
        one takes longer than scoring a few images: if there are no more, this process does it.
        """
        from facereject import parallel
        from facereject.pipeline.running import GENEROUS_SECONDS

        if self.engine == "local":
            if self.scheduler is not None:
                stop("--scheduler belongs to --engine dask")
            # a plug-in that cannot be pickled is no reason to stop where no process was asked for
            alone = workers == 1 and timeout is None
            if alone and _are_few_images(paths):
                return parallel.SerialEngine()
            preload = ["facereject._cli", "facereject.pipeline.task"]
            limit = GENEROUS_SECONDS if timeout is None else timeout
            try:
                return parallel.WorkerEngine(workers, preload=preload, timeout=limit, or_here=alone)
            except ValueError as error:
                stop(f"--{error}")
        if self.engine != "dask":
            stop(f"--engine must be local or dask; got {self.engine}")
        if timeout is not None:
            stop("--timeout belongs to --engine local; a Dask cluster has its own limits")
        if workers != 1:
            stop("--workers belongs to --engine local; a Dask cluster has its own workers")
        if self.scheduler is None:
            stop("--engine dask needs the address of the cluster: --scheduler tcp://host:8786")
        try:
            return parallel.DaskEngine(self.scheduler)
        except (parallel.EngineError, ImportError, ValueError) as error:
            stop(f"--engine dask: {error}")


def _are_few_images(paths: Sequence[str]) -> bool:
    from facereject.faces.images import kind_of_file

    return len(paths) <= _FEW and all(
        os.path.isfile(path) and os.path.getsize(path) <= _SMALL and kind_of_file(path) == "image"
        for path in paths
    )
