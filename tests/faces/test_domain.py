"""The summary of the calibration faces: typicality by brute force, batches told apart, lazy."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

from facereject.faces import FaceRejector
from facereject.faces.domain_monitor import why_not_compared
from facereject.faces.models.domain import Domain, DomainCheck


@pytest.fixture(scope="module")
def rejector():
    return FaceRejector.pretrained()


@pytest.fixture(scope="module")
def columns(rejector):
    return rejector.score.columns


def faces(columns, n, seed, moved=0.0):
    """All columns of some faces; ``moved`` shifts one that describes the shape."""
    values = np.random.default_rng(seed).normal(size=(n, columns.n_columns))
    values[:, columns.described[1]] += moved
    return values


@pytest.fixture(scope="module")
def domain(columns):
    values = faces(columns, 300, 0)
    return Domain.of_rows(columns, values[:, columns.described], np.arange(300) % 2 == 0)


def test_the_described_columns_are_those_of_shape_contrast_and_quality(rejector, astronaut):
    columns = rejector.score.columns
    (face,) = rejector(astronaut)
    row = np.zeros((2, columns.n_features), dtype=np.float32)
    start = columns.n_hog + columns.n_runs
    # elsewhere in its box, larger and turned, a shape is the same
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    row[:, start : start + 136] = [face.landmarks.ravel() / 200, (face.landmarks @ turn / 100 + 5).ravel()]
    # the last of the described columns are the image quality, counted from the end of the context
    row[:, start + 136 :] = np.arange(columns.n_context - 136)
    first, second = columns(row)[:, columns.described]
    np.testing.assert_allclose(first, second, atol=2e-3)
    assert np.abs(first[:15]).max() > 0.1
    np.testing.assert_array_equal(first[-15:], np.arange(6, 21))


def test_typicality_is_the_share_of_faces_as_unusual_by_brute_force(columns, domain):
    values = faces(columns, 20, 1)
    values[0] += 3
    described = columns.described
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


def test_values_that_are_no_numbers_are_far_away(columns, domain):
    values = faces(columns, 3, 2)
    values[0, columns.described] = np.nan
    values[1, columns.described] = np.inf
    assert (domain.typicality(values)[:2] == 1 / 301).all()


def test_alike_faces_are_silent_and_others_are_not(columns, domain):
    alarms = 0
    for seed in range(8):
        found = domain.check(domain.describe(faces(columns, 100, 10 + seed)))
        assert found.told_apart < 0.7
        alarms += found.unlike
    assert alarms == 0
    found = domain.check(domain.describe(faces(columns, 40, 99, moved=3.0)))
    assert found.unlike
    assert found.n == 40
    assert "told apart" in found.sentence
    assert "calibrate --unit" in found.sentence
    assert found.to_dict()["unlike"] is True


def test_a_batch_is_compared_by_contrast_and_quality_too(columns, domain):
    """Negatives have the shapes and the typicality of other faces."""
    values = faces(columns, 40, 7)
    values[:, columns.described[-15:]] += 1.2
    assert domain.check(domain.describe(values)).unlike


def test_good_faces_alone_are_no_other_kind(columns):
    """The calibration has two kinds; a batch of either is like it."""
    values = np.concatenate([faces(columns, 200, 0), faces(columns, 200, 1, moved=4.0)])
    domain = Domain.of_rows(columns, values[:, columns.described], np.arange(400) < 200)
    for moved in (0.0, 4.0):
        assert not domain.check(domain.describe(faces(columns, 120, 5, moved=moved))).unlike
    assert domain.check(domain.describe(faces(columns, 120, 5, moved=-4.0))).unlike


def test_few_faces_or_faces_without_a_description_are_not_compared(columns, domain, rejector, astronaut):
    described = domain.describe(faces(columns, 45, 3))
    assert domain.check(described[:39]) is None
    assert rejector.check_domain([]) is None
    (face,) = rejector(astronaut)
    assert face.description.shape == (len(columns.described),)
    assert rejector.check_domain([face] * 40).unlike
    unknown = dataclasses.replace(face, description=None)
    assert rejector.check_domain([face] * 39 + [unknown]) is None


def test_it_is_said_why_faces_are_not_compared(rejector):
    """Silence could be taken for faces like those of the calibration."""
    own = rejector.with_unit(np.full(12, 3.0), rejector.calibration.uncertainty[:12])
    cases = {
        "": (rejector, 40),
        "takes at least 40": (rejector, 39),
        "fitted to 12 annotated faces": (own, 100),
        "no summary": (FaceRejector.pretrained("dlib"), 100),
    }
    for words, (model, n) in cases.items():
        found = why_not_compared(model, n)
        assert bool(found) == bool(words)
        assert words in found


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


def test_the_summary_has_faces_of_both_kinds(columns):
    values = faces(columns, 1500, 4)
    clean = np.arange(1500) < 1200
    found = Domain.sampled(columns, values, clean)
    assert len(found.rows) == 800
    assert (found.clean == 0).sum() == 300
    assert Domain.sampled(columns, values[:20], clean[:20]) is None


def test_a_check_reads_as_a_sentence():
    assert DomainCheck(120, 0.55, 1.0).sentence.startswith("The 120 faces compared are like")
