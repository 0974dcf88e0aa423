"""Models and comparisons for tools that are never run: landmarks and annotation from files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from annotated_faces import write_faces
from table_rows import read_csv

from facereject import FaceRejector, annotated_faces, assess_files
from facereject.faces import train_face_rejector
from facereject.faces.models.score_models import AdaptedScoreModel
from facereject.losses import landmark_nme
from facereject.metrics import aurc

N = 40


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Photos with annotation, and the landmarks of a good and of a poor tool."""
    folder = tmp_path_factory.mktemp("files")
    truth = annotated_faces(write_faces(folder / "photos", N, form="300w"))
    rng = np.random.default_rng(0)
    names = np.array([sample.image_path.name for sample in truth])
    points = np.array([sample.landmarks for sample in truth])
    for tool, size in (("good", 1.0), ("poor", 6.0)):
        wrong = rng.gamma(1.5, size, (N, 1, 1)) * rng.normal(size=points.shape)
        confidence = -np.abs(wrong).mean(axis=(1, 2)) + rng.normal(0, 0.2, N)
        np.savez(folder / f"{tool}.npz", image=names, landmarks=points + wrong, confidence=confidence)
    return folder


@pytest.fixture(scope="module")
def model(files):
    """A model for the poor tool, from Python."""
    samples = annotated_faces(files / "photos", predictions=files / "poor.npz")
    rejector = train_face_rejector(samples, tool="poor", workers=1)
    rejector.save(files / "poor.safetensors")
    return rejector


def test_a_model_for_a_tool_that_is_never_run(files, model):
    assert isinstance(model.score, AdaptedScoreModel)
    assert model.from_files
    losses, uncertainty = model.calibration.losses, model.calibration.uncertainty
    # out of fold: the order is learned, and the unit is that of the tool
    assert np.corrcoef(np.argsort(np.argsort(losses)), np.argsort(np.argsort(uncertainty)))[0, 1] > 0.5
    with pytest.raises(ValueError, match="facereject assess"):
        model(next((files / "photos").glob("*.png")))


def test_it_is_stored_and_scores_files_as_before(files, model, tmp_path):
    again = FaceRejector.load(files / "poor.safetensors")
    samples = annotated_faces(files / "photos", predictions=files / "poor.npz")
    for sample in samples[:5]:
        faces = [
            each.assess(sample.load(), sample.predicted, confidence=sample.confidence)
            for each in (model, again)
        ]
        assert faces[0].uncertainty == faces[1].uncertainty
        assert np.isfinite(faces[0].landmark_errors).all()
        # the tool's own confidence counts, and may be unknown; of 40 faces whose errors other columns explain
        # nearly as well, the sign of its small weight depends on the last bits of sums
        other = model.assess(sample.load(), sample.predicted, confidence=sample.confidence + 5)
        assert other.uncertainty != faces[0].uncertainty
        assert np.isfinite(model.assess(sample.load(), sample.predicted).uncertainty)
    summary = assess_files(files / "poor.npz", files / "photos", rejector=again)
    assert (summary.faces, summary.failed) == (N, 0)
    assert again.for_region("eyes").region == ("eyes",)


