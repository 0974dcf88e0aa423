"""facereject score: tables, exit codes, interruptions of every kind, what the user is told."""

from __future__ import annotations

import csv
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest
from bright_faces import POISON, gray_photo
from stub_tool import TOOL, start_tool

from facereject.tables.columns import COLUMNS


def _sources(path) -> list[str]:
    with open(path, newline="") as file:
        return [row["source"] for row in csv.DictReader(file)]


def test_a_folder(stub, photos, run):
    result = run("score", "photos", "-o", "t.csv")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "4 inputs; 3 faces, 2 accepted (66.7%); 1 without a face" in result.stderr
    assert "Table: t.csv" in result.stderr
    with open("t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["source"] for row in rows] == [
        "photos/0.png",
        "photos/1.png",
        "photos/2.png",
        "photos/sub/2.png",
    ]
    assert [row["accepted"] for row in rows] == ["false", "false", "true", "true"]
    assert [row["reason"] for row in rows] == ["no_face", "uncertain", "", ""]
    assert rows[0]["x_0"] == rows[0]["uncertainty"] == ""
    assert float(rows[1]["x_0"]) == round(50 / 3, 3)
    assert sorted(os.listdir()) == ["photos", "t.csv", "t.csv.run"]


def test_other_formats_and_lists(stub, photos, run):
    Path("list.txt").write_text("photos/1.png\nphotos/sub\n")
    assert run("score", "@list.txt", "-o", "t.jsonl").exit_code == 0
    lines = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert [line["source"] for line in lines] == ["photos/1.png", "photos/sub/2.png"]
    assert run("score", "photos/*.png", "-o", "t.parquet").exit_code == 0
    assert pyarrow.parquet.read_table("t.parquet").column("accepted").to_pylist() == [False, False, True]


def test_stdout_carries_the_table_alone(stub, photos, run):
    result = run("score", "photos", "-o", "-")
    header, *rows = csv.reader(result.stdout.splitlines())
    assert tuple(header) == COLUMNS
    assert len(rows) == 4
    assert "4 inputs" in result.stderr
    quiet = run("score", "photos", "-o", "-", "--quiet")
    assert quiet.stdout == result.stdout
    assert quiet.stderr == ""


def test_poisoned_inputs_do_not_stop_the_run(stub, photos, run):
    gray_photo(photos / "1a.png", POISON)
    (photos / "1b.jpg").write_text("no picture")
    for quiet in ([], ["--quiet"]):
        result = run("score", "photos", "-o", "t.csv", *quiet)
        assert result.exit_code == 1
        assert "2 inputs failed:" in result.stderr
        assert "photos/1a.png: failed: RuntimeError: this picture hurts" in result.stderr
        assert "photos/1b.jpg: unreadable:" in result.stderr
        assert len(_sources("t.csv")) == 6
        assert ("Table:" in result.stderr) == (not quiet)


def test_the_list_of_failures_is_short(stub, photos, run):
    for i in range(25):
        (photos / f"bad{i}.jpg").write_bytes(b"")
    result = run("score", "photos", "-o", "t.csv")
    assert result.exit_code == 1
    assert result.stderr.count("unreadable") == 20
    assert "... and 5 more" in result.stderr


def test_names_cannot_write_to_the_terminal(stub, photos, run):
    (photos / "\x1b[31mred\r.jpg").write_bytes(b"")
    result = run("score", "photos", "-o", "t.csv")
    assert "photos/\\x1b[31mred\\x0d.jpg: unreadable" in result.stderr
    assert "photos/\x1b[31mred\r.jpg" in _sources("t.csv")


