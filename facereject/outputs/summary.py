"""Counting: what one input gave, and what a whole run gave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from facereject._html import facts_html
from facereject._words import percent
from facereject.outputs.counts import Counts
from facereject.tables.rows import Chunk, Row, frame_accepted

#: failed inputs named in a summary; the table holds all of them
MAX_FAILURES = 20


Tally: TypeAlias = Counts


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
class Placed:
    """What became of the files of a run that were to be sorted into folders.

    Attributes
    ----------
    accepted, rejected : int
        Files put into the folders of accepted and of rejected ones.
    there : int
        Files that were in their folder already.
    taken_out : int
        Files that an earlier run had put into the other folder and that were taken out of it.
    failed : int
        Files that could not be placed.
    failures : list of (source, reason)
        The first `MAX_FAILURES` of them.
    """

    accepted: int = 0
    rejected: int = 0
    there: int = 0
    taken_out: int = 0
    failed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(repr=False)
class Summary:
    """What a run gave.

    Attributes
    ----------
    inputs : int
        Inputs in the table, those of earlier runs included.
    total : Tally
        The counts of all inputs, added up; ``faces``, ``accepted_faces`` and ``frames`` are shortcuts.
    failed : int
        Inputs that are unreadable or failed.
    failures : list of (source, reason)
        The first `MAX_FAILURES` of them; the table holds all.
    earlier : Summary or None
        What stood in the table before a resumed run.
    again : int
        Inputs of earlier runs that this one has worked on again: files that had changed, or had failed.
    seconds : float
        How long this run took.
    placed : Placed or None
        Sorted files, if that was asked for.
    """

    inputs: int = 0
    total: Tally = field(default_factory=Tally)
    failed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    earlier: Summary | None = None
    again: int = 0
    seconds: float = 0.0
    placed: Placed | None = None

    @property
    def faces(self) -> int:
        """Faces found."""
        return self.total.faces

    @property
    def accepted_faces(self) -> int:
        """Faces accepted."""
        return self.total.accepted_faces

    @property
    def frames(self) -> int:
        """Images and frames of videos."""
        return self.total.frames

    def add(self, source: str, counts: Tally) -> None:
        """Add one finished input."""
        self.inputs += 1
        self.total = self.total.plus(counts)
        if counts.failure:
            self.failed += 1
            if len(self.failures) < MAX_FAILURES:
                self.failures.append((source, counts.failure))

    def remove(self, source: str, counts: Tally) -> None:
        """Take an input back that was added, as it was worked on again."""
        self.inputs -= 1
        self.again += 1
        self.total = self.total.minus(counts)
        if counts.failure:
            self.failed -= 1
            if (source, counts.failure) in self.failures:
                self.failures.remove((source, counts.failure))

    def _facts(self) -> list[tuple[str, str, str]]:
        """Number, name and remark of what there is to say."""
        total = self.total
        facts = [(f"{self.inputs:,}", "inputs", "")]
        if self.frames > self.inputs:
            facts.append((f"{self.frames:,}", "frames", _accepted(total.accepted_frames, self.frames)))
        facts.append((f"{self.faces:,}", "faces", _accepted(self.accepted_faces, self.faces)))
        if total.no_face:
            facts.append((f"{total.no_face:,}", "without a face", ""))
        if self.failed:
            facts.append((f"{self.failed:,}", "failed", ""))
        if self.placed is not None and self.placed.failed:
            facts.append((f"{self.placed.failed:,}", "files not placed", ""))
        return [*facts, (f"{self.seconds:.1f}", "seconds", "")]

    def __repr__(self) -> str:
        return f"Summary({', '.join(f'{number} {name}{more}' for number, name, more in self._facts())})"

    def _repr_html_(self) -> str:
        facts = {name: number + more for number, name, more in self._facts()}
        return facts_html("Summary", facts | dict(self.failures))


def _accepted(number: int, total: int) -> str:
    return f" ({percent(number, total, 1)} accepted)" if total else ""
