"""Reports on files: the same numbers as from arrays, flat memory, notes for readers, hostile input."""

from __future__ import annotations

import doctest
import re

import numpy as np
import pytest
from scipy.stats import kendalltau

import facereject.predictions._columns
import facereject.predictions._files
import facereject.predictions._report
from facereject.metrics import aurc
from facereject.predictions import (
    ColumnNames,
    PredictionFileError,
    compare_scores,
    find_rule,
    report_predictions,
)
from facereject.predictions import _files as files
from facereject.predictions import _page as page
from facereject.predictions import _ranking as ranking
from facereject.predictions._report import CrossFitted, halve_rows


def classifier(n, seed=0, names=("cat", "dog", "bird")):
    rng = np.random.default_rng(seed)
    y = rng.integers(len(names), size=n)
    logits = rng.normal(0, 1.2, (n, len(names)))
    logits[np.arange(n), y] += 1.5
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return np.array(names)[y], np.array(names)[p.argmax(axis=1)], p, logits


def write(path, *rows, header="label,prediction,confidence"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    label, prediction, p, _ = classifier(500)
    rows = (f"{a},{b},{c!r}" for a, b, c in zip(label, prediction, p.max(axis=1).tolist(), strict=True))
    return write(tmp_path / "p.csv", *rows)


def test_a_file_is_compared_like_its_arrays(table):
    label, prediction, p, _ = classifier(500)
    report = report_predictions(table)
    losses, uncertainty = (label != prediction).astype(float), -p.max(axis=1)
    expected = compare_scores(losses, {"confidence": uncertainty}).scores["confidence"]
    found = report.comparison.scores["confidence"]
    assert found.aurc.value == pytest.approx(expected.aurc.value)
    assert found.kept[2].n == expected.kept[2].n
    assert found.stated
    assert report.loss == "zero-one"


def test_two_passes_over_a_long_file_give_nearly_the_same(table, monkeypatch):
    exact = report_predictions(table).comparison.scores["confidence"]
    monkeypatch.setattr(files, "CHUNK", 37)
    monkeypatch.setattr(facereject.predictions._report, "SAMPLE", 100)
    monkeypatch.setattr(ranking.RowSample.__init__, "__defaults__", (100,))
    report = report_predictions(table)
    assert report.comparison.n == 500
    assert report.comparison.scores["confidence"].aurc.value == pytest.approx(exact.aurc.value, rel=0.02)
    assert any("100 rows" in note for note in report.notes)
    assert report.confusion.total.sum() == 500


def test_scores_simulated_with_the_seed_of_the_report(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    uncertainty = rng.uniform(size=2000)
    losses = (rng.uniform(size=2000) < uncertainty).astype(float)
    np.savez(tmp_path / "p.npz", loss=losses, uncertainty=uncertainty)
    monkeypatch.setattr(facereject.predictions._report, "SAMPLE", 100)
    monkeypatch.setattr(ranking.RowSample.__init__, "__defaults__", (100,))
    found = report_predictions(tmp_path / "p.npz").comparison.scores["uncertainty"]
    assert found.aurc.value == pytest.approx(aurc(losses, uncertainty), rel=0.05)


def test_confusion_counts_what_is_rejected(table):
    label, prediction, p, _ = classifier(500)
    confusion = report_predictions(table, coverage=0.8).confusion
    limit = np.sort(-p.max(axis=1))[round(confusion.coverage * 500) - 1]
    accepted = -p.max(axis=1) <= limit
    for i, true in enumerate(confusion.classes):
        for j, predicted in enumerate(confusion.classes):
            cell = (label == true) & (prediction == predicted)
            assert confusion.total[i, j] == cell.sum()
            assert confusion.accepted[i, j] == (cell & accepted).sum()
    assert confusion.rejected_wrong == ((label != prediction) & ~accepted).sum()
    assert confusion.rejected_right == ((label == prediction) & ~accepted).sum()


def test_probabilities_and_logits_give_scores_and_predictions(tmp_path):
    label, _, p, logits = classifier(300, names=("0", "1", "2"))
    np.savez(tmp_path / "l.npz", logits=logits, label=label.astype(int))
    np.savez(tmp_path / "p.npz", probabilities=p, label=label.astype(float))
    by_logits = report_predictions(tmp_path / "l.npz").comparison.scores
    by_p = report_predictions(tmp_path / "p.npz").comparison.scores
    chosen = ["temperature", "max-logit-norm"]
    assert list(by_p) == ["max-prob", "gap", "entropy", "doctor", *chosen]
    assert list(by_logits) == ["max-prob", "gap", "entropy", "doctor", "energy", "max-logit", *chosen]
    losses = (label.astype(int) != p.argmax(axis=1)).astype(float)
    for name, uncertainty in {
        "max-prob": 1 - p.max(axis=1),
        "gap": -np.diff(np.sort(p, axis=1)[:, -2:], axis=1)[:, 0],
        "entropy": -(p * np.log(p)).sum(axis=1),
        "doctor": 1 - (p**2).sum(axis=1),
        "energy": -np.log(np.exp(logits).sum(axis=1)),
        "max-logit": -logits.max(axis=1),
    }.items():
        assert by_logits[name].aurc.value == pytest.approx(aurc(losses, uncertainty))
        assert name not in by_p or by_p[name].aurc.value == pytest.approx(aurc(losses, uncertainty))


def test_parameters_are_chosen_on_the_other_half():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=4000)
    logits = rng.normal(0, 1 + 2 * (rng.uniform(size=(4000, 1)) < 0.3), size=(4000, 3)) + 3 * np.eye(3)[y]
    losses = (logits.argmax(axis=1) != y).astype(float)
    names = ("logit_0", "logit_1", "logit_2")
    score = CrossFitted("t", "temperature", names, True, losses, dict(zip(names, logits.T, strict=True)))
    uncertainty = score(dict(zip(names, logits.T, strict=True)))

    def by_temperature(temperature):
        # log of (1 - p) / p, of which p = 1 would lose the order
        below = np.sort(logits, axis=1)[:, :2] - logits.max(axis=1, keepdims=True)
        return np.log(np.exp(below / temperature).sum(axis=1))

    halves = halve_rows(logits)
    assert 1800 < halves[0].sum() < 2200
    assert (halves[0] ^ halves[1]).all()
    for half, other, chosen in zip(halves, halves[::-1], score.parameters, strict=True):
        areas = {2.0**k: aurc(losses[other], by_temperature(2.0**k)[other]) for k in range(-3, 6)}
        assert areas[chosen] == pytest.approx(min(areas.values()))
        assert kendalltau(uncertainty[half], by_temperature(chosen)[half]).statistic > 0.999
    # both halves are on one scale
    assert abs(np.median(uncertainty[halves[0]]) - np.median(uncertainty[halves[1]])) < 0.05


def test_scores_of_outputs_can_be_named(tmp_path):
    label, _, p, _ = classifier(300, names=("0", "1", "2"))
    np.savez(tmp_path / "p.npz", probabilities=p, label=label.astype(int))
    report = report_predictions(tmp_path / "p.npz", columns=ColumnNames(uncertainty=("entropy",)))
    assert list(report.comparison.scores) == ["entropy"]


@pytest.mark.parametrize(("loss", "power"), [("absolute", 1), ("squared", 2)])
def test_losses_of_numbers(tmp_path, loss, power):
    rng = np.random.default_rng(0)
    y, predicted, sigma = rng.normal(size=(3, 200))
    np.savez(tmp_path / "p.npz", y=y, y_pred=predicted, sigma=np.abs(sigma))
    report = report_predictions(tmp_path / "p.npz", columns=ColumnNames(loss=loss))
    assert report.comparison.scores["sigma"].aurc.value == pytest.approx(
        aurc(np.abs(y - predicted) ** power, np.abs(sigma))
    )
    assert report.confusion is None


def test_losses_of_a_column(tmp_path):
    path = write(tmp_path / "p.csv", "0.5,1", "0,2", "2,3", header="loss,entropy")
    assert report_predictions(path).comparison.mean_loss == pytest.approx(2.5 / 3)


@pytest.mark.parametrize(
    ("header", "rows", "names", "message"),
    [
        ("label,prediction,confidence", [], {}, "no rows"),
        ("label,prediction", ["a,a"], {}, "`confidence`"),
        ("prediction,confidence", ["a,1"], {}, "`label`"),
        ("label,confidence", ["a,1"], {}, "`prediction`"),
        ("label,y,prediction,confidence", ["a,a,a,1"], {}, "'label' and 'y'"),
        ("label,prediction,confidence", ["a,a,1"], {"confidence": ("none",)}, "no column 'none'"),
        ("label,prediction,confidence", ["a,a,1", "a,b,nan"], {}, "'confidence', row 2: the cell is empty"),
        ("label,prediction,confidence", ["a,a,inf"], {}, "'confidence', row 1: 'inf'"),
        ("label,prediction,confidence", ["a,a,0,9"], {}, "row 1 has 4 cells"),
        ("label,prediction,confidence", ['a,a,"0,9"'], {}, "'0,9' is not a finite number; write decimals"),
        ("label,prediction,confidence", ["a,a,high"], {}, "'confidence', row 1: 'high'"),
        ("label,prediction,confidence", [",a,1"], {}, "'label', row 1: the cell is empty"),
        ("label,prediction,confidence", ["cat,1,1", "dog,0,1"], {}, "'cat', 'dog'"),
        ("label,prediction,confidence", ["1.5,1,1", "2.5,0,1"], {}, "pass `loss` absolute or squared"),
        ("loss,confidence", ["-0.5,1"], {}, "'loss', row 1: -0.5 is negative"),
        ("loss,confidence", ["1e300,1"], {}, "'loss', row 1: 1e.300 is too large"),
        ("label,prediction,confidence", ["a,b,1"], {"loss": "absolute"}, "'label', row 1: 'a'"),
        ("label,prediction,confidence", ["a,b,1"], {"loss": "cubic"}, "no column 'cubic'"),
        ("label,p_a,p_b", ["a,0.5,1.7"], {}, "'p_b', row 1: 1.7 is not a probability"),
        ("label,p_a,p_b", ["a,0.5,0.1"], {}, "sum to 0.6"),
        ("label,prediction,c", ["a,b,1"], {"confidence": ("c",), "uncertainty": ("c",)}, "two scores"),
    ],
)
def test_one_sentence_names_the_column(tmp_path, header, rows, names, message):
    path = write(tmp_path / "p.csv", *rows, header=header)
    with pytest.raises(PredictionFileError, match=message):
        report_predictions(path, columns=ColumnNames(**names))


def test_files_of_spreadsheets(tmp_path):
    path = write(tmp_path / "p.csv", "a;a;0,9", "a;b;0,25", header="True Label;Predicted-Class;Confidence")
    kept = report_predictions(path).comparison.scores["Confidence"].kept
    assert [-row.threshold for row in kept] == [0.25, 0.9]


def test_one_name_for_whole_numbers_of_any_size(tmp_path):
    big = 10**30
    digits = "9" * 5000
    rows = ["1,1.0,0.9", f"{big},{big + 1},0.8", "-0,0,0.7", " x ,x,0.6", f"{digits},{digits}0,0.5"]
    path = write(tmp_path / "p.csv", *rows)
    assert report_predictions(path).comparison.mean_loss == 0.4


@pytest.mark.parametrize(
    ("labels", "header"),
    [("1.0 0.0", "p_0.0,p_1.0"), ("TRUE FALSE", "p_False,p_True"), ("1 0", "p_FALSE,p_TRUE")],
)
def test_classes_of_outputs_are_named_like_labels(tmp_path, labels, header):
    right, wrong = labels.split()
    path = write(tmp_path / "p.csv", f"{right},0.2,0.8", f"{wrong},0.4,0.6", header=f"label,{header}")
    assert report_predictions(path).comparison.mean_loss == 0.5


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1 + 1j, 2], r"\(1\+1j\)"),
        (np.array([1, 2], dtype="datetime64[s]"), "1970-01-01T00:00:01"),
        (np.zeros(2, dtype=[("a", float)]), r"\(0\.0,\)"),
        ([1.0, -np.inf], "-inf"),
    ],
)
def test_arrays_of_other_things_are_no_numbers(tmp_path, values, shown):
    np.savez(tmp_path / "p.npz", loss=[0, 1], confidence=values)
    with pytest.raises(PredictionFileError, match=f"'confidence', row .: {shown} is not a finite number"):
        report_predictions(tmp_path / "p.npz")


