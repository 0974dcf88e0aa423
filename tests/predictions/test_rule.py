"""Rules on files: guaranteed thresholds, decisions, alarms; and scores learned from columns."""

from __future__ import annotations

import csv
import doctest
import json
import math
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

import facereject.predictions._learned
import facereject.predictions._rule
from facereject.metrics import aurc
from facereject.modelfile import write_model
from facereject.predictions import (
    ColumnNames,
    LearnedScore,
    PredictionFileError,
    Rule,
    apply_rule,
    find_rule,
    learn_score,
    monitor_rule,
    open_predictions,
)
from facereject.predictions import _files as files
from facereject.scores import PostHocScore
from facereject.selection import NoValidThresholdError, guaranteed_risk, guaranteed_risk_per_group


def save(path, n=1500, seed=0, quality=1.0, **more):
    """Confidences that are true probabilities of being right, times ``quality``."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, n)
    right = rng.uniform(size=n) < quality * confidence
    site = np.array(["north", "south"])[rng.integers(2, size=n)]
    np.savez(
        path,
        label=np.where(right, "a", "b"),
        prediction=np.full(n, "a"),
        confidence=confidence,
        site=site,
        **{name: value(rng, right) for name, value in more.items()},
    )
    return path, (~right).astype(float), -confidence, site


@pytest.fixture
def labelled(tmp_path):
    return save(tmp_path / "labelled.npz")


def test_the_threshold_is_that_of_guaranteed_risk(labelled):
    path, losses, uncertainty, site = labelled
    rule = find_rule(path, 0.2, 0.1)
    selector = guaranteed_risk(losses, uncertainty, 0.2, 0.1)
    assert rule.thresholds == {"": selector.threshold_}
    assert rule.statement == selector.guarantee_.statement
    grouped = find_rule(path, 0.2, 0.1, columns=ColumnNames(group="site"))
    assert grouped.thresholds == guaranteed_risk_per_group(losses, uncertainty, site, 0.2, 0.1).thresholds_


def test_expected_errors_are_calibrated(labelled, tmp_path):
    rule = find_rule(labelled[0], 0.2)
    _, losses, uncertainty, _ = save(tmp_path / "new.npz", n=20_000, seed=1)
    expected = rule.expected_error(uncertainty)
    assert (np.diff(expected[np.argsort(uncertainty)]) >= 0).all()
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 1.0)):
        mine = (-uncertainty >= low) & (-uncertainty < high)
        assert expected[mine].mean() == pytest.approx(losses[mine].mean(), abs=0.03)


def test_no_threshold_no_rule(labelled):
    with pytest.raises(NoValidThresholdError):
        find_rule(labelled[0], 0.001)


def test_scores_that_go_the_wrong_way_are_warned_about(labelled):
    with pytest.warns(UserWarning, match="'confidence' goes the wrong way"):
        find_rule(labelled[0], 0.4, columns=ColumnNames(uncertainty=("confidence",)))


def test_losses_without_limit_need_one(labelled):
    names = ColumnNames(loss="confidence", uncertainty=("confidence",))
    with pytest.raises(PredictionFileError, match="`loss_bound`"):
        find_rule(labelled[0], 0.9, columns=names)
    assert find_rule(labelled[0], 0.9, columns=names, loss_bound=2.0).loss_bound == 2.0


def test_a_column_comes_before_readings_of_outputs(tmp_path):
    path, *_ = save(
        tmp_path / "p.npz", p=lambda rng, right: np.full((len(right), 2), 0.5), conf=lambda *_: np.ones(1500)
    )
    with pytest.raises(PredictionFileError, match="'confidence', 'conf'"):
        find_rule(path, 0.2)
    assert find_rule(path, 0.2, columns=ColumnNames(confidence=("confidence",))).score.name == "confidence"


@pytest.mark.parametrize("group", [None, "site"])
def test_rules_survive_their_file(labelled, tmp_path, group):
    rule = find_rule(labelled[0], 0.2, columns=ColumnNames(group=group))
    rule.save(tmp_path / "rule.json")
    back = Rule.load(tmp_path / "rule.json")
    assert back.thresholds == rule.thresholds
    assert back.columns == rule.columns
    assert back.score == rule.score
    np.testing.assert_array_equal(back.calibration, rule.calibration)
    with pytest.raises(PredictionFileError, match="exists"):
        rule.save(tmp_path / "rule.json")


def test_infinite_thresholds_are_plain_json(labelled, tmp_path):
    rule = find_rule(labelled[0], 0.6)
    assert math.isinf(rule.thresholds[""])
    rule.save(tmp_path / "rule.json")
    json.loads((tmp_path / "rule.json").read_text(), parse_constant=lambda text: pytest.fail(text))
    assert Rule.load(tmp_path / "rule.json").thresholds == {"": math.inf}


DAMAGES = {
    "no json": lambda content: "{",
    "a list": lambda content: [],
    "another kind": lambda content: {**content, "kind": "x"},
    "a later format": lambda content: {**content, "format": 2},
    "no score": lambda content: {**content, "score": {}},
    "an unknown reading": lambda content: {
        **content,
        "score": {"reading": "__class__", "outputs": ["a", "b"], "logits": False},
    },
    "no thresholds": lambda content: {**content, "thresholds": {}},
    "a text": lambda content: {**content, "thresholds": {"": "low"}},
    "falling knots": lambda content: {
        **content,
        "expected_error": {"uncertainty": [1, 0], "error": [0, 1]},
    },
    "a number without end": lambda content: {**content, "thresholds": {"": 10**400}},
    "no group": lambda content: {
        **content,
        "columns": {**content["columns"], "group": "site"},
        "thresholds": {},
    },
    "a limit for losses above them": lambda content: {
        **content,
        "guarantee": {**content["guarantee"], "max_risk": 2.0},
    },
    "a number for a column": lambda content: {
        **content,
        "columns": {**content["columns"], "label": 3},
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_rules_are_said_so(labelled, tmp_path, damage):
    path = tmp_path / "rule.json"
    find_rule(labelled[0], 0.2).save(path)
    changed = DAMAGES[damage](json.loads(path.read_text()))
    path.write_text(changed if isinstance(changed, str) else json.dumps(changed))
    with pytest.raises(PredictionFileError, match=r"rule\.json"):
        Rule.load(path)


def test_rules_that_cannot_be_read_are_said_so(labelled, tmp_path, monkeypatch):
    path = tmp_path / "rule.json"
    find_rule(labelled[0], 0.2).save(path)

    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(PredictionFileError, match=r"rule\.json: cannot be read \(Permission denied\)"):
        Rule.load(path)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".sqlite"])
def test_decisions_keep_every_cell(labelled, tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 2)
    rule = find_rule(labelled[0], 0.2)
    rows = [
        ['a "quoted"\nname', "0.99"],
        ["1e5", "0.5"],
        ["", ""],
        ["0012", "n/a"],
    ]
    new, output = tmp_path / "new.csv", tmp_path / f"decided{suffix}"
    with new.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "confidence"], *rows])
    decided = apply_rule(rule, new, output)
    assert (decided.n, decided.accepted) == (4, 1)
    assert decided.reasons == {"uncertain": 1, "no_score": 2}
    if suffix == ".jsonl":
        back = [json.loads(line) for line in output.read_text().splitlines()]
        assert [row["accepted"] for row in back] == [True, False, False, False]
    elif suffix in (".parquet", ".sqlite"):
        back = []
        for chunk in open_predictions(output).chunks():
            back += [dict(zip(chunk, cells, strict=True)) for cells in zip(*chunk.values(), strict=True)]
        assert [row["accepted"] for row in back] == [True, False, False, False]
        assert back[0]["expected_error"] >= 0
        assert [row["expected_error"] is None for row in back] == [False, False, True, True]
    else:
        with output.open(newline="") as file:
            back = list(csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ","))
        assert [row["accepted"] for row in back] == ["true", "false", "false", "false"]
        assert back[2]["expected_error"] == ""
    assert [[row["id"], row["confidence"]] for row in back] == rows
    assert [row["reason"] for row in back] == ["", "uncertain", "no_score", "no_score"]


@pytest.mark.parametrize(("suffix", "message"), [(".sqlite", "'?ID'?"), (".parquet", "'id'")])
def test_columns_that_a_format_cannot_hold_are_named(labelled, tmp_path, suffix, message, monkeypatch):
    monkeypatch.setattr(files, "CHUNK", 1)
    new, output = tmp_path / "new.jsonl", tmp_path / f"decided{suffix}"
    rows = [{"id": 1, "confidence": 0.5}, {"id": "two", "confidence": 0.5}]
    if suffix == ".sqlite":
        # SQLite does not tell capitals apart
        rows = [{"id": 1, "ID": 2, "confidence": 0.5}]
    new.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(PredictionFileError, match=f"cannot hold these columns .*{message}"):
        apply_rule(find_rule(labelled[0], 0.2), new, output)
    assert not output.exists()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".sqlite"])
def test_decisions_repeat_cells_of_every_type(labelled, tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    number, large = 1700000000123.25, 2**63 + 5
    cells = {
        "time": datetime(2024, 5, 6),
        "number": number,
        "large": large,
        "bytes": b"abc",
        "list": [1, 2],
        "amount": Decimal("1.50"),
        "confidence": 1.0,
    }
    new, output = tmp_path / "new.parquet", tmp_path / f"decided{suffix}"
    pandas.DataFrame([cells]).to_parquet(new)
    apply_rule(find_rule(labelled[0], 0.2), new, output)
    (chunk,) = open_predictions(output).chunks()
    row = {name: column[0] for name, column in chunk.items()}
    assert float(row["number"]) == number
    assert int(row["large"]) == large
    assert row["bytes"] in ("abc", b"abc")
    assert str(row["time"]).startswith("2024-05-06")
    assert str(row["list"]) == "[1, 2]"
    assert float(row["amount"]) == 1.5


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".sqlite"])
def test_texts_that_are_not_unicode_are_written_or_named(labelled, tmp_path, suffix):
    new, output = tmp_path / "new.jsonl", tmp_path / f"decided{suffix}"
    new.write_text('{"id": "\\ud83d", "confidence": 1}\n')
    rule = find_rule(labelled[0], 0.2)
    if suffix in (".parquet", ".sqlite"):
        with pytest.raises(PredictionFileError, match=f"decided{suffix}: cannot hold"):
            apply_rule(rule, new, output)
        return
    apply_rule(rule, new, output)
    (chunk,) = open_predictions(output).chunks()
    assert chunk["id"][0] == ("\ud83d" if suffix == ".jsonl" else "\\ud83d")


def test_probabilities_are_checked_where_rules_and_scores_are_applied(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300)
    rows = [f"{int(rng.uniform() < each)},{1 - each},{each}" for each in p]
    path, new = tmp_path / "p.csv", tmp_path / "new.csv"
    path.write_text("\n".join(["label,p_0,p_1", *rows]))
    new.write_text("p_0,p_1\n,0.5\n0.2,0.8\n20,80\n")
    for rule in (find_rule(path, 0.3), learn_score(path)):
        with pytest.raises(PredictionFileError, match="'p_0', row 3: 20 is not a probability"):
            apply_rule(rule, new, tmp_path / "decided.csv")


def test_arrays_that_are_no_rows_are_left_out(labelled, tmp_path):
    new, output = tmp_path / "new.npz", tmp_path / "decided.csv"
    np.savez(new, id=[7, 8], confidence=[1.0, 0.5], class_names=["a", "b", "c"])
    apply_rule(find_rule(labelled[0], 0.2), new, output)
    assert output.read_text().splitlines()[0] == "id,confidence,accepted,expected_error,reason"


def test_groups_keep_their_names(tmp_path):
    np.savez(tmp_path / "p.npz", loss=[0] * 200, c=np.arange(200), g=["TRUE", "false"] * 100)
    names = ColumnNames(confidence=("c",), group="g")
    assert set(find_rule(tmp_path / "p.npz", 0.2, loss_bound=1, columns=names).thresholds) == {
        "TRUE",
        "false",
    }


def test_groups_decide_by_their_own_threshold(labelled, tmp_path):
    rule = find_rule(labelled[0], 0.2, columns=ColumnNames(group="site"))
    new = tmp_path / "new.csv"
    new.write_text("confidence,site\n1,north\n1,west\n0.5,south\n")
    assert apply_rule(rule, new, tmp_path / "d.csv").reasons == {"unknown_group": 1, "uncertain": 1}


def test_rows_of_a_group_without_a_threshold_have_a_reason_of_their_own(labelled, tmp_path):
    rule = find_rule(labelled[0], 0.2, columns=ColumnNames(group="site"))
    rule = replace(rule, thresholds={**rule.thresholds, "south": -np.inf})
    new = tmp_path / "new.csv"
    new.write_text("confidence,site\n1,north\n1,south\n,south\n")
    assert apply_rule(rule, new, tmp_path / "d.csv").reasons == {"no_guarantee": 2}


def test_columns_that_are_there_or_missing_are_named(labelled, tmp_path):
    rule, output = find_rule(labelled[0], 0.2), tmp_path / "decided.csv"
    (tmp_path / "none.csv").write_text("id\n1\n")
    (tmp_path / "again.csv").write_text("confidence,accepted\n1,true\n")
    with pytest.raises(PredictionFileError, match="no column 'confidence'"):
        apply_rule(rule, tmp_path / "none.csv", output)
    (tmp_path / "labels.csv").write_text("label,prediction\na,a\n")
    with pytest.raises(PredictionFileError, match="no column 'confidence', which score"):
        monitor_rule(rule, tmp_path / "labels.csv")
    by_site = find_rule(labelled[0], 0.2, columns=ColumnNames(group="site"))
    with pytest.raises(PredictionFileError, match=r"labels\.csv: there is no column 'site', which the rule"):
        monitor_rule(by_site, tmp_path / "labels.csv")
    with pytest.raises(PredictionFileError, match="'accepted' already"):
        apply_rule(rule, tmp_path / "again.csv", output)
    with pytest.raises(PredictionFileError, match="suffix"):
        apply_rule(rule, labelled[0], tmp_path / "decided.xlsx")
    assert not output.exists()


def test_a_failed_run_leaves_no_table(labelled, tmp_path):
    (tmp_path / "cut.csv").write_text("confidence,b\n" + "1,2\n" * 10 + "1\n")
    with pytest.raises(PredictionFileError, match="row 11"):
        apply_rule(find_rule(labelled[0], 0.2), tmp_path / "cut.csv", tmp_path / "decided.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.csv", "labelled.npz"]


def test_alarms(labelled, tmp_path):
    rule = find_rule(labelled[0], 0.2)
    same = monitor_rule(rule, save(tmp_path / "same.npz", seed=1)[0])
    worse = monitor_rule(rule, save(tmp_path / "worse.npz", seed=1, quality=0.7)[0])
    assert not same.alarm
    assert worse.alarm
    assert same.accepted == same.monitors[""].n_


def test_rows_without_a_label_are_left_out_of_monitoring(labelled, tmp_path):
    path = tmp_path / "later.csv"
    path.write_text("label,prediction,confidence\na,a,1\n,a,1\nb,a,1\na,a,\n")
    watched = monitor_rule(find_rule(labelled[0], 0.2), path)
    assert (watched.n, watched.accepted, watched.unlabelled) == (3, 2, 1)


@pytest.mark.parametrize(
    "names",
    [
        ColumnNames(uncertainty=("entropy", "gap")),
        ColumnNames(confidence=("c",), uncertainty=("entropy",)),
    ],
)
def test_a_rule_uses_one_score(tmp_path, names):
    np.savez(tmp_path / "p.npz", label=[0, 1] * 50, logits=np.eye(100, 2), c=np.arange(100.0))
    with pytest.raises(PredictionFileError, match="a rule uses one score, but there are several"):
        find_rule(tmp_path / "p.npz", 0.6, columns=names)


def test_the_first_labels_may_all_be_errors(labelled, tmp_path):
    path, rule = tmp_path / "later.csv", find_rule(labelled[0], 0.2)
    path.write_text("label,prediction,confidence\nb,a,1\n")
    watched = monitor_rule(rule, path)
    assert (watched.n, watched.monitors[""].mean_) == (1, 1.0)
    path.write_text("label,prediction,confidence\n" + "b,a,1\n" * 20)
    with pytest.raises(PredictionFileError, match="use the same names in both"):
        monitor_rule(rule, path)


def test_every_group_has_its_monitor(labelled, tmp_path):
    rule = find_rule(labelled[0], 0.2, columns=ColumnNames(group="site"))
    path = tmp_path / "later.csv"
    path.write_text("label,prediction,confidence,site\n" + "a,a,1,north\n" * 50 + "b,a,1,south\n" * 50)
    watched = monitor_rule(rule, path)
    assert {name: monitor.alarm_ for name, monitor in watched.monitors.items()} == {
        "north": False,
        "south": True,
    }
    assert watched.alarm


def hints(rng, right):
    """Features of which the first tells where confidence is too high."""
    return np.column_stack([right + rng.normal(0, 0.5, len(right)), rng.normal(size=len(right))])


@pytest.mark.parametrize("method", ["confidence", "sele", "boosted"])
def test_learned_scores_survive_their_file(tmp_path, method):
    path, *_ = save(tmp_path / "p.npz", n=200, features=hints)
    score = learn_score(path, method)
    score.save(tmp_path / "score.safetensors")
    back = LearnedScore.load(tmp_path / "score.safetensors")
    rng = np.random.default_rng(3)
    numbers = {name: rng.uniform(0.5, 1, 50) for name in score.columns}
    np.testing.assert_array_equal(back(numbers), score(numbers))
    assert back.name == "score"
    assert back.method == method


def network(n, seed):
    """Logits of six classes whose length says nothing, so that max-softmax is a poor score, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(6, size=n)
    logits = 3 * np.eye(6)[labels] + np.exp(0.7 * rng.normal(size=(n, 1))) * rng.normal(size=(n, 6))
    return logits * np.exp(0.5 * rng.normal(size=(n, 1))), labels


