"""The examples and commands of the documentation run as they stand, one after the other."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import skimage.data
import skimage.io
from typer.testing import CliRunner

from facereject._cli import app
from facereject.outputs._video.writer import VideoWriter

sys.path.insert(0, str(Path(__file__).parent / "cli"))

from annotated_faces import write_faces

DOCS = Path(__file__).parents[1] / "docs"
#: pages whose examples stand for themselves; python.md, plugins.md and others have tests of their own
EXECUTED = [
    "faq.md",
    "guide/camera.md",
    "guide/clean.md",
    "guide/guarantee.md",
    "guide/other_tools.md",
    "guide/machines.md",
    "guide/reject_option.md",
    "guide/targets.md",
    "guide/train.md",
    "start.md",
    "theory/errata.md",
]


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.S)


@pytest.fixture
def folder_with_photo_and_clip(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    photo = skimage.data.astronaut()
    skimage.io.imsave("photo.jpg", photo, check_contrast=False)
    with VideoWriter("clip.mp4", 10, (320, 240)) as video:
        for shift in range(6):
            video.write(np.roll(photo[:240, 80:400], shift, axis=1))


@pytest.mark.usefixtures("folder_with_photo_and_clip")
@pytest.mark.parametrize("page", EXECUTED)
def test_examples_run(page, tmp_path):
    write_faces(tmp_path / "photos", 12)
    names: dict = {"__name__": "docs"}
    blocks = examples(page)
    assert blocks
    for number, example in enumerate(blocks):
        exec(compile(example, f"docs/{page}, example {number}", "exec"), names)


def commands(page: str) -> list[list[str]]:
    """Arguments of the commands of a page, but for those that need a camera, a browser or the network."""
    blocks = re.findall(r"```sh\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.S)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    found = [words[1:] for words in lines if words[:1] == ["facereject"]]
    others = (["webcam"], ["demo"], ["models", "get"])
    return [words for words in found if words[:1] not in others and words[:2] not in others]


@pytest.mark.usefixtures("folder_with_photo_and_clip", "mesh_weights")
@pytest.mark.parametrize("page", ["faq.md", "start.md", "guide/clean.md"])
def test_commands_run(page, tmp_path):
    write_faces(tmp_path / "photos", 6, form="300w")
    for seed, name in enumerate(("annotated.csv", "test.csv"), start=1):
        write_faces(tmp_path, 12, seed=seed).rename(name)
    found = commands(page)
    assert found
    for words in found:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{words}: {result.output}"
    if page == "start.md":
        assert Path("report/index.html").stat().st_size > 0


def test_network_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, *others = examples("guide/network.md")
    names: dict = {"__name__": "docs"}
    exec(compile(first, "docs/guide/network.md", "exec"), names)
    for words in commands("guide/network.md"):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{words}: {result.output}"
    for example in others:
        exec(compile(example, "docs/guide/network.md", "exec"), names)
    assert names["wrong"][names["accepted"]].mean() < names["wrong"].mean()
    printed = capsys.readouterr().out
    assert "# weight" in printed
    assert "max-logit" in printed


def test_predictions_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *others = examples("guide/predictions.md")
    names: dict = {"__name__": "docs"}
    exec(compile(first, "docs/guide/predictions.md", "exec"), names)
    for words in commands("guide/predictions.md"):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{words}: {result.output}"
    for example in others:
        exec(compile(example, "docs/guide/predictions.md", "exec"), names)
    assert names["compared"].best == "max-prob"


@pytest.mark.usefixtures("folder_with_photo_and_clip")
def test_python_page(capsys):
    names: dict = {"__name__": "docs"}
    for number, example in enumerate(examples("python.md")):
        exec(compile(example, f"docs/python.md, example {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert "Face(accepted, expected error" in printed
    assert "phtos: no such file or folder" in printed
    assert "1 of 1 inputs, 1 of 1 faces accepted" in printed
    assert printed.count("1 of 1 faces accepted, image (240, 320, 3)") == 6
    assert names["table"].accepted.tolist() == [True] * 7
    assert (names["summary"].inputs, names["summary"].failed) == (2, 0)
    assert names["summary"].placed.accepted + names["summary"].placed.rejected == 2
    for name in ("faces.csv", "faces.jsonl", "segments.csv"):
        assert Path(name).stat().st_size > 0


def test_the_line_of_a_face_is_what_is_printed():
    (line,) = re.findall(r"`(Face\(.*?landmarks\))`", (DOCS / "python.md").read_text(encoding="utf-8"))
    from facereject import FaceRejector

    (face,) = FaceRejector.pretrained()(skimage.data.astronaut())
    assert repr(face) == line


@pytest.mark.usefixtures("folder_with_photo_and_clip", "mesh_weights")
def test_stacks_page():
    names: dict = {"__name__": "docs"}
    for number, example in enumerate(examples("stacks.md")):
        exec(compile(example, f"docs/stacks.md, example {number}", "exec"), names)
    assert [len(face.landmarks) for face in names["faces"]] == [68]
    assert [len(face.landmarks) for face in names["more"]] == [68]
    assert names["points"].shape == (468, 2)
    assert names["scored"].landmarks.shape == (68, 2)
