"""Accepted segments of a video without flicker: short gaps are kept and short segments dropped."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, TypeVar

from facereject._options import OptionError

_Item = TypeVar("_Item")


@dataclass
class SegmentFilter(Generic[_Item]):
    """Decide which frames of a video are kept, and hold back only those that cannot be decided yet.

    A gap between two accepted segments is kept if it is shorter than ``bridge_s``; after that, an accepted
    segment shorter than ``min_span_s`` is dropped. A segment lasts until the next frame after it.

    Parameters
    ----------
    bridge_s, min_span_s : float, default=0.0
        Seconds. With zeros every frame keeps its decision, at once.

    Examples
    --------
    >>> frames = SegmentFilter(bridge_s=0.3)
    >>> decided = [frames.push(i, i / 10, accepted) for i, accepted in enumerate([True, False, True])]
    >>> decided
    [[(0, True)], [], [(1, True), (2, True)]]
    >>> frames.finish(0.3)
    []
    """

    bridge_s: float = 0.0
    min_span_s: float = 0.0
    # frames of a segment that is still too short, and of the gap after it
    _segment: list[_Item] = field(default_factory=list, init=False)
    _gap: list[_Item] = field(default_factory=list, init=False)
    _start: float | None = field(default=None, init=False)
    _gap_start: float | None = field(default=None, init=False)
    _long: bool = field(default=False, init=False)

    @property
    def n_held(self) -> int:
        """Number of frames held back."""
        return len(self._segment) + len(self._gap)

    def held(self) -> Iterator[_Item]:
        """The frames held back, in order."""
        return chain(self._segment, self._gap)

    def push(self, item: _Item, time_s: float, accepted: bool) -> list[tuple[_Item, bool]]:
        """Add the next frame; return the frames decided by it, in order, each with whether it is kept."""
        decided: list[tuple[_Item, bool]] = []
        if self._gap_start is not None and not _shorter(time_s - self._gap_start, self.bridge_s):
            decided += self._end_segment(self._gap_start)
        if not accepted:
            if self._start is None:
                return [*decided, (item, False)]
            if self._gap_start is None:
                self._gap_start = time_s
                if not _shorter(0.0, self.bridge_s):
                    return [*self._end_segment(time_s), (item, False)]
            self._gap.append(item)
            return decided
        if self._start is None:
            self._start = time_s
        self._segment += [*self._gap, item]
        self._gap, self._gap_start = [], None
        return decided + self._grow(time_s)

    def finish(self, end_s: float) -> list[tuple[_Item, bool]]:
        """End the video at ``end_s`` and return the frames held back. Another video may follow."""
        return self._end_segment(end_s if self._gap_start is None else self._gap_start)

    def _grow(self, end_s: float) -> list[tuple[_Item, bool]]:
        """The held frames of a segment that reaches ``end_s``, once it is long enough."""
        if self._start is None:
            return []
        self._long = self._long or not _shorter(end_s - self._start, self.min_span_s)
        if not self._long:
            return []
        kept, self._segment = self._segment, []
        return [(item, True) for item in kept]

    def _end_segment(self, end_s: float) -> list[tuple[_Item, bool]]:
        decided = self._grow(end_s) + [(item, False) for item in self._segment + self._gap]
        self._segment, self._gap = [], []
        self._start = self._gap_start = None
        self._long = False
        return decided


def check_seconds(owner: object, *names: str) -> None:
    """OptionError unless these fields are numbers of seconds."""
    for name in names:
        seconds = getattr(owner, name)
        if not (math.isfinite(seconds) and seconds >= 0):
            raise OptionError(f"`{type(owner).__name__}.{name}` must be seconds, 0 or more; got {seconds:g}")


def _shorter(seconds: float, limit: float) -> bool:
    # times of frames are rounded: half a second of frames may last 0.4999999
    return seconds < limit - 1e-6
