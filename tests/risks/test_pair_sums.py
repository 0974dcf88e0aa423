"""The linear-time pair sums against the double loop in extended precision, on inputs chosen to break them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from facereject.risks import _cells, _kernels_numba, _kernels_numpy
from facereject.risks._pairs import pair_sum

KERNELS = [_kernels_numpy, _kernels_numba]


@pytest.fixture(params=KERNELS, ids=lambda module: module.__name__.rsplit("_", 1)[1])
def kernels(request, monkeypatch):
    monkeypatch.setattr(_cells, "kernels", request.param)


def double_loop(scores, losses, weights):
    """Value, gradient and curvature pair by pair.

    The gradient adds up what each *pair* contributes, b_k a_i σ(d) − a_k b_i σ(−d), with the constant half of
    σ taken out for close pairs: summed any other way the reference itself would lose its digits.
    """
    s, loss, b = (np.asarray(v, dtype=np.longdouble) for v in (scores, losses, weights))
    a = b * loss
    d = s[:, None] - s[None, :]  # d[k, i] = s_k − s_i
    with np.errstate(over="ignore"):
        shrink = np.exp(-np.abs(d))
    sigma = np.where(d >= 0, 1, shrink) / (1 + shrink)
    value = a @ (np.maximum(-d, 0) + np.log1p(shrink)) @ b
    up, down = np.outer(b, a), np.outer(a, b)
    half = np.outer(b, b) * (loss[None, :] - loss[:, None]) / 2
    tanh = np.tanh(d / 2) / 2
    pairs = np.where(np.abs(d) < 3, half + (up + down) * tanh, up * sigma - down * sigma.T)
    bend = shrink / (1 + shrink) ** 2
    return value, pairs.sum(axis=1), b * (bend @ a) + a * (bend @ b)


def relative(found, expected):
    found, expected = np.atleast_1d(found).astype(np.longdouble), np.atleast_1d(expected)
    size = np.sqrt((expected**2).sum())
    difference = np.sqrt(((found - expected) ** 2).sum())
    return float(difference / size if size > 0 else difference)


def assert_exact(scores, losses, weights=None, tol=1e-11):
    weights = np.ones(len(scores)) if weights is None else weights
    value, gradient, curvature = double_loop(scores, losses, weights)
    found = pair_sum(scores, losses, weights, curvature=True)
    assert relative(found.value, value) <= tol
    assert relative(found.gradient, gradient) <= tol
    assert relative(found.curvature, curvature) <= tol
    assert (found.curvature >= 0).all()


def hard_inputs():
    rng = np.random.default_rng(7)
    n = 300
    exponential = rng.exponential(size=n)
    normal = rng.normal(size=n)
    one_loss = np.where(np.arange(n) == 0, 1e9, 0.0)
    lonely = np.where(np.arange(n) == 0, 30.0, normal)
    two_clusters = np.repeat([0.0, 100.0], n // 2)
    return {
        "normal": (3 * normal, exponential),
        "constant scores": (np.full(n, 3.7), exponential),
        "all constant": (np.full(n, 3.7), np.full(n, 0.1)),
        "nearly constant scores, constant losses": (3.7 + 1e-9 * normal, np.full(n, 0.1)),
        "ties": (np.round(normal), exponential),
        "two points": (np.array([1.0, 5.0]), np.array([1.0, 2.0])),
        "two equal points": (np.array([1.0, 1.0]), np.array([0.0, 2.0])),
        "spread over 1e6": (rng.uniform(-5e5, 5e5, n), exponential),
        "spread over 200": (rng.uniform(-100, 100, n), exponential),
        "far clusters": (np.repeat([0.0, 1e3, 1e6], n // 3) + 1e-3 * normal, exponential),
        "tight far clusters, loss in the upper": (two_clusters + 1e-8 * normal, two_clusters),
        "one huge loss above the rest": (lonely, one_loss),
        "one huge loss out of reach": (np.where(lonely == 30.0, 200.0, lonely), one_loss),
        "one huge loss below the rest": (-lonely, one_loss),
        "zero losses": (normal, np.zeros(n)),
        "0/1 losses": (normal, (exponential > 2) * 100.0),
        "large offset": (1e8 + normal, exponential),
        "extreme scores": (1e300 * normal, exponential),
        "at a far-field boundary": (np.repeat([0.0, 37.0, 37.5, 74.9], n // 4), exponential),
    }


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", hard_inputs())
def test_equals_double_loop(name):
    assert_exact(*hard_inputs()[name])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", ["normal", "ties", "far clusters", "spread over 200"])
def test_equals_double_loop_with_weights(name):
    scores, losses = hard_inputs()[name]
    weights = np.random.default_rng(1).integers(0, 4, scores.size).astype(float)
    assert_exact(scores, losses, weights)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), n=st.integers(2, 60), spread=st.sampled_from([1e-6, 1.0, 40.0, 1e4]))
def test_equals_double_loop_on_anything(data, n, spread):
    unit = st.floats(-1, 1, allow_subnormal=False)
    scores = spread * data.draw(hnp.arrays(float, n, elements=unit))
    losses = np.abs(data.draw(hnp.arrays(float, n, elements=unit)))
    value, gradient, _ = double_loop(scores, losses, np.ones(n))
    found = pair_sum(scores, losses, np.ones(n))
    assert relative(found.value, value) <= 1e-11
    # a gradient that cancels to less than the rounding of its terms has no relative accuracy to keep
    size = np.linalg.norm(gradient.astype(float))
    assert (
        np.linalg.norm((found.gradient - gradient).astype(float)) <= 1e-11 * size + 1e-15 * n * losses.sum()
    )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("scale", [2.0, 3000.0])
def test_a_million_points(scale):
    """10⁶ points that repeat 500 values equal those values with weights, which the double loop can do."""
    rng = np.random.default_rng(3)
    values, losses = scale * rng.normal(size=500), rng.exponential(size=500)
    index = rng.integers(0, 500, 10**6)
    weights = np.bincount(index, minlength=500).astype(float)
    value, gradient, _ = double_loop(values, losses, weights)
    found = pair_sum(values[index], losses[index], np.ones(10**6))
    assert relative(found.value, value) <= 1e-11
    assert relative(np.bincount(index, found.gradient, minlength=500), gradient) <= 1e-11


def test_both_kernels_agree_on_many_cells(monkeypatch):
    rng = np.random.default_rng(5)
    scores, losses = 200 * rng.standard_t(2, size=20_000), rng.exponential(size=20_000)
    results = []
    for module in KERNELS:
        monkeypatch.setattr(_cells, "kernels", module)
        results.append(pair_sum(scores, losses, np.ones(scores.size), curvature=True))
    assert results[0].value == pytest.approx(results[1].value, rel=1e-12)
    assert relative(results[0].gradient, results[1].gradient) <= 1e-12
    assert relative(results[0].curvature, results[1].curvature) <= 1e-12


def test_the_numpy_kernel_keeps_its_blocks_small(monkeypatch):
    """Between a sparse tail and a dense middle, where a block chosen by its first row would hold n² pairs."""
    rng = np.random.default_rng(5)
    scores, losses = 200 * rng.standard_t(2, size=4000), rng.exponential(size=4000)
    monkeypatch.setattr(_cells, "kernels", _kernels_numpy)
    tracemalloc.start()
    try:
        pair_sum(scores, losses, np.ones(4000), curvature=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30 * 8 * _kernels_numpy._BLOCK_PAIRS
