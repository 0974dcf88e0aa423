"""dlib's frontal face detector: one object per thread, unpacked once.

dlib carries its detector as packed text. Unpacking takes 0.4 s of processor time, ten times that of a photo;
reading what has been unpacked takes a millisecond. So the unpacked form, 155 kB, is kept in the user's cache
folder. It is recognised by its SHA-256, and nothing else is read in its place.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import dlib

from facereject._files import is_regular, write_whole
from facereject.faces.weights import cache_folder

_FILE = "dlib_frontal_face_detector.svm"
_SIZE = 155_005
_SHA256 = "f3f7aa833fb4a14a46fc48689f45b98d85ef72d6dfaf8bdc012b7d3c522a5426"

# A detector keeps scratch memory between calls and must not be shared by threads: each has its own. Being
# module state, it is never pickled with a FaceDetector.
_per_thread = threading.local()
_lock = threading.Lock()
_unpacked: bytes | None = None


def frontal_detector() -> Any:
    """The detector of this thread."""
    if not hasattr(_per_thread, "detector"):
        _per_thread.detector = _new_detector()
    return _per_thread.detector


def _new_detector() -> Any:
    global _unpacked
    with _lock:
        if _unpacked is None:
            _unpacked = _kept()
        if _unpacked is None:
            detector = dlib.get_frontal_face_detector()
            (_unpacked,) = detector.__getstate__()
            _keep(_unpacked)
            return detector
    return _restored(_unpacked)


def _restored(unpacked: bytes) -> Any:
    detector = dlib.fhog_object_detector.__new__(dlib.fhog_object_detector)
    detector.__setstate__((unpacked,))
    return detector


def _kept() -> bytes | None:
    path = _path()
    # opening a pipe would wait for its other end
    if not is_regular(path):
        return None
    try:
        with open(path, "rb") as file:
            # another file of that name may be of any size
            content = file.read(_SIZE + 1)
    except OSError:
        return None
    return content if _is_right(content) else None


def _keep(content: bytes) -> None:
    # another version of dlib may have another detector, which it unpacks itself every time
    if not _is_right(content):
        return
    path = _path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError:
        # no place to write to; it is unpacked again next time
        return


def _is_right(content: bytes) -> bool:
    return hashlib.sha256(content).hexdigest() == _SHA256


def _path() -> Path:
    return cache_folder() / _FILE
