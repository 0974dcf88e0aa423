"""The examples of docs/serve.md run as they stand, but for the address."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
ADDRESS = "127.0.0.1:8420"


def examples(kind: str, server) -> list[str]:
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.S)
    return [example.replace(ADDRESS, f"127.0.0.1:{server.port}") for example in found]


@pytest.fixture
def files(tmp_path, monkeypatch, photo_jpeg, clip):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photo.jpg").write_bytes(photo_jpeg)
    (tmp_path / "clip.mp4").write_bytes(clip.read_bytes())


@pytest.mark.usefixtures("files")
def test_python_client(server, capsys):
    names: dict = {}
    for example in examples("python", server):
        exec(compile(example, "docs/serve.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("True ")
    assert len(lines) == 1 + 12 + 2
    assert lines[12] == "1.1 False"
    assert lines[-2:] == ["expected error at most 5 %", "True"]


@pytest.mark.usefixtures("files")
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(server):
    (line,) = [example for example in examples("sh", server) if example.startswith("curl")]
    done = subprocess.run(line, shell=True, capture_output=True, check=True)
    assert json.loads(done.stdout)["accepted"] is True


def test_limits_and_requests_are_those_of_the_server(server):
    documented = set(re.findall(r"`(?:GET|POST|WS) (/api/[\w.]+)`", PAGE))
    assert documented == set(server.client.get("/api/openapi.json").json()["paths"])
    limits = server.client.get("/api/model").json()["limits"]
    said = (
        f"{limits['image_bytes'] >> 20} MB and {limits['image_pixels'] // 10**6} megapixels for an "
        f"image, {limits['video_bytes'] >> 30} GB for a video, {limits['frame_bytes'] >> 20} MB for a live "
        f"frame, {limits['frame_pixels'] // 10**6} megapixels for a frame"
    )
    assert said in " ".join(PAGE.split())
