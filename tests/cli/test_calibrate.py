"""facereject calibrate: the promise is kept and applied; what cannot be promised changes nothing."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from annotated_faces import write_faces
from typer.testing import CliRunner

from facereject._cli import app
from facereject.faces import FaceRejector
from facereject.faces.models.card import promise_of

EVERYTHING = "--accept-everything"


def run(model, faces, *arguments):
    # the tests share what is computed from the photographs
    kept = ["--workers", 1, "--cache", faces.parent / "cache"]
    command = ["calibrate", *map(str, [model, faces, *arguments, *kept])]
    return CliRunner().invoke(app, command, env={"COLUMNS": "100"})


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    return write_faces(tmp_path_factory.mktemp("faces"), 20, seed=5)


@pytest.fixture
def model(tmp_path):
    FaceRejector.pretrained().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def degraded(tmp_path_factory):
    """Many faces; the annotation of those the default model is least certain of is far off."""
    data = write_faces(tmp_path_factory.mktemp("degraded"), 64, seed=7)
    rejector = FaceRejector.pretrained()
    with open(data, newline="") as file:
        head, *rows = csv.reader(file)

    def uncertainty(row):
        return max((face.uncertainty for face in rejector(data.parent / row[0])), default=99)

    for row in sorted(rows, key=uncertainty)[32:]:
        row[1:] = [str(float(value) + 15) for value in row[1:]]
    with open(data, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return data


def test_the_threshold_is_written_and_applied(degraded, model, tmp_path):
    before = model.read_bytes()
    result = run(model, degraded, "--max-error", 9, "--confidence", 0.8, "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    sentence, threshold = result.stdout.strip().splitlines()
    assert sentence.startswith("With probability at least 0.8 over the")
    assert "min(error, 20 %)" in sentence
    assert threshold.startswith("Threshold")
    assert "fitted again" in result.stderr
    assert model.read_bytes() == before
    promised = FaceRejector.load(tmp_path / "new")
    certificate = promised.info["certificate"]
    assert promise_of(promised) == sentence
    assert "statement" not in certificate
    assert certificate["bound"] == 9
    assert certificate["n"] == len(promised.calibration.losses) <= 64
    accepted = promised.calibration.uncertainty <= promised.selector.threshold_
    assert accepted.mean() == pytest.approx(certificate["coverage"])
    assert 0.3 < accepted.mean() < 0.95
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "new")])
    # it may be wrapped
    assert sentence in " ".join(shown.stdout.split())


def test_accepting_every_face_can_be_safe_enough(faces, model, tmp_path):
    result = run(model, faces, "--max-error", 9, "-o", tmp_path / "new", "--accept-everything")
    assert result.exit_code == 0, result.output
    assert "No threshold, nothing is rejected: accepts 100.0%" in result.stdout
    shown = CliRunner().invoke(app, ["info", str(tmp_path / "new")])
    assert "EVERY FACE IS ACCEPTED" in shown.stdout
    assert FaceRejector.load(tmp_path / "new").selector.threshold_ == float("inf")


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_rejection_is_not_switched_off_by_easy_faces(faces, model, quiet):
    before = model.read_bytes()
    result = run(model, faces, "--max-error", 9, "--in-place", *quiet)
    assert result.exit_code == 1
    assert "would never reject anything" in result.stderr
    assert "--accept-everything" in result.stderr
    assert model.read_bytes() == before


def test_in_place(faces, model):
    before = FaceRejector.load(model)
    result = run(model, faces, "--max-error", 9, "--confidence", 0.9, "--in-place", "--quiet", EVERYTHING)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    after = FaceRejector.load(model)
    assert after.info["certificate"]["delta"] == pytest.approx(0.1)
    assert after.info["faces"] == before.info["faces"]
    old, new = before.score.arrays(), after.score.arrays()
    assert all(np.array_equal(old[name], new[name]) for name in old)
    # regions are calibrated on the same faces
    assert len(after.calibration.regions.losses) == len(after.calibration.losses)


def test_what_cannot_be_promised_changes_nothing(faces, model):
    before = model.read_bytes()
    result = run(model, faces, "--max-error", 0.2, "--in-place")
    assert result.exit_code == 1
    assert "no threshold can guarantee a mean error of at most 0.2 %" in result.stderr
    assert "can guarantee" in result.stderr
    assert "The model is unchanged" in result.stderr
    assert result.stdout == ""
    assert model.read_bytes() == before


def test_faces_of_one_photograph_count_once(faces, model, tmp_path):
    text = faces.read_text().splitlines()
    shared = faces.with_name("shared.csv")
    lines = [f"{text[0]},photo"] + [f"{line},{i // 2}" for i, line in enumerate(text[1:])]
    shared.write_text("\n".join(lines) + "\n")
    result = run(model, shared, "--max-error", 12, "-o", tmp_path / "new", EVERYTHING)
    assert result.exit_code == 0, result.output
    assert "one per photo counts" in result.stderr
    assert FaceRejector.load(tmp_path / "new").info["certificate"]["n"] <= 10


def test_faces_the_model_was_trained_on_are_noticed(faces, model, tmp_path):
    trained = tmp_path / "trained"
    options = ["--degradations", "0", "--workers", "1", "--quiet", "--coverage", "0.5"]
    command = ["train", str(faces), "-o", str(trained), *options]
    assert CliRunner().invoke(app, command).exit_code == 0
    result = run(trained, faces, "--max-error", 9, "-o", tmp_path / "new")
    assert "20 of 20 photos were used to train this model" in result.stderr


def test_mistakes_are_one_sentence(faces, model, tmp_path):
    out = ["-o", tmp_path / "new"]
    cases = [
        ([model, faces, "--max-error", 5], "give either --output FILE or --in-place"),
        ([model, faces, "--max-error", 5, *out, "--in-place"], "not both"),
        (["default", faces, "--max-error", 5, "--in-place"], "no file of yours"),
        ([model, faces, "--max-error", 5, "-o", model], "pass --overwrite"),
        ([model, faces, "--max-error", 25, *out], "--max-error must be above 0 and below --loss-bound = 20"),
        ([model, faces, "--max-error", 5, "--confidence", 95, *out], "confidence must lie between 0 and 1"),
        ([faces, faces, "--max-error", 5, *out], "not a facereject model file"),
        ([model, tmp_path / "none", "--max-error", 5, *out], "no such file or folder"),
    ]
    for arguments, words in cases:
        result = run(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1, result.stderr
    assert not (tmp_path / "new").exists()


def test_help_says_which_faces():
    result = CliRunner().invoke(app, ["calibrate", "--help"], env={"COLUMNS": "100"})
    text = " ".join(result.stdout.split())
    assert "neither the landmark predictor nor the model was trained on" in text
    assert "facereject calibrate" in text


def test_few_faces_give_a_unit_and_a_report(faces, model, tmp_path):
    result = run(model, faces, "--unit", "-o", tmp_path / "new", "--report", tmp_path / "report")
    assert result.exit_code == 0, result.output
    assert "Warning: only" not in result.stderr
    changed = FaceRejector.load(tmp_path / "new")
    unit = changed.info["unit"]
    # the detector may miss one
    assert 18 <= unit["faces"] <= 20
    assert f"Factor {unit['factor']:.2f}, 95 % interval {unit['factor_low']:g} to" in result.stdout
    assert "Nothing is guaranteed" in result.stdout
    page = (tmp_path / "report" / "index.html").read_text()
    assert f"Expected errors now fit these {unit['faces']} faces" in page
    assert "the faces that the model was fitted to" in page
    numbers = json.loads((tmp_path / "report" / "summary.json").read_text())
    assert numbers["as they are"]["expected_error"] == pytest.approx(
        numbers["as they are"]["mean_error"], rel=0.5
    )
    # without --max-error a unit is what is left to ask for
    again = run(model, faces, "-o", tmp_path / "again")
    assert FaceRejector.load(tmp_path / "again").info["unit"] == unit, again.output
    both = run(model, faces, "--unit", "--max-error", 5, "-o", tmp_path / "other")
    assert both.exit_code == 2
    assert "exclude each other" in both.stderr
    taken = run(model, faces, "--unit", "-o", tmp_path / "third", "--report", tmp_path / "report")
    assert taken.exit_code == 2
    assert "--report" in taken.stderr
    assert not (tmp_path / "third").exists()


def test_a_promise_has_a_report_too(degraded, model, tmp_path):
    options = ["--max-error", 9, "--confidence", 0.8, "-o", tmp_path / "new", "--report", tmp_path / "report"]
    assert run(model, degraded, *options).exit_code == 0
    assert "With probability at least 0.8" in (tmp_path / "report" / "index.html").read_text()


def test_what_cannot_be_promised_names_what_can(faces, model, tmp_path):
    result = run(model, faces, "--max-error", 4, "-o", tmp_path / "new", "--report", tmp_path / "report")
    assert result.exit_code == 1
    text = " ".join(result.stderr.split())
    assert "20 to 50 faces are enough: --unit" in text
    assert not (tmp_path / "new").exists()
    page = (tmp_path / "report" / "index.html").read_text()
    for words in ("No threshold can guarantee a mean error of at most 4 %", "20 to 50 faces are enough"):
        assert words in page
    assert "the model is unchanged, and the figures below are about it" in page.lower()
    # and they are: nothing was fitted to these faces
    evaluated = ["evaluate", str(model), str(faces), "--degradations", "0", "--report", str(tmp_path / "own")]
    assert CliRunner().invoke(app, evaluated).exit_code == 0
    numbers = [
        json.loads((tmp_path / name / "summary.json").read_text())["as they are"]
        for name in ("report", "own")
    ]
    assert numbers[0] == numbers[1]


def test_a_report_says_that_no_guarantee_is_needed(faces, model, tmp_path):
    result = run(model, faces, "--max-error", 9, "-o", tmp_path / "new", "--report", tmp_path / "report")
    assert result.exit_code == 1
    assert "would never reject anything" in (tmp_path / "report" / "index.html").read_text()


def test_too_few_faces_or_none_say_what_to_do(faces, model, tmp_path):
    few = tmp_path / "few.csv"
    lines = faces.read_text().splitlines()[:4]
    few.write_text("\n".join([lines[0], *(str(faces.parent / line) for line in lines[1:])]) + "\n")
    result = run(model, few, "--unit", "-o", tmp_path / "new", "--report", tmp_path / "report")
    assert result.exit_code == 2
    assert "At least 10 annotated faces are needed" in (tmp_path / "report" / "index.html").read_text()
    message = result.stderr.splitlines()[-1]
    assert message.startswith(f"DATASET {few}: at least 10 annotated faces are needed, got ")
    assert "facereject annotate" in message
    forgotten = CliRunner().invoke(
        app, ["calibrate", str(faces.parent), "--unit", "-o", str(tmp_path / "new")]
    )
    assert forgotten.exit_code == 2
    assert forgotten.stderr.startswith("DATASET is missing")
    assert not (tmp_path / "new").exists()


def test_predictions_are_no_annotation(faces, model, tmp_path):
    """Tables and other outputs of facereject, and landmarks that nobody has corrected."""
    table, coco = tmp_path / "faces.csv", tmp_path / "faces.json"
    photos = str(faces.parent)
    made = CliRunner().invoke(app, ["filter", photos, "-o", str(table), "--coco", str(coco), "-q"])
    assert made.exit_code == 0, made.output
    result = run(model, table, "--images", photos, "--unit", "-o", tmp_path / "new")
    assert result.exit_code == 2
    assert "faces.csv: holds predictions of a tool, not annotation" in result.stderr
    result = run(model, coco, "--images", photos, "--unit", "-o", tmp_path / "new")
    assert result.exit_code == 2
    assert "every face in" in result.stderr and "has a confidence" in result.stderr  # noqa: PT018
    assert "its landmarks are those that were predicted" in result.stderr
    assert not (tmp_path / "new").exists()
    found = json.loads(coco.read_text())
    for each in found["annotations"][1:]:
        del each["score"]
        each["keypoints"] = [value + 2.0 * (k % 3 < 2) for k, value in enumerate(each["keypoints"])]
    coco.write_text(json.dumps(found))
    result = run(model, coco, "--images", photos, "--unit", "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "has a confidence" not in result.stderr
    assert re.search(r"Warning: 1 of \d+ faces has the very landmarks", result.stderr)


def test_damaged_annotation_is_named_once_and_what_it_lacks_is_said(faces, model, tmp_path):
    folder = write_faces(tmp_path / "300w", 14, seed=5, form="300w")
    entries = sorted(folder.glob("*.pts"))
    entries[0].write_text("junk")
    entries[1].write_text("version: 1\nn_points: 68\n{\n1 2\n")
    entries[2].with_suffix(".png").write_text("no image")
    result = run(model, folder, "--unit", "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stderr.splitlines()]
    assert f"{entries[0].name}: damaged, or not in the format pts (no points in it)" in lines
    assert (
        f"{entries[1].name}: damaged, or not in the format pts (expected 68 lines of two numbers, found "
        "1 line with numbers)"
    ) in lines
    image = entries[2].with_suffix(".png")
    assert result.stderr.count(str(image)) == 1


def test_annotation_of_other_images_is_pointed_out(model, tmp_path):
    folder = write_faces(tmp_path / "300w", 16, seed=5, form="300w")
    for path in folder.glob("*.pts"):
        points = np.loadtxt(path.read_text().splitlines()[3:-1])
        lines = "\n".join(f"{x} {y}" for x, y in points[::-1])
        path.write_text(f"version: 1\nn_points: 68\n{{\n{lines}\n}}\n")
    result = run(model, folder, "--unit", "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "times what the model expects. Check that the landmarks belong to these images" in result.stderr


def test_fewer_points_than_the_model_has_cannot_be_chosen(faces, model, tmp_path):
    result = run(model, faces, "--points", "36,45", "--unit", "-o", tmp_path / "new")
    assert result.exit_code == 2
    assert "annotated with 2 points, but the model is for 68; annotate all of them" in result.stderr
