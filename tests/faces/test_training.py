"""Training and evaluation: folds by photograph, honest calibration, equal seeds give equal models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facereject.faces.datasets import FaceDataset, Problem
from facereject.faces.detectors.dlib_hog import FaceDetector
from facereject.faces.evaluation.results import evaluate_face_rejector, gap_closed
from facereject.faces.features.hog import LandmarkHOG
from facereject.faces.models.calibration import Target
from facereject.faces.rejector import FaceRejector
from facereject.faces.training.extract import Extractor, FaceTable
from facereject.faces.training.train import (
    Training,
    calibration_rows,
    cross_fit,
    fit_score,
    photo_folds,
    train_face_rejector,
    train_on_table,
)
from facereject.metrics import aurc
from facereject.parallel import RunProgress


def synthetic(n_photos=60, variants=4, width=2448, seed=0):
    """Losses that grow with the first features, a detector score that knows a little."""
    rng = np.random.default_rng(seed)
    n = n_photos * variants
    features = rng.normal(size=(n, width)).astype(np.float32)
    hidden = features[:, :3].sum(axis=1)
    losses = np.exp(0.4 * hidden) * rng.gamma(8, 0.5, size=n)
    return FaceTable(
        features=features,
        losses=losses,
        detector_scores=-0.2 * hidden + rng.normal(size=n),
        sample=np.repeat(np.arange(n_photos), variants),
        variant=np.tile(np.arange(variants), n_photos),
        kinds=tuple("clean" if i % variants == 0 else "blur" for i in range(n)),
        landmarks=np.zeros((n, 68, 2), np.float32),
        truth=np.zeros((n, 68, 2), np.float32),
        hidden=np.zeros((n, 68), bool),
        missed=np.array([1, 2]),
        failed=np.zeros(2, int),
        problems=(),
    )


def test_folds_keep_photographs_together():
    photos = [f"p{i // 3}" for i in range(90)]
    folds = photo_folds(photos, 4, 0)
    assert all(len(set(folds[i : i + 3])) == 1 for i in range(0, 90, 3))
    assert np.bincount(folds[::3]).tolist() == [8, 8, 7, 7]
    np.testing.assert_array_equal(folds, photo_folds(photos, 4, 0))
    for bad in (1, 31):
        with pytest.raises(ValueError, match="fold"):
            photo_folds(photos, bad, 0)


def test_calibration_rows_are_half_clean():
    table = synthetic()
    rows = calibration_rows(table, 0)
    assert len(set(rows.tolist())) == len(rows) == 120
    assert table.clean[rows].sum() == 60
    assert sorted(table.sample[rows][~table.clean[rows]]) == list(range(60))


def test_gap_closed_runs_from_detector_to_oracle():
    table = synthetic()
    losses, scores = table.losses, table.detector_scores
    assert gap_closed(losses, scores, -scores) == 0
    assert gap_closed(losses, scores, losses) == 1
    half = gap_closed(losses, scores, table.features[:, 0])
    expected = (aurc(losses, -scores) - aurc(losses, table.features[:, 0])) / (
        aurc(losses, -scores) - aurc(losses, losses)
    )
    assert half == pytest.approx(expected)


@pytest.mark.parametrize("score", ["sele", "reg", "boosted"])
def test_out_of_fold_scores_learn_and_do_not_peek(score):
    table = synthetic(100, 6, width=6)
    photos = [f"p{i}" for i in range(100)]
    fold = photo_folds([photos[i] for i in table.sample], 2, 0)
    fit = cross_fit(table, fold, score, 0.01, 12.0)
    assert np.isfinite(fit.uncertainty).all()
    assert fit.degraded > 0.3
    # a fold's uncertainties come from the other folds alone
    model = fit_score(table, score, 0.01, 12.0, rows=fold != 1)
    np.testing.assert_allclose(fit.uncertainty[fold == 1], model(table.features[fold == 1]), rtol=1e-6)


def test_losses_beyond_the_clip_count_as_the_clip():
    table = synthetic(width=6)
    worse = table.losses.copy()
    worse[table.losses > 8] *= 100
    a = fit_score(table, "sele", 0.1, 8.0)
    b = fit_score(FaceTable(**{**vars(table), "losses": worse}), "sele", 0.1, 8.0)
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-6)


def test_a_rejector_from_a_table(predictor, tmp_path):
    table = synthetic()
    extractor = Extractor(predictor, FaceDetector(threshold=-1.0), LandmarkHOG(), degradations=3)
    photos = [f"p{i}" for i in range(60)]
    steps, few = [], Training(alphas=(0.1, 1.0), folds=2)
    rejector = train_on_table(table, photos, extractor, training=few, progress=steps.append)
    assert steps == [RunProgress(done, 5, "scores fitted") for done in (2, 4, 5)]
    assert rejector.info["alpha"] in (0.1, 1.0)
    for areas in rejector.info["aurc"].values():
        assert areas["oracle"] < min(areas["score"], areas["detector"])
    assert rejector.info["missed"] == {"clean": 1, "degraded": 2}
    assert rejector.detector == FaceDetector(threshold=0.0)
    # only faces the finished rejector would find are calibrated on
    rows = calibration_rows(table, 0)
    assert len(rejector.calibration.losses) == (table.detector_scores[rows] >= 0).sum()
    assert rejector.target.kind == "max_error"
    rejector.save(tmp_path / "a")
    train_on_table(table, photos, extractor, training=few).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with pytest.raises(ValueError, match="score"):
        train_on_table(table, photos, extractor, "magic")
    with pytest.raises(ValueError, match="threshold"):
        train_on_table(table, photos, extractor, training=few, threshold=99.0)


def test_training_and_evaluating_on_photographs(photographs, predictor, tmp_path):
    fit, test = photographs.split(0.6, 0.4, random_state=0)
    options = {"predictor": predictor, "workers": 1, "cache": tmp_path}
    rejector = train_face_rejector(
        fit,
        training=Training(degradations=2, alphas=(3.0,), folds=2),
        target=Target("coverage", 0.8),
        **options,
    )
    assert rejector.info["faces"] == len(fit)
    result = evaluate_face_rejector(rejector, test, degradations=1, workers=1, cache=tmp_path)
    table = result.table
    assert result.clean.n + result.clean.missed == len(test)
    assert result.clean.mean_error == pytest.approx(table.losses[table.clean].mean())
    assert result.clean.aurc_oracle <= result.clean.aurc_score
    assert result.degraded is not None
    assert result.degraded.n + result.degraded.missed == len(test)
    assert set(result.summary()) == {"clean", "degraded"}
    # the table's numbers are those a user gets from the rejector itself
    row = int(np.flatnonzero(table.clean)[0])
    sample = test[int(table.sample[row])]
    uncertainties = [face.uncertainty for face in rejector(sample.image_path)]
    assert np.abs(np.array(uncertainties) - result.uncertainty[row]).min() < 1e-4
    only_clean = evaluate_face_rejector(rejector, test, degradations=0, workers=1)
    assert only_clean.degraded is None


def test_problems_of_the_data_set_are_not_forgotten(photographs, predictor, tmp_path):
    few = FaceDataset(list(photographs)[:12], [Problem("lost.pts", "no image")])
    options = {"workers": 1, "cache": tmp_path}
    training = Training(degradations=0, alphas=(1.0,), folds=2, seed=np.int64(0))
    rejector = train_face_rejector(few, predictor=predictor, training=training, **options)
    assert rejector.info["entries_left_out"] == 1
    assert len(rejector.info["photo_digests"]) == 12
    rejector.save(tmp_path / "model")
    result = evaluate_face_rejector(rejector, few, degradations=0, **options)
    assert result.problems == few.problems
    assert result.clean.failed == 0
    with pytest.raises(ValueError, match="alphas"):
        train_face_rejector(few, predictor=predictor, training=replace(training, alphas=()), **options)
    with pytest.raises(ValueError, match="degradations"):
        train_face_rejector(few, predictor=predictor, training=Training(degradations=-1))


def test_clean_photographs_alone(photographs, predictor, tmp_path):
    few = FaceDataset(list(photographs)[:12])
    rejector = train_face_rejector(
        few,
        predictor=predictor,
        training=Training(degradations=0, alphas=(1.0,), folds=2),
        workers=1,
        target=Target("coverage", 0.5),
    )
    assert rejector.info["cross_validation"][0]["gap_closed_degraded"] is None
    rejector.save(tmp_path / "model")
    assert FaceRejector.load(tmp_path / "model").info == rejector.info
    with pytest.raises(ValueError, match="score"):
        train_face_rejector(few, "magic", predictor=predictor)


def test_any_predictor_can_be_trained_for(photographs):
    """A predictor that puts the mean shape into the box: bad, and known to be bad."""
    few = FaceDataset(list(photographs)[:12])
    rejector = train_face_rejector(
        few, "reg", predictor=mean_face, training=Training(degradations=1, alphas=(10.0,), folds=2), workers=1
    )
    faces = rejector(few[0].image_path)
    assert isinstance(rejector, FaceRejector)
    assert all(face.expected_error > 5 for face in faces)


def mean_face(image, box):
    from facereject.faces.landmarks.point_set import MEAN_SHAPE

    x, y = box.center
    return MEAN_SHAPE * box.width * 0.9 + (x, y + 0.1 * box.height)
