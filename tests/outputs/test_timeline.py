"""Timelines: every frame in one span, spans of equal decisions, and the main reason."""

from __future__ import annotations

import csv
import json

import pytest

from facereject.faces.face import Box
from facereject.outputs.timeline import Span, Timeline, TimelineError, strip
from facereject.sources.inputs import Input
from facereject.tables.rows import Chunk, Row, unreadable_row

BOX = Box(0.0, 0.0, 10.0, 10.0)


def video(source, decisions):
    """Rows at 10 frames per second: + accepted, u uncertain, 0 no face."""
    rows = []
    for i, sign in enumerate(decisions):
        reason = {"+": "", "u": "uncertain", "0": "no_face"}[sign]
        box = None if sign == "0" else BOX
        rows.append(Row(source, i, i / 10, box=box, accepted=sign == "+", reason=reason))
    return rows


def observe(timeline, source, rows, size):
    parts = [rows[i : i + size] for i in range(0, len(rows), size)]
    for i, part in enumerate(parts):
        timeline(Input(source, "video"), Chunk(part, len(part)), i == len(parts) - 1)


@pytest.mark.parametrize("size", [1, 3, 100])
def test_spans_do_not_depend_on_the_chunks(size):
    timeline = Timeline()
    observe(timeline, "a.mp4", video("a.mp4", "+++u00++"), size)
    observe(timeline, "b.mp4", video("b.mp4", "uu0"), size)
    assert timeline.spans == [
        Span("a.mp4", 0.0, 0.3, 0, 2, True, ""),
        Span("a.mp4", 0.3, 0.6, 3, 5, False, "no_face"),
        Span("a.mp4", 0.6, 0.8, 6, 7, True, ""),
        Span("b.mp4", 0.0, 0.3, 0, 2, False, "uncertain"),
    ]
    assert [(name, len(spans)) for name, spans in timeline.videos()] == [("a.mp4", 3), ("b.mp4", 1)]


def test_images_and_unreadable_videos_have_no_span():
    timeline = Timeline()
    timeline(Input("a.jpg", "image"), Chunk([Row("a.jpg", 0, accepted=True, box=BOX)], 1), True)
    timeline(Input("b.mp4", "video"), Chunk([unreadable_row("b.mp4", "broken")]), True)
    assert timeline.spans == []


def test_the_rule_for_several_faces_holds():
    rows = [Row("a", 0, 0.0, 0, box=BOX, accepted=True), Row("a", 0, 0.0, 1, box=BOX, reason="uncertain")]
    for rule, accepted in (("all", False), ("any", True)):
        timeline = Timeline(rule)
        timeline.add("a", rows, True)
        assert [span.accepted for span in timeline.spans] == [accepted]


def test_both_formats_hold_the_same(tmp_path):
    timeline = Timeline()
    timeline.add('a, "b".mp4', video('a, "b".mp4', "++uu"), True)
    for name in ("t.csv", "t.JSON"):
        timeline.write(tmp_path / name)
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    spans = json.loads((tmp_path / "t.JSON").read_text())
    assert [row["source"] for row in table] == [span["source"] for span in spans] == ['a, "b".mp4'] * 2
    assert [float(row["end_s"]) for row in table] == [span["end_s"] for span in spans] == [0.2, 0.4]
    assert [row["accepted"] for row in table] == ["true", "false"]
    assert [span["accepted"] for span in spans] == [True, False]
    assert {file.name for file in tmp_path.iterdir()} == {"t.csv", "t.JSON"}


@pytest.mark.parametrize("name", ["t.txt", "none/t.csv", "folder.csv"])
def test_a_wrong_name_is_an_error(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TimelineError, match=name.split("/")[-1]):
        Timeline().write(tmp_path / name)


def test_the_strip_shows_the_share_of_accepted_time():
    timeline = Timeline()
    timeline.add("a", video("a", "++++uuuu+u"), True)
    assert strip(timeline.spans, 5) == pytest.approx([1, 1, 0, 0, 0.5])
    assert strip(timeline.spans, 1) == pytest.approx([0.5])
    assert sum(strip(timeline.spans, 37)) / 37 == pytest.approx(0.5)