def test_train_and_assess(files, run, tmp_path):
    made = tmp_path / "mine.safetensors"
    given = ["--predictions", files / "good.npz", "--annotation", files / "photos"]
    result = run("train", *given, "-o", made, "-j", 1, "--coverage", 0.5)
    assert result.exit_code == 0, result.stderr
    result = run(
        "assess", files / "good.npz", "--images", files / "photos", "--model", made,
        "--accepted", tmp_path / "good", "-o", tmp_path / "faces.csv",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    kept = len(list((tmp_path / "good").rglob("*.png")))
    assert 0.3 * N < kept < 0.9 * N
    result = run("filter", files / "photos", "--model", made)
    assert result.exit_code == 2
    assert "use `facereject assess`" in result.stderr
    result = run("train", *given, "-o", tmp_path / "x.safetensors", "--landmarks", "dlib")
    assert result.exit_code == 2
    assert "no predictor is run" in result.stderr


def test_tools_are_compared_on_the_same_faces(files, model, run, tmp_path):
    with np.load(files / "good.npz") as stored:
        np.savez(tmp_path / "fewer.npz", **{name: stored[name][3:] for name in stored})
    result = run(
        "evaluate", files / "poor.safetensors", "--predictions", files / "poor.npz",
        "--predictions", tmp_path / "fewer.npz", "--annotation", files / "photos",
        "--report", tmp_path / "which", "-j", 1,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    poor, fewer = json.loads((tmp_path / "which" / "summary.json").read_text())["tools"]
    assert (poor["faces_found"], fewer["faces_found"]) == (N, N - 3)
    assert poor["faces_compared"] == fewer["faces_compared"] == N - 3
    samples = annotated_faces(files / "photos", predictions=tmp_path / "fewer.npz")
    errors = [
        100
        * np.linalg.norm(s.predicted - s.landmarks, axis=1).mean()
        / np.linalg.norm(s.landmarks[36] - s.landmarks[45])
        for s in samples
    ]
    assert fewer["mean_error"] == pytest.approx(np.mean(errors), rel=1e-5)
    assert fewer["mean_error_low"] < fewer["mean_error"] < fewer["mean_error_high"]
    assert f"{fewer['mean_error']:.2f}" in result.stdout
    assert poor["mean_error"] > fewer["mean_error"]
    page = (tmp_path / "which" / "index.html").read_text()
    assert "fewer.npz has the lowest mean error" in page
    assert len((tmp_path / "which" / "points.csv").read_text().splitlines()) == 69


def test_the_comparison_tells_where_the_other_tools_know_better(files, tools, run, tmp_path):
    # tools that err on the same faces; the trivial alternative is never hidden
    more = [argument for tool in tools for argument in ("--predictions", tool)]
    result = run("evaluate", "default", files / "photos", *more, "--report", tmp_path / "which", "-j", 1)
    assert result.exit_code == 0, result.stderr
    rows = json.loads((tmp_path / "which" / "summary.json").read_text())["tools"]
    a, b, c = (annotated_faces(files / "photos", predictions=tool) for tool in tools)
    known = {sample.image_path for sample in c}
    kept = [[s for s in each if s.image_path in known] for each in (a, b, c)]
    apart, losses = [], []
    for first, *others in zip(*kept, strict=True):
        size = np.linalg.norm(first.predicted[36] - first.predicted[45])
        distances = [np.linalg.norm(first.predicted - o.predicted, axis=1).mean() for o in others]
        apart.append(np.mean(distances) / size)
        losses.append(landmark_nme(first.landmarks, first.predicted))
    apart, losses = np.array(apart), np.array(losses)
    trivial = (losses.mean() - aurc(losses, apart)) / (losses.mean() - aurc(losses, losses))
    assert rows[0]["share_by_disagreement"] == pytest.approx(trivial, abs=1e-6)
    better = any(row["share_by_disagreement"] > row["share_of_random_to_oracle"] for row in rows)
    page = (tmp_path / "which" / "index.html").read_text()
    assert ("makes a model that uses both" in page) == better


def test_calibrate_gives_the_unit_of_the_tool(files, run, tmp_path):
    given = ["--predictions", files / "poor.npz", "--annotation", files / "photos"]
    result = run("calibrate", "default", *given, "--unit", "-o", tmp_path / "c.safetensors", "-j", 1)
    assert result.exit_code == 0, result.stderr
    samples = annotated_faces(files / "photos", predictions=files / "poor.npz")
    true = np.mean([landmark_nme(s.landmarks, s.predicted) for s in samples])
    before, after = (
        np.mean([model.assess(s.load(), s.predicted).expected_error for s in samples])
        for model in (FaceRejector.pretrained(), FaceRejector.load(tmp_path / "c.safetensors"))
    )
    assert abs(after - true) < abs(before - true)


def test_points_that_no_model_knows_are_learned_from_nothing(files, run, tmp_path):
    made = tmp_path / "five.safetensors"
    result = run(
        "train", "--predictions", files / "poor.npz", "--annotation", files / "photos", "-o", made,
        "--points", "30,36,45,48,54", "--score", "sele", "-j", 1,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    rejector = FaceRejector.load(made)
    assert (rejector.n_points, rejector.from_files) == (5, True)


def write_tools(files, seed):
    """Three tools that err on the same faces, each in its own way; the last one misses a face."""
    truth = annotated_faces(files / "photos")
    rng = np.random.default_rng(seed)
    names = np.array([sample.image_path.name for sample in truth])
    points = np.array([sample.landmarks for sample in truth])
    size = rng.gamma(1.5, 2.0, (N, 1, 1))
    for tool in "abc":
        placed = points + size * rng.normal(size=(N, 1, 2))
        keep = slice(1, None) if tool == "c" else slice(None)
        np.savez(files / f"{tool}{seed}.npz", image=names[keep], landmarks=placed[keep])
    return [files / f"{tool}{seed}.npz" for tool in "abc"]


@pytest.fixture(scope="module")
def tools(files):
    return write_tools(files, 1)


def share(model):
    losses, uncertainty = model.calibration.losses, model.calibration.uncertainty
    return (losses.mean() - aurc(losses, uncertainty)) / (losses.mean() - aurc(losses, losses))


@pytest.mark.parametrize("points", [None, [30, 36, 45, 48, 54]])
def test_disagreement_of_several_tools_ranks_better(files, points):
    photos, gains = files / "photos", []
    # with 40 faces a single draw of the tools' errors may give no gain
    for seed in (1, 2, 3):
        tools = write_tools(files, seed)
        alone, several = (
            train_face_rejector(annotated_faces(photos, predictions=given, points=points), workers=1)
            for given in (tools[0], tools)
        )
        assert (alone.needs_others, several.needs_others) == (False, True)
        gains.append(share(several) - share(alone))
    assert np.mean(gains) > 0.1
    samples = annotated_faces(photos, predictions=tools, points=points)
    several.save(files / "several.safetensors")
    again = FaceRejector.load(files / "several.safetensors")
    for sample in samples[:2]:
        image, given = sample.load(), {"others": sample.others}
        face = several.assess(image, sample.predicted, **given)
        assert again.assess(image, sample.predicted, **given).uncertainty == face.uncertainty
        # tools that are further away, and tools that see nothing there, make it less certain
        near = several.assess(image, sample.predicted, others=[sample.predicted])
        away = several.assess(image, sample.predicted, others=[sample.predicted + 30])
        none = several.assess(image, sample.predicted, others=[None, None])
        assert near.uncertainty < away.uncertainty <= none.uncertainty
        with pytest.raises(ValueError, match="compares landmarks with those of other tools"):
            several.assess(image, sample.predicted)


def test_several_tools_on_the_command_line(files, tools, run, tmp_path):
    made = tmp_path / "several.safetensors"
    first, *others = tools
    more = [argument for tool in others for argument in ("--predictions", tool)]
    result = run("train", files / "photos", "--predictions", first, *more, "-o", made, "-j", 1)
    assert result.exit_code == 0, result.stderr
    assert "landmarks in files, as a1.npz wrote them, beside those of the other tools" in " ".join(
        result.stdout.split()
    )
    given = ["--images", files / "photos", "--model", made]
    result = run("assess", first, *more, *given, "-o", tmp_path / "faces.csv")
    assert result.exit_code == 0, result.stderr
    rows = {Path(row.source).name: row for row in read_csv(tmp_path / "faces.csv")}
    rejector = FaceRejector.load(made)
    for sample in annotated_faces(files / "photos", predictions=tools):
        face = rejector.assess(sample.load(), sample.predicted, others=sample.others)
        assert rows[sample.image_path.name].uncertainty == pytest.approx(face.uncertainty, rel=1e-6)
    # with the others the model is evaluated, not the tools compared
    result = run(
        "evaluate", made, files / "photos", "--predictions", first, *more, "--report", tmp_path / "r", "-j", 1
    )
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "r" / "thresholds.csv").exists()
    result = run("assess", first, *given, "-o", tmp_path / "x.csv")
    assert (result.exit_code, "compares the landmarks of several tools" in result.stderr) == (2, True)
    result = run("assess", first, *more, "--images", files / "photos", "-o", tmp_path / "x.csv")
    assert (result.exit_code, "does not compare the landmarks" in result.stderr) == (2, True)
    assert not (tmp_path / "x.csv").exists()


def test_a_model_for_some_points_scores_files_of_all(files, run, tmp_path):
    made = tmp_path / "five.safetensors"
    used = [30, 36, 45, 48, 54]
    result = run(
        "train", "--predictions", files / "poor.npz", "--annotation", files / "photos", "-o", made,
        "--points", ",".join(map(str, used)), "-j", 1,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    with np.load(files / "poor.npz") as stored:
        arrays = {name: stored[name] for name in stored}
    # a point that is not used may be missing
    arrays["landmarks"][:, 3] = np.nan
    np.savez(tmp_path / "all.npz", **arrays)
    np.savez(tmp_path / "some.npz", **{**arrays, "landmarks": arrays["landmarks"][:, used]})
    found = []
    for name in ("all", "some"):
        table = tmp_path / f"{name}.csv"
        result = run(
            "assess", tmp_path / f"{name}.npz", "--images", files / "photos", "--model", made, "-o", table
        )
        assert result.exit_code == 0, result.stderr
        found.append([row.uncertainty for row in read_csv(table)])
    assert len(found[0]) == N
    assert found[0] == found[1]