def test_lists_are_neither_numbers_nor_groups(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"loss": 0, "confidence": [0.1, 0.9], "c": 1, "g": [1]}\n' * 2)
    with pytest.raises(PredictionFileError, match=r"'confidence', row 1: .* is not a finite number"):
        report_predictions(path)
    with pytest.raises(PredictionFileError, match=r"'g', row 1: .* is not the name of a group"):
        find_rule(path, 0.5, loss_bound=1, columns=ColumnNames(confidence=("c",), group="g"))


def test_probabilities_that_are_called_logits_are_noticed(tmp_path):
    np.savez(tmp_path / "p.npz", label=[0, 1, 2, 0], logits=np.random.default_rng(0).dirichlet(np.ones(3), 4))
    with pytest.raises(PredictionFileError, match="'logits_0' … 'logits_2' are called logits, but hold prob"):
        report_predictions(tmp_path / "p.npz")


def test_notes_say_what_must_be_known(tmp_path, table):
    def notes(path, **names):
        return " ".join(report_predictions(path, columns=ColumnNames(**names)).notes)

    assert notes(table) == ""
    assert "'confidence' goes the wrong way" in notes(table, uncertainty=("confidence",))
    assert "all losses are 0" in notes(write(tmp_path / "0.csv", "a,a,1", "b,b,2")).lower()
    assert "'confidence' is the same" in notes(write(tmp_path / "1.csv", "a,a,1", "b,a,1"))
    assert "Never predicted" in notes(write(tmp_path / "2.csv", "a,a,1", "b,a,1"))
    assert "Only 1 error" in notes(write(tmp_path / "3.csv", "a,a,1", "b,a,2"))


