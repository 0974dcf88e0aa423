"""Counting: what one input gave, and what a whole run gave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from facereject.tables.rows import Chunk, Row, frame_accepted

#: failed inputs named in a summary; the table holds all of them
MAX_FAILURES = 20


class Tally(NamedTuple):
    """What one input gave.

    Attributes
    ----------
    frames, undecodable : int
        Decoded frames, and frames that could not be decoded.
    faces, accepted_faces : int
    no_face, accepted_frames : int
        Frames without a face, and frames accepted by the rule of `frame_accepted`.
    failure : str
        Why the input is unreadable or failed; empty if it is not.
    """

    frames: int = 0
    undecodable: int = 0
    faces: int = 0
    accepted_faces: int = 0
    no_face: int = 0
    accepted_frames: int = 0
    failure: str = ""

    def plus(self, other: Tally) -> Tally:
        """The counts of both; the later failure stands."""
        return Tally(
            self.frames + other.frames,
            self.undecodable + other.undecodable,
            self.faces + other.faces,
            self.accepted_faces + other.accepted_faces,
            self.no_face + other.no_face,
            self.accepted_frames + other.accepted_frames,
            other.failure or self.failure,
        )


def tally(chunk: Chunk, rule: str = "all") -> Tally:
    """Count the rows of a chunk, which holds whole frames; ``rule`` as in `frame_accepted`."""
    counts = _count(chunk.rows, rule)
    return counts._replace(frames=chunk.frames, undecodable=chunk.undecodable)


def tally_rows(rows: Iterable[Row], rule: str = "all") -> Tally:
    """Count the rows of one input as they stand in a table, where undecodable frames have left no trace."""
    return _count(rows, rule)


def _count(rows: Iterable[Row], rule: str) -> Tally:
    frames = faces = accepted_faces = no_face = accepted_frames = 0
    failure = ""
    for number, group in groupby(rows, key=lambda row: row.frame):
        shown = list(group)
        found = sum(row.box is not None for row in shown)
        faces += found
        accepted_faces += sum(row.accepted for row in shown)
        accepted_frames += frame_accepted(shown, rule)
        if shown[-1].reason.startswith(("unreadable", "failed")):
            failure = shown[-1].reason
        if number is not None:
            frames += 1
            no_face += not found
    return Tally(frames, 0, faces, accepted_faces, no_face, accepted_frames, failure)


@dataclass
class Summary:
    """What all inputs gave; the counts of `Tally`, added up.

    Attributes
    ----------
    failed : int
        Inputs that are unreadable or failed.
    failures : list of (source, reason)
        The first `MAX_FAILURES` of them.
    """

    inputs: int = 0
    total: Tally = field(default_factory=Tally)
    failed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)

    def add(self, source: str, counts: Tally) -> None:
        """Add one finished input."""
        self.inputs += 1
        self.total = self.total.plus(counts)
        if counts.failure:
            self.failed += 1
            if len(self.failures) < MAX_FAILURES:
                self.failures.append((source, counts.failure))
