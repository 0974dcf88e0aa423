"""Timelines: which segments of a video were accepted and which rejected, and mainly why."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import groupby
from typing import NamedTuple

from facereject._files import cell_name
from facereject._options import option
from facereject.faces.face import FaceFrame
from facereject.outputs._folders import check_file, write_output
from facereject.outputs._video.segments import SegmentFilter, check_seconds
from facereject.outputs.base import Media, Output, RunInfo

_SUFFIXES = (".csv", ".json")

# characters that hold the first span of a timeline, however long the name of its video
_FIRST_SPAN = 1 << 16


@dataclass(frozen=True)
class Span:
    """Neighbouring frames of one video with the same decision.

    Attributes
    ----------
    source : str
        The video, as in the table.
    start_s, end_s : float
        Seconds; a span ends when the next frame begins.
    first_frame, last_frame : int
        Both belong to the span.
    accepted : bool
    reason : str
        The most frequent reason of rejected frames, as in the table; ``short`` for frames that were dropped
        because their segment is short; empty if accepted.
    """

    source: str
    start_s: float
    end_s: float
    first_frame: int
    last_frame: int
    accepted: bool
    reason: str


class _TimedFrame(NamedTuple):
    """What a timeline needs of a frame."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    time_s: float
    reasons: frozenset[str]


@dataclass
class Timeline(Output):
    """Write the accepted and rejected segments of all videos as ``.csv`` or ``.json``.

    Parameters
    ----------
    path : path or None
        None collects the spans and writes nothing.
    bridge, min_span : float, default=0.0
        As in `SavedVideo`: seconds of gaps that are kept, and of segments that are dropped.

    Attributes
    ----------
    spans : list of Span
        In the order of the videos and frames.

    See Also
    --------
    SavedVideo : The accepted segments as a video.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import Timeline
    >>> score_files("clip.mp4", Timeline("spans.csv"))  # doctest: +SKIP
    """

    place = "end"
    panel = "Videos"

    path: str | None = option(
        None,
        "--timeline",
        metavar="FILE",
        help="Write the accepted and rejected segments of the videos: .csv or .json.",
    )
    bridge: float = option(
        0.0,
        metavar="SECONDS",
        help="With --save or --timeline: keep rejected segments shorter than this between accepted ones.",
    )
    min_span: float = option(
        0.0, metavar="SECONDS", help="With --save or --timeline: drop accepted segments shorter than this."
    )

    spans: list[Span] = field(default_factory=list, init=False, repr=False)
    _rule: str = field(default="all", init=False, repr=False)
    _filter: SegmentFilter[_TimedFrame] = field(default_factory=SegmentFilter, init=False, repr=False)
    _source: str = field(default="", init=False, repr=False)
    _times: tuple[float, float] = field(default=(math.nan, math.nan), init=False, repr=False)
    # the frames of the span that is open: first, last, and their reasons
    _open: list[_TimedFrame] = field(default_factory=list, init=False, repr=False)
    _accepted: bool = field(default=False, init=False, repr=False)
    _reasons: Counter[str] = field(default_factory=Counter, init=False, repr=False)

    def prepare(self, run: RunInfo) -> None:
        """Check the name of the file."""
        check_seconds(self, "bridge", "min_span")
        self._rule = run.frame_rule
        if self.path is not None:
            self.path = check_file(
                "Timeline.path", self.path, _SUFFIXES, overwrite=run.overwrite, is_own=_is_timeline
            )

    def files(self) -> list[str]:
        """The timeline."""
        return [] if self.path is None else [self.path]

    def begin(self, media: Media) -> None:
        """Another video begins."""
        self._source = media.source
        self._filter = SegmentFilter(self.bridge, self.min_span)
        self._times = (math.nan, math.nan)

    def write(self, frame: FaceFrame) -> None:
        """Take the next frame of a video; images have no time."""
        if frame.index < 0 or math.isnan(frame.time_s):
            return
        accepted = frame.accepted(self._rule)
        reasons = {face.reason for face in frame.faces if face.reason} if frame.faces else {"no_face"}
        seen = _TimedFrame(frame.index, frame.time_s, frozenset() if accepted else frozenset(reasons))
        self._times = (self._times[1], frame.time_s)
        self._take(self._filter.push(seen, frame.time_s, accepted))

    def end(self, *, failed: bool = False) -> None:
        """The video has ended."""
        before, last = self._times
        if math.isnan(last):
            return
        # the last frame lasts as long as the one before it
        end_s = last if math.isnan(before) else 2 * last - before
        self._take(self._filter.finish(end_s))
        self._close_span(end_s)

    def close(self) -> None:
        """Write the timeline in one step."""
        if self.path is not None:
            is_json = self.path.lower().endswith(".json")
            write_output(self.path, _json(self.spans) if is_json else _csv(self.spans))

    def report(self) -> list[str]:
        """Where the timeline is."""
        return [] if self.path is None else [f"Timeline: {self.path}"]

    def videos(self) -> list[tuple[str, list[Span]]]:
        """List the videos with their spans.

        Returns
        -------
        list of (str, list of Span)
        """
        return [(name, list(group)) for name, group in groupby(self.spans, key=lambda span: span.source)]

    def _take(self, decided: Sequence[tuple[_TimedFrame, bool]]) -> None:
        for seen, kept in decided:
            if self._open and kept != self._accepted:
                self._close_span(seen.time_s)
            self._accepted = kept
            self._open = [*self._open[:1], seen]
            self._reasons.update(seen.reasons)

    def _close_span(self, end_s: float) -> None:
        first, last = self._open[0], self._open[-1]
        reason = self._reasons.most_common(1)[0][0] if self._reasons else "short"
        self.spans.append(
            Span(
                self._source,
                first.time_s,
                round(end_s, 6),
                first.index,
                last.index,
                self._accepted,
                "" if self._accepted else reason,
            )
        )
        self._open, self._reasons = [], Counter()


def strip(spans: Sequence[Span], width: int) -> list[float]:
    """The share of accepted time in each of ``width`` equal parts of a video, for a line in a terminal."""
    start, end = spans[0].start_s, max(spans[-1].end_s, spans[0].start_s + 1e-9)
    part = (end - start) / width
    shares = [0.0] * width
    for span in spans:
        if not span.accepted:
            continue
        first, last = (span.start_s - start) / part, (span.end_s - start) / part
        for i in range(int(first), min(int(last) + 1, width)):
            shares[i] += max(0.0, min(i + 1, last) - max(i, first))
    return [min(share, 1.0) for share in shares]


def _is_timeline(path: str) -> bool:
    """Whether a file is a timeline, or empty."""
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        start = file.read(_FIRST_SPAN)
    names = [item.name for item in fields(Span)]
    if not path.lower().endswith(".json"):
        return not start or start.splitlines()[0].split(",") == names
    if not start.replace("\n", "").removeprefix("[").removesuffix("]"):
        return True
    try:
        bracket, span = start.splitlines()[:2]
        return bracket == "[" and list(json.loads(span.removesuffix(","))) == names
    except ValueError:
        return False


def _csv(spans: Sequence[Span]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(item.name for item in fields(Span))
    for span in spans:
        values = asdict(span) | {"accepted": "true" if span.accepted else "false"}
        values["source"] = cell_name(span.source)
        writer.writerow(values.values())
    return text.getvalue()


def _json(spans: Sequence[Span]) -> str:
    lines = ",\n".join(json.dumps(asdict(span), ensure_ascii=False) for span in spans)
    return f"[\n{lines}\n]\n"
