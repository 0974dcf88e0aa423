"""Where the real data lives, and what happens when it is not there.

``FACEREJECT_DATA`` names a folder with ``uci/`` and ``faces/``; without it ``../shared/data`` beside the
checkout is tried. Tests that need it skip with a reason that says so. With ``FACEREJECT_REQUIRE_DATA=1``
(set by ``.ci/run``) they fail instead, so a missing folder cannot pass for a green run.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # before any library that reads it: the test processes are the parallelism, more threads would only wait
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # as in the background of a shell; the processes that tests interrupt would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)

_DATA = Path(os.environ.get("FACEREJECT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def _data_folder(name: str) -> Path:
    folder = _DATA / name
    if not folder.is_dir():
        message = f"DATA MISSING: no folder {name!r} in {_DATA}; set FACEREJECT_DATA to the data folder"
        if os.environ.get("FACEREJECT_REQUIRE_DATA") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def uci_dir() -> Path:
    """Folder with the real tables as .npz files (X, y)."""
    return _data_folder("uci")


@pytest.fixture(scope="session")
def faces_dir() -> Path:
    """Folder with annotated photographs (300w/) and clips (video/)."""
    return _data_folder("faces")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def touch(folder):
    """Makes empty files in the current folder, with the folders they need."""

    def make(*names):
        for name in names:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")

    return make
