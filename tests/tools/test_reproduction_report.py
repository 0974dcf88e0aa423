"""Tables, statistics, checks and figures from made-up results."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from data_scripts import registry
from tools.reproduce import explain, explain_tables, figures, report
from tools.reproduce.store import Store
from tools.reproduce.summary import Cell, PaperTable, agreement

ROOT = Path(__file__).parents[2]
SETTINGS = {"protocol": 1, "trees": 20}


@pytest.fixture
def no_figures(monkeypatch):
    """Drawing takes most of the time of a report."""
    monkeypatch.setattr(figures, "draw_all", lambda *_: [])


def like_the_paper(store, predictors=("LR", "SVM"), task="classification", change=None, rows=None):
    """Save two splits of every set whose mean and deviation over splits are the paper's."""
    change, rows = change or {}, rows or {}
    papers = {predictor: PaperTable(predictor) for predictor in predictors}
    for dataset in papers[predictors[0]].rows:
        for split, sign in enumerate((-1, 1)):
            found = {}
            for name, paper in papers.items():
                scores = {}
                for method in (*paper.methods, "SELE-500", "BoostedSELE"):
                    cell = paper.aurc(dataset, method if method in paper.methods else "SELE")
                    factor = change.get((name, dataset, method), 1.0)
                    if method == "BoostedSELE":
                        factor = 0.4
                    value = factor * cell.mean + sign * cell.std / np.sqrt(2)
                    scores[method] = {"aurc": value, "alpha": 10.0**-split, "trees": 7, "curve": [1.0] * 50}
                risk = paper.r100(dataset)
                factor = change.get((name, dataset, "R@100"), 1.0)
                found[name] = {
                    "r100": factor * risk.mean + sign * risk.std / np.sqrt(2),
                    "oracle_aurc": 0.1,
                    "oracle_curve": [0.1] * 50,
                    "c": 1.0,
                    "scores": scores,
                }
            store.save(
                {
                    "task": task,
                    "dataset": dataset,
                    "split": split,
                    "settings": SETTINGS,
                    "sizes": [rows.get(dataset, registry.DATASETS[dataset].rows)],
                    "predictors": found,
                    "cpu_seconds": 60.0,
                }
            )


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path, SETTINGS)


def line_of(text, beginning):
    return next(line for line in text.splitlines() if line.startswith(beginning))


def test_results_like_the_paper_agree_everywhere(store, no_figures):
    like_the_paper(store)
    like_the_paper(store, ("SVOR",), "ordinal")
    checks = report.write(store)
    assert all(check.met for check in checks)
    text = (store.folder / "tables.md").read_text()
    assert "| AVILA | 27.18 ± 0.55 (27.18 ± 0.55) ≈ | **25.79 ± 0.44** (25.79 ± 0.44) ≈ |" in text
    assert "43.71 ± 0.42 (43.71 ± 0.42) ✓ |" in text
    # partial sets show both figures and no verdict
    partial = line_of(text, "| SENSORLESS†")
    assert "2.03 ± 0.11 (2.03 ± 0.11) |" in partial
    assert not set("≈↓↑⇊⇈✓✗") & set(partial)
    # the paper's own statistics, as known from its tables
    assert "| paper, all its sets | 11 | 2.73 | 1.36 | 3.55 | 2.36 | 0.001 | 1.26 |" in text
    ours = line_of(text, "| ours, complete sets").split("|")
    assert ours[2].strip() == "10"
    assert ours[3:] == line_of(text, "| paper, the same sets").split("|")[3:]
    assert "0.1 (1×), 1 (1×)" in text
    assert "| classification | 22 | 22.0 |" in text


def test_exceptions_are_named(store, no_figures):
    like_the_paper(
        store,
        change={
            ("LR", "AVILA", "R@100"): 1.06,
            ("LR", "LETTER", "SELE"): 1.5,
            ("SVM", "IJCNN", "SELE"): 0.5,
        },
    )
    checks = {check.statement: check for check in report.write(store)}
    r100 = next(check for statement, check in checks.items() if statement.startswith("LR: R@100"))
    assert r100.met
    assert r100.finding.startswith("9 of 10; not on AVILA (46.33 ± 0.42, paper 43.71 ± 0.42)")
    sele = next(check for statement, check in checks.items() if statement.startswith("LR: AuRC(SELE)"))
    assert sele.finding.startswith("9 of 10; not on LETTER")
    text = (store.folder / "tables.md").read_text()
    assert "9.63 ± 0.34 (6.42 ± 0.34) ⇈" in text
    assert "**0.51 ± 0.04** (1.01 ± 0.04) ⇊" in text
    assert "46.33 ± 0.42 (43.71 ± 0.42) ✗" in text


@pytest.mark.parametrize(
    ("mean", "mark"),
    [(10.0, "≈"), (10.5, "≈"), (10.6, "↑"), (9.4, "↓"), (11.1, "⇈"), (8.9, "⇊")],
)
def test_marks_of_agreement(mean, mark):
    # standard error of the difference: sqrt((0.3² + 0.4²) / 5) = 0.22, 2.31 of them are 0.52
    assert agreement(Cell(mean, 0.3), Cell(10.0, 0.4), 5) == mark


