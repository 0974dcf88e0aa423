"""The landmark experiment: no face meets a predictor or score that has seen it; a quick run on real faces."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from facereject.faces import FaceDataset, FaceSample
from facereject.metrics import aurc
from tools.reproduce import landmark_tables, landmarks
from tools.reproduce.landmark_predictors import Training, predictor_file
from tools.reproduce.landmark_scores import split_rows, unpack
from tools.reproduce.landmark_statistics import TestPart as Part
from tools.reproduce.landmark_statistics import bootstrap_areas

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quick(faces_dir, tmp_path_factory):
    """A quick run with two splits: where its results and its intermediate files are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landmarks, "_QUICK_FACES", 24)
        folder = tmp_path_factory.mktemp("landmarks")
        run = {"results": folder / "results", "data": faces_dir.parent, "work": folder / "work"}
        run |= {"quick": True, "jobs": 2, "splits": 2}
        landmarks.run(**run)
        yield run


def stored(quick, name):
    return json.loads((quick["results"] / "raw" / "landmarks" / f"{name}.json").read_text())


def with_copies(faces_dir, folder):
    """Some faces, and the first four once more, smaller and under other names."""
    everything = FaceDataset.from_300w(faces_dir / "300w")
    samples = [everything[int(i)] for i in np.linspace(0, len(everything) - 1, 24).astype(int)]
    for number, sample in enumerate(samples[:4]):
        image = PIL.Image.open(sample.image_path)
        size = tuple(round(0.8 * side) for side in image.size)
        path = folder / f"copy{number}.png"
        image.resize(size).save(path)
        samples.append(FaceSample(path, sample.landmarks * np.divide(size, image.size), f"copy{number}"))
    return FaceDataset(samples)


@pytest.mark.data
def test_no_predictor_was_trained_on_a_face_it_is_used_on_or_a_copy(faces_dir, tmp_path, monkeypatch):
    trained, used = {}, {}

    def train(part, training, path):
        trained[path] = {sample.image_path for sample in part}

    def features(samples, predictor, *_):
        used[predictor] = {sample.image_path for sample in samples}

    def run_here(jobs, _):
        for job in jobs:
            job.function(*job.arguments)
        return []

    def stop(*_):
        raise StopIteration

    # a predictor is its path, and nothing is left to do once all are known
    fakes = {"train": train, "_features": features, "run_jobs": run_here, "_extract": stop}
    for name, fake in {**fakes, "LandmarkPredictor": lambda path=None: path}.items():
        monkeypatch.setattr(landmark_tables, name, fake)
    samples = with_copies(faces_dir, tmp_path)
    with pytest.raises(StopIteration):
        landmark_tables.prepare(samples, Training(folds=3), tmp_path, jobs=1)
    copies = {samples[i].image_path: samples[24 + i].image_path for i in range(4)}
    copies |= {copy: original for original, copy in copies.items()}
    own = {path: used[path] for path in trained}
    assert len(own) == 3
    assert set().union(*own.values()) == {sample.image_path for sample in samples}
    for path, faces in own.items():
        assert not faces & trained[path]
        assert not {copies[face] for face in faces if face in copies} & trained[path]


def test_parts_of_a_split_share_no_photograph():
    photographs = [f"photo{i % 70}" for i in range(100)]
    splits = [split_rows(photographs, split) for split in range(3)]
    for parts in splits:
        names = [{photographs[i] for i in rows} for rows in parts]
        assert [len(each) for each in names] == [42, 14, 14]
        assert len(set.union(*names)) == 70
        assert sorted(np.concatenate(parts)) == list(range(100))
    assert len({tuple(parts.test) for parts in splits}) == 3


def test_predictors_are_named_by_what_they_are_trained_from(tmp_path):
    path = tmp_path / "a.bmp"
    points = np.arange(136.0).reshape(68, 2)
    PIL.Image.new("L", (8, 8), 100).save(path)
    face = FaceSample(path, points, "a")
    names = [predictor_file([face], Training(random_state=seed), tmp_path).name for seed in (0, 0, 1)]
    names.append(predictor_file([FaceSample(path, points + 1, "a")], Training(), tmp_path).name)
    PIL.Image.new("L", (8, 8), 50).save(path)
    names.append(predictor_file([face], Training(), tmp_path).name)
    assert names[0] == names[1]
    assert len(set(names)) == 4


