"""The run: every input once, errors become frames that say so, settings tell tasks apart."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest

from facereject._files import display_name
from facereject.faces import FaceRejector
from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame
from facereject.outputs.base import Output
from facereject.outputs.summary import Counts, Summary
from facereject.parallel.base import SerialEngine
from facereject.pipeline.job import face_check
from facereject.pipeline.run import score_inputs
from facereject.pipeline.store import Store
from facereject.pipeline.task import Chunk, ScoreTask, problem_frame, settings_of
from facereject.sources.inputs import Input
from facereject.tables.reading import read_table
from facereject.tracking import Tracking


def face(accepted, uncertainty=0.0, expected_error=1.0):
    points = np.zeros((68, 2))
    return Face(Box(0.0, 0.0, 9.0, 9.0), 0.0, points, uncertainty, expected_error, accepted)


def task(item: Input):
    """Three frames for a video, one face for an image, and ways to fail."""
    source = display_name(item.path)
    if "unreadable" in source:
        yield Chunk([problem_frame(source, "unreadable: broken")])
    elif "nothing" in source:
        return
    elif item.kind == "video":
        for number in range(3):
            faces = [face(number > i) for i in range(2)]
            yield Chunk([FaceFrame(number, number / 10, NO_IMAGE, faces, source)], undecodable=number)
            if "poisoned" in source and number == 1:
                raise ValueError("a video\nthat hurts")
    elif "poisoned" in source:
        raise RuntimeError("boom")
    else:
        yield Chunk([FaceFrame(0, float("nan"), NO_IMAGE, [face(True)], source)])


class Seen(Output):
    """Notes what it is told."""

    def __init__(self):
        self.told = []

    def begin(self, media):
        self.told.append(["begin", media.source])

    def write(self, frame):
        self.told.append(["write", frame.source])

    def end(self, *, failed=False):
        self.told.append(["end", failed])


INPUTS = [
    Input("a.jpg", "image"),
    Input("poisoned.jpg", "image"),
    Input("video.mp4", "video"),
    Input("unreadable.jpg", "image"),
    Input("poisoned.mp4", "video"),
    Input("nothing.mp4", "video"),
    Input(os.fsdecode(b"\xff.jpg"), "image"),
]


def test_every_input_has_frames(tmp_path):
    seen, output = [], Seen()
    with Store(tmp_path / "t.csv") as store:
        summary = score_inputs(
            iter(INPUTS),
            task,
            SerialEngine(),
            store=store,
            outputs=[output],
            on_chunk=lambda item, chunk, last: seen.append((item.path, len(chunk.frames), last)),
        )
    frames = list(read_table(str(tmp_path / "t.csv")))
    problems = {frame.source: frame.problem for frame in frames if frame.problem}
    assert list(dict.fromkeys(frame.source for frame in frames)) == [display_name(i.path) for i in INPUTS]
    assert problems == {
        "poisoned.jpg": "failed: RuntimeError: boom",
        "unreadable.jpg": "unreadable: broken",
        "poisoned.mp4": "failed: ValueError: a video that hurts",
        "nothing.mp4": "unreadable: no frame could be decoded",
    }
    assert [frame.index for frame in frames if frame.source == "poisoned.mp4"] == [0, 1, -1]
    assert (summary.inputs, summary.failed) == (7, 4)
    assert [name for name, _ in summary.failures] == list(problems)
    assert summary.total == Counts(7, 4, 12, 6, 0, 3, summary.total.failure)
    assert [path for path, _, last in seen if last] == [item.path for item in INPUTS]
    assert sum(n for _, n, _ in seen) == len(frames)
    expected = []
    for item in INPUTS:
        name = display_name(item.path)
        n_frames = sum(frame.source == name for frame in frames)
        expected += [["begin", name], *[["write", name]] * n_frames, ["end", False]]
    assert output.told == expected


def test_finished_inputs_are_skipped_and_added_ones_done(tmp_path):
    path = tmp_path / "t.csv"

    def fails_late(item):
        if item.path == "video.mp4":
            raise KeyboardInterrupt
        return task(item)

    with pytest.raises(KeyboardInterrupt), Store(path) as store:
        score_inputs(INPUTS, fails_late, SerialEngine(), store=store)
    # poisoned.jpg was removed meanwhile, 0.jpg added
    again = [Input("0.jpg", "image"), INPUTS[0], *INPUTS[2:]]
    done = []

    def counted(item):
        done.append(item.path)
        return task(item)

    with Store(path, resume=True) as store:
        summary = score_inputs(again, counted, SerialEngine(), store=store)
    assert done == ["0.jpg", *(item.path for item in INPUTS[2:])]
    sources = [frame.source for frame in read_table(str(path))]
    assert list(dict.fromkeys(sources)) == [
        "a.jpg",
        "poisoned.jpg",
        "0.jpg",
        *(display_name(item.path) for item in INPUTS[2:]),
    ]
    assert summary.inputs == 8


def test_resumed_is_as_uninterrupted(tmp_path):
    with Store(tmp_path / "whole.csv") as store:
        score_inputs(INPUTS, task, SerialEngine(), store=store)
    for stop in range(len(INPUTS)):

        def interrupted(item, stop=stop):
            if item == INPUTS[stop]:
                raise KeyboardInterrupt
            return task(item)

        path = tmp_path / f"{stop}.csv"
        with pytest.raises(KeyboardInterrupt), Store(path) as store:
            score_inputs(INPUTS, interrupted, SerialEngine(), store=store)
        with Store(path, resume=True) as store:
            score_inputs(INPUTS, task, SerialEngine(), store=store)
        assert path.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_the_rule_counts_frames():
    video = [Input("video.mp4", "video")]
    for rule, n_accepted in (("all", 1), ("any", 2), ("largest", 2)):
        summary = score_inputs(video, task, SerialEngine(), rule=rule)
        assert summary.total.accepted_frames == n_accepted


def test_counts_of_frames_without_faces():
    assert Counts.of([FaceFrame(0, 0.0, NO_IMAGE, [])]) == Counts(1, no_face=1)
    assert Counts.of([problem_frame("a", "failed: x")]) == Counts(failure="failed: x")
    assert Counts.of([]) == Counts()


def test_only_the_first_failures_are_named():
    summary = Summary()
    for i in range(50):
        summary.add(f"{i}.jpg", Counts(failure="unreadable: x"))
    assert summary.failed == 50
    assert [name for name, _ in summary.failures] == [f"{i}.jpg" for i in range(20)]


def test_faces_tell_models_and_targets_apart():
    rejector = FaceRejector.pretrained()
    low, high = map(float, rejector.calibration.knots[[20, -20]])
    expected = [float(rejector.calibration.expected_error(u)) for u in (low, high)]
    faces = [face(True, low, expected[0]), face(False, high, expected[1]), face(False, float("inf"))]
    assert all(map(face_check(rejector), faces))
    assert not all(map(face_check(rejector.with_target(coverage=1.0)), faces))
    assert all(map(face_check(rejector.with_target(coverage=1.0), decisions=False), faces))
    assert not all(map(face_check(FaceRejector.pretrained("thorough")), faces))


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
        "smooth": ScoreTask(rejector, Tracking(smooth=1.0)),
        "outputs": ScoreTask(rejector, outputs=(Seen(),)),
    }
    for name, other in others.items():
        assert settings_of(other)[name] != base[name]
