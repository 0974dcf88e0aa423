"""The summary of the calibration faces: typicality by brute force, batches told apart, lazy."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

from facereject.faces import FaceRejector
from facereject.faces.models.domain import Domain, DomainCheck
from facereject.faces.training._fit_domain import Atypical, _ratios, fit_domain


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


@pytest.fixture(scope="module")
def columns(rejector):
    return rejector.score.columns


def faces(columns, n, seed, moved=0.0):
    """All columns of some faces and their landmarks, shapes a little apart from the mean one."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, columns.n_columns))
    scores = rng.normal(size=(n, len(columns.spread)))
    scores[:, 1] += moved
    shapes = columns.layout.shape + (scores * columns.spread) @ columns.axes.T
    landmarks = shapes.reshape(n, -1, 2) + rng.normal(0, 1e-3, size=(n, 68, 2))
    described, n_shape = columns.described
    values[:, described[:n_shape]] = columns.shapes(landmarks)
    # larger, turned and elsewhere in the image
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    return values, 150 * landmarks @ turn + 300


@pytest.fixture(scope="module")
def domain(columns):
    values, _ = faces(columns, 300, 0)
    return Domain.of_rows(columns, values[:, columns.described[0]], np.arange(300) % 2 == 0)


def test_the_described_columns_are_those_of_shape_contrast_and_quality(rejector, astronaut):
    columns = rejector.score.columns
    (face,) = rejector(astronaut)
    changed = face.landmarks * 3 + 5
    np.testing.assert_allclose(columns.shapes(changed[None]), columns.shapes(face.landmarks[None]), atol=1e-6)
    described, n_shape = columns.described
    row = np.zeros((1, columns.n_features), dtype=np.float32)
    start = columns.n_hog + columns.n_runs
    row[0, start : start + 136] = (face.landmarks / 200).ravel()
    # the last of the described columns are the image quality, counted from the end of the context
    n_context = columns.n_context - 136
    row[0, start + 136 :] = np.arange(n_context)
    found = columns(row)[0, described]
    np.testing.assert_allclose(found[:n_shape], columns.shapes(face.landmarks[None])[0], atol=1e-3)
    np.testing.assert_array_equal(found[-15:], np.arange(6, 21))


def test_typicality_is_the_share_of_faces_as_unusual_by_brute_force(columns, domain):
    values, _ = faces(columns, 20, 1)
    values[0] += 3
    described = columns.described[0]
    points = domain.rows / 20
    new = np.clip((values[:, described] - domain.centre) / domain.scale, -6, 6)
    variances, directions = np.linalg.eigh(np.cov(points.T))
    whiten = directions / np.sqrt(variances + 0.1)
    points, new = points @ whiten, new @ whiten

    def unusual(point, others):
        return np.mean(sorted(float(np.linalg.norm(point - other)) for other in others)[:10])

    own = [unusual(point, np.delete(points, i, axis=0)) for i, point in enumerate(points)]
    expected = [(sum(d >= unusual(point, points) for d in own) + 1) / (len(own) + 1) for point in new]
    np.testing.assert_allclose(domain.typicality(values), expected)
    assert domain.typicality(values)[0] == pytest.approx(1 / 301)
    # among the faces themselves every rank occurs once
    np.testing.assert_allclose(np.sort(domain.own_typicality), (np.arange(300) + 2) / 301)


def test_values_that_are_no_numbers_are_far_away(columns, domain):
    values, _ = faces(columns, 3, 2)
    values[0, columns.described[0]] = np.nan
    values[1, columns.described[0]] = np.inf
    assert (domain.typicality(values)[:2] == 1 / 301).all()


def test_alike_faces_are_silent_and_others_are_not(columns, domain):
    alarms = 0
    for seed in range(8):
        values, landmarks = faces(columns, 100, 10 + seed)
        found = domain.check(landmarks, domain.typicality(values))
        assert found.told_apart < 0.65
        alarms += found.unlike
    assert alarms == 0
    values, landmarks = faces(columns, 40, 99, moved=3.0)
    found = domain.check(landmarks, domain.typicality(values))
    assert found.unlike
    assert found.n == 40
    assert "told apart" in found.sentence
    assert "calibrate --unit" in found.sentence
    assert found.to_dict()["unlike"] is True


def test_good_faces_alone_are_no_other_kind(columns):
    """The calibration has two kinds; a batch of either is like it."""
    (clean, landmarks), (poor, _) = faces(columns, 200, 0), faces(columns, 200, 1, moved=4.0)
    values = np.concatenate([clean, poor])[:, columns.described[0]]
    domain = Domain.of_rows(columns, values, np.arange(400) < 200)
    for moved in (0.0, 4.0):
        values, landmarks = faces(columns, 120, 5, moved=moved)
        assert not domain.check(landmarks, domain.typicality(values)).unlike
    values, landmarks = faces(columns, 120, 5, moved=-4.0)
    assert domain.check(landmarks, domain.typicality(values)).unlike


