"""facereject demo: accepted and rejected versions, a video, and a page that needs nothing but itself."""

from __future__ import annotations

import csv
import io
import re
from base64 import b64decode

import PIL.Image
import pytest
from typer.testing import CliRunner

import facereject
from facereject._cli import app
from facereject.demo.make import ScoredFrame, spans
from facereject.sources.video import open_video


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "deep" / "out"
    result = CliRunner().invoke(app, ["demo", "--output", str(folder)], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return folder, result


def test_what_is_printed(made):
    folder, result = made
    lines = result.stdout.splitlines()
    clean = next(line for line in lines if "clean" in line)
    assert "accepted" in clean
    assert sum("rejected" in line for line in lines) >= 2
    assert max(map(len, lines)) <= 80
    assert f"Page:    {folder / 'index.html'} " in result.stderr


def test_the_picture_of_the_readme(made):
    folder, _ = made
    with PIL.Image.open(folder / "demo.png") as picture:
        assert picture.width > 500


def test_the_table_has_all_pictures_and_frames(made):
    folder, _ = made
    with open(folder / "table.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pictures = [row for row in rows if row["source"].endswith(".png")]
    assert len({row["source"] for row in pictures}) == len(list((folder / "pictures").iterdir())) == 8
    video = [row for row in rows if row["source"].endswith("video.mp4")]
    with open_video(folder / "video.mp4") as reader:
        count = sum(1 for _ in reader)
    assert sorted({int(row["frame"]) for row in video}) == list(range(count))
    assert {row["accepted"] for row in video} == {"true", "false"}
    assert "uncertain" in {row["reason"] for row in video}
    with open_video(folder / "annotated.mp4") as reader:
        assert sum(1 for _ in reader) == count


def test_the_page_is_complete_in_itself(made):
    folder, _ = made
    page = (folder / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'(?:src|href)="([^"]{1,200})', page))
    files = {link for link in links if not link.startswith(("data:image/webp;base64,", "#"))}
    assert files == {"video.mp4", "annotated.mp4", "table.csv"}
    assert all((folder / name).is_file() for name in files)
    (video,) = re.findall(r'class="movie" src="data:image/webp;base64,([^"]+)"', page)
    with PIL.Image.open(io.BytesIO(b64decode(video))) as animation:
        assert animation.is_animated
    assert page.count("accepted</span>") >= 2
    assert page.count("rejected</span>") >= 2
    assert "excludes commercial use" in page
    assert len(page) < 3_000_000
    left = [path.name for path in folder.rglob("*") if path.name.startswith(".") or "part" in path.name]
    assert left == []


def test_spans_of_a_video():
    face = object()
    frames = [ScoredFrame(None, None, 0.0, accepted, face if found else None) for found, accepted in
              [(True, True), (True, True), (True, False), (False, False), (True, True)]]  # fmt: skip
    assert spans(frames) == [(2, "good"), (1, "bad"), (1, "none"), (1, "good")]


def test_mistakes_are_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    cases = [
        (["--output", str(tmp_path / "file")], "not a folder"),
        (["--output", str(tmp_path / "file" / "in")], "not a folder"),
        (
            ["--output", str(tmp_path / "out"), "--model", "nonsense"],
            "one of the shipped models: default, thorough, dlib",
        ),
    ]
    for arguments, words in cases:
        result = CliRunner().invoke(app, ["demo", "--quiet", *arguments])
        assert result.exit_code == 2
        assert words in result.stderr
        assert len(result.output.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"facereject {facereject.__version__}"
