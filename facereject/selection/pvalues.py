"""p-values for "the mean of these losses in [0, 1] is at least ``risk``": small = evidence that it is below.

Each is valid for n independent losses whose means are >= risk: P(p-value <= u) <= u for every u. None depends
on the order of the losses but :func:`hedged_betting_p_values`, which draws one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, ndtri, xlogy

from facereject._validation import FloatArray, check_number, check_vector

# Bets stay below the largest admissible one, with which a single loss of 1 would lose the capital for ever.
_LARGEST_BET = 0.95
_BET_RATIO = math.sqrt(2)
# Hedged bets: the largest share of the admissible bet, and the capital to aim at, as one that tends to 1 may
# never reach it. The variance begins as that of some imagined losses: half of the largest possible one.
# tools/bench/guarantees.py --only real shows what they reach.
_HEDGE_LARGEST = 0.999
_AIM = 1.03
_PRIOR_LOSSES, _PRIOR_SHARE = 50.0, 0.5


def binomial_p_value(n_errors: Any, n: Any, risk: float) -> FloatArray:
    """Exact p-value for 0/1 losses: P(Binomial(n, risk) <= n_errors).

    The risks it does not reject at level delta end at the Clopper-Pearson upper bound.

    Parameters
    ----------
    n_errors, n : array-like of int
        Number of losses that are 1, and of all losses (n = 0 gives 1). They broadcast.
    risk : float
        Mean under the null hypothesis, in (0, 1).
    """
    risk = check_number(risk, "risk", above=0, below=1)
    errors, n = np.asarray(n_errors), np.asarray(n)
    if np.any(errors < 0) or np.any(errors > n):
        raise ValueError("n_errors must be between 0 and n")
    return np.asarray(bdtr(errors.astype(np.float64), n, risk), dtype=np.float64)


def hoeffding_bentkus_p_value(mean_loss: Any, n: Any, risk: float) -> FloatArray:
    """Hoeffding-Bentkus p-value for losses in [0, 1], from their mean alone.

    min( exp(-n kl(min(mean, risk), risk)),  e P(Binomial(n, risk) <= ceil(n mean)) ),
    kl(a, b) = a log(a/b) + (1 - a) log((1 - a)/(1 - b))

    Tight for losses near 0 or 1, wasteful for losses of small variance.

    Parameters
    ----------
    mean_loss : array-like
        Mean of the n losses, in [0, 1].
    n : array-like of int
        Number of losses, >= 1. Broadcasts with ``mean_loss``.
    risk : float
        Mean under the null hypothesis, in (0, 1).
    """
    risk = check_number(risk, "risk", above=0, below=1)
    mean, n = np.asarray(mean_loss, dtype=np.float64), np.asarray(n)
    if np.any(mean < 0) or np.any(mean > 1 + 1e-9):
        raise ValueError("mean_loss must be between 0 and 1")
    low = np.minimum(mean, risk)
    kl = xlogy(low, low / risk) + xlogy(1 - low, (1 - low) / (1 - risk))
    # n * mean can end a rounding below or above the integer it stands for; up is the side that stays valid.
    successes = np.minimum(np.ceil(n * mean), n)
    bentkus = np.minimum(math.e * bdtr(successes, n, risk), 1.0)
    return np.asarray(np.minimum(np.exp(-n * kl), bentkus), dtype=np.float64)


def betting_p_values(losses: Any, risk: float, level: float = 0.05) -> FloatArray:
    """Betting p-value of the first k losses in [0, 1], for every k = 1, ..., n.

    Start with capital 1 and bet on small losses: with a bet b in [0, 1/(1 - risk)] the capital after k losses
    is K_k(b) = prod_i (1 + b (risk - loss_i)) >= 0. If the mean is >= risk, its expectation is at most 1, and
    so is that of any mixture sum_b w_b K_k(b); by Markov's inequality 1 / mixture is a p-value.

    The best bet is close to sqrt(2 log(1/level) / k) / sigma when the evidence is just enough, where sigma is
    the unknown standard deviation, at most sqrt(risk (1 - risk)) near the null. So the mixture for k losses
    is uniform over the bets 0.95/(1 - risk) * 2^(-i/2) from that lower end upwards: it finds a small variance
    by itself. The mixture may depend on k because each k is a separate test: pick k without seeing the
    losses.

    Parameters
    ----------
    losses : array-like of shape (n,)
        In [0, 1].
    risk : float
        Mean under the null hypothesis, in (0, 1).
    level : float
        The level at which the test is to be powerful. It is valid at every level.

    Returns
    -------
    ndarray of shape (n,)
    """
    x, bets, n_bets = _checked_bets(losses, risk, level)
    log_mixture = np.full(len(x), -np.inf)
    # One bet at a time keeps the memory at a few vectors; bet i takes part from the first k that has it.
    for i, bet in enumerate(bets):
        log_capital = np.cumsum(np.log1p(bet * (risk - x)))
        log_mixture = np.where(i < n_bets, np.logaddexp(log_mixture, log_capital), log_mixture)
    return np.asarray(np.exp(np.minimum(np.log(n_bets) - log_mixture, 0.0)), dtype=np.float64)


def hedged_betting_p_values(
    losses: Any,
    risk: float,
    level: Any,
    random_state: Any,
    counts: range | None = None,
    randomised: bool = False,
) -> FloatArray:
    """Betting p-value of the first k losses in [0, 1], for k = 1, ..., n, by bets made for one level.

    The first k losses come in a random order. The capital w, in units of 1 / level, is to reach 1 by the last
    of them. It begins at level, and a bet b on the next loss makes it w (1 + b (risk - loss)). If losses were
    normal with mean ``risk`` and variance sigma^2, the bets that end at 1 with probability w and at 0 else,
    and leave nothing of the level unused, would be those that hedge a digital option,

        b = phi(z) / (w sigma sqrt(m)),    z = Phi^-1(w),    m losses to come,

    phi and Phi the normal density and distribution function. These are made, up to the largest that is
    admissible, with the mean of (loss - risk)^2 so far for sigma^2. For any distribution, the
    expectation of the capital stays at most level if the means are >= risk, so that by Ville's inequality
    level / (largest capital) is a p-value. Each k is a separate test: pick k and the level without seeing
    the losses. Time grows with n squared.

    Parameters
    ----------
    losses : array-like of shape (n,)
        In [0, 1].
    risk : float
        Mean under the null hypothesis, in (0, 1).
    level : float or array-like, one per count
        The level at which the test is made, for each k. It is valid at every level but has hardly any power
        at smaller ones.
    random_state : int or sequence of int
        Seed of the random order.
    counts : range, optional
        Values of k, one after the other; by default 1, ..., n.
    randomised : bool
        Stop when the capital reaches 1 and return uniform level / capital with a uniform random number
        (randomised Markov inequality): what capital is left below 1 counts, too.

    Returns
    -------
    ndarray, one p-value per count

    References
    ----------
    V. Voráček, F. Orabona: STaR-Bets: sequential target-recalculating bets for tighter confidence intervals.
    2025.

    A. Ramdas, T. Manole: Randomized and exchangeable improvements of Markov's, Chebyshev's and Chernoff's
    inequalities. 2023.
    """
    x, risk = _check_losses(losses), check_number(risk, "risk", above=0, below=1)
    counts = range(1, len(x) + 1) if counts is None else counts
    target = np.broadcast_to(check_vector(np.atleast_1d(level), "level"), len(counts))
    if target.min() <= 0 or target.max() >= 1:
        raise ValueError(f"level must be between 0 and 1, got {target.min():g} to {target.max():g}")
    rng = np.random.default_rng(random_state)
    order, uniform = rng.permutation(len(x)), rng.random()
    capital, best = target.copy(), target.copy()
    left = np.array(counts, dtype=np.float64)
    squares = np.full(len(counts), _PRIOR_LOSSES * _PRIOR_SHARE * risk * (1 - risk))
    known, largest = np.full(len(counts), _PRIOR_LOSSES), _HEDGE_LARGEST / (1 - risk)
    for i in order[order < counts[-1]]:
        # loss i is among the first k for k > i
        these = slice(max(i + 1 - counts[0], 0), None)
        w, m, seen, total = capital[these], left[these], known[these], squares[these]
        z = ndtri(np.clip(w / _AIM, 1e-12, 1 - 1e-12))
        # the floor avoids an overflow, and changes nothing: such bets are above the largest one
        bet = np.exp(-0.5 * z * z) / (np.maximum(w, 1e-200) * np.sqrt(2 * math.pi * m * total / seen))
        # what has been won is not put at risk again
        w *= np.where(w < 1, 1 + np.minimum(bet, largest) * (risk - x[i]), 1.0)
        np.maximum(best[these], w, out=best[these])
        total += (x[i] - risk) ** 2
        seen += 1
        m -= 1
    p = uniform * target / capital if randomised else target / best
    return np.asarray(np.minimum(p, 1.0), dtype=np.float64)


def _checked_bets(losses: Any, risk: float, level: float) -> tuple[FloatArray, FloatArray, NDArray[np.int64]]:
    """Losses, bets from the largest on, and how many of them the mixture for the first k losses has."""
    x = _check_losses(losses)
    risk = check_number(risk, "risk", above=0, below=1)
    level = check_number(level, "level", above=0, below=1)
    k = np.arange(1, len(x) + 1)
    largest = _LARGEST_BET / (1 - risk)
    smallest = np.sqrt(2 * math.log(1 / level) / (k * risk * (1 - risk)))
    n_bets = 1 + np.floor(np.log(np.maximum(largest / smallest, 1.0)) / math.log(_BET_RATIO)).astype(np.int64)
    return x, largest * _BET_RATIO ** -np.arange(n_bets[-1], dtype=np.float64), n_bets


def _check_losses(losses: Any) -> FloatArray:
    x = check_vector(losses, "losses", non_negative=True)
    if x.max() > 1:
        raise ValueError(f"losses must be at most 1, got {x.max():g}")
    return x
