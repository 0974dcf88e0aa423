"""Kept stretches without flicker: bridged gaps, dropped stretches, the same in timelines and saved videos."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facereject.faces.face import Box
from facereject.outputs._segments import AS_THEY_ARE, Steadiness
from facereject.outputs.timeline import Timeline
from facereject.pipeline import OptionError, score_files
from facereject.tables.rows import Row


def steadied(signs, bridge_s=0.0, min_span_s=0.0):
    """Decisions of frames of a tenth of a second each, + accepted and - rejected, after steadying."""
    runs = [(sign, len(list(group))) for sign, group in groupby(signs)]
    steadiness = Steadiness(bridge_s, min_span_s)
    kept = steadiness.decisions([(n / 10, sign == "+") for sign, n in runs])
    return "".join(("+" if keep else "-") * n for keep, (_, n) in zip(kept, runs, strict=True))


@pytest.mark.parametrize(
    ("signs", "options", "expected"),
    [
        ("++--++", {}, "++--++"),
        ("++--++", {"bridge_s": 0.2}, "++--++"),
        ("++--++", {"bridge_s": 0.3}, "++++++"),
        ("--++--", {"bridge_s": 9}, "--++--"),
        ("--++--", {"min_span_s": 0.2}, "--++--"),
        ("--++--", {"min_span_s": 0.3}, "------"),
        # bridged first: together they are long enough
        ("++-++", {"bridge_s": 0.2, "min_span_s": 0.4}, "+++++"),
        ("++---++", {"bridge_s": 0.2, "min_span_s": 0.4}, "-------"),
        ("", {"bridge_s": 1}, ""),
    ],
)
def test_short_gaps_are_bridged_and_short_stretches_dropped(signs, options, expected):
    assert steadied(signs, **options) == expected


@given(st.text("+-", max_size=40), st.sampled_from([0, 0.15, 0.35]), st.sampled_from([0, 0.25, 0.55]))
def test_what_is_left_is_long_enough(signs, bridge_s, min_span_s):
    kept = steadied(signs, bridge_s, min_span_s)
    assert len(kept) == len(signs)
    runs = [(sign, len(list(group)) / 10) for sign, group in groupby(kept)]
    assert all(sign == "-" or seconds >= min_span_s - 1e-9 for sign, seconds in runs)
    assert Steadiness(bridge_s, min_span_s) == AS_THEY_ARE or steadied(kept, 0, min_span_s) == kept


def test_timelines_join_what_was_steadied():
    timeline = Timeline(steadiness=Steadiness(0.25, 0.35))
    signs = "+++--+++---+--"
    rows = [
        Row(
            "a",
            i,
            i / 10,
            box=Box(0, 0, 9, 9),
            accepted=sign == "+",
            reason="" if sign == "+" else "uncertain",
        )
        for i, sign in enumerate(signs)
    ]
    timeline.add("a", rows, True)
    found = [(span.first_frame, span.last_frame, span.accepted, span.reason) for span in timeline.spans]
    assert found == [(0, 7, True, ""), (8, 13, False, "uncertain")]
    timeline.add("b", rows[:3], True)
    assert [(span.source, span.accepted, span.reason) for span in timeline.spans[2:]] == [
        ("b", False, "short")
    ]


@pytest.mark.parametrize("options", [{"bridge_s": -1}, {"min_span_s": float("nan")}])
def test_wrong_times_are_named(tmp_path, options):
    with pytest.raises(OptionError, match=f"`{next(iter(options))}` must be seconds"):
        score_files(tmp_path, **options)
