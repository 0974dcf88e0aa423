"""The options that choose detector and landmark predictor, by registered name or file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from facereject._cli._shared import DETECTOR_PANEL, say, stop

if TYPE_CHECKING:
    from facereject.faces import Detector, Landmarks

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