def test_wrong_usage_is_one_sentence(stub, photos, run):
    Path("dir.csv").mkdir()
    cases = [
        (["photos", "-o", "t.txt"], "--output t.txt: a table ends in .csv"),
        (["photos", "-o", "no/t.csv"], "there is no folder no"),
        (["photos", "-o", "dir.csv"], "this is a folder"),
        (["nowhere", "-o", "t.csv"], "nowhere: no such file or folder"),
        (["photos", "-o", "-", "--resume"], "--resume needs a table file"),
        (["photos", "-o", "t.csv", "--resume", "--overwrite"], "exclude each other"),
        (["photos", "-o", "t.csv", "--engine", "magic"], "--engine must be local or dask"),
        (["photos", "-o", "t.csv", "--engine", "dask"], "--scheduler"),
        (["photos", "-o", "t.csv", "--scheduler", "tcp://x:1"], "--engine dask"),
        (["photos", "-o", "t.csv", "--engine", "dask", "--workers", "2"], "--workers belongs to"),
        (["photos", "-o", "t.csv", "--workers", "0"], "--workers must be"),
    ]
    for arguments, words in cases:
        result = run("score", *arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert sorted(os.listdir()) == ["dir.csv", "photos"]


def test_wrong_models(photos, run):
    Path("bad.model").write_text("x")
    cases = [
        (
            ["--model", "nonsense"],
            "--model nonsense: no such file; name a model file, or one of the shipped models: "
            "default, thorough, dlib",
        ),
        (["--model", "photos"], "--model photos: this is a folder; name"),
        (["--model", "bad.model"], "--model bad.model: "),
        (["--landmarks", "bad.model"], "--landmarks: bad.model: damaged or not a landmark model"),
        (
            ["--detector", "dlib", "--upsample", "9"],
            "--upsample: upsample must be a whole number from 0 to 4",
        ),
        (["--min-face", "-3"], "--min-face: min_face must be"),
    ]
    for arguments, words in cases:
        result = run("score", "photos", "-o", "t.csv", *arguments)
        assert result.exit_code == 2
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_help_has_examples(run):
    result = run("score", "--help")
    assert result.exit_code == 0
    for words in ("Examples", "facereject score photos", "Exit codes", "the target stored in the model"):
        # the width of the terminal may be any
        assert words in " ".join(result.stdout.split())


def test_resume_and_finished_tables(stub, photos, run):
    run("score", "photos", "-o", "t.csv")
    again = run("score", "photos", "-o", "t.csv", "--resume")
    assert again.exit_code == 0
    assert "Nothing left to do: the table is complete." in again.stderr
    gray_photo(photos / "0a.png", 90)
    (photos / "1.png").unlink()
    more = run("score", "photos", "-o", "t.csv", "--resume")
    assert more.exit_code == 0
    assert "5 inputs;" in more.stderr
    assert "4 inputs had been done before" in more.stderr
    assert _sources("t.csv")[-1] == "photos/0a.png"
    # without --resume a finished table is replaced
    assert run("score", "photos", "-o", "t.csv").exit_code == 0
    assert len(_sources("t.csv")) == 4


def test_resuming_with_a_wrong_path(stub, photos, run):
    run("score", "photos", "-o", "t.csv")
    before = Path("t.csv").read_bytes()
    result = run("score", "phtos", "-o", "t.csv", "--resume")
    assert result.exit_code == 2
    assert "phtos: no such file or folder" in result.stderr
    assert Path("t.csv").read_bytes() == before
    assert sorted(os.listdir()) == ["photos", "t.csv", "t.csv.run"]


def test_what_is_said_of_changed_files(stub, photos, run):
    run("score", "photos", "-o", "t.csv")
    gray_photo(photos / "1.png", 60)
    result = run("score", "photos/../photos", "-o", "t.csv", "--resume")
    assert result.exit_code == 0
    assert "Nothing left" not in result.stderr
    assert "1 input that had changed or failed scored again" in result.stderr
    assert "3 inputs had been done before" in result.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_then_resume(stub, many, work, run, number, code):
    run("score", "many", "-o", "whole.csv")
    with start_tool(["score", "many", "-o", "t.csv"], work) as process:
        # a second run meanwhile
        refused = run("score", "many", "-o", "t.csv", "--resume")
        assert refused.exit_code == 2
        assert "another run is writing" in refused.stderr
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == code
    assert "To continue, run the same command with --resume" in said
    assert "Traceback" not in said
    assert not Path("t.csv").exists()
    plain = run("score", "many", "-o", "t.csv")
    assert plain.exit_code == 2
    assert "pass --resume to continue it, or --overwrite to start again" in plain.stderr
    resumed = run("score", "many", "-o", "t.csv", "--resume")
    assert resumed.exit_code == 0
    assert "had been done before" in resumed.stderr
    assert Path("t.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert sorted(os.listdir()) == ["many", "t.csv", "t.csv.run", "whole.csv", "whole.csv.run"]


def test_kill_then_resume(stub, many, work, run):
    run("score", "many", "-o", "whole.csv")
    with start_tool(["score", "many", "-o", "t.csv"], work) as process:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    resumed = run("score", "many", "-o", "t.csv", "--resume")
    assert resumed.exit_code == 0
    assert "had been done before" in resumed.stderr
    assert Path("t.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_a_reader_that_has_seen_enough(many, work):
    process = subprocess.Popen(
        [*TOOL, "score", "many", "-o", "-"],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"STUB_DELAY": "0.01"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"source,")
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait() == 0
    assert said == b""


def test_disk_full(stub, many, run):
    run("score", "many", "-o", "whole.csv")
    old = Path("whole.csv").read_bytes().splitlines(keepends=True)[0]
    Path("t.csv").write_bytes(old)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, before[1]))
    try:
        result = run("score", "many", "-o", "t.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert result.exit_code == 1
    assert "t.csv.partial: cannot be written" in result.stderr
    assert "To continue, run the same command with --resume" in result.stderr
    assert Path("t.csv").read_bytes() == old
    Path("t.csv").unlink()
    assert run("score", "many", "-o", "t.csv", "--resume").exit_code == 0
    assert Path("t.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_other_settings_are_not_mixed(stub, many, run, monkeypatch):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, before[1]))
    try:
        run("score", "many", "-o", "t.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    result = run("score", "many", "-o", "t.csv", "--resume", "--max-pixels", "1000")
    assert result.exit_code == 2
    assert "max_pixels: 200000000 then, 1000 now" in result.stderr
    assert run("score", "many", "-o", "t.csv", "--overwrite", "--max-pixels", "1000").exit_code == 0
    assert len(_sources("t.csv")) == 150


def test_another_spelling_of_a_folder_adds_no_rows(stub, photos, run):
    run("score", "photos", "-o", "t.csv")
    before = Path("t.csv").read_bytes()
    for spelling in ("./photos", photos, "photos/../photos"):
        assert run("score", spelling, "-o", "t.csv", "--resume").exit_code == 0
        assert Path("t.csv").read_bytes() == before