def test_few_faces_or_faces_without_landmarks_are_not_compared(columns, domain, rejector):
    values, landmarks = faces(columns, 45, 3)
    typicality = domain.typicality(values)
    assert domain.check(landmarks[:39], typicality[:39]) is None
    typicality[:6] = np.nan
    assert domain.check(landmarks, typicality) is None
    assert rejector.check_domain([]) is None


def test_a_model_file_keeps_the_summary(rejector, domain, tmp_path):
    other = copy.copy(rejector)
    other.score = dataclasses.replace(rejector.score, domain=domain)
    other.save(tmp_path / "model.safetensors")
    again = FaceRejector.load(tmp_path / "model.safetensors").domain
    for name, array in domain.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("domain_rows", lambda a: a[:, :-1]),
        ("domain_clean", lambda a: a[:-1]),
        ("domain_scale", lambda a: 0 * a),
        ("domain_centre", lambda a: np.nan * a),
        ("domain_shift", lambda a: np.ones(3, np.float32)),
    ],
)
def test_tables_that_do_not_fit_are_refused(columns, domain, name, change):
    arrays = domain.arrays()
    with pytest.raises(ValueError, match="domain"):
        Domain.from_arrays({**arrays, name: change(arrays[name])}, columns)
    with pytest.raises(ValueError, match="more than 10 faces"):
        Domain.from_arrays(
            {**arrays, "domain_rows": arrays["domain_rows"][:5], "domain_clean": arrays["domain_clean"][:5]},
            columns,
        )


def test_typicality_is_worked_out_when_it_is_read(rejector, domain, astronaut, monkeypatch):
    other = copy.copy(rejector)
    other.score = dataclasses.replace(rejector.score, domain=domain)
    calls = []
    original = Domain.typicality
    monkeypatch.setattr(Domain, "typicality", lambda self, rows: (calls.append(1), original(self, rows))[1])
    (face,) = other(astronaut)
    assert not calls
    assert 0 < face.typicality <= 1
    assert face.to_dict()["typicality"] == face.typicality
    assert calls == [1]


def test_atypical_faces_are_less_certain(rejector, domain, astronaut):
    (plain,) = dataclass_with(rejector, domain)(astronaut)
    knots, shift = np.array([0.0, 1.0], np.float32), np.array([0.5, 0.0], np.float32)
    moved = dataclasses.replace(domain, knots=knots, shift=shift)
    (face,) = dataclass_with(rejector, moved)(astronaut)
    assert face.uncertainty == pytest.approx(plain.uncertainty + 0.5 * (1 - face.typicality))
    assert face.expected_error >= plain.expected_error


def dataclass_with(rejector, domain):
    other = copy.copy(rejector)
    other.score = dataclasses.replace(rejector.score, domain=domain)
    return other


def test_the_correction_of_atypical_faces_is_learned_from_their_errors(rng):
    typicality = rng.uniform(size=20_000)
    expected = rng.uniform(2, 5, size=20_000)
    losses = expected * np.where(typicality < 0.1, 1.5, 1.0) * rng.gamma(4, 0.25, size=20_000)
    found = _ratios(typicality, expected, losses)
    assert list(found.factor) == sorted(found.factor, reverse=True)
    assert found.factor[0] == pytest.approx(1.5, rel=0.05)
    assert found.factor[-1] == 1
    # errors that fall with typicality the other way round are no reason to trust atypical faces more
    better = _ratios(typicality, expected, expected * np.where(typicality < 0.1, 0.5, 1.0))
    assert set(better.factor) == {1.0}


def test_the_summary_has_faces_of_both_kinds(columns, rejector):
    values, _ = faces(columns, 1500, 4)
    clean = np.arange(1500) < 1200
    losses = rejector.calibration.losses[:1500]
    calibration = type(rejector.calibration)(losses, rejector.calibration.uncertainty[:1500])
    found, shift = fit_domain(columns, values, clean, calibration, Atypical((0.1, 1.0), (1.3, 1.0)))
    assert len(found.rows) == 800
    assert (found.clean == 0).sum() == 300
    assert shift.shape == (1500,)
    assert shift.min() >= 0 < shift.max()
    nothing, shift = fit_domain(columns, values[:20], clean[:20], calibration)
    assert nothing is None
    assert not shift.any()


def test_a_check_reads_as_a_sentence():
    assert DomainCheck(120, 0.55, 1.0).sentence.startswith("The 120 faces compared are like")
