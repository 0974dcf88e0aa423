"""Where to start the search for a guaranteed threshold: chosen from training examples, before calibration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from facereject._validation import FloatArray, check_integer, check_vector
from facereject.selection._problem import RiskProblem, check_start
from facereject.selection._walk import Sample, fixed_start, largest_certified, rank_starts
from facereject.selection.guarantees import guaranteed_risk
from facereject.selection.selector import Selector

_LEVELS = 24
_TARGET = ("max_risk", "delta", "loss_bound", "method")
# Training examples may mislead where calibration examples are of another kind; then the ranks help out.
_SHARE = 0.9
_MAX_DRAWS = 100
_LEAST_GAIN = 0.02
# Examples drawn in all, which bounds the time to about a second.
_MAX_EXAMPLES = 1_000_000


def suggest_start(
    losses: Any,
    uncertainty: Any,
    max_risk: float,
    n: int,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    *,
    start_share: float = 1.0,
    method: str = "auto",
    random_state: int = 0,
) -> float | None:
    """Find the start from which `guaranteed_risk` is expected to certify most.

    Imagined calibration samples of size n are drawn from training examples with replacement; the start whose
    certified threshold covers most training examples on average is returned. As it is no function of the
    calibration sample, it may take the whole delta there, however the training examples were used.

    Parameters
    ----------
    losses, uncertainty : array-like of shape (m,)
        Of training examples, or any others that are not calibration examples; out of fold where the score
        was fitted to them, or they look better than they are.
    max_risk : float
        As it will be given to `guaranteed_risk`.
    n : int
        Size of the calibration sample.
    delta, loss_bound, start_share, method
        As they will be given to `guaranteed_risk`.
    random_state : int
        Seed of the drawn samples.

    Returns
    -------
    float or None
        None if no start is expected to do better than the ranks of the calibration sample.

    See Also
    --------
    guaranteed_risk : Takes the start.

    Notes
    -----
    For losses other than 0/1 the imagined samples are tested by a mixture of bets, which is fast, not by the
    hedged bets of `guaranteed_risk`. Both certify most from much the same starts.

    Examples
    --------
    >>> from facereject.selection import suggest_start
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> uncertainty = rng.random(2000)
    >>> losses = (rng.random(2000) < 0.3 * uncertainty**2).astype(float)
    >>> 0 < suggest_start(losses, uncertainty, max_risk=0.05, n=500) < 1
    True
    """
    problem = RiskProblem.of(losses, uncertainty, max_risk, delta, loss_bound, None, None, method)
    n = check_integer(n, "n", minimum=1)
    _, start_share = check_start(None, start_share)
    ordered = np.sort(problem.uncertainty)
    # Ranks instead of uncertainties: an example drawn twice stands for two that differ.
    ranks = np.searchsorted(ordered, problem.uncertainty, side="left")
    starts = _quantiles(ordered, n)
    rest = (1 - start_share) * problem.delta
    draws = max(10, min(_MAX_DRAWS, _MAX_EXAMPLES // n))
    coverage = np.zeros((draws, len(starts) + 1))
    rng = np.random.default_rng(random_state)
    for row in coverage:
        rows = rng.integers(len(ordered), size=n)
        sample = Sample.of(problem.losses[rows], ranks[rows] + rng.random(n))
        # hedged bets take n squared and want much the same starts: tools/bench/guarantees.py --only starts
        p_values = sample.p_values(problem.method, problem.risk, problem.delta)
        helpers = rank_starts(n, problem.risk, rest) if rest > 0 else []
        plans = [
            [fixed_start(sample, float(end), start_share * problem.delta), *helpers]
            for end in np.searchsorted(ordered, starts, side="right")
        ]
        for i, plan in enumerate([*plans, rank_starts(n, problem.risk, problem.delta)]):
            threshold = largest_certified(
                sample,
                lambda _, low, high, p=p_values: p[low:high],  # type: ignore[misc]
                plan,
                problem.method,
                problem.risk,
            )
            if threshold is not None:
                row[i] = min(threshold / len(ordered), 1.0)
    # The best of many by chance is no improvement on the ranks, which are the last column.
    gains = coverage[:, :-1] - coverage[:, -1:]
    least = np.maximum(2 * gains.std(axis=0) / math.sqrt(draws), _LEAST_GAIN)
    best = int(np.argmax(gains.mean(axis=0) - least))
    return float(starts[best]) if gains[:, best].mean() > least[best] else None


def guaranteed_risk_from(
    training_losses: Any, training_uncertainty: Any, losses: Any, uncertainty: Any, **options: Any
) -> Selector:
    """``guaranteed_risk`` with the start that training examples suggest; ``options`` are its own."""
    n = len(check_vector(losses, "losses"))
    target = {name: options[name] for name in _TARGET if name in options}
    start = suggest_start(
        losses=training_losses, uncertainty=training_uncertainty, n=n, start_share=_SHARE, **target
    )
    share = 1.0 if start is None else _SHARE
    return guaranteed_risk(losses=losses, uncertainty=uncertainty, start=start, start_share=share, **options)


def _quantiles(ordered: FloatArray, n: int) -> FloatArray:
    """Quantiles of the training uncertainties, denser at the lower end, none below one of n examples."""
    levels = np.geomspace(1 / n, 1.0, _LEVELS)[:-1]
    return np.unique(np.quantile(ordered, levels, method="inverted_cdf"))
