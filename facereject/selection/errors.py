"""Errors of targets: out of reach, or the sample is too small for a guarantee."""

from __future__ import annotations


class InfeasibleTargetError(ValueError):
    """No rule that accepts anything reaches the target; the message says how far one can get.

    ``reachable`` is the nearest value of the target that a rule has, None if there is none to name.
    """

    def __init__(self, message: str, reachable: float | None = None):
        super().__init__(message)
        self.reachable = reachable


class NoValidThresholdError(InfeasibleTargetError):
    """The calibration sample cannot certify any threshold for the requested guarantee."""
