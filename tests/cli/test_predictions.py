"""facereject predictions, as a shell sees it: what is printed where, exit codes, names of options."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from facereject._cli import app


def run(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["predictions", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Labelled predictions; confidence is the probability of being right."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("p.csv", "w") as file:
        file.write("id,label,prediction,confidence,site\n")
        for i, confidence in enumerate(rng.uniform(0.5, 1, 1000)):
            label = "a" if rng.uniform() < confidence else "b"
            file.write(f"{i},{label},a,{confidence:.4f},{'north' if i % 2 else 'south'}\n")
    return tmp_path


def test_report_prints_numbers_and_writes_a_page(folder):
    done = run("report", "p.csv")
    assert done.exit_code == 0
    for word in ("AuRC", "oracle", "confidence at least", "95.0%"):
        assert word in done.stdout
    assert "Report: report.html" in done.stderr
    assert "<svg" in (folder / "report.html").read_text()
    again = run("report", "p.csv")
    assert again.exit_code == 2
    assert "--overwrite" in again.stderr
    assert run("report", "p.csv", "--overwrite", "-q").stdout == ""


def test_threshold_apply_and_monitor(folder):
    assert run("threshold", "p.csv", "--max-risk", 0.2).exit_code == 0
    assert json.loads((folder / "rule.json").read_text())["guarantee"]["max_risk"] == 0.2
    done = run("apply", "rule.json", "p.csv", "-o", "decided.csv")
    assert done.exit_code == 0
    with open("decided.csv") as file:
        rows = list(csv.DictReader(file))
    accepted = [row for row in rows if row["accepted"] == "true"]
    assert f"{len(accepted):,} of 1,000 predictions accepted" in done.stderr
    assert np.mean([row["label"] != row["prediction"] for row in accepted]) <= 0.2
    assert run("monitor", "rule.json", "p.csv").exit_code == 0
    (folder / "bad.csv").write_text("label,prediction,confidence\na,a,1\n" + "b,a,1\n" * 50)
    alarm = run("monitor", "rule.json", "bad.csv", "-q")
    assert alarm.exit_code == 1
    assert alarm.stdout.startswith("Alarm")


def test_groups_without_a_threshold_are_said_in_words(folder):
    with open("g.csv", "w") as file:
        file.write("label,prediction,confidence,site\n")
        file.writelines(
            f"{'ba'[site == 'easy']},a,0.{k % 9 + 1},{site}\n"
            for site in ("easy", "hard")
            for k in range(300)
        )
    done = run("threshold", "g.csv", "--max-risk", 0.1, "--group", "site")
    assert done.exit_code == 0
    assert "error rate" in done.stdout
    shown = {line.split()[1]: line for line in done.stdout.splitlines() if "easy" in line or "hard" in line}
    assert "everything" in shown["easy"]
    assert "rejected" in shown["hard"]
    assert "inf" not in done.stdout


def test_groups_are_listed(folder):
    done = run("threshold", "p.csv", "--max-risk", 0.25, "--group", "site")
    assert done.exit_code == 0
    assert "north" in done.stdout


def test_no_guarantee_no_rule(folder):
    done = run("threshold", "p.csv", "--max-risk", 0.0001)
    assert done.exit_code == 1
    assert not (folder / "rule.json").exists()


def test_learn_and_use_a_score(folder):
    done = run("learn", "p.csv", "--method", "confidence")
    assert done.exit_code == 0
    assert "left out" in done.stdout
    assert run("report", "p.csv", "--score", "score.safetensors", "-q").exit_code == 0
    assert run("threshold", "p.csv", "--score", "score.safetensors", "--max-risk", 0.2).exit_code == 0
    assert run("apply", "rule.json", "p.csv", "-o", "decided.csv").exit_code == 0
    assert run("apply", "score.safetensors", "p.csv", "-o", "scored.csv").exit_code == 0
    with open("scored.csv") as file:
        assert "uncertainty" in next(csv.reader(file))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("report", "none.csv"), "no such file"),
        (("report", "p.csv", "--label", "none"), "--label"),
        (("report", "p.csv", "--loss", "absolute"), "'label', row 1"),
        (("report", "p.csv", "-o", "p.csv", "--overwrite"), "is an input"),
        (("report", "p.csv", "-o", "/dev/null", "--overwrite"), "this is a device"),
        (("report", "p.csv", "--coverage", "2"), "coverage"),
        (("threshold", "p.csv", "--max-risk", "2"), "max_risk"),
        (("threshold", "p.csv", "--max-risk", "0.2", "--loss", "confidence"), "--loss-bound"),
        (("threshold", "p.csv", "--max-risk", "0.2", "-o", "p.csv", "--overwrite"), "is an input"),
        (("apply", "p.csv", "p.csv", "-o", "d.csv"), "not a rule"),
        (("apply", "p.safetensors", "p.csv", "-o", "d.csv"), "no such file"),
        (("monitor", "none.json", "p.csv"), "no such file"),
        (("learn", "p.csv", "--method", "magic"), "magic"),
        (("learn", "p.csv", "--feature", "none"), "--feature"),
        (("learn", "p.csv", "-o", "score.bin"), "the suffix must be .safetensors"),
        (("report", "p.csv", "--score", "site.json", "-o", "site.json", "--overwrite"), "is an input"),
    ],
)
def test_wrong_usage_is_one_sentence(folder, arguments, word):
    before = (folder / "p.csv").read_bytes()
    (folder / "site.json").touch()
    done = run(*arguments)
    assert done.exit_code == 2
    assert word in done.stderr
    assert done.stderr.count("\n") == 1
    assert (folder / "p.csv").read_bytes() == before


def test_the_wrong_way_is_said(folder):
    done = run("report", "p.csv", "--uncertainty", "confidence")
    assert "goes the wrong way" in done.stderr
    assert "--confidence" in done.stderr
    done = run("threshold", "p.csv", "--uncertainty", "confidence", "--max-risk", "0.4")
    assert "goes the wrong way" in done.stderr


@pytest.mark.parametrize("command", ["report", "threshold", "apply", "monitor", "learn"])
def test_help_of_every_command(command):
    done = run(command, "--help")
    assert done.exit_code == 0
    assert f"facereject predictions {command}" in done.stdout
