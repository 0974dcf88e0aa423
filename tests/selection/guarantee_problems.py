"""Distributions with known risks, and how often a guarantee fails on them."""

from __future__ import annotations

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
