"""facereject train: a model from every kind of data set, and one sentence for every mistake."""

from __future__ import annotations

import os
import sys

import PIL.Image
import pytest
from annotated_faces import write_faces
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces import FaceRejector
from facereject.faces.training import train as training


def run(*arguments, **options):
    return CliRunner().invoke(app, ["train", *map(str, arguments)], env={"COLUMNS": "100"}, **options)


@pytest.mark.parametrize("form", ["xml", "300w"])
def test_trains_on_every_kind_of_data_set(tmp_path, form):
    data = write_faces(tmp_path / "data", 10, form=form)
    options = ["--degradations", 1, "--workers", 1, "--score", "reg", "--coverage", 0.5]
    result = run(data, "-o", tmp_path / "model", *options)
    assert result.exit_code == 0, result.output
    assert "10 faces of 10 photos" in result.stderr
    assert "only 10 photos" in result.stderr
    assert "10 faces of 10 photos" in result.stdout
    assert "AuRC" in result.stdout
    assert "cross-validation" in " ".join(result.stdout.split())
    model = FaceRejector.load(tmp_path / "model")
    assert model.target.kind == "coverage"
    assert model.info["degradations"] == 1
    assert [path.name for path in tmp_path.iterdir() if path.name not in ("data", "model")] == []


def test_thorough_trains_what_the_model_thorough_is(tmp_path):
    data = write_faces(tmp_path / "data", 8)
    options = ["--degradations", 0, "--workers", 1, "--score", "reg", "--coverage", 0.5, "--thorough"]
    result = run(data, "-o", tmp_path / "model", *options)
    assert result.exit_code == 0, result.output
    assert FaceRejector.load(tmp_path / "model").stability == FaceRejector.pretrained("thorough").stability


def test_bad_entries_are_listed_and_nothing_more_is_said_if_quiet(tmp_path):
    data = write_faces(tmp_path / "data", 9)
    (tmp_path / "data" / "face0_3.png").unlink()
    PIL.Image.new("RGB", (60, 60)).save(tmp_path / "data" / "face0_4.png")
    options = ["--degradations", 0, "--workers", 1, "--quiet", "--coverage", 0.5]
    result = run(data, "-o", tmp_path / "model", *options)
    assert result.exit_code == 0, result.output
    assert "1 entry was left out" in result.stderr
    assert "face0_3.png" in result.stderr
    assert result.stdout == ""
    info = FaceRejector.load(tmp_path / "model").info
    assert info["entries_left_out"] == 1
    assert info["missed"]["clean"] >= 1


def test_equal_seeds_give_equal_files(tmp_path):
    data = write_faces(tmp_path / "data", 8)
    options = [
        "--degradations",
        1,
        "--workers",
        1,
        "--quiet",
        "--coverage",
        0.5,
        "--cache",
        tmp_path / "cache",
    ]
    for name in ("a", "b"):
        assert run(data, "-o", tmp_path / name, *options).exit_code == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_target_out_of_reach_does_not_cost_the_model(tmp_path):
    data = write_faces(tmp_path / "data", 8)
    options = ["--degradations", 0, "--workers", 1, "--max-error", 0.001]
    result = run(data, "-o", tmp_path / "model", *options)
    assert result.exit_code == 1
    assert "--max-error" in result.stderr
    assert "default target" in result.stderr
    assert FaceRejector.load(tmp_path / "model").info["faces"] == 8


def test_an_interruption_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "extract", interrupted)
    data = write_faces(tmp_path / "data", 4)
    (tmp_path / "out").mkdir()
    assert run(data, "-o", tmp_path / "out" / "model").exit_code == 130
    assert list((tmp_path / "out").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path):
    data = write_faces(tmp_path / "data", 8)
    options = ["--degradations", 0, "--workers", 1, "--score", "reg", "--coverage", 0.5]
    result = run(data, "-o", tmp_path / "model", "--cache", os.devnull, *options)
    assert result.exit_code == 0, result.output
    assert "the cache cannot be written" in " ".join(result.stderr.split())
    assert FaceRejector.load(tmp_path / "model")


def test_mistakes_are_one_sentence(tmp_path):
    data = write_faces(tmp_path / "data", 3)
    (tmp_path / "empty").mkdir()
    (tmp_path / "old").write_text("precious")
    (tmp_path / "not.dat").write_text("no model")
    header = tmp_path / "header.csv"
    header.write_text((data.read_text()).splitlines()[0] + "\n")
    out = ["-o", tmp_path / "new"]
    cases = [
        ([tmp_path / "nothing", *out], "no such file or folder"),
        ([tmp_path / "empty", *out], "no file of landmarks"),
        ([tmp_path / "old", *out], "layout is unknown"),
        ([data, "-o", tmp_path / "old"], "pass --overwrite"),
        ([data, "-o", tmp_path / "no" / "model"], "there is no folder"),
        ([data, "-o", tmp_path / "empty"], "is a folder"),
        ([data, *out, "--workers", 1], "at least 4 photos are needed"),
        ([header, *out], "no usable face in it"),
        ([data, *out, "--coverage", 1.5], "--coverage"),
        ([data, *out, "--coverage", 0.5, "--cost", 3], "exclude each other"),
        ([data, *out, "--landmarks", tmp_path / "not.dat"], "--landmarks"),
        ([data, *out, "--landmarks", tmp_path / "none.dat"], "no such landmark model"),
    ]
    for arguments, words in cases:
        result = run(*arguments, "--quiet")
        assert result.exit_code == 2, (arguments, result.output)
        assert words in result.stderr
        told = [line for line in result.stderr.splitlines() if not line.startswith("Warning: only")]
        assert len(told) == 1, result.stderr
        assert result.stdout == ""
    assert (tmp_path / "old").read_text() == "precious"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("score", ["auto", "compact", "boosted"])
def test_without_lightgbm_training_stops_before_any_work(score, tmp_path, monkeypatch):
    # None in sys.modules makes an import fail
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    data = write_faces(tmp_path / "faces", 3)
    result = run(data, "-o", tmp_path / "new", "--score", score, "--quiet")
    assert result.exit_code == 2
    assert "pip install lightgbm" in result.stderr
    assert "--score sele does without" in result.stderr
    assert not (tmp_path / "new").exists()


def test_ctrl_c_ends_with_130(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("facereject.faces.train_face_rejector", interrupted)
    result = run(write_faces(tmp_path / "faces", 3), "-o", tmp_path / "model")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "Interrupted."
    assert not (tmp_path / "model").exists()


def test_help_has_examples():
    result = run("--help")
    assert result.exit_code == 0
    assert "Examples" in result.stdout
    assert "facereject train 300w -o my.safetensors" in result.stdout
    assert "auto|sele|reg|compact|boosted" in result.stdout
