"""Metrics of Dask collections against the same metrics in memory."""

from __future__ import annotations

import subprocess
import sys

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from dask import dataframe as dd
from dask import delayed

from facereject import _dask_metrics, _ranked_parts
from facereject.metrics import (
    augrc,
    aurc,
    coverage_at_risk,
    eaurc,
    risk_at_coverage,
    risk_coverage_curve,
    sele_loss,
)

N = 3000


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(params=[400, 2**20], ids=["many buckets", "one bucket"])
def buckets(request, monkeypatch):
    monkeypatch.setattr(_dask_metrics.rank_parts, "__defaults__", (request.param,))


def samples():
    rng = np.random.default_rng(0)
    uncertainty = rng.normal(size=N)
    losses = rng.exponential(np.exp(uncertainty))
    return {
        "distinct": (losses, uncertainty),
        "tied": (losses, np.round(uncertainty, 1)),
        "all tied": (losses, np.zeros(N)),
        "0/1 losses, ties at the start": ((losses > 2) * 1.0, np.maximum(uncertainty, 0.3)),
        "sorted partitions": tuple(np.column_stack([losses, uncertainty])[np.argsort(uncertainty)].T),
        "heavy-tailed": (losses, np.sinh(20 * uncertainty)),
        "extreme": (losses, np.where(uncertainty > 0, 1.7e308, -1.7e308)),
    }


def as_dask(array, chunks=((0, 700, 1, 999, 1300),)):
    return da.from_array(array, chunks=chunks)


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize("ties", ["expected", "index"])
@pytest.mark.parametrize("metric", [aurc, eaurc, augrc])
@pytest.mark.parametrize("sample", samples())
def test_areas_equal_those_in_memory(sample, metric, ties):
    losses, uncertainty = samples()[sample]
    found = metric(as_dask(losses), as_dask(uncertainty), ties=ties)
    assert isinstance(found, float)
    assert found == pytest.approx(metric(losses, uncertainty, ties=ties), rel=1e-12, abs=1e-13)


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize("sample", samples())
def test_curve_and_sele_equal_those_in_memory(sample):
    losses, uncertainty = samples()[sample]
    found = risk_coverage_curve(as_dask(losses), as_dask(uncertainty))
    for lazy, expected in zip(found, risk_coverage_curve(losses, uncertainty), strict=True):
        assert isinstance(lazy, da.Array)
        assert lazy.shape == (N,)
        np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12)
    assert sele_loss(as_dask(losses), as_dask(uncertainty)) == pytest.approx(
        sele_loss(losses, uncertainty), rel=1e-12
    )


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize("ties", ["expected", "index"])
@pytest.mark.parametrize("sample", samples())
def test_points_of_the_curve_equal_those_in_memory(sample, ties):
    losses, uncertainty = samples()[sample]
    parts = as_dask(losses), as_dask(uncertainty)
    for coverage in (1e-9, 1 / 3, 0.7, 1.0):
        expected = risk_at_coverage(losses, uncertainty, coverage, ties=ties)
        assert risk_at_coverage(*parts, coverage, ties=ties) == pytest.approx(expected, rel=1e-12)
    for risk in (0.0, 0.3 * losses.mean(), losses.mean(), 0.9 * losses.mean(), 1e9):
        expected = coverage_at_risk(losses, uncertainty, risk, ties=ties)
        assert coverage_at_risk(*parts, risk, ties=ties) == pytest.approx(expected, abs=1e-12)


def test_the_last_rank_within_a_risk_may_lie_inside_a_group_of_any_size():
    groups = _ranked_parts.Groups(np.arange(2.0), np.array([10**9, 10**9]), np.array([1e8, 1e9]))
    # 0.1 for a thousand million, then 1: (1e8 + m)/(1e9 + m) = 0.4 at m = 5e8, up to the rounding of sums
    last = _ranked_parts.last_rank_within(groups, _ranked_parts.Before(0, 0.0), 0.4)
    assert last == pytest.approx(1.5e9, rel=1e-6)


