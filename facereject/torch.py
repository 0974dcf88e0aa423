"""SELE as a loss for PyTorch, and AuRC and AUGRC as metrics of a training loop.

Needs PyTorch: ``pip install torch``. Nothing else of facereject imports this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from facereject._validation import FloatArray
from facereject.metrics import augrc, aurc
from facereject.risks import SELE

try:
    import torch
except ImportError as error:
    raise ImportError("facereject.torch needs PyTorch: pip install torch") from error

__all__ = ["AUGRC", "AURC", "SELELoss"]


class SELELoss(torch.nn.Module):
    """The SELE risk of uncertainty scores over all pairs of examples, differentiable in the scores.

        ψ(s) = 1/n² Σᵢ Σⱼ ℓᵢ log(1 + exp(sⱼ − sᵢ))

    The value and the gradient are those of ``facereject.risks.SELE``, exact and in linear time, so that a
    batch may be a whole epoch: 100,000 scores take less than a tenth of a second. Scores are brought to the
    CPU for it.

    Parameters
    ----------
    normalize : bool
        Divide the losses of a batch by their mean, so that the value does not depend on their unit.

    See Also
    --------
    facereject.scores.SELEScore : the linear score that minimises it, with a certificate.

    References
    ----------
    .. [1] V. Franc, D. Prusa, V. Voracek, "Optimal strategies for reject option classifiers", Journal of
       Machine Learning Research 24, 2023.

    Examples
    --------
    >>> import torch
    >>> from facereject.torch import SELELoss
    >>> features, losses = torch.randn(64, 8), torch.rand(64)
    >>> head = torch.nn.Linear(8, 1)
    >>> risk = SELELoss()(head(features), losses)
    >>> risk.backward()
    >>> head.weight.grad.shape
    torch.Size([1, 8])
    """

    def __init__(self, *, normalize: bool = True):
        super().__init__()
        self.normalize = normalize

    def forward(self, scores: Any, losses: Any, sample_weight: Any = None) -> Any:
        """Risk of the scores, a tensor with one value.

        Parameters
        ----------
        scores : tensor of shape (n,) or (n, 1)
            Uncertainty of each example, higher = less certain.
        losses : tensor or array-like of shape (n,)
            Loss ≥ 0 of the prediction of each example; no gradient flows into them.
        sample_weight : tensor or array-like of shape (n,), optional

        Returns
        -------
        tensor of shape ()
        """
        flat = scores.reshape(-1) if scores.ndim == 2 and scores.shape[1] == 1 else scores
        if flat.ndim != 1:
            raise ValueError(f"scores must have shape (n,) or (n, 1), got {tuple(scores.shape)}")
        values = _as_array(losses)
        if values.shape != tuple(flat.shape):
            raise ValueError(f"losses must have shape {tuple(flat.shape)} like scores, got {values.shape}")
        weight = None if sample_weight is None else _as_array(sample_weight)
        if self.normalize:
            mean = float(np.average(values, weights=weight))
            values = values / mean if mean > 0 else values
        return _Risk.apply(flat, SELE(values, weight))

    def extra_repr(self) -> str:
        """Shown by ``print``."""
        return f"normalize={self.normalize}"


class _Risk(torch.autograd.Function):
    """A risk of facereject, which gives value and gradient at once, as an operation of PyTorch."""

    @staticmethod
    def forward(ctx: Any, scores: Any, risk: Any) -> Any:
        value, gradient = risk(_as_array(scores))
        ctx.save_for_backward(torch.as_tensor(gradient, dtype=scores.dtype, device=scores.device))
        return torch.as_tensor(value, dtype=scores.dtype, device=scores.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_output: Any) -> Any:
        (gradient,) = ctx.saved_tensors
        return grad_output * gradient, None


class _RankingMetric:
    """Collects losses and uncertainties of batches; ``compute`` is exact over all of them."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._losses: list[FloatArray] = []
        self._uncertainty: list[FloatArray] = []

    def update(self, losses: Any, uncertainty: Any) -> None:
        """Add a batch.

        Parameters
        ----------
        losses, uncertainty : tensors or array-likes of shape (n,) or (n, 1)
        """
        batch = [_as_array(values).reshape(-1) for values in (losses, uncertainty)]
        if batch[0].shape != batch[1].shape:
            raise ValueError(
                f"losses and uncertainty must have the same length, got {len(batch[0])} and {len(batch[1])}"
            )
        self._losses.append(batch[0])
        self._uncertainty.append(batch[1])

    def _gather(self) -> tuple[FloatArray, FloatArray]:
        if not self._losses:
            raise ValueError("update must be called before compute: there is nothing to measure yet")
        return np.concatenate(self._losses), np.concatenate(self._uncertainty)


class AURC(_RankingMetric):
    """Area under the risk-coverage curve of all batches since ``reset``.

    See Also
    --------
    facereject.metrics.aurc : of arrays.

    Examples
    --------
    >>> import torch
    >>> from facereject.torch import AURC
    >>> metric = AURC()
    >>> metric.update(torch.tensor([0.0, 1.0]), torch.tensor([0.1, 0.9]))
    >>> metric.update(torch.tensor([0.0, 0.0]), torch.tensor([0.2, 0.3]))
    >>> metric.compute()
    0.0625
    """

    def compute(self) -> float:
        """The area, a number."""
        return aurc(*self._gather())


class AUGRC(_RankingMetric):
    """Area under the generalised risk-coverage curve of all batches since ``reset``.

    See Also
    --------
    facereject.metrics.augrc : of arrays.

    References
    ----------
    .. [1] J. Traub et al., "Overcoming common flaws in the evaluation of selective classification systems",
       NeurIPS 2024.

    Examples
    --------
    >>> import torch
    >>> from facereject.torch import AUGRC
    >>> metric = AUGRC()
    >>> metric.update(torch.tensor([0.0, 1.0, 0.0, 0.0]), torch.tensor([0.1, 0.9, 0.2, 0.3]))
    >>> metric.compute()
    0.0625
    """

    def compute(self) -> float:
        """The area, a number."""
        return augrc(*self._gather())


def _as_array(values: Any) -> FloatArray:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=np.float64)