@pytest.mark.parametrize("method", ["confidence", "sele"])
@pytest.mark.parametrize("logits", [True, False])
def test_learned_scores_start_from_the_best_score_of_the_outputs(tmp_path, method, logits):
    (z, labels), (new, new_labels) = network(800, 0), network(6000, 1)
    losses, new_losses = ((a.argmax(axis=1) != b).astype(float) for a, b in ((z, labels), (new, new_labels)))
    # rounded as in a CSV file: rows of probabilities do not sum to one exactly
    kind = "logit" if logits else "p"
    z, new = (a if logits else softmax(a, axis=1).round(3) for a in (z, new))
    columns = {f"{kind}_{k}": z[:, k] for k in range(6)}
    np.savez(tmp_path / "p.npz", label=labels, **columns)
    score = learn_score(tmp_path / "p.npz", method).save(tmp_path / "score.safetensors")
    numbers = {f"{kind}_{k}": new[:, k] for k in range(6)}
    uncertainty = score(numbers)
    outputs = z if logits else z / z.sum(axis=1, keepdims=True)
    base = PostHocScore().fit(None, losses, outputs=outputs)
    best = aurc(new_losses, base.predict(None, outputs=new if logits else new / new.sum(axis=1)[:, None]))
    assert aurc(new_losses, uncertainty) < 1.03 * best
    assert base.kind_ != "max-softmax"
    assert base.kind_ in score.held_out.scores
    back = LearnedScore.load(tmp_path / "score.safetensors")
    np.testing.assert_array_equal(back(numbers), uncertainty)
    # a row by itself has the same uncertainty as among others
    few = {name: values[:1] for name, values in numbers.items()}
    np.testing.assert_allclose(back(few), uncertainty[:1])


