"""System libraries that are not installed: what to install, in one sentence, instead of a traceback."""

from __future__ import annotations

import re

_OPENCV = (
    "OpenCV cannot be loaded, as the system library {} is missing. Install libgl1 and libglib2.0-0 (Debian, "
    "Ubuntu: apt-get install), mesa-libGL, glib2 and libxcb (Fedora: dnf install), or libgl, glib and libxcb "
    "(conda install -c conda-forge); or replace opencv-python by opencv-python-headless, which does "
    "everything but show a window."
)

# beginnings of the names of what the wheel of OpenCV expects of the system
_OF_OPENCV = ("libGL", "libgthread", "libglib", "libxcb", "libX", "libSM", "libICE")


def missing_library(error: ImportError) -> str:
    """What to install if a library of the system is missing; empty if that is not the reason."""
    found = re.match(r"(lib[\w.+-]+): cannot open shared object file", str(error))
    if found is None:
        return ""
    if found[1].startswith(_OF_OPENCV):
        return _OPENCV.format(found[1])
    return f"The system library {found[1]} is missing; install the package that contains it."
