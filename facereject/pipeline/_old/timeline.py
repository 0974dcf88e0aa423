"""Timelines: which stretches of a video were accepted and which rejected, and mainly why."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import groupby

from facereject._files import NOT_MADE_HERE, cell_name, display_name, folder_problem, write_whole
from facereject.outputs.timeline import Span, TimelineError
from facereject.pipeline._old.segments import AS_THEY_ARE, Steadiness
from facereject.sources.inputs import Input
from facereject.tables.formats import read_table
from facereject.tables.rows import Chunk, Row, frame_accepted

# characters that hold the first span of a timeline, however long the name of its video
_FIRST_SPAN = 1 << 16


@dataclass
class SpanCollector:
    """Collects the spans of all videos of a run; an observer of `facereject.pipeline.run.score_inputs`.

    Parameters
    ----------
    rule : {"all", "any", "largest"}
        As for `frame_accepted`.
    steadiness : Steadiness
        Gaps to be bridged and spans to be dropped. A dropped span has the reason of its neighbours, or
        ``short`` if it has none.

    Attributes
    ----------
    spans : list of Span
        In the order of the videos and frames.
    """

    rule: str = "all"
    steadiness: Steadiness = AS_THEY_ARE
    spans: list[Span] = field(default_factory=list, init=False)
    _first: int = field(default=0, init=False)
    _frames: list[tuple[int, float]] = field(default_factory=list, init=False)
    _accepted: bool = field(default=False, init=False)
    _reasons: Counter[str] = field(default_factory=Counter, init=False)
    _step: float = field(default=0.0, init=False)

    @classmethod
    def of_table(cls, path: str, rule: str = "all", steadiness: Steadiness = AS_THEY_ARE) -> SpanCollector:
        """The timeline of a finished table, with the videos of all its runs."""
        timeline = cls(rule, steadiness)
        for source, rows in groupby(read_table(path), key=lambda row: row.source):
            timeline.add(source, rows, True)
        return timeline

    def __call__(self, item: Input, chunk: Chunk, last: bool) -> None:
        """Add the rows of a chunk, which holds whole frames."""
        if item.kind == "video":
            self.add(display_name(item.path), chunk.rows, last)

    def add(self, source: str, rows: Iterable[Row], last: bool) -> None:
        """Add frames of a video; ``last`` says that it ends with them."""
        shown = (row for row in rows if row.frame is not None and row.time_s is not None)
        for number, group in groupby(shown, key=lambda row: row.frame):
            self._frame(source, number or 0, list(group))
        if last and self._frames:
            # the last frame lasts as long as the one before it
            self._close(source, self._frames[1][1] + self._step)
            self._step = 0.0
            self.spans[self._first :] = _steadied(self.spans[self._first :], self.steadiness)
            self._first = len(self.spans)

    def _frame(self, source: str, number: int, rows: list[Row]) -> None:
        time_s = rows[0].time_s or 0.0
        accepted = frame_accepted(rows, self.rule)
        if self._frames:
            self._step = time_s - self._frames[1][1]
            if accepted != self._accepted:
                self._close(source, time_s)
        if not self._frames:
            self._frames = [(number, time_s)] * 2
        self._frames[1] = (number, time_s)
        self._accepted = accepted
        if not accepted:
            self._reasons.update({row.reason.split(":")[0] for row in rows if row.reason})

    def _close(self, source: str, end_s: float) -> None:
        (first, start_s), (final, _) = self._frames
        reason = "" if self._accepted or not self._reasons else self._reasons.most_common(1)[0][0]
        span = Span(source, start_s, round(end_s, 6), first, final, self._accepted, reason)
        self.spans.append(span)
        self._frames, self._reasons = [], Counter()

    def videos(self) -> list[tuple[str, list[Span]]]:
        """The videos with their spans."""
        return [(name, list(group)) for name, group in groupby(self.spans, key=lambda span: span.source)]

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write all spans as ``.csv`` or ``.json``, under a temporary name first.

        A file that is no timeline is replaced only with ``overwrite``.
        """
        path = os.fspath(path)
        check_timeline_path(path, overwrite=overwrite)
        try:
            write_whole(path, _json(self.spans) if path.lower().endswith(".json") else _csv(self.spans))
        except OSError as error:
            raise TimelineError(f"{display_name(path)}: cannot be written ({error.strerror})") from None


def _steadied(spans: list[Span], steadiness: Steadiness) -> list[Span]:
    """The spans of one video after gaps are bridged and short spans dropped; neighbours become one."""
    kept = steadiness.decisions([(span.end_s - span.start_s, span.accepted) for span in spans])
    joined = []
    for accepted, group in groupby(zip(spans, kept, strict=True), key=lambda pair: pair[1]):
        members = [span for span, _ in group]
        reasons = Counter({span.reason: 0 for span in members if span.reason})
        for span in members:
            if span.reason:
                reasons[span.reason] += span.last_frame - span.first_frame + 1
        reason = reasons.most_common(1)[0][0] if reasons else "short"
        first, last = members[0], members[-1]
        joined.append(
            replace(
                first,
                end_s=last.end_s,
                last_frame=last.last_frame,
                accepted=accepted,
                reason="" if accepted else reason,
            )
        )
    return joined


def is_timeline(path: str) -> bool:
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


def check_timeline_path(path: str, *, overwrite: bool = False) -> None:
    """Raise TimelineError if no timeline can be written under this name.

    With ``overwrite`` a file that is no timeline may be replaced.
    """
    if os.path.splitext(path)[1].lower() not in (".csv", ".json"):
        raise TimelineError(f"{display_name(path)}: a timeline is written as .csv or .json")
    problem = "this is a folder; name a file" if os.path.isdir(path) else folder_problem(path)
    if problem:
        raise TimelineError(f"{display_name(path)}: {problem}")
    try:
        foreign = os.path.lexists(path) and not overwrite and not is_timeline(path)
    except OSError:
        # what cannot be read is not known to be a timeline
        foreign = True
    if foreign:
        raise TimelineError(f"{display_name(path)}: {NOT_MADE_HERE}")


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
