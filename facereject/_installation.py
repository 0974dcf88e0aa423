"""Which packages are installed, and what the optional ones add."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import platform
from pathlib import Path
from typing import NamedTuple

from facereject import __version__


class Extra(NamedTuple):
    """An optional package: what it adds, its version or None, and why it cannot be loaded, if so."""

    package: str
    adds: str
    version: str | None
    problem: str = ""


# distribution, what it adds
_EXTRAS = [
    ("numba", "faster training"),
    ("lightgbm", "boosted scores, needed for training"),
    ("pandas", "tables in Python"),
    ("pyarrow", "Parquet tables"),
    ("pillow-heif", "HEIC photos"),
    ("distributed", "several machines"),
    ("uvicorn", "the pages in the browser, with starlette, python-multipart and websockets"),
]

# a package may come under several names
_REQUIRED = [
    ("numpy", ["numpy"]),
    ("scikit-learn", ["scikit-learn"]),
    ("OpenCV", ["opencv-python", "opencv-python-headless", "opencv-contrib-python"]),
    ("dlib", ["dlib-bin", "dlib"]),
    ("Pillow", ["pillow"]),
]


def versions() -> list[tuple[str, str]]:
    """Names and versions of the package, of Python and of what the results depend on."""
    system = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    found = [("facereject", __version__), ("Python", system)]
    for name, distributions in _REQUIRED:
        present = [version for each in distributions if (version := _version(each)) is not None]
        found.append((name, present[0] if present else "not installed"))
    return found


def extras() -> list[Extra]:
    """The optional packages, present or not."""
    return [Extra(package, adds, _version(package), _problem(package)) for package, adds in _EXTRAS]


def _problem(package: str) -> str:
    """Why an installed package cannot be loaded; LightGBM needs a library of the system."""
    spec = importlib.util.find_spec(package) if package == "lightgbm" else None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for library in Path(folder, "lib").glob("lib_lightgbm.*"):
            try:
                ctypes.CDLL(str(library))
            except OSError:
                return "cannot be loaded: install libgomp1 (Debian, Ubuntu), libgomp (Fedora), libomp (macOS)"
    return ""


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