def test_a_better_column_is_started_from(tmp_path):
    z, labels = network(800, 0)
    losses = (z.argmax(axis=1) != labels).astype(float)
    rng = np.random.default_rng(2)
    columns = {f"logit_{k}": z[:, k] for k in range(6)}
    better = losses + rng.normal(0, 0.5, size=800)
    np.savez(tmp_path / "p.npz", label=labels, uncertainty=better, variance=rng.normal(size=800), **columns)
    score = learn_score(tmp_path / "p.npz", "confidence").save(tmp_path / "score.safetensors")
    assert LearnedScore.load(tmp_path / "score.safetensors")._inputs.base.column == "uncertainty"
    assert (
        score.held_out.scores["learned"].aurc.value < 1.05 * score.held_out.scores["uncertainty"].aurc.value
    )


@pytest.mark.parametrize("method", ["sele", "boosted"])
def test_learned_scores_use_the_features(tmp_path, method):
    path, *_ = save(tmp_path / "p.npz", features=hints)
    score = learn_score(path, method)
    compared = score.held_out
    assert compared.best == "learned"
    assert compared.tests[0].p_value < 0.01
    score = score.save(tmp_path / "score.safetensors")
    _, losses, uncertainty, _ = save(tmp_path / "new.npz", seed=5, features=hints)
    rule = find_rule(tmp_path / "new.npz", 0.1, learned=[score])
    assert rule.coverage > guaranteed_risk(losses, uncertainty, 0.1).coverage_
    rule.save(tmp_path / "rule.json")
    back = Rule.load(tmp_path / "rule.json")
    apply_rule(back, tmp_path / "new.npz", tmp_path / "decided.csv")
    with (tmp_path / "decided.csv").open() as file:
        accepted = np.array([row["accepted"] == "true" for row in csv.DictReader(file)])
    assert accepted.mean() == pytest.approx(rule.coverage)
    assert losses[accepted].mean() == pytest.approx(rule.risk)


