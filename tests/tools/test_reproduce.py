"""The reproduction: its protocol, stored results, jobs, report, and a quick run on real tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from engine_tasks import append_word, fail_with

from data_scripts import registry
from tools.reproduce import tabular
from tools.reproduce.__main__ import parse
from tools.reproduce.chunked import ChunkedSELE
from tools.reproduce.scheduler import Job, run_jobs
from tools.reproduce.store import MixedSettingsError, Store, write_atomically

ROOT = Path(__file__).parents[2]
SETTINGS = {"protocol": 1, "trees": 20}


@pytest.fixture
def table(rng):
    """Features of very different scales and three classes on a line, one in ten labels wrong."""
    X = rng.normal(size=(600, 4)) * [1.0, 100.0, 0.01, 5.0]
    y = np.digitize(X[:, 0] + X[:, 1] / 100, [-0.8, 0.8])
    noisy = rng.uniform(size=600) < 0.1
    return X, np.where(noisy, rng.integers(0, 3, 600), y)


def run_on(monkeypatch, table, task):
    name = next(name for name, entry in registry.DATASETS.items() if entry.task == task)
    monkeypatch.setattr(registry, "load", lambda *_: table)
    return tabular.run(name, 0, None, SETTINGS), registry.split(name, len(table[1]), 0)


def without_times(result):
    if isinstance(result, dict):
        return {k: without_times(v) for k, v in result.items() if k not in ("seconds", "cpu_seconds")}
    return result


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("classification", {"LR": ("MCP", "SELE", "REG", "TCP"), "SVM": ("Margin", "SELE", "REG")}),
        ("ordinal", {"SVOR": ("Margin", "SELE", "REG")}),
    ],
)
def test_every_predictor_has_every_score(monkeypatch, table, task, expected):
    result, rows = run_on(monkeypatch, table, task)
    assert result["sizes"] == [180, 60, 180, 60, 120]
    assert sorted(np.concatenate(rows)) == list(range(600))
    found = {name: set(one["scores"]) for name, one in result["predictors"].items()}
    assert found == {name: {*scores, "SELE-500", "BoostedSELE"} for name, scores in expected.items()}
    for one in result["predictors"].values():
        for score in one["scores"].values():
            assert one["oracle_aurc"] <= score["aurc"]
            # accepting all has the same risk whatever the score
            assert score["curve"][-1] == pytest.approx(one["r100"], rel=1e-3)
            assert len(score["curve"]) == 50
    assert json.loads(json.dumps(result)) == result


def test_results_are_equal_for_equal_seeds(monkeypatch, table):
    first, second = (run_on(monkeypatch, table, "classification")[0] for _ in range(2))
    assert without_times(first) == without_times(second)


def test_the_test_part_decides_nothing(monkeypatch, table, rng):
    X, y = table
    result, rows = run_on(monkeypatch, table, "classification")
    degraded = y.copy()
    degraded[rows[4]] = rng.permutation(degraded[rows[4]])
    other, _ = run_on(monkeypatch, (X, degraded), "classification")
    for name, one in result["predictors"].items():
        changed = other["predictors"][name]
        assert one["r100"] != changed["r100"]
        assert one["c"] == changed["c"]
        assert one["validation_losses"] == changed["validation_losses"]
        for score, found in one["scores"].items():
            for fact in ("alpha", "trees"):
                assert found.get(fact) == changed["scores"][score].get(fact)


def test_features_are_standardised(monkeypatch, table):
    X, y = table
    result, _ = run_on(monkeypatch, table, "ordinal")
    # powers of two shift no bit of the standardised features
    scaled, _ = run_on(monkeypatch, (X * [4.0, 0.5, 1024.0, 8.0], y), "ordinal")
    assert without_times(result) == without_times(scaled)


def test_a_class_that_training_has_not_seen(monkeypatch, table):
    X, y = table
    _, rows = run_on(monkeypatch, table, "ordinal")
    y = y.copy()
    y[[part[0] for part in rows[1:]]] = 3
    for task in ("classification", "ordinal"):
        result, _ = run_on(monkeypatch, (X, y), task)
        assert all(one["r100"] > 0 for one in result["predictors"].values())


def test_chunks_are_those_of_the_library(rng):
    from facereject.risks import SELE

    losses, scores = rng.exponential(size=1700), rng.normal(size=1700)
    value, gradient = ChunkedSELE(losses)(scores)
    expected, slope = SELE(losses, chunk_size=500, random_state=0)(scores)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, slope, atol=1e-12)


def stored(dataset="LETTER", split=0, task="classification"):
    return {"task": task, "dataset": dataset, "split": split, "settings": SETTINGS, "sizes": [20_000]}


def test_what_is_done_is_told_from_what_is_not(tmp_path):
    store = Store(tmp_path, SETTINGS)
    assert store.state("classification", "LETTER", 0) == "missing"
    path = store.save(stored())
    assert store.state("classification", "LETTER", 0) == "done"
    other = Store(tmp_path, {**SETTINGS, "trees": 500})
    assert other.state("classification", "LETTER", 0) == "other settings"
    other.save({**stored(split=1), "settings": other.settings})
    with pytest.raises(MixedSettingsError, match="LETTER-1"):
        store.load("classification")
    path.write_text(path.read_text()[:-20])
    assert store.state("classification", "LETTER", 0) == "unreadable"


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "a.json"
    write_atomically(path, "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_jobs_run_longest_first_and_fail_alone(tmp_path, capfd):
    order = tmp_path / "order"
    jobs = [
        Job("short", 1, append_word, (order, "short")),
        Job("fails", 5, fail_with, ("no such luck",)),
        Job("dies", 4, os._exit, (7,)),
        Job("long", 9, append_word, (order, "long")),
    ]
    lines = []
    assert run_jobs(jobs, 1, lines.append) == ["fails", "dies"]
    assert order.read_text() == "long short "
    assert "no such luck" in capfd.readouterr().err
    assert [line.split()[1] for line in lines] == ["long", "fails", "dies", "short"]
    assert "exit code 7" in lines[2]
    assert "0 min left" in lines[-1]


def test_an_interrupt_ends_the_running_jobs():
    def interrupt(line):
        raise KeyboardInterrupt

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_jobs([Job("short", 2, time.sleep, (0.0,)), Job("endless", 1, time.sleep, (300,))], 2, interrupt)
    assert time.perf_counter() - start < 30


def reproduce(*arguments, data):
    command = [sys.executable, "-m", "tools.reproduce", *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "FACEREJECT_DATA": str(data)},
        check=False,
    )


@pytest.mark.data
@pytest.mark.slow
def test_quick_run(uci_dir, tmp_path):
    for task, predictors in (("classification", ("LR", "SVM")), ("ordinal", ("SVOR",))):
        done = reproduce(task, "--quick", "--results", tmp_path, data=uci_dir.parent)
        assert done.returncode == 0, done.stderr
        text = (tmp_path / "tables.md").read_text()
        for predictor in predictors:
            assert f"{predictor}+SELE" in text
            assert (tmp_path / "figures" / f"critical-difference-{predictor}.svg").exists()
    # nothing is left to do, and the report of the same numbers has the same bytes
    again = reproduce("ordinal", "--quick", "--results", tmp_path, data=uci_dir.parent)
    assert "already" in again.stdout
    assert "split" not in again.stdout
    assert (tmp_path / "tables.md").read_text() == text


def test_unknown_data_set(tmp_path):
    failed = reproduce("ordinal", "--datasets", "LETTER", "--results", tmp_path, data=tmp_path)
    assert failed.returncode != 0
    assert "no such data set" in failed.stderr
    assert "ABALONE" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_another_solver_has_a_folder_and_settings_of_its_own():
    default, own = parse(["ordinal"]), parse(["ordinal", "--solver", "bmrm"])
    assert default.results == ROOT / "results"
    assert own.results == ROOT / "cache" / "bmrm"
    assert "solver" not in tabular.settings(False, default.solver)
    assert tabular.settings(False, own.solver)["solver"] == "bmrm"
    with pytest.raises(SystemExit):
        parse(["landmarks", "--solver", "bmrm"])


def test_bmrm_trains_what_the_default_trains(monkeypatch, table):
    name = next(name for name, entry in registry.DATASETS.items() if entry.task == "ordinal")
    monkeypatch.setattr(registry, "load", lambda *_: table)
    default, own = (
        tabular.run(name, 0, None, settings)["predictors"]["SVOR"]
        for settings in (SETTINGS, {**SETTINGS, "solver": "bmrm-line-search"})
    )
    assert own["validation_losses"] != default["validation_losses"] or own["scores"] != default["scores"]
    assert own["r100"] == pytest.approx(default["r100"], rel=0.15)
    assert own["scores"]["SELE"]["aurc"] == pytest.approx(default["scores"]["SELE"]["aurc"], rel=0.15)
