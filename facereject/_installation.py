"""Which packages are installed, and what the optional ones add."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import NamedTuple

from facereject import __version__


class Extra(NamedTuple):
    """An optional package: the extra that brings it, what it adds, and its version or None."""

    package: str
    extra: str
    adds: str
    version: str | None


# distribution, extra, what it adds
_EXTRAS = [
    ("numba", "fast", "faster training"),
    ("lightgbm", "boost", "boosted scores"),
    ("pyarrow", "parquet", "Parquet tables"),
    ("pillow-heif", "heic", "HEIC photographs"),
    ("distributed", "dask", "work on several machines"),
    ("uvicorn", "serve", "the page in a browser"),
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
    return [Extra(package, extra, adds, _version(package)) for package, extra, adds in _EXTRAS]


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
