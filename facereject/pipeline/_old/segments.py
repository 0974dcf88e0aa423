"""Kept stretches without flicker: short gaps are bridged, short stretches are dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple


class Steadiness(NamedTuple):
    """How kept stretches of a video are steadied; nothing is changed by default.

    Attributes
    ----------
    bridge_s : float
        A rejected stretch between two accepted ones is kept if it is shorter than so many seconds.
    min_span_s : float
        After that, an accepted stretch is dropped if it is shorter than so many seconds.
    """

    bridge_s: float = 0.0
    min_span_s: float = 0.0

    def check(self) -> None:
        """ValueError if these are no times."""
        for name, seconds in self._asdict().items():
            if not (math.isfinite(seconds) and seconds >= 0):
                raise ValueError(f"{name} must be seconds, 0 or more; got {seconds:g}")

    def decisions(self, runs: Sequence[tuple[float, bool]]) -> list[bool]:
        """What becomes of runs of equal decisions, given by their seconds and decisions, in order."""
        kept = [accepted for _, accepted in runs]
        for i in range(1, len(runs) - 1):
            seconds, accepted = runs[i]
            if not accepted and runs[i - 1][1] and runs[i + 1][1] and _shorter(seconds, self.bridge_s):
                kept[i] = True
        steady: list[bool] = []
        for accepted, group in groupby(range(len(runs)), key=lambda i: kept[i]):
            members = list(group)
            short = _shorter(sum(runs[i][0] for i in members), self.min_span_s)
            steady += [accepted and not short] * len(members)
        return steady


#: stretches are left as they are
AS_THEY_ARE = Steadiness()


def _shorter(seconds: float, limit: float) -> bool:
    # times of frames are rounded: half a second of frames may last 0.4999999
    return seconds < limit - 1e-6
