"""A risk seen from another origin: scores are corrections of a start that is already there."""

from __future__ import annotations

from typing import Any

from facereject._validation import FloatArray


class ShiftedRisk:
    """risk(start + scores) as a risk of the scores."""

    def __init__(self, risk: Any, start: FloatArray):
        self.risk = risk
        self.start = start
        self.score_shape: tuple[int, ...] = risk.score_shape

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.risk(self.start + scores)
        return value, gradient
