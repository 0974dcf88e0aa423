"""Timelines: every frame in one span, spans of equal decisions, and the main reason."""

from __future__ import annotations

import csv
import json
import os

import pytest
from feeding import clip, face, feed, photo, prepared

from facereject._options import OptionError
from facereject.faces.face import NO_IMAGE, FaceFrame
from facereject.outputs import Timeline
from facereject.outputs._folders import OutputError
from facereject.outputs.timeline import Span, strip


def spans_of(signs, source="a"):
    timeline = prepared(Timeline())
    feed(timeline, source, clip(signs), kind="video")
    return timeline.spans


def test_every_frame_is_in_one_span():
    timeline = prepared(Timeline())
    feed(timeline, "a.mp4", clip("+++u00++"), kind="video")
    feed(timeline, "b.mp4", clip("uu0"), kind="video")
    assert timeline.spans == [
        Span("a.mp4", 0.0, 0.3, 0, 2, True, ""),
        Span("a.mp4", 0.3, 0.6, 3, 5, False, "no_face"),
        Span("a.mp4", 0.6, 0.8, 6, 7, True, ""),
        Span("b.mp4", 0.0, 0.3, 0, 2, False, "uncertain"),
    ]
    assert [(name, len(spans)) for name, spans in timeline.videos()] == [("a.mp4", 3), ("b.mp4", 1)]


def test_images_and_unreadable_videos_have_no_span():
    timeline = prepared(Timeline())
    feed(timeline, "a.jpg", [photo(face())])
    feed(timeline, "b.mp4", [photo(problem="unreadable: broken")], kind="video")
    assert timeline.spans == []


def test_a_single_frame_is_a_span():
    assert spans_of("+") == [Span("a", 0.0, 0.0, 0, 0, True, "")]


@pytest.mark.parametrize(("rule", "accepted"), [("all", False), ("any", True)])
def test_the_rule_for_several_faces_holds(rule, accepted):
    timeline = prepared(Timeline(), frame_rule=rule)
    feed(timeline, "a", [FaceFrame(0, 0.0, NO_IMAGE, [face(), face(False)])], kind="video")
    assert [span.accepted for span in timeline.spans] == [accepted]


def test_both_formats_hold_the_same(tmp_path):
    for name in ("t.csv", "t.JSON"):
        timeline = prepared(Timeline(tmp_path / name))
        feed(timeline, 'a, "b".mp4', clip("++uu"), kind="video")
        timeline.close()
        assert timeline.report() == [f"Timeline: {tmp_path / name}"]
        # one of our own is replaced
        prepared(Timeline(tmp_path / name)).close()
        timeline.close()
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    spans = json.loads((tmp_path / "t.JSON").read_text())
    assert [row["source"] for row in table] == [span["source"] for span in spans] == ['a, "b".mp4'] * 2
    assert [float(row["end_s"]) for row in table] == [span["end_s"] for span in spans] == [0.2, 0.4]
    assert [row["accepted"] for row in table] == ["true", "false"]
    assert [span["accepted"] for span in spans] == [True, False]
    assert {file.name for file in tmp_path.iterdir()} == {"t.csv", "t.JSON"}


@pytest.mark.parametrize("name", ["t.txt", "none/t.csv", "folder.csv", "mine.csv", "pipe.csv"])
def test_a_wrong_name_is_an_error_before_any_work(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "mine.csv").write_text("precious")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OptionError, match="Timeline"):
        prepared(Timeline(tmp_path / name))
    if name != "mine.csv":
        with pytest.raises(OptionError):
            prepared(Timeline(tmp_path / name), overwrite=True)


def test_a_folder_that_has_gone_is_reported(tmp_path):
    (tmp_path / "a").mkdir()
    timeline = prepared(Timeline(tmp_path / "a" / "t.csv"))
    (tmp_path / "a").rmdir()
    with pytest.raises(OutputError, match="cannot be written"):
        timeline.close()


def test_the_strip_shows_the_share_of_accepted_time():
    spans = spans_of("++++uuuu+u")
    assert strip(spans, 5) == pytest.approx([1, 1, 0, 0, 0.5])
    assert strip(spans, 1) == pytest.approx([0.5])
    assert sum(strip(spans, 37)) / 37 == pytest.approx(0.5)
