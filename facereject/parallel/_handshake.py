"""Before a cluster works: every worker says what it has, and one that would answer otherwise ends the run."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import facereject
from facereject.parallel.base import EngineError, describe

#: packages that read files and find faces, by the distributions they may come from
_PACKAGES = {
    "dlib": ("dlib-bin", "dlib"),
    "OpenCV": ("opencv-python", "opencv-python-headless", "opencv-contrib-python"),
    "Pillow": ("pillow",),
    "pillow-heif": ("pillow-heif",),
    "PyAV": ("av",),
}

# what a worker says that has no facereject, or one too old to be asked
_MISSING, _OLD = "missing", "old"


@functools.lru_cache(maxsize=1)
def introduce() -> dict[str, str]:
    """What this process would work with: version and code of facereject, versions of packages."""
    return {
        "facereject": facereject.__version__,
        "code": _digest_of(Path(facereject.__file__).parent),
        **{name: _version_of(names) for name, names in _PACKAGES.items()},
    }


def question(task: bytes) -> Callable[[], dict[str, str]]:
    """A function to be run on every worker; it carries its own code, so that it needs no facereject there.

    Parameters
    ----------
    task : bytes
        The packed task. If it has a method ``fingerprint``, its text is part of the answer.
    """

    def answer() -> dict[str, str]:
        try:
            import facereject
        except ImportError as error:
            return {"missing": str(error)}
        try:
            from facereject.parallel._handshake import introduce_with
        except ImportError:
            return {"old": str(getattr(facereject, "__version__", "unknown"))}
        try:
            return introduce_with(task)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}

    return answer


def introduce_with(task: bytes) -> dict[str, str]:
    """As `introduce`, with the fingerprint of a packed task as it is here."""
    from facereject.parallel._worker import unpack

    try:
        fingerprint = getattr(unpack(task), "fingerprint", None)
    except Exception as error:
        return {**introduce(), "task": f"cannot be loaded, {describe(error)}"}
    return {**introduce(), "task": fingerprint() if fingerprint is not None else ""}


def check_answers(answers: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    """Raise EngineError for the first worker whose answer is not the expected one; the message names it."""
    advice = "install this version of facereject, with the same extras, on every worker"
    for worker, answer in answers.items():
        if not isinstance(answer, Mapping):
            # it died during the check: its tasks run elsewhere
            continue
        if "error" in answer:
            raise EngineError(
                f"the Dask worker {worker} cannot say what it has ({answer['error']}); {advice}"
            )
        if _MISSING in answer:
            raise EngineError(f"the Dask worker {worker} has no facereject ({answer[_MISSING]}); {advice}")
        there = {"facereject": answer[_OLD]} if _OLD in answer else answer
        if there.get("facereject") != expected["facereject"]:
            text = f"has facereject {there.get('facereject')} and not {expected['facereject']}"
        elif there.get("code") != expected["code"]:
            text = f"has other code under the name of facereject {expected['facereject']}"
        elif there.get("task") != expected["task"]:
            if str(there.get("task")).startswith("cannot"):
                text = f"cannot load the task: {str(there['task']).removeprefix('cannot be loaded, ')}"
            else:
                text = "has another landmark predictor or model for this task"
        else:
            names = [name for name in _PACKAGES if there.get(name) != expected[name]]
            if not names:
                continue
            text = "; ".join(
                f"has {name} {there[name]} and not {expected[name]}" if there.get(name) else f"lacks {name}"
                for name in names
            )
        raise EngineError(f"the Dask worker {worker} {text}; it would answer otherwise: {advice}")


def _version_of(distributions: tuple[str, ...]) -> str:
    # slow to import, and wanted on clusters only
    from importlib import metadata

    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return ""


def _digest_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        # line ends may differ between systems
        code = file.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{file.relative_to(folder).as_posix()} {len(code)}\n".encode() + code)
    return digest.hexdigest()
