"""Closed standard streams, and outputs in folders that do not exist."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from bright_faces import gray_photo


def start(folder, arguments, redirection):
    command = f'exec "$0" -m facereject {arguments} {redirection}'
    return subprocess.run(["sh", "-c", command, sys.executable], cwd=folder, capture_output=True)


@pytest.mark.parametrize("arguments", ["score a.png", "score a.png -o t.csv", "info"])
def test_closed_stdout(work, arguments):
    gray_photo("a.png", 90)
    result = start(work, arguments, ">&-")
    assert result.returncode == 2
    assert result.stderr == b"stdout is closed; to drop what is printed there, write >/dev/null\n"
    assert os.listdir() == ["a.png"]


def test_closed_stderr(work):
    gray_photo("a.png", 90)
    result = start(work, "score a.png", "2>&-")
    assert result.returncode == 0
    assert result.stdout.startswith(b"source,")
    assert len(result.stdout.splitlines()) == 2


@pytest.mark.parametrize("option", ["--output none/t.csv", "--timeline none/t.csv", "--save none/v.mp4"])
def test_the_folder_of_a_file_must_exist(stub, photos, run, option):
    result = run("filter", "photos", *option.split())
    assert result.exit_code == 2
    assert result.stderr == f"{option}: there is no folder none; make it first\n"
    assert os.listdir() == ["photos"]


def test_names_from_stdin_and_json_to_stdout(work):
    gray_photo("a b.png", 90)
    gray_photo("c.png", 90)
    command = 'printf "a b.png\\nmissing.png\\nc.png\\n" | "$0" -m facereject score - --json'
    result = subprocess.run(["sh", "-c", command, sys.executable], cwd=work, capture_output=True)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["source"] for row in rows] == ["a b.png", "missing.png", "c.png"]
    assert [row["reason"].split(":")[0] for row in rows] == ["no_face", "unreadable", "no_face"]
    assert result.returncode == 1
    assert sorted(os.listdir()) == ["a b.png", "c.png"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("score -", b"- reads names from stdin, one per line: there are none\n"),
        ("score - -", b"- reads names from stdin and can be given once\n"),
        ("score a.png --json -o t.csv", b"--json writes to stdout; for a file use --output"),
    ],
)
def test_wrong_use_of_streams(work, arguments, sentence):
    gray_photo("a.png", 90)
    result = start(work, arguments, "</dev/null")
    assert result.returncode == 2
    assert sentence in result.stderr
