"""facereject review and annotate as processes: a folder is scored, a page is served, decisions stay."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import httpx
import numpy as np
import PIL.Image
import pytest
import skimage.data
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces import FaceDataset


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three photos of one face each."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for k in range(3):
        image = np.ascontiguousarray(skimage.data.astronaut()[: 240 + k, 80:400])
        PIL.Image.fromarray(image).save(tmp_path / "photos" / f"{k}.jpg", quality=92)
    return tmp_path


def start(*arguments: str) -> tuple[subprocess.Popen[str], httpx.Client, list[str]]:
    """A server that is ready, a client with its token, and what was said before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "facereject", *arguments, "--no-browser", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        found = re.search(r"(http://\S+/)\?token=(\S{32,})", line)
        if found:
            headers = {"Authorization": f"Bearer {found[2]}"}
            return process, httpx.Client(base_url=found[1], headers=headers, timeout=60), said
    raise AssertionError("".join(said))


def stop(process: subprocess.Popen[str], number: int) -> str:
    process.send_signal(number)
    process.wait(60)
    assert process.stderr is not None
    return process.stderr.read()


def test_a_folder_is_scored_once_and_decisions_stay(folder):
    process, client, said = start("review", "photos")
    try:
        assert "Scoring photos into photos-faces.csv" in "".join(said)
        assert client.get("/").text.count("<title>facereject review</title>") == 1
        facts = client.get("/api/review").json()
        assert facts["sources"] == [f"photos/{k}.jpg" for k in range(3)]
        assert client.post("/api/decide", json={"numbers": [1], "decision": 2}).status_code == 200
        # without any warning
        process.kill()
        process.wait()
    finally:
        process.kill()
    process, client, _ = start("review", "photos", "--quiet")
    try:
        assert client.get("/api/review").json()["decided"] == [[1, 2]]
        assert stop(process, signal.SIGTERM).splitlines() == [
            "Only this address, with its token, is answered. Ctrl-C stops; decisions are saved."
        ]
        assert process.returncode == 0
    finally:
        process.kill()


def test_annotate_makes_a_data_set(folder):
    process, client, said = start("annotate", "photos", "-n", "5", "-o", "mine")
    try:
        assert "Only 3 photos with a scored face" in "".join(said)
        assert "<title>facereject annotate</title>" in client.get("/").text
        queue = client.get("/api/review").json()["queue"]
        assert sorted(queue) == [0, 1, 2]
        points = client.get(f"/api/face/{queue[0]}").json()["predicted"]
        assert client.post(f"/api/landmarks/{queue[0]}", json={"points": points}).status_code == 200
        assert "1 face with corrected landmarks" in stop(process, signal.SIGINT)
        assert process.returncode == 0
    finally:
        process.kill()
    (sample,) = FaceDataset.load("mine")
    assert np.abs(sample.landmarks - points).max() < 0.001


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["review", "gone.csv"], "gone.csv: no such file or folder"),
        (["review", "text.csv"], "text.csv: not a table of facereject"),
        (["review", "photos", "--images", "photos"], "--images goes with a table"),
        (["review", "text.csv", "--images", "gone"], "not a table"),
        (["review", "photos", "--frame-rule", "most"], "--frame-rule must be one of all, any, largest"),
        (["review", "text.csv", "--beside", "--annotations", "x"], "exclude each other"),
        (["annotate", "gone"], "gone: no such file or folder"),
        (["annotate", "photos", "-o", "text.csv"], "--output text.csv: cannot be made"),
    ],
)
def test_wrong_usage_is_one_sentence(folder, arguments, sentence):
    (folder / "text.csv").write_text("a,b\n1,2\n")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert sentence in result.output
    assert len(result.output.splitlines()) == 1


def test_annotation_starts_from_landmarks_of_another_tool(folder):
    rng = np.random.default_rng(0)
    points = rng.uniform(60, 160, (3, 68, 2))
    np.savez("tool.npz", image=np.array(["0", "1", "2"]), landmarks=points)
    process, client, said = start("annotate", "photos", "-o", "mine", "--predictions", "tool.npz")
    try:
        assert "Scoring tool.npz into mine/faces.csv" in "".join(said)
        shown = client.get("/api/face/0").json()["predicted"]
        assert any(np.allclose(shown, face, atol=1e-3) for face in points)
    finally:
        stop(process, signal.SIGTERM)


def test_what_annotate_cannot_start_from_is_said(folder):
    (folder / "bad.csv").write_text("a,b\n1,2\n")
    result = CliRunner().invoke(app, ["annotate", "photos", "-o", "mine", "--predictions", "bad.csv"])
    assert result.exit_code == 2
    assert "--predictions bad.csv: its layout is unknown" in result.stderr


def test_what_annotate_writes_below_the_folder_is_no_input(folder):
    for _ in range(2):
        process, client, _ = start("annotate", "photos", "-o", "photos/mine")
        try:
            facts = client.get("/api/review").json()
            assert facts["sources"] == [f"photos/{k}.jpg" for k in range(3)]
            points = client.get("/api/face/0").json()["predicted"]
            assert client.post("/api/landmarks/0", json={"points": points}).status_code == 200
        finally:
            stop(process, signal.SIGINT)
    assert (folder / "photos" / "mine" / "0.jpg").exists()


def test_annotate_does_not_mix_folders_and_leaves_nothing_behind(folder):
    def run(*arguments):
        return CliRunner().invoke(app, ["annotate", *arguments, "--no-browser"])

    result = run("phtos")
    assert (result.exit_code, result.stderr) == (2, "phtos: no such file or folder\n")
    os.mkdir("empty")
    assert run("empty").exit_code == 2
    assert not os.path.exists("annotated")
    PIL.Image.new("RGB", (60, 60)).save("empty/black.png")
    assert "empty: no face was found in it" in run("empty").stderr
    os.mkdir("annotated2")
    scored = CliRunner().invoke(app, ["score", "photos", "-o", "annotated2/faces.csv", "-q"])
    assert scored.exit_code == 0
    result = run("empty", "-o", "annotated2")
    assert result.exit_code == 2
    assert "annotated2/faces.csv: holds faces of another folder, such as photos/0.jpg" in result.stderr
    result = run("photos", "-o", "annotated2", "-m", "dlib")
    assert result.exit_code == 1
    assert "move annotated2/faces.csv away to start again" in result.stderr
