"""System libraries that are not installed: what to install, in one sentence, instead of a traceback."""

from __future__ import annotations

import re

_OPENCV = (
    "OpenCV cannot be loaded, as the system library {} is missing. Install it (Debian and Ubuntu: apt-get "
    "install {}; Fedora: dnf install {}; conda: conda install -c conda-forge {}), or replace opencv-python "
    "by opencv-python-headless, which does everything but show a window."
)

# beginnings of names of libraries, and the packages that have them: Debian, Fedora, conda
_OF_OPENCV = {
    "libGL": ("libgl1", "mesa-libGL", "libgl"),
    "libgthread": ("libglib2.0-0", "glib2", "glib"),
    "libglib": ("libglib2.0-0", "glib2", "glib"),
}


def missing_library(error: ImportError) -> str:
    """What to install if a library of the system is missing; empty if that is not the reason."""
    found = re.match(r"(lib[\w.+-]+): cannot open shared object file", str(error))
    if found is None:
        return ""
    for name, packages in _OF_OPENCV.items():
        if found[1].startswith(name):
            return _OPENCV.format(found[1], *packages)
    return f"The system library {found[1]} is missing; install the package that has it."
