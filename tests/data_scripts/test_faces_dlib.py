"""dlib's XML to the project's table."""

from __future__ import annotations

import numpy as np
import PIL.Image
import pytest

from data_scripts import faces_dlib
from facereject.faces.datasets import FaceDataset


@pytest.fixture
def labels(tmp_path, rng):
    """Three faces in two photographs, and one whose photograph is missing."""
    folder = tmp_path / "ibug"
    (folder / "helen").mkdir(parents=True)
    text = "<?xml version='1.0' encoding='ISO-8859-1'?>\n<dataset><name>iBUG</name><images>\n"
    for name, count in (("helen/1.jpg", 2), ("helen/ä, 2.jpg", 1), ("gone.jpg", 1)):
        text += f"<image file='{name}' width='100' height='100'>"
        for _ in range(count):
            parts = "".join(
                f"<part name='{i:02d}' x='{x:.2f}' y='{y:.2f}'/>"
                for i, (x, y) in enumerate(rng.uniform(0, 100, (68, 2)))
            )
            text += f"<box top='1' left='2' width='50' height='60'>{parts}</box>"
        text += "</image>\n"
        if name != "gone.jpg":
            PIL.Image.new("RGB", (100, 100)).save(folder / name)
    path = folder / "labels_ibug_300W_train.xml"
    path.write_bytes((text + "</images></dataset>\n").encode("latin-1"))
    return path


def run(*arguments):
    return faces_dlib.main([str(argument) for argument in arguments])


def test_table(labels, tmp_path, capsys):
    out = tmp_path / "else" / "where"
    assert run("--from", labels, "--out", out) == 0
    captured = capsys.readouterr()
    assert "3 faces of 2 photographs, 1 left out" in captured.out
    assert "gone.jpg box 0" in captured.err
    before, after = FaceDataset.load(labels), FaceDataset.load(out / "labels_ibug_300W_train.csv")
    assert [face.photo for face in after] == [face.photo for face in before]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(new.landmarks, old.landmarks)
        assert new.load().shape == (100, 100, 3)


def test_finished_table_is_kept(labels, tmp_path, capsys):
    assert run("--from", labels, "--out", tmp_path) == 0
    path = tmp_path / "labels_ibug_300W_train.csv"
    path.write_text("mine")
    assert run("--from", labels, "--out", tmp_path) == 0
    assert "is there already" in capsys.readouterr().out
    assert path.read_text() == "mine"
    assert run("--from", labels, "--out", tmp_path, "--force") == 0
    assert len(FaceDataset.load(path)) == 3


def test_missing_or_empty_file(tmp_path, capsys):
    assert run("--from", tmp_path / "no.xml", "--out", tmp_path) == 1
    assert "dlib.net" in capsys.readouterr().err
    (tmp_path / "empty.xml").write_text("<dataset/>")
    assert run("--from", tmp_path / "empty.xml", "--out", tmp_path) == 1
    assert "no usable face" in capsys.readouterr().err
    assert not (tmp_path / "empty.csv").exists()
