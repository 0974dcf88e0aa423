"""The registry of tables: sizes, splits and the cut of a real target into classes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from data_scripts import registry
from data_scripts.registry import DATASETS, DataError, bin_target, bin_target_above_lowest, load, split


def test_list_of_tables():
    assert len(DATASETS) == 22
    assert [name for name, entry in DATASETS.items() if entry.partial] == ["SENSORLESS", "MSD", "SUPERCOND"]
    tasks = [entry.task for entry in DATASETS.values()]
    assert tasks.count("classification") == tasks.count("ordinal") == 11
    for name, entry in DATASETS.items():
        assert name == entry.name == entry.stem.upper()
        assert len(entry.sha256) == 64
        assert sum(entry.fractions) < 1
        assert entry.originals
        assert all(original.url.startswith("https://") for original in entry.originals)
    assert registry.is_partial("MSD", 1176)
    assert not registry.is_partial("msd", 499_671)


@pytest.mark.parametrize("name", ["LETTER", "codrna", "COVTYPE"])
def test_split_has_the_papers_shares_and_all_rows_once(name):
    parts = split(name, 10_000, seed=3)
    shares = [len(part) / 10_000 for part in parts]
    np.testing.assert_allclose(shares[:4], DATASETS[name.upper()].fractions, atol=1e-4)
    assert sorted(np.concatenate(parts).tolist()) == list(range(10_000))
    assert all(np.array_equal(a, b) for a, b in zip(parts, split(name, 10_000, seed=3), strict=True))
    assert not np.array_equal(parts[0], split(name, 10_000, seed=4)[0])


def test_split_is_stable():
    """Results in the repository were made with these rows."""
    order = np.random.default_rng(0).permutation(20)
    parts = split("LETTER", 20, seed=0)
    np.testing.assert_array_equal(np.concatenate(parts), order)
    assert [len(part) for part in parts] == [6, 2, 6, 2, 4]


def cost(classes):
    return int((np.bincount(classes) ** 2).sum())


@pytest.mark.parametrize("seed", range(30))
def test_bins_are_as_even_as_ties_allow(seed):
    """Against all cuts of the distinct values, by brute force."""
    rng = np.random.default_rng(seed)
    y = rng.geometric(rng.uniform(0.1, 0.6), size=60).astype(float)
    values = np.unique(y)
    n_classes = min(4, len(values))
    classes = bin_target(y, n_classes)
    best = min(
        cost(np.searchsorted(values[list(cut)], y, side="right"))
        for cut in combinations(range(1, len(values)), n_classes - 1)
    )
    assert cost(classes) == best
    assert set(classes) == set(range(n_classes))
    order = np.argsort(y, kind="stable")
    assert (np.diff(classes[order]) >= 0).all()
    assert all(len(set(classes[y == value])) == 1 for value in values)


def test_bins_without_ties_are_quantiles(rng):
    y = rng.permutation(1000) / 7
    np.testing.assert_array_equal(bin_target(y, 10), np.argsort(np.argsort(y)) // 100)


def test_too_few_values():
    with pytest.raises(ValueError, match="2 distinct targets cannot make 3 classes"):
        bin_target(np.array([0.0, 1.0, 1.0]), 3)


def test_bins_above_the_lowest():
    y = np.array([0.0] * 50 + list(range(1, 101)))
    classes = bin_target_above_lowest(y, 10)
    assert np.bincount(classes).tolist() == [60] + [10] * 9
    # cumulative counts 5, 13, 15 against the limits 7, 9, 11, 13
    heap = np.array([0.0] * 5 + [1.0] * 8 + [2.0] * 2)
    assert np.bincount(bin_target_above_lowest(heap, 5), minlength=5).tolist() == [5, 0, 0, 8, 2]


@pytest.mark.data
@pytest.mark.parametrize("name", ["SATTELITE", "ABALONE", "BANK", "CPU", "FACEBOOK", "MSD"])
def test_load(uci_dir, name):
    entry = DATASETS[name]
    X, y = load(name, uci_dir)
    assert X.shape == (entry.rows, entry.features)
    assert X.dtype == np.float64
    assert y.dtype == np.int64
    assert np.unique(y).tolist() == list(range(entry.n_classes))


@pytest.mark.data
def test_abalone_classes_are_those_of_the_authors(uci_dir):
    with np.load(uci_dir / "abalone.npz", allow_pickle=False) as table:
        rings = table["y"]
    np.testing.assert_array_equal(load("ABALONE", uci_dir)[1], np.clip(rings, 3, 21) - 3)


def test_missing_folder_and_file_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("FACEREJECT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="set FACEREJECT_DATA to the folder that holds uci/"):
        load("LETTER")
    with pytest.raises(DataError, match=r"tables\.py LETTER --out"):
        load("LETTER", tmp_path)
    with pytest.raises(DataError, match="no data set 'LETTERS'"):
        load("LETTERS")
    (tmp_path / "uci").mkdir()
    monkeypatch.setenv("FACEREJECT_DATA", str(tmp_path))
    assert registry.find_folder() == tmp_path / "uci"
