"""No command replaces what it reads, or what is not a regular file, whatever it is told to overwrite."""

from __future__ import annotations

import os
import socket
import stat

import pytest
from annotated_faces import write_faces

from facereject.faces import FaceRejector
from facereject.reports.evaluation import FILES

QUICK = ("--degradations", 0, "--workers", 1, "--quiet")


def make_special(path, kind):
    if kind == "device":
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        except PermissionError:
            pytest.skip("only root makes devices")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    return os.lstat(path)


@pytest.fixture
def data(folder):
    return write_faces(folder / "data", 3)


@pytest.fixture
def model(folder):
    FaceRejector.pretrained("default").save(folder / "model.safetensors")
    return folder / "model.safetensors"


@pytest.mark.parametrize("kind", ["device", "pipe", "folder", "socket"])
def test_only_regular_files_are_replaced(run, data, model, folder, kind):
    before = make_special("out.csv", kind)
    os.mkdir("report")
    page = make_special("report/faces.csv", kind)
    commands = [
        ["train", data, "-o", "out.csv", *QUICK],
        ["calibrate", model, data, "--max-error", 9, "-o", "out.csv", "--quiet"],
        ["assess", data, "--images", "data", "-o", "out.csv", "--quiet"],
        ["evaluate", model, data, "--report", "report", *QUICK],
        ["score", "data", "-o", "out.csv", "--quiet"],
    ]
    for command in commands:
        result = run(*command, "--overwrite")
        assert result.exit_code == 2, result.output
        assert os.path.samestat(before, os.lstat("out.csv"))
        assert os.path.samestat(page, os.lstat("report/faces.csv"))
    assert sorted(os.listdir("report")) == ["faces.csv"]


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("form", ["csv", "xml", "300w"])
def test_a_data_set_is_never_replaced(run, model, folder, form, link):
    data = write_faces(folder / "data", 3, form=form)
    content = {path: path.read_bytes() for path in (folder / "data").iterdir()}
    for path in content:
        target = folder / "link" if link else path
        if link:
            (folder / "link").unlink(missing_ok=True)
            (folder / "link").hardlink_to(path)
        for command in (["train", data], ["calibrate", model, data, "--max-error", 9]):
            result = run(*command, "-o", target, "--overwrite", "--quiet")
            assert result.exit_code == 2, result.output
            assert "is read" in result.stderr
        assert {path: path.read_bytes() for path in content} == content


def test_a_model_is_replaced_in_place_only(run, data, model):
    content = model.read_bytes()
    result = run("calibrate", model, data, "--max-error", 9, "-o", model, "--overwrite", "--quiet")
    assert (result.exit_code, model.read_bytes()) == (2, content)


@pytest.mark.parametrize("name", FILES)
def test_a_report_replaces_nothing_without_being_told_to(run, data, model, folder, name):
    os.mkdir("report")
    (folder / "report" / name).write_text("dear diary")
    result = run("evaluate", model, data, "--report", "report", *QUICK)
    assert result.exit_code == 2, result.output
    assert "--overwrite" in result.stderr
    assert (folder / "report" / name).read_text() == "dear diary"
    assert os.listdir("report") == [name]


@pytest.mark.parametrize("name", ["faces.csv", "thresholds.csv", "calibration.png"])
def test_a_report_never_replaces_what_it_is_about(run, model, folder, name):
    data = write_faces(folder / "data", 3)
    if name.endswith(".csv"):
        data = data.rename(folder / "data" / name)
    else:
        (folder / "data" / "face0_1.png").rename(folder / "data" / name)
        data.write_text(data.read_text().replace("face0_1.png", name))
    content = {path: path.read_bytes() for path in (folder / "data").iterdir()}
    result = run("evaluate", model, data, "--report", "data", "--overwrite", *QUICK)
    assert result.exit_code == 2, result.output
    assert {path: path.read_bytes() for path in (folder / "data").iterdir()} == content


@pytest.mark.parametrize("link", [False, True])
def test_landmarks_that_are_assessed_are_never_replaced(run, data, folder, link):
    assert run("score", "data", "-o", "t.csv", "--quiet").exit_code == 0
    if link:
        os.symlink("t.csv", "out.csv")
    content = (folder / "t.csv").read_bytes()
    for overwrite in ([], ["--overwrite"]):
        output = "out.csv" if link else "t.csv"
        result = run("assess", "t.csv", "--images", "data", "-o", output, "--quiet", *overwrite)
        assert result.exit_code == 2, result.output
        assert (folder / "t.csv").read_bytes() == content