@pytest.mark.parametrize("rows", [["a,a,1"], ["a,b,1"], ["a,a,1", "a,b,2"]])
def test_hardly_any_rows(tmp_path, rows):
    rows = [*rows, *([] if len(rows) > 1 else rows)]
    path = write(tmp_path / "p.csv", *rows, "b,b,1")
    report_predictions(path, tmp_path / "page.html")


def test_the_page_escapes_and_shows_every_name(tmp_path):
    hostile = ["<script>alert(1)</script>", "$x_1$", "_hidden", "a`b`"]
    rng = np.random.default_rng(0)
    header = ",".join(["label", "prediction", *hostile])
    rows = [
        f"<b>{i % 3}</b>,<b>{i % 2}</b>," + ",".join(map(repr, rng.normal(size=4).tolist()))
        for i in range(60)
    ]
    path = write(tmp_path / "p.csv", *rows, header=header)
    report_predictions(path, tmp_path / "page.html", columns=ColumnNames(uncertainty=tuple(hostile)))
    page = (tmp_path / "page.html").read_text()
    assert "<script>" not in page
    assert "<b>0</b>" not in page
    assert "&lt;b&gt;0&lt;/b&gt;" in page
    for name in ("$x_1$", "_hidden", "&lt;script&gt;"):
        assert len(re.findall(re.escape(name), page)) > 4
    assert not re.search(r"(src|href)=\"[^#]", page)


def test_outputs_replace_nothing_by_accident(table, tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    existing = tmp_path / "page.html"
    existing.write_text("mine")
    linked = tmp_path / "linked.csv"
    os.link(table, linked)
    for output in (table, linked, tmp_path / "pipe", tmp_path, tmp_path / "none" / "page.html"):
        with pytest.raises(PredictionFileError):
            report_predictions(table, output, overwrite=True)
    with pytest.raises(PredictionFileError, match="exists already"):
        report_predictions(table, existing)
    assert existing.read_text() == "mine"
    report_predictions(table, existing, overwrite=True)
    assert "<html" in existing.read_text()


@pytest.mark.parametrize("module", ["_report", "_columns", "_files"])
def test_examples_in_docstrings(module):
    assert doctest.testmod(getattr(facereject.predictions, module)).failed == 0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.09999, "0.100"),
        (-0.0228, "-0.0228"),
        (123.4, "123"),
        (1234.5, "1,234"),
        (999.7, "1,000"),
        (1e-5, "1.00e-05"),
        (3e7, "3.00e+07"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert page.number(value) == text
