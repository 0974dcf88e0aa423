"""What a run gave: counts of all inputs, failures, sorted files, the expected error, a sample of faces."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from facereject._html import facts_html
from facereject._words import counted, percent
from facereject.faces.domain_monitor import FaceReservoir
from facereject.faces.face import Face, FaceFrame
from facereject.faces.models.domain import DomainCheck
from facereject.outputs.base import Media, Output

#: failed inputs named in a summary; the table holds all of them
MAX_FAILURES = 20


class Counts(NamedTuple):
    """What one input gave.

    Attributes
    ----------
    frames, undecodable : int
        Decoded frames, and frames that could not be decoded.
    faces, accepted_faces : int
    no_face, accepted_frames : int
        Frames without a face, and frames accepted by the rule of `FaceFrame.accepted`.
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

    @classmethod
    def of(cls, frames: Iterable[FaceFrame], rule: str = "all") -> Counts:
        """Count frames of one input."""
        n_frames = faces = accepted_faces = no_face = accepted_frames = 0
        failure = ""
        for frame in frames:
            # a video that fails midway has a last frame that says so, without an image
            failure = frame.problem or failure
            if frame.index >= 0:
                n_frames += 1
                no_face += not frame.faces
            faces += len(frame.faces)
            accepted_faces += sum(face.accepted for face in frame.faces)
            accepted_frames += frame.accepted(rule)
        return cls(n_frames, 0, faces, accepted_faces, no_face, accepted_frames, failure)

    def plus(self, other: Counts) -> Counts:
        """Add counts; of two failures the later one is kept."""
        return self._combined(other, 1)._replace(failure=other.failure or self.failure)

    def minus(self, other: Counts) -> Counts:
        """Take away the counts of an input that was added before."""
        return self._combined(other, -1)

    def _combined(self, other: Counts, sign: int) -> Counts:
        numbers = (mine + sign * theirs for mine, theirs in zip(self[:-1], other[:-1], strict=True))
        return Counts._make((*numbers, self.failure))


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
    total : Counts
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
    expected_error : float
        Mean expected error in percent of the faces that this run accepted; NaN if there is none.
    turned : int
        Faces that this run rejected because the head is turned too far.
    domain : DomainCheck or None
        Whether the faces of this run are like those the model was calibrated on; None if there are fewer than
        40, or if the model does not say. Worked out when it is first read.
    not_compared : str
        Why ``domain`` is None, as a sentence.
    """

    inputs: int = 0
    total: Counts = field(default_factory=Counts)
    failed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    earlier: Summary | None = None
    again: int = 0
    seconds: float = 0.0
    placed: Placed | None = None
    expected_error: float = math.nan
    turned: int = 0
    not_compared: str = ""
    #: compares the faces with the calibration faces
    compare: Callable[[], DomainCheck | None] = field(default=lambda: None, compare=False)

    @functools.cached_property
    def domain(self) -> DomainCheck | None:
        """Whether the faces are like the calibration faces."""
        return self.compare()

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

    def add(self, source: str, counts: Counts) -> None:
        """Add one finished input."""
        self.inputs += 1
        self.total = self.total.plus(counts)
        if counts.failure:
            self.failed += 1
            if len(self.failures) < MAX_FAILURES:
                self.failures.append((source, counts.failure))

    def remove(self, source: str, counts: Counts) -> None:
        """Take an input back that was added, as it was worked on again."""
        self.inputs -= 1
        self.again += 1
        self.total = self.total.minus(counts)
        if counts.failure:
            self.failed -= 1
            if (source, counts.failure) in self.failures:
                self.failures.remove((source, counts.failure))

    def __str__(self) -> str:
        """The counts of all inputs in one line."""
        total = self.total
        parts = [counted(self.inputs, "input")]
        if self.frames > self.inputs:
            parts.append(counted(self.frames, "frame") + _accepted(total.accepted_frames, self.frames))
        parts.append(counted(self.faces, "face") + _accepted(self.accepted_faces, self.faces))
        parts += [f"{total.no_face:,} without a face"] * bool(total.no_face)
        parts += [f"{self.failed:,} failed"] * bool(self.failed)
        if self.placed is not None and self.placed.failed:
            parts.append(f"{counted(self.placed.failed, 'file')} not placed")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"Summary({self}; {self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        return facts_html(repr(self), dict(self.failures))


def _accepted(number: int, total: int) -> str:
    return f", {number:,} accepted ({percent(number, total, 1)})" if total else ""


class AcceptedErrors(Output):
    """Adds up the expected errors of the accepted faces, and counts those turned too far."""

    def __init__(self) -> None:
        self.n_turned = self._n_accepted = 0
        self._total_error = 0.0

    def write(self, frame: FaceFrame) -> None:
        """Take the faces of a frame."""
        for face in frame.faces:
            self.n_turned += face.reason == "turned"
            if face.accepted and math.isfinite(face.expected_error):
                self._n_accepted += 1
                self._total_error += face.expected_error

    @property
    def mean(self) -> float:
        """Mean expected error of the accepted faces in percent; NaN if there is none."""
        return self._total_error / self._n_accepted if self._n_accepted else math.nan


class SampledFaces(Output):
    """Keeps a random sample of the faces, of a track the first.

    It needs the faces as they were scored: those read back from a table have no description.
    """

    def __init__(self) -> None:
        self._sample = FaceReservoir()

    def begin(self, media: Media) -> None:
        """Tracks are numbered anew in every input."""
        self._sample.new_input()

    def write(self, frame: FaceFrame) -> None:
        """Take the faces of a frame."""
        for face in frame.faces:
            self._sample.add(face)

    @property
    def kept(self) -> list[Face]:
        """Faces to compare with the calibration faces."""
        return self._sample.kept
