"""Segments without flicker, decided as the frames come: bridged gaps, dropped segments."""

from __future__ import annotations

from itertools import groupby

import pytest
from feeding import clip, feed, prepared
from hypothesis import given
from hypothesis import strategies as st

from facereject._options import OptionError
from facereject.outputs import SavedVideo, Timeline
from facereject.outputs._video.segments import SegmentFilter


def filtered(signs, bridge_s=0.0, min_span_s=0.0):
    """Decisions on frames of a tenth of a second each, + accepted and - rejected, after filtering."""
    segments = SegmentFilter(bridge_s, min_span_s)
    decided = []
    for i, sign in enumerate(signs):
        decided += segments.push(i, i / 10, sign == "+")
        assert segments.n_held <= 10 * (bridge_s + min_span_s) + 2
    decided += segments.finish(len(signs) / 10)
    assert [i for i, _ in decided] == list(range(len(signs)))
    return "".join("+" if kept else "-" for _, kept in decided)


def brute_force(signs, bridge_s, min_span_s):
    """The same from the whole video: first fill gaps, then drop what is short."""
    runs = [[sign, len(list(group))] for sign, group in groupby(signs)]
    for i, (sign, n) in enumerate(runs):
        if sign == "-" and 0 < i < len(runs) - 1 and n / 10 < bridge_s - 1e-6:
            runs[i][0] = "+"
    filled = "".join(sign * n for sign, n in runs)
    runs = [(sign, len(list(group))) for sign, group in groupby(filled)]
    return "".join(("-" if n / 10 < min_span_s - 1e-6 else sign) * n for sign, n in runs)


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
def test_short_gaps_are_bridged_and_short_segments_dropped(signs, options, expected):
    assert filtered(signs, **options) == expected


@given(st.text("+-", max_size=60), st.sampled_from([0, 0.15, 0.35]), st.sampled_from([0, 0.25, 0.55]))
def test_frame_by_frame_is_as_good_as_at_the_end(signs, bridge_s, min_span_s):
    assert filtered(signs, bridge_s, min_span_s) == brute_force(signs, bridge_s, min_span_s)


def test_without_limits_nothing_is_held_back():
    segments = SegmentFilter()
    for i, accepted in enumerate([False, True, True, False, True]):
        assert segments.push(i, i / 10, accepted) == [(i, accepted)]


def test_timelines_join_what_was_filtered():
    timeline = prepared(Timeline(bridge=0.25, min_span=0.35))
    feed(timeline, "a", clip("+++uu+++uuu+uu"), kind="video")
    found = [(span.first_frame, span.last_frame, span.accepted, span.reason) for span in timeline.spans]
    assert found == [(0, 7, True, ""), (8, 13, False, "uncertain")]
    feed(timeline, "b", clip("+++"), kind="video")
    assert [(span.source, span.accepted, span.reason) for span in timeline.spans[2:]] == [
        ("b", False, "short")
    ]


@pytest.mark.parametrize("output", [SavedVideo("a.mp4", bridge=-1), Timeline(min_span=float("nan"))])
def test_wrong_times_are_named(output):
    name = "bridge" if isinstance(output, SavedVideo) else "min_span"
    with pytest.raises(OptionError, match=f"`{type(output).__name__}.{name}` must be seconds"):
        prepared(output)
