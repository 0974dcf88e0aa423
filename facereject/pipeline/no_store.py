"""A run that keeps counts alone: no table, nothing to resume."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from facereject._files import display_name
from facereject.faces.face import FaceFrame
from facereject.outputs.counts import Counts
from facereject.outputs.summary import Summary


class NoStore:
    """Has the methods of a `Store` that a run calls, and keeps nothing but the summary."""

    def __init__(self) -> None:
        self.summary = Summary()

    def has(self, path: str) -> bool:
        """No input is known from before."""
        return False

    def earlier(self) -> Iterable[str]:
        """There was no earlier run."""
        return ()

    def begun(self) -> None:
        """There was no earlier run."""

    def forget_begun(self) -> None:
        """There is nothing to forget."""

    def write(self, frames: Sequence[FaceFrame]) -> None:
        """Frames are not kept."""

    def end_input(self, path: str, counts: Counts, stamp: str = "") -> None:
        """Count the input."""
        self.summary.add(display_name(path), counts)

    def end_part(self, path: str, counts: Counts, note: str) -> None:
        """Parts are counted at the end of their input."""
