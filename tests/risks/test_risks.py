"""Every risk is convex, has the gradient it claims, and treats weights as repetitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facereject.risks import (
    SELE,
    BinaryHinge,
    CrossEntropy,
    MulticlassHinge,
    OrdinalHinge,
    Risk,
    SquaredError,
)

N = 24
_rng = np.random.default_rng(11)
_losses = _rng.exponential(size=N)
_labels = np.arange(N) % 4
_signs = _rng.integers(0, 2, N)
_targets = _rng.normal(size=N)

# (name, smooth, maker(rows, sample_weight))
RISKS = [
    ("sele", True, lambda rows, weight=None: SELE(_losses[rows], sample_weight=weight)),
    ("cross-entropy", True, lambda rows, weight=None: CrossEntropy(_labels[rows], 4, weight)),
    ("multi-class hinge", False, lambda rows, weight=None: MulticlassHinge(_labels[rows], 4, weight)),
    ("binary hinge", False, lambda rows, weight=None: BinaryHinge(_signs[rows], weight)),
    ("ordinal hinge", False, lambda rows, weight=None: OrdinalHinge(_labels[rows], 4, weight)),
    ("squared error", True, lambda rows, weight=None: SquaredError(_targets[rows], weight)),
]
ALL = np.arange(N)
every_risk = pytest.mark.parametrize(("smooth", "make"), [r[1:] for r in RISKS], ids=[r[0] for r in RISKS])


@every_risk
def test_is_a_risk(smooth, make):
    risk = make(ALL)
    assert isinstance(risk, Risk)
    value, gradient = risk(np.zeros(risk.score_shape))
    assert isinstance(value, float)
    assert gradient.shape == risk.score_shape
    assert gradient.dtype == np.float64


@every_risk
@pytest.mark.parametrize("scale", [0.3, 30.0])
def test_gradient_is_the_numerical_one(smooth, make, scale):
    risk = make(ALL)
    rng = np.random.default_rng(0)
    scores = scale * rng.normal(size=risk.score_shape)  # almost surely off every kink
    gradient = risk(scores)[1]
    step = 1e-6
    for index in list(np.ndindex(*risk.score_shape))[:: 3 if scores.ndim == 1 else 7]:
        shifted = [scores.copy(), scores.copy()]
        shifted[0][index] += step
        shifted[1][index] -= step
        numerical = (risk(shifted[0])[0] - risk(shifted[1])[0]) / (2 * step)
        assert gradient[index] == pytest.approx(numerical, rel=1e-5, abs=1e-8)


@every_risk
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([1e-3, 1.0, 50.0]), t=st.floats(0, 1))
def test_is_convex_and_the_gradient_is_a_cut(smooth, make, seed, scale, t):
    risk = make(ALL)
    rng = np.random.default_rng(seed)
    start, end = scale * rng.normal(size=(2, *risk.score_shape))
    (at_start, gradient), at_end = risk(start), risk(end)[0]
    rounding = 1e-12 * (1 + abs(at_start) + abs(at_end))
    assert risk((1 - t) * start + t * end)[0] <= (1 - t) * at_start + t * at_end + rounding
    assert at_end >= at_start + np.vdot(gradient, end - start) - rounding * (1 + scale)


@every_risk
def test_weights_are_repetitions(smooth, make):
    rng = np.random.default_rng(2)
    repeats = rng.integers(0, 4, N)
    rows = np.repeat(ALL, repeats)
    weighted, repeated = make(ALL, repeats.astype(float)), make(rows)
    scores = rng.normal(size=weighted.score_shape)
    value, gradient = weighted(scores)
    repeated_value, repeated_gradient = repeated(scores[rows])
    assert value == pytest.approx(repeated_value, rel=1e-12)
    summed = np.zeros_like(gradient)
    np.add.at(summed, rows, repeated_gradient)
    np.testing.assert_allclose(gradient, summed, atol=1e-13)


@every_risk
def test_order_of_examples_does_not_matter(smooth, make):
    rng = np.random.default_rng(3)
    order = rng.permutation(N)
    scores = rng.normal(size=make(ALL).score_shape)
    value, gradient = make(ALL)(scores)
    permuted_value, permuted_gradient = make(order)(scores[order])
    assert permuted_value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(permuted_gradient, gradient[order], atol=1e-14)


@every_risk
def test_wrong_shapes_and_weights_are_named(smooth, make):
    risk = make(ALL)
    with pytest.raises(ValueError, match=r"^scores "):
        risk(np.zeros((N + 1, *risk.score_shape[1:])))
    with pytest.raises(ValueError, match=r"^sample_weight "):
        make(ALL, np.ones(N + 1))
    with pytest.raises(ValueError, match=r"^sample_weight "):
        make(ALL, np.linspace(-1, 1, N))
    with pytest.raises(ValueError, match=r"^sample_weight "):
        make(ALL, np.zeros(N))


@pytest.mark.parametrize("risk", [CrossEntropy, MulticlassHinge, OrdinalHinge])
def test_labels_are_checked(risk):
    with pytest.raises(ValueError, match=r"^labels "):
        risk([0, 1, 3], 3)
    with pytest.raises(ValueError, match=r"^labels "):
        risk([0.5, 1, 2], 3)
    with pytest.raises(ValueError, match=r"^n_classes "):
        risk([0, 0], 1)
    with pytest.raises(ValueError, match=r"^labels "):
        risk(["a", "b"], 2)
    with pytest.raises(ValueError, match=r"^labels "):
        risk([], 3)


def test_binary_hinge_reads_both_spellings_of_two_classes():
    scores = np.array([0.3, -2.0, 0.9])
    assert (
        BinaryHinge([0, 1, 1])(scores)[0]
        == BinaryHinge([-1, 1, 1])(scores)[0]
        == pytest.approx((1.3 + 3 + 0.1) / 3)
    )
    with pytest.raises(ValueError, match=r"^labels "):
        BinaryHinge([1, 2])


def test_multiclass_hinge_by_hand():
    value, gradient = MulticlassHinge([0, 2], 3)(np.array([[1.0, 0.5, -1.0], [0.0, 0.0, 3.0]]))
    assert value == pytest.approx((0.5 + 0.0) / 2)
    np.testing.assert_allclose(gradient, [[-0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])


def test_multiclass_hinge_shares_the_subgradient_among_equals():
    _, gradient = MulticlassHinge([0], 3)(np.zeros((1, 3)))
    np.testing.assert_allclose(gradient, [[-1.0, 0.5, 0.5]])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), tau=st.sampled_from([1e-3, 0.1, 2.0]))
def test_smoothed_hinge_brackets_the_hinge(seed, tau):
    risk = MulticlassHinge(_labels, 4)
    start, end = 2 * np.random.default_rng(seed).normal(size=(2, *risk.score_shape))
    value, gradient, cut = risk.smoothed(start, tau)
    exact = risk(start)[0]
    assert cut - 1e-12 <= exact <= value + 1e-12
    assert value <= exact + tau * np.log(4) + 1e-12
    assert risk(end)[0] >= cut + np.vdot(gradient, end - start) - 1e-12  # a cut of the exact risk
    step = 1e-6 * (end - start)
    numerical = (risk.smoothed(start + step, tau)[0] - risk.smoothed(start - step, tau)[0]) / 2
    assert np.vdot(gradient, step) == pytest.approx(numerical, rel=1e-4, abs=1e-12)


def test_ordinal_hinge_by_hand():
    # label 1 of 3: above the first threshold by one (slack 0.5), below the second by one (slack 0.2)
    value, gradient = OrdinalHinge([1], 3)(np.array([[0.5, -0.8]]))
    assert value == pytest.approx(0.7)
    np.testing.assert_allclose(gradient, [[-1.0, 1.0]])


def test_ordinal_hinge_bounds_the_absolute_error(rng):
    labels, scores = rng.integers(0, 5, 200), np.sort(rng.normal(size=(200, 4)))[:, ::-1]
    predicted = (scores > 0).sum(axis=1)
    assert OrdinalHinge(labels, 5)(scores)[0] >= np.abs(predicted - labels).mean()


def test_cross_entropy_survives_large_scores():
    value, gradient = CrossEntropy([0, 1], 2)(np.array([[1e4, 0.0], [1e4, 0.0]]))
    assert value == pytest.approx(5e3)
    assert np.isfinite(gradient).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), shift=st.floats(-1e3, 1e3))
def test_sele_ignores_a_shift_of_all_scores(seed, shift):
    scores = np.random.default_rng(seed).normal(size=N)
    risk = SELE(_losses)
    value, gradient = risk(scores)
    shifted_value, shifted_gradient = risk(scores + shift)
    assert shifted_value == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(shifted_gradient, gradient, atol=1e-12)
    assert gradient.sum() == pytest.approx(0.0, abs=1e-14)


def test_sele_of_equal_scores_is_log_two_times_the_mean_loss():
    assert SELE(_losses)(np.full(N, 2.5))[0] == pytest.approx(np.log(2) * _losses.mean(), rel=1e-14)


def test_sele_bounds_the_sele_loss(rng):
    from facereject.metrics import sele_loss

    scores = rng.normal(size=N)
    assert SELE(_losses)(scores)[0] >= np.log(2) * sele_loss(_losses, scores)


def test_chunks_of_everything_are_the_exact_risk(rng):
    scores = rng.normal(size=N)
    exact, whole = SELE(_losses)(scores), SELE(_losses, chunk_size=N, random_state=0)(scores)
    assert whole[0] == pytest.approx(exact[0], rel=1e-13)
    np.testing.assert_allclose(whole[1], exact[1], atol=1e-15)


def test_chunks_average_the_risks_of_a_random_partition(rng):
    n = 2300
    losses, scores = rng.exponential(size=n), rng.normal(size=n)
    chunked = SELE(losses, chunk_size=500, random_state=4)
    chunks = np.array_split(np.random.RandomState(4).permutation(n), 5)  # round(2300 / 500) = 5
    expected = np.mean([SELE(losses[chunk])(scores[chunk])[0] for chunk in chunks])
    assert chunked(scores)[0] == pytest.approx(expected, rel=1e-12)
    assert chunked(scores)[0] == SELE(losses, chunk_size=500, random_state=4)(scores)[0]
    assert chunked(scores)[0] != SELE(losses, chunk_size=500, random_state=5)(scores)[0]


def test_curvature_is_the_diagonal_of_the_hessian_and_the_pairs_of_a_point_with_itself(rng):
    risk, scores = SELE(_losses), rng.normal(size=N)
    curvature = risk.with_curvature(scores)[2] - 0.5 * _losses / N**2
    for k in range(N):
        step = np.zeros(N)
        step[k] = 1e-5
        numerical = (risk(scores + step)[1][k] - risk(scores - step)[1][k]) / 2e-5
        assert curvature[k] == pytest.approx(numerical, rel=1e-6, abs=1e-12)


def test_cross_entropy_keeps_the_digits_of_tiny_losses():
    value, gradient = CrossEntropy([0], 2)(np.array([[50.0, 0.0]]))
    assert value == pytest.approx(np.exp(-50.0), rel=1e-12)
    np.testing.assert_allclose(gradient, [[-np.exp(-50.0), np.exp(-50.0)]], rtol=1e-12)


def test_huge_weights_do_not_overflow():
    assert SquaredError([1.0, 3.0], [1e308, 1e308])(np.zeros(2))[0] == pytest.approx(5.0)


def test_later_changes_of_the_losses_do_not_reach_the_risk():
    losses = np.ones(3)
    risk = SELE(losses)
    before = risk(np.zeros(3))[0]
    losses[:] = 100.0
    assert risk(np.zeros(3))[0] == before


def test_sele_errors_name_the_argument():
    with pytest.raises(ValueError, match=r"^losses "):
        SELE([1.0, -1.0])
    with pytest.raises(ValueError, match=r"^losses "):
        SELE([1.0, np.nan])
    with pytest.raises(ValueError, match=r"^chunk_size "):
        SELE([1.0, 2.0], chunk_size=0)
    with pytest.raises(ValueError, match=r"^scores "):
        SELE([1.0, 2.0])([0.0, np.inf])
    with pytest.raises(ValueError, match="leave chunk_size out"):
        SELE([1.0, 2.0], chunk_size=1).with_curvature([0.0, 1.0])
