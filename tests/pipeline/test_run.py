"""The run: every input once, errors become rows, observers see every chunk, settings tell tasks apart."""

from __future__ import annotations

import dataclasses
import os

import pytest

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.face import Box
from facereject.outputs.summary import Summary, Tally, tally
from facereject.parallel import SerialEngine
from facereject.pipeline._store.sinks import NullSink, TableSink
from facereject.pipeline.run import row_check, score_inputs
from facereject.pipeline.task import ScoreTask, settings_of
from facereject.sources.inputs import Input
from facereject.tables.formats import read_csv
from facereject.tables.rows import Chunk, Row, unreadable_row

BOX = Box(0.0, 0.0, 9.0, 9.0)


def task(item: Input):
    """Three frames for a video, one face for an image, and ways to fail."""
    source = display_name(item.path)
    if "unreadable" in source:
        yield Chunk([unreadable_row(source, "broken")])
    elif "nothing" in source:
        return
    elif item.kind == "video":
        for frame in range(3):
            faces = [Row(source, frame, box=BOX, face=i, accepted=frame > i) for i in range(2)]
            yield Chunk(faces, 1, undecodable=frame)
            if "poisoned" in source and frame == 1:
                raise ValueError("a video\nthat hurts")
    elif "poisoned" in source:
        raise RuntimeError("boom")
    else:
        yield Chunk([Row(source, 0, box=BOX, face=0, accepted=True)], 1)


INPUTS = [
    Input("a.jpg", "image"),
    Input("poisoned.jpg", "image"),
    Input("video.mp4", "video"),
    Input("unreadable.jpg", "image"),
    Input("poisoned.mp4", "video"),
    Input("nothing.mp4", "video"),
    Input(os.fsdecode(b"\xff.jpg"), "image"),
]


def test_every_input_has_rows(tmp_path):
    seen = []
    with TableSink(tmp_path / "t.csv") as sink:
        observer = lambda item, chunk, last: seen.append((item.path, len(chunk.rows), last))  # noqa: E731
        summary = score_inputs(iter(INPUTS), task, sink, SerialEngine(), observers=[observer])
    rows = list(read_csv(str(tmp_path / "t.csv")))
    reasons = {row.source: row.reason for row in rows if row.reason}
    assert list(dict.fromkeys(row.source for row in rows)) == [display_name(i.path) for i in INPUTS]
    assert reasons == {
        "poisoned.jpg": "failed: RuntimeError: boom",
        "unreadable.jpg": "unreadable: broken",
        "poisoned.mp4": "failed: ValueError: a video that hurts",
        "nothing.mp4": "unreadable: no frame could be decoded",
    }
    assert [row.frame for row in rows if row.source == "poisoned.mp4"] == [0, 0, 1, 1, None]
    assert summary.inputs == 7
    assert summary.failed == 4
    assert [name for name, _ in summary.failures] == list(reasons)
    assert summary.total == Tally(7, 4, 12, 6, 0, 3, summary.total.failure)
    assert [path for path, _, last in seen if last] == [item.path for item in INPUTS]
    assert sum(n for _, n, _ in seen) == len(rows)


def test_finished_inputs_are_skipped_and_added_ones_done(tmp_path):
    path = tmp_path / "t.csv"

    def fails_late(item):
        if item.path == "video.mp4":
            raise KeyboardInterrupt
        return task(item)

    with pytest.raises(KeyboardInterrupt), TableSink(path) as sink:
        score_inputs(INPUTS, fails_late, sink, SerialEngine())
    # poisoned.jpg was removed meanwhile, 0.jpg added
    again = [Input("0.jpg", "image"), INPUTS[0], *INPUTS[2:]]
    done = []

    def counted(item):
        done.append(item.path)
        return task(item)

    with TableSink(path, resume=True) as sink:
        summary = score_inputs(again, counted, sink, SerialEngine())
    assert done == ["0.jpg", *(item.path for item in INPUTS[2:])]
    sources = [row.source for row in read_csv(str(path))]
    assert list(dict.fromkeys(sources)) == [
        "a.jpg",
        "poisoned.jpg",
        "0.jpg",
        *(display_name(item.path) for item in INPUTS[2:]),
    ]
    assert summary.inputs == 8


def test_resumed_is_as_uninterrupted(tmp_path):
    with TableSink(tmp_path / "whole.csv") as sink:
        score_inputs(INPUTS, task, sink, SerialEngine())
    for stop in range(len(INPUTS)):

        def interrupted(item, stop=stop):
            if item == INPUTS[stop]:
                raise KeyboardInterrupt
            return task(item)

        path = tmp_path / f"{stop}.csv"
        with pytest.raises(KeyboardInterrupt), TableSink(path) as sink:
            score_inputs(INPUTS, interrupted, sink, SerialEngine())
        with TableSink(path, resume=True) as sink:
            score_inputs(INPUTS, task, sink, SerialEngine())
        assert path.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_the_rule_counts_frames():
    video = [Input("video.mp4", "video")]
    for rule, n_accepted in (("all", 1), ("any", 2), ("largest", 2)):
        summary = score_inputs(video, task, NullSink(), SerialEngine(), rule=rule)
        assert summary.total.accepted_frames == n_accepted


def test_tally_of_rows_without_faces():
    assert tally(Chunk([Row("a", 0, reason="no_face")], 1)) == Tally(1, no_face=1)
    assert tally(Chunk([])) == Tally()


def test_only_the_first_failures_are_named():
    summary = Summary()
    for i in range(50):
        summary.add(f"{i}.jpg", Tally(failure="unreadable: x"))
    assert summary.failed == 50
    assert [name for name, _ in summary.failures] == [f"{i}.jpg" for i in range(20)]


def test_rows_tell_models_and_targets_apart():
    rejector = FaceRejector.pretrained()
    low, high = rejector.calibration.knots[[20, -20]]
    rows = [
        Row("a", 0, box=BOX, uncertainty=u, expected_error=float(rejector.calibration.expected_error(u)))
        for u in (float(low), float(high))
    ]
    rows[0] = dataclasses.replace(rows[0], accepted=True)
    rows.append(Row("b", 0, reason="no_face"))
    assert all(map(row_check(ScoreTask(rejector)), rows))
    assert not all(map(row_check(ScoreTask(rejector.with_target(coverage=1.0))), rows))
    assert not all(map(row_check(ScoreTask(FaceRejector.pretrained("thorough"))), rows))


def test_settings_tell_tasks_apart():
    rejector = FaceRejector.pretrained()
    base = settings_of(ScoreTask(rejector))
    assert base == settings_of(ScoreTask(FaceRejector.pretrained()))
    # a table begun here may be continued on a cluster
    assert base == settings_of(ScoreTask(rejector, folder="elsewhere"))
    assert all(isinstance(value, str) for value in base.values())
    assert base["target"].startswith("max_error")
    others = {
        "target": ScoreTask(rejector.with_target(coverage=0.5)),
        "model": ScoreTask(FaceRejector.pretrained("thorough")),
        "max_pixels": dataclasses.replace(ScoreTask(rejector), max_pixels=7),
    }
    for name, other in others.items():
        assert settings_of(other)[name] != base[name]