def test_a_score_alone_adds_its_numbers(tmp_path):
    path, losses, *_ = save(tmp_path / "p.npz", features=hints)
    score = learn_score(path, "sele")
    apply_rule(score, path, tmp_path / "scored.csv")
    with (tmp_path / "scored.csv").open() as file:
        rows = list(csv.DictReader(file))
    uncertainty = np.array([float(row["uncertainty"]) for row in rows])
    assert aurc(losses, uncertainty) < aurc(losses, np.zeros(len(losses)))
    assert set(rows[0]) == {"label", "prediction", "confidence", "site", "uncertainty", "expected_error"}


def test_a_rule_knows_its_score(tmp_path):
    path, *_ = save(tmp_path / "p.npz", features=hints)
    score = learn_score(path, "sele").save(tmp_path / "score.safetensors")
    find_rule(path, 0.2, learned=[score]).save(tmp_path / "rule.json")
    learn_score(path, "confidence").save(tmp_path / "score.safetensors", overwrite=True)
    with pytest.raises(PredictionFileError, match="another score"):
        Rule.load(tmp_path / "rule.json")


@pytest.mark.parametrize(
    "state",
    [
        {"class": "os:system", "fields": {}},
        {"class": "..modelfile:write_model", "fields": {}},
        {"class": "_sele:np", "fields": {}},
        {"class": "_sele:bundle_minimize", "fields": {}},
        {"class": "_sele:SELEScoreCV", "fields": {}},
        {"class": "_confidence:ConfidenceScore", "fields": {"start_": 3, "_reader": 4}},
        {"trees": {}, "n_features": 1},
        {"array": "none"},
        {},
        3,
    ],
)
def test_hostile_scores_are_refused(tmp_path, state):
    header = {"features": ["a"], "outputs": [], "logits": False, "given": [], "method": "sele", "n": 1}
    header.update(n_rows=1, base=None)
    arrays = {"uncertainty": np.array([0.0]), "error": np.array([0.0])}
    path = tmp_path / "score.safetensors"
    write_model(path, "score for predictions", {**header, "state": state}, arrays)
    with pytest.raises(PredictionFileError, match="learn it again"):
        LearnedScore.load(path)