def test_missed_bars_are_said_to_be_missed(store, no_figures):
    worse = {("SVOR", name, "SELE"): 3.0 for name in ("CPU", "BANK", "GPU")}
    like_the_paper(store, ("SVOR",), "ordinal", change=worse)
    met = {check.statement: check.met for check in report.write(store)}
    assert not met["SVOR: SELE and REG are below the margin score on every complete set"]
    assert not met["SVOR: AuRC(SELE) at most the paper's mean + 2 std on at least 80 %"]
    assert met["SVOR: R@100 within the paper's mean ± 3 std or ± 5 % on at least 80 %"]


def test_a_set_is_partial_by_the_rows_it_had(store, no_figures):
    like_the_paper(store, rows={"SENSORLESS": 58_509})
    report.write(store)
    text = (store.folder / "tables.md").read_text()
    assert "†" not in text.split("##", 1)[1]
    assert "| ours, complete sets | 11 | 2.73 | 1.36 |" in text


def test_report_fills_blocks_of_the_readme_and_repeats_itself(store):
    like_the_paper(store)
    readme = store.folder / "README.md"
    readme.write_text(
        "# Words\n\n<!-- begin checks -->\nold\n<!-- end -->\nmore\n<!-- begin else -->\nkept\n<!-- end -->\n"
    )
    report.write(store)
    first = {path: path.read_bytes() for path in store.folder.rglob("*") if path.is_file()}
    text = readme.read_text()
    assert text.startswith("# Words\n")
    assert "old" not in text
    assert "- ✓ LR: SELE has the best average rank on 10 complete sets: SELE 1." in text
    assert text.endswith("more\n<!-- begin else -->\nkept\n<!-- end -->\n")
    report.write(store)
    assert {path: path.read_bytes() for path in store.folder.rglob("*") if path.is_file()} == first
    figures = list((store.folder / "figures").iterdir())
    assert len(figures) == 8
    assert all(path.stat().st_size < 300_000 for path in figures)


def test_a_run_that_is_not_finished_has_a_report(store):
    assert report.write(store) == []
    like_the_paper(store)
    for path in (store.folder / "raw" / "classification").glob("*-1.json"):
        if path.name != "LETTER-1.json":
            path.unlink()
    report.write(store)
    text = (store.folder / "tables.md").read_text()
    assert "nan" not in text
    assert "| LETTER | 7.43 ± 0.40" in text


def test_ways_to_cut_a_target_with_ties():
    y = np.array([0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
    assert explain.running_share(y, 5).tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 3, 4]
    assert explain.quantiles(y, 5).tolist() == [0, 0, 0, 0, 0, 0, 3, 3, 4, 4]
    assert np.bincount(explain.equal_counts(y, 5)).tolist() == [2, 2, 2, 2, 2]
    for classes in explain.RULES.values():
        # a larger target is never in a lower class
        assert (np.diff(classes(np.arange(100.0), 10)) >= 0).all()


def test_explanations_become_tables(store):
    whats = ("R@100", "Margin", "SELE", "REG")
    made_up = {f"{what}, {rule}": [1.0, 1.2] for what in whats for rule in explain.RULES}
    found = {
        "bins-FACEBOOK": made_up,
        "grids-PENDIGIT-LR": {"ours": [1.0] * 5 + [2.0] * 5, "paper": [3.0] * 10},
        "margins-MARKETING": {
            f"{what} {c}": [0.1, 0.1] for what in ("margin", "validation") for c in explain.CS
        },
        "targets-GPU": {name: [1.5, 1.5] for name in explain.TARGETS},
    }
    assert set(found) <= set(explain.EXPERIMENTS)
    for name, numbers in found.items():
        result = {"task": explain.TASK, "dataset": name, "split": 0, "settings": SETTINGS, "found": numbers}
        store.save(result)
    blocks = explain_tables.blocks(store)
    assert line_of(blocks["explain-bins"], "| FACEBOOK R@100").endswith("| 1.10 ± 0.14 | 1.11 ± 0.01 |")
    assert "| 1.00 ± 0.00 | 1.50 ± 0.53 | 3.00 ± 0.00 | 3.00 ± 0.00 |" in blocks["explain-grids"]
    assert "| 0.10 ± 0.00 (10.00) |" in blocks["explain-margins"]
    assert blocks["explain-targets"].endswith("| 1.43 ± 0.02 |")


def test_committed_pages_follow_from_committed_numbers(tmp_path, monkeypatch):
    committed = ROOT / "results"
    drawn = sorted(path.name for path in (committed / "figures").glob("*-*LR.svg"))
    drawn += [path.name for p in ("SVM", "SVOR") for path in (committed / "figures").glob(f"*-{p}.svg")]
    shutil.copytree(committed, tmp_path / "results", ignore=shutil.ignore_patterns("figures"))
    monkeypatch.setattr(figures, "draw_all", lambda *_: sorted(drawn))
    assert all(check.met for check in report.write(Store(tmp_path / "results", SETTINGS)))
    for page in ("README.md", "tables.md"):
        assert (tmp_path / "results" / page).read_text() == (committed / page).read_text()


def test_committed_results_are_complete_small_and_without_paths():
    committed = ROOT / "results"
    for task, n_sets in (("classification", 11), ("ordinal", 11)):
        assert len(list((committed / "raw" / task).glob("*.json"))) == 5 * n_sets
    for path in committed.rglob("*"):
        if path.is_file():
            assert path.stat().st_size < 300_000, path
            if path.suffix in (".json", ".md"):
                assert str(ROOT) not in path.read_text()
                assert "/root" not in path.read_text()
