"""facereject info: versions and licences, what a model is, and one sentence for a file that is none."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import facereject
from facereject._cli import app
from facereject._installation import extras
from facereject.faces import (
    FaceRejector,
    LandmarkPredictor,
    PredictorMismatchWarning,
    register_detector,
    register_landmarks,
)
from facereject.faces.models import card
from facereject.faces.models.storage import pretrained_models


def run(*arguments):
    return CliRunner().invoke(app, ["info", *map(str, arguments)], env={"COLUMNS": "300"})


def test_versions_and_licence():
    result = run()
    assert result.exit_code == 0
    for words in (
        facereject.__version__,
        platform.python_version(),
        "OpenCV",
        "dlib",
        "default, thorough, dlib",
    ):
        assert words in result.stdout
    assert "excludes commercial use" in result.stdout
    assert result.stderr == ""


def test_missing_extras_say_how_to_get_them(monkeypatch):
    monkeypatch.setattr("facereject._installation._EXTRAS", [("no-such-package", "wonders")])
    assert extras()[0].version is None
    assert "not installed: pip install no-such-package" in run().stdout


def test_a_library_of_the_system_that_lightgbm_lacks(monkeypatch, tmp_path):
    (tmp_path / "lightgbm" / "lib").mkdir(parents=True)
    (tmp_path / "lightgbm" / "__init__.py").touch()
    # not a library, so that it cannot be loaded
    (tmp_path / "lightgbm" / "lib" / "lib_lightgbm.so").write_bytes(b"x")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lightgbm", raising=False)
    shown = " ".join(run().stdout.split())
    assert "cannot be loaded: install libgomp1" in shown


def test_a_missing_landmark_model_is_no_crash(monkeypatch, tmp_path):
    monkeypatch.setattr(card, "LandmarkPredictor", lambda: LandmarkPredictor(tmp_path / "none.dat"))
    result = run()
    assert result.exit_code == 0
    assert "missing: " in result.stdout


def test_missing_weights_say_how_to_get_them(monkeypatch, tmp_path):
    monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path))
    shown = " ".join(run().stdout.split())
    assert "yunet not installed: Face detector" in shown
    assert "facereject models get yunet" in shown


@pytest.mark.parametrize("package", ["numba", "pandas", "matplotlib"])
def test_a_machine_without_a_package(tmp_path, package):
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError('no {package}', name={package!r})")
    # a home folder that can be neither made nor entered
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "HOME": os.devnull,
    }
    shown = subprocess.run(
        [sys.executable, "-m", "facereject", "info"], env=environment, capture_output=True, text=True
    )
    assert shown.returncode == 0, shown.stderr


def test_models(tmp_path):
    assert pretrained_models()[:3] == ["default", "thorough", "dlib"]
    result = run("thorough")
    assert result.exit_code == 0
    for words in ("stability", "1,377 photos", "gap", "target", "threshold", "dlib's published"):
        assert words in result.stdout
    assert "none; run `facereject calibrate` to get one" in result.stdout
    assert "the same" in result.stdout
    FaceRejector.pretrained().with_target(cost=5).save(tmp_path / "mine")
    assert "a rejection is as bad as an error of 5 %" in run(tmp_path / "mine").stdout


def test_another_predictor_is_noticed(tmp_path):
    def predictor(image, box):
        raise NotImplementedError

    predictor.fingerprint = "0123456789abcdef" * 4
    predictor.definition = {"name": "foreign"}
    register_landmarks("foreign", lambda: predictor)
    with pytest.warns(PredictorMismatchWarning):
        FaceRejector.pretrained(predictor=predictor).save(tmp_path / "foreign")
    assert "the same" in run(tmp_path / "foreign").stdout
    result = run(tmp_path / "foreign", "--landmarks", "dlib")
    assert result.exit_code == 0
    assert "Warning" in result.stderr
    assert "foreign (SHA-256 0123456789ab…)" in result.stdout
    assert "NOT the same: dlib's published" in result.stdout


def test_what_is_registered_is_listed():
    register_detector("listed", object)
    words = " ".join(run().stdout.split())
    assert "--detector both, dlib, " in words
    assert "listed (registered in code)" in words
    assert "--landmarks dlib, dlib-5, " in words


def test_a_file_that_is_no_model(tmp_path):
    (tmp_path / "text").write_text("hello, this is no model")
    (tmp_path / "empty").write_bytes(b"")
    for name, words in (
        ("text", "not a facereject model"),
        ("empty", "not a facereject model"),
        ("no", "one of the shipped models: default, thorough, dlib"),
    ):
        result = run(tmp_path / name)
        assert result.exit_code == 2
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert result.stdout == ""


def test_a_file_never_takes_the_place_of_a_shipped_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FaceRejector.pretrained().with_target(coverage=1.0).save("default")
    shown = CliRunner().invoke(app, ["info", "default"])
    assert shown.exit_code == 0
    assert "EVERY FACE IS ACCEPTED" not in shown.stdout
    assert "EVERY FACE IS ACCEPTED" in CliRunner().invoke(app, ["info", "./default"]).stdout
    os.rename("default", "mine")
    refused = CliRunner().invoke(app, ["info", "mine"])
    assert refused.exit_code == 2
    assert "write ./mine" in refused.stderr
    os.mkfifo("pipe.safetensors")
    refused = CliRunner().invoke(app, ["info", "pipe.safetensors"])
    assert refused.exit_code == 2
    assert "not a regular file" in refused.stderr


@pytest.mark.parametrize("library", ["libGL.so.1", "libgthread-2.0.so.0", "libxcb.so.1", "libodd.so.3"])
def test_a_machine_without_a_system_library(tmp_path, library):
    # stands for an OpenCV whose library is missing
    (tmp_path / "cv2").mkdir()
    reason = f"{library}: cannot open shared object file: No such file or directory"
    (tmp_path / "cv2" / "__init__.py").write_text(f"raise ImportError({reason!r})")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": paths}
    (tmp_path / "photo.jpg").write_bytes(b"")
    command = [sys.executable, "-m", "facereject"]
    scored = subprocess.run(
        [*command, "score", str(tmp_path / "photo.jpg")], env=environment, capture_output=True, text=True
    )
    assert scored.returncode == 1
    assert library in scored.stderr
    assert len(scored.stderr.splitlines()) == 1
    assert ("headless" in scored.stderr) == (library != "libodd.so.3")
    told = subprocess.run([*command, "info"], env=environment, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert library in told.stdout.replace("\n", "")