def test_resamples_draw_photographs_whole_and_in_all_splits_alike(rng):
    photograph = np.repeat(np.arange(40), 2)
    losses = np.repeat(rng.exponential(size=40), 2)
    noisy = losses + rng.normal(size=80)
    part = Part(photograph, losses, {"detector score": noisy, "same": noisy, "perfect": losses})
    areas = bootstrap_areas([part, part], 200)
    single = bootstrap_areas([part], 200)
    assert areas.value == pytest.approx(part.areas())
    # two equal splits are no more evidence than one
    assert areas.interval("same") == pytest.approx(single.interval("same"))
    low, high = areas.interval("same")
    assert low < areas.value["same"] < high
    assert areas.difference("same", "detector score") == (0, 0, 0)
    assert areas.gap_closed("perfect") == pytest.approx((1, 1, 1))
    assert areas.gap_closed("same") == pytest.approx((0, 0, 0))
    # pairs of faces drawn apart would give a narrower interval
    apart = bootstrap_areas([part._replace(photograph=np.arange(80))], 200)
    assert high - low > np.diff(apart.interval("same"))[0]


@pytest.mark.data
def test_quick_run_stores_what_the_page_states(quick):
    for name in ("cross-fitted", "published"):
        for split in range(2):
            result = stored(quick, f"{name}-{split}")
            part = unpack(result["test"])
            assert sum(result["faces"].values()) == stored(quick, "data-0")["errors"][name]["faces"]
            assert len(part.losses) == result["faces"]["test"]
            for method, report in result["methods"].items():
                # ranks and four decimals are enough to get the area back
                assert aurc(part.losses, part.scores[method]) == pytest.approx(report["aurc"], abs=1e-4)
                low, high = report["interval"]
                assert low <= report["aurc"] <= high
                assert report["aurc"] >= result["oracle_aurc"] - 1e-9
            last = {method: curve[-1]["test"] for method, curve in result["learning"].items()}
            assert last == {method: result["methods"][method]["aurc"] for method in last}
    page = (quick["results"] / "landmarks.md").read_text()
    assert "leaky" in page
    for figure in ("landmarks-risk-coverage.svg", "landmarks-learning-curve.svg"):
        assert f"figures/{figure}" in page
        assert (quick["results"] / "figures" / figure).stat().st_size < 200_000


@pytest.mark.data
def test_picture_with_photographs_stays_out_of_the_results(quick):
    assert (quick["work"] / "faces-by-uncertainty.png").is_file()
    assert not [path for path in quick["results"].rglob("*") if path.suffix in (".png", ".jpg")]


@pytest.mark.data
def test_second_run_computes_nothing_and_a_missing_split_alone(quick, monkeypatch):
    ran = []

    def watch(jobs, n):
        ran.extend(job.name for job in jobs)
        return run_jobs(jobs, n)

    run_jobs = landmarks.run_jobs
    monkeypatch.setattr(landmarks, "_QUICK_FACES", 24)
    for module in (landmarks, landmark_tables):
        monkeypatch.setattr(module, "run_jobs", watch)
    before = (quick["results"] / "landmarks.md").read_text()
    landmarks.run(**quick)
    assert ran == []
    assert (quick["results"] / "landmarks.md").read_text() == before
    path = quick["results"] / "raw" / "landmarks" / "cross-fitted-1.json"
    first = json.loads(path.read_text())
    path.unlink()
    landmarks.run(**quick)
    assert ran == ["landmarks, cross-fitted, split 1"]
    again = json.loads(path.read_text())
    assert again["test"] == first["test"]
    assert again["learning"] == first["learning"]


@pytest.mark.data
def test_unlabelled_bench_uses_predictors_on_photographs_they_have_not_seen(quick, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "bench"))
    import unlabelled

    monkeypatch.setattr(landmarks, "_QUICK_FACES", 24)
    samples = landmarks.load_samples(quick["data"], True)
    training, work = landmarks._QUICK_TRAINING, quick["work"]
    judges = unlabelled.cross_fitted(samples, work, training)
    for judge in judges:
        others = [sample for sample in samples if sample.image_path not in judge.photographs]
        assert 0 < len(others) < len(samples)
        assert judge.predictor.path == predictor_file(others, training, work)
    options = argparse.Namespace(workers=1, cache=work)
    table, _ = unlabelled.make_table(samples, judges, 0, 0, None, options)
    known = landmark_tables.prepare(samples, training, work, 1).tables[landmark_tables.CROSS_FITTED]
    np.testing.assert_array_equal(table.sample, known.sample)
    np.testing.assert_array_equal(table.losses, known.losses)
    # what the predictors say of their own photographs is the truth of the rows without annotation
    own = unlabelled.annotated(samples, judges)
    assert 0 < len(own) < len(samples)
    table, _ = unlabelled.make_table(own, judges, 0, 0, None, options)
    assert np.median(table.losses) < np.median(known.losses)
    with pytest.raises(SystemExit, match="lacks predictor-"):
        unlabelled.cross_fitted(samples, work / "nowhere", training)
