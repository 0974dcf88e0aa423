"""facereject.torch against NumPy, finite differences and a training loop; run by ``make test-torch``."""

import doctest
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

import facereject.torch
from facereject.metrics import augrc, aurc
from facereject.risks import SELE
from facereject.torch import AUGRC, AURC, SELELoss

EXAMPLE = Path(__file__).parents[1] / "docs" / "uncertainty_head.py"


def batch(n, seed, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(size=n), dtype=dtype, requires_grad=True), rng.exponential(size=n)


@pytest.mark.parametrize("n", [1, 2, 50, 20_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient_are_those_of_numpy(n, weighted):
    scores, losses = batch(n, 0)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, size=n) if weighted else None
    risk = SELELoss(normalize=False)(scores, torch.tensor(losses), weight)
    risk.backward()
    value, gradient = SELE(losses, weight)(scores.detach().numpy())
    assert risk.item() == pytest.approx(value, rel=1e-10, abs=1e-14)
    np.testing.assert_allclose(scores.grad.numpy(), gradient, rtol=1e-10, atol=1e-14)


def test_against_all_pairs_in_torch():
    scores, losses = batch(80, 2)
    pairs = torch.nn.functional.softplus(scores[None, :] - scores[:, None])
    expected = (torch.tensor(losses)[:, None] * pairs).mean()
    found = SELELoss(normalize=False)(scores, losses)
    assert found.item() == pytest.approx(expected.item(), rel=1e-10)
    (gradient,) = torch.autograd.grad(expected, scores)
    (ours,) = torch.autograd.grad(found, scores)
    np.testing.assert_allclose(ours, gradient, rtol=1e-8, atol=1e-12)


def test_gradcheck_and_chain_rule():
    scores, losses = batch(12, 3)
    loss = SELELoss()
    assert torch.autograd.gradcheck(lambda s: 3.0 * loss(s, losses) ** 2, (scores,))
    features = torch.randn(30, 4, dtype=torch.float64)
    head = torch.nn.Linear(4, 1, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda w: loss(features @ w.T, np.arange(30.0)), (head.weight.detach().requires_grad_(),)
    )


def test_units_types_and_shapes():
    scores, losses = batch(100, 4, torch.float32)
    risk = SELELoss()(scores[:, None], losses)
    assert risk.dtype == torch.float32
    assert risk.item() == pytest.approx(SELELoss()(scores, 100 * losses).item(), rel=1e-6)
    assert SELELoss()(scores, np.zeros(100)).item() == 0.0
    with pytest.raises(ValueError, match="losses must have shape"):
        SELELoss()(scores, losses[:5])
    with pytest.raises(ValueError, match="scores must have shape"):
        SELELoss()(torch.zeros(3, 2), torch.zeros(3))
    assert repr(SELELoss()) == "SELELoss(normalize=True)"


@pytest.mark.parametrize(("metric", "function"), [(AURC(), aurc), (AUGRC(), augrc)])
def test_metrics_over_batches(metric, function):
    rng = np.random.default_rng(5)
    losses, uncertainty = rng.uniform(size=(2, 1000)).round(2)
    with pytest.raises(ValueError, match="update must be called before compute"):
        metric.compute()
    for rows in np.array_split(np.arange(1000), 7):
        metric.update(torch.tensor(losses[rows]), torch.tensor(uncertainty[rows])[:, None])
    assert metric.compute() == pytest.approx(function(losses, uncertainty), rel=1e-12)
    metric.reset()
    metric.update(losses[:10], uncertainty[:10])
    assert metric.compute() == pytest.approx(function(losses[:10], uncertainty[:10]))
    with pytest.raises(ValueError, match="same length"):
        metric.update([1.0], [1.0, 2.0])


def test_docstring_examples():
    result = doctest.testmod(facereject.torch)
    assert result.attempted >= 10
    assert result.failed == 0


def test_the_example_trains_a_head_that_ranks_better():
    torch.manual_seed(0)
    result = runpy.run_path(str(EXAMPLE))
    assert result["areas"]["uncertainty head"] < 0.9 * result["areas"]["max softmax"]