def test_long_files_are_learned_from_in_part(tmp_path):
    path, *_ = save(tmp_path / "long.npz", 1500)
    score = learn_score(path, max_rows=400)
    assert 200 < score.n <= 400
    assert score.n_rows == 1500
    again = LearnedScore.load(score.save(tmp_path / "score.safetensors")._path)
    assert (again.n, again.n_rows) == (score.n, score.n_rows)
    assert again.weighting == score.weighting
    assert learn_score(path).n == 1500


def test_scores_have_their_suffix_and_a_name_of_their_own(tmp_path):
    path, *_ = save(tmp_path / "p.npz", 200)
    with pytest.raises(PredictionFileError, match=r"score\.bin: the suffix must be \.safetensors"):
        learn_score(path).save(tmp_path / "score.bin")
    np.savez(path, loss=[0, 1] * 50, learned=np.arange(100))
    with pytest.raises(PredictionFileError, match="column 'learned'"):
        learn_score(path, columns=ColumnNames(confidence=("learned",)))


def test_nothing_to_learn_from_is_said_so(tmp_path):
    def error(content, method="auto"):
        (tmp_path / "p.csv").write_text(content)
        with pytest.raises(PredictionFileError) as caught:
            learn_score(tmp_path / "p.csv", method)
        return str(caught.value)

    many = "a,a,0.5\n" * 50
    assert "nothing to learn from" in error("label,prediction,z\n" + many)
    assert "all losses are 0" in error("label,prediction,confidence\n" + many)
    assert "too few" in error("label,prediction,confidence\na,b,1\na,a,1\n")
    assert "no outputs" in error("label,prediction,x_0\n" + many, "confidence")


@pytest.mark.parametrize("module", ["_rule", "_learned"])
def test_examples_in_docstrings_of_rules(module):
    assert doctest.testmod(getattr(facereject.predictions, module)).failed == 0
