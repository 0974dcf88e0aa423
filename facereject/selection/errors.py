"""What can be wrong with a target: it is out of reach, or the sample is too small to promise it."""

from __future__ import annotations


class InfeasibleTargetError(ValueError):
    """No rule that accepts anything reaches the target; the message says how far one can get."""


class NoValidThresholdError(ValueError):
    """The calibration sample cannot certify any threshold for the requested guarantee."""