def test_series_of_a_frame_and_arrays_cut_otherwise():
    losses, uncertainty = samples()["tied"]
    expected = aurc(losses, uncertainty)
    frame = dd.from_pandas(pd.DataFrame({"loss": losses, "u": uncertainty}), npartitions=4)
    assert aurc(frame["loss"], frame["u"]) == pytest.approx(expected, rel=1e-12)
    assert aurc(as_dask(losses, 211), as_dask(uncertainty)) == pytest.approx(expected, rel=1e-12)
    assert aurc(losses, as_dask(uncertainty)) == pytest.approx(expected, rel=1e-12)


def test_a_hundred_million_tied_examples_by_their_counts():
    """Groups of ten million stand for examples that no array holds."""
    counts, means = np.full(10, 10**7), np.linspace(0.5, 2.0, 10)
    groups = _ranked_parts.Groups(np.arange(10.0), counts, counts * means)
    found = _ranked_parts.sum_of_risks(groups, _ranked_parts.Before(0, 0.0)) / counts.sum()
    step = 1000  # the risk hardly changes over a thousand examples but for the first
    ranks = np.arange(0, counts.sum(), step) + 0.5 * step
    running = np.interp(ranks, np.arange(11) * 1e7, np.concatenate([[0], np.cumsum(groups.sums)]))
    assert found == pytest.approx(np.mean(running / ranks), rel=1e-7)


@pytest.mark.parametrize(("k", "c"), [(0, 2), (0, 5000), (998, 3), (999, 2), (1000, 2), (10**6, 10**5)])
def test_harmonic_differences(k, c):
    expected = np.sum(1 / np.arange(k + 1, k + c + 1, dtype=np.longdouble))
    found = _ranked_parts._harmonic(np.array([k]), np.array([c]))[0]
    assert found == pytest.approx(float(expected), rel=1e-12)


def test_buckets_hold_about_equal_shares_of_uneven_parts():
    rng = np.random.default_rng(1)
    parts = [delayed((np.ones(n), rng.normal(3 * i, 1, n)), nout=2) for i, n in enumerate((10, 5000, 900))]
    ranking = _dask_metrics.rank_parts([tuple(part) for part in parts], "expected", 500)
    assert sum(ranking.counts) == ranking.total == 5910
    assert len(ranking.counts) == 12
    assert max(ranking.counts) < 600


def test_errors_name_the_argument():
    losses, uncertainty = (as_dask(array) for array in samples()["distinct"])
    with pytest.raises(ValueError, match=r"losses \(partition \d\) must not be negative"):
        aurc(losses - 5.0, uncertainty)
    with pytest.raises(ValueError, match=r"uncertainty \(partition \d\) must be finite"):
        aurc(losses, da.concatenate([uncertainty[:2500], uncertainty[2500:] * np.nan]).rechunk(losses.chunks))
    with pytest.raises(ValueError, match="lengths differ: uncertainty has 3000, losses has 2999"):
        aurc(losses[1:], uncertainty)
    frame = dd.from_pandas(pd.DataFrame({"loss": np.ones(9), "u": np.ones(9)}), npartitions=3)
    with pytest.raises(ValueError, match=r"^losses "):
        aurc(frame["loss"].repartition(npartitions=1), frame["u"])
    with pytest.raises(TypeError, match=r"^losses "):
        aurc(np.ones(9), frame["u"])
    with pytest.raises(TypeError, match=r"^uncertainty "):
        aurc(losses, np.ones(N))
    with pytest.raises(ValueError, match=r"lengths differ: losses \(partition 0\) has 2"):
        aurc(frame["loss"][frame["u"].index != 0], frame["u"])
    with pytest.raises(ValueError, match=r"^ties "):
        aurc(losses, uncertainty, ties="none")


def test_the_package_does_not_import_dask():
    code = (
        "import sys, facereject.metrics, facereject.scores; facereject.metrics.aurc([1, 2], [3, 4]); "
        "sys.exit('dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
