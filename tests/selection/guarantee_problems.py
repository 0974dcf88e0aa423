"""Distributions with known risks, and how often a guarantee fails on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from facereject.selection import NoValidThresholdError

MAX_RISK = 0.05
DELTA = 0.1


def allowed(draws, delta=DELTA):
    """Three standard errors above delta."""
    return delta + 3 * np.sqrt(delta * (1 - delta) / draws)


def quadratic(rng, n, level=0.3):
    """0/1 losses whose risk at uncertainty u is level * u^2: R(t) = level * t^2 / 3."""
    u = rng.random(n)
    return (rng.random(n) < level * u**2).astype(float), u


def thresholds(certify, draws, seed):
    """Certified threshold in every draw, at most 1; -inf where there is none."""
    rng = np.random.default_rng(seed)
    found = np.full(draws, -np.inf)
    for i in range(draws):
        try:
            found[i] = min(certify(rng).threshold_, 1.0)
        except NoValidThresholdError:
            continue
    return found


class Piece(NamedTuple):
    """A share of the examples, uniform in [low, high] or all at low = high, and their mean loss."""

    mass: float
    low: float
    high: float
    risk: float


class Mixture:
    """A distribution with values that examples share; ``loss`` is "0/1" or "real"."""

    def __init__(self, pieces, loss="0/1"):
        self.mass, self.low, self.high, self.mean = np.array(pieces, dtype=float).T
        self.mass = self.mass / self.mass.sum()
        self.ends = np.cumsum(self.mass)[:-1]
        self.loss = loss

    def draw(self, rng, n):
        piece = np.searchsorted(self.ends, rng.random(n))
        u = self.low[piece] + (self.high - self.low)[piece] * rng.random(n)
        mean = self.mean[piece]
        if self.loss == "0/1":
            return (rng.random(n) < mean).astype(float), u
        inside = np.clip(mean, 1e-9, 1 - 1e-9)
        return np.where(mean == inside, rng.beta(2 * inside, 2 * (1 - inside)), mean), u

    def risk(self, thresholds, weight=None):
        """True selective risk of each threshold; 0 where nothing is accepted."""
        t = np.asarray(thresholds, dtype=float)[:, None]
        width = np.where(self.high > self.low, self.high - self.low, 1.0)
        share = np.where(self.high > self.low, np.clip((t - self.low) / width, 0, 1), t >= self.low)
        mass = share * self.mass * (1.0 if weight is None else weight)
        total = mass.sum(axis=1)
        return np.divide(mass @ self.mean, total, out=np.zeros(len(t)), where=total > 0)


def bad_atom(size):
    """The example of the report: no loss up to 0.5, and an atom at 0.6 that is wrong."""
    return [Piece(1 - size, 0.0, 0.5, 0.0), Piece(size, 0.6, 0.6, 1.0)]


def step(size, first, last, bound):
    """Continuous up to an atom of this size with the risk ``first``, and after it with ``last``.

    The risk up to and including the atom is the bound or a little above.
    """
    before = 1.0005 * bound
    return [
        Piece(0.6, 0.0, 0.6, max((before * (0.6 + size) - size * first) / 0.6, 0.0)),
        Piece(size, 0.7, 0.7, first),
        Piece(0.4 - size, 0.8, 1.0, last),
    ]


def levels(number, risk):
    """``number`` values with equal mass; ``risk`` of the middle of each."""
    middle = (np.arange(number) + 0.5) / number
    return [Piece(1 / number, value, value, mean) for value, mean in zip(middle, risk(middle), strict=True)]
