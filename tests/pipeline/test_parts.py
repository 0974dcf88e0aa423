"""Long videos in parts: the table is that of the whole video, whoever scored it in how many runs."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from fake_world import DOUBTFUL, GOOD, SIZE, Someone, World
from video_files import damage_packets, encode

from facereject.faces import FaceRejector
from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame
from facereject.faces.images import Views
from facereject.outputs import Table
from facereject.outputs.saved_video import SavedVideo
from facereject.outputs.timeline import Timeline
from facereject.parallel import WorkerEngine
from facereject.parallel.base import SerialEngine
from facereject.pipeline import Job, Running
from facereject.pipeline.run import JoinedParts, PartFinder, cut_long_videos, score_inputs
from facereject.pipeline.store import Store
from facereject.pipeline.task import Chunk, ScoreTask
from facereject.sources.inputs import Input
from facereject.sources.video_parts import WARM_UP
from facereject.tables.reading import read_table
from facereject.tracking.tracker import DETECT_EVERY, Tracking

N_FRAMES = 600
PART = 150
#: frames from which on a picture of that number begins a scene
SCENES = (0, 220, 470)


def numbered(index):
    """A frame that shows its number as a row of black and white fields, ten bits wide."""
    scene = sum(index >= start for start in SCENES)
    image = np.full((SIZE[1], SIZE[0], 3), 60 * scene, dtype=np.uint8)
    for bit in range(10):
        image[200:232, 32 * bit : 32 * bit + 32] = 255 * (index >> bit & 1)
    # something moves, so that the file is as large as one of faces
    noise = np.random.default_rng(index).integers(0, 60, (12, 16, 3), dtype=np.uint8)
    image[:180] = image[:180] + np.kron(noise, np.ones((15, 20, 1), dtype=np.uint8))
    return image


def number_in(image):
    image = image.gray if isinstance(image, Views) else image
    fields = [np.asarray(image)[208:224, 32 * bit + 8 : 32 * bit + 24].mean() > 128 for bit in range(10)]
    return sum(int(field) << bit for bit, field in enumerate(fields))


class Seen(World):
    """Faces that follow from the number in the picture, whoever looks at it and whatever was seen before."""

    def detect(self, gray):
        self.faces = faces_in(number_in(gray))
        return super().detect(gray)

    def assess_box(self, image, box):
        self.faces = faces_in(number_in(image))
        return super().assess_box(image, box)


def faces_in(number):
    """One who walks through the whole video, one who comes and goes, one who is there around a cut only."""
    there = [Someone(20 + number % 200 * 0.5, 60, uncertainty=GOOD if number // 40 % 3 else DOUBTFUL)]
    if number % 170 > 60:
        there.append(Someone(200, 90, uncertainty=GOOD))
    if 250 < number < 380:
        there.append(Someone(140, 20, 40))
    return there


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    return encode(path, map(numbered, range(N_FRAMES)), rate=30, g=30, bf=2, sc_threshold=0)


@pytest.fixture
def make_task():
    def make(part_frames=PART, outputs=(), **options):
        return ScoreTask(Seen(), Tracking(**options), outputs, part_frames=part_frames)

    return make


class Collect(Store):
    def __init__(self):
        super().__init__(None)
        self.written = []

    def write(self, frames):
        self.written += frames


def score(task, path, engine=None, **options):
    store = Collect()
    score_inputs([Input(str(path), "video")], task, engine or SerialEngine(), store=store, **options)
    return store.written, store.summary


def faces_of(frame):
    return [(face.track, face.box, face.uncertainty, face.accepted, face.reason) for face in frame.faces]


def by_number(frames):
    return {frame.index: (frame.time_s, faces_of(frame)) for frame in frames}


def cuts_of(task, path):
    (parts,) = PartFinder(part_frames=task.part_frames)(Input(str(path), "video"))
    return [part.number + WARM_UP for part in parts[1:]]


@pytest.mark.parametrize("options", [{}, {"every_frame": True}, {"detect_every": 25}])
def test_the_table_of_parts_is_that_of_the_whole_video(make_task, video, options):
    whole, before = score(make_task(part_frames=0, **options), video)
    cut, after = score(make_task(**options), video)
    cuts = cuts_of(make_task(), video)
    assert len(cuts) == 3
    assert list(by_number(cut)) == list(range(N_FRAMES))
    assert after.inputs == before.inputs == 1
    assert after.total.frames == before.total.frames == N_FRAMES
    every = options.get("detect_every", DETECT_EVERY)
    one, other = by_number(whole), by_number(cut)
    different = [number for number in one if one[number] != other[number]]
    # near a cut: until the next search of the whole frame; most often nowhere
    assert all(any(cut <= number < cut + every for cut in cuts) for number in different)
    # tracks go on behind the cuts
    assert [face[0] for face in one[N_FRAMES - 1][1]] == [face[0] for face in other[N_FRAMES - 1][1]]


def test_the_task_is_told_what_to_do_once_per_part(make_task, video):
    items = list(cut_long_videos([Input(str(video), "video")], make_task(), Store(None), SerialEngine()))
    assert [(item.part.number, item.part.count) for item in items] == [(i, 4) for i in range(4)]
    assert items[0].part.segment.first == items[0].part.segment.start
    assert items[-1].part.segment.stop is None


def test_what_is_not_cut(make_task, video, tmp_path):
    still = Input("photo.jpg", "image")
    (tmp_path / "broken.mp4").write_bytes(video.read_bytes()[:200_000])
    inputs = [still, Input(str(tmp_path / "broken.mp4"), "video"), Input("none.mp4", "video")]
    assert list(cut_long_videos(inputs, make_task(), Store(None), SerialEngine())) == inputs
    long = [Input(str(video), "video")]
    saving = make_task(outputs=(SavedVideo(str(tmp_path / "out.mp4")),))
    for task in (saving, make_task(part_frames=0), make_task(part_frames=400), lambda item: ()):
        assert list(cut_long_videos(long, task, Store(None), SerialEngine())) == long


def test_outputs_see_one_video(make_task, video):
    seen, timelines = [], {}
    for name, task in (("cut", make_task()), ("whole", make_task(part_frames=0))):
        timelines[name] = Timeline()
        score(task, video, outputs=[timelines[name]], on_chunk=lambda *args: seen.append(args))
    assert {item for item, _, _ in seen} == {Input(str(video), "video")}
    assert [last for _, _, last in seen].count(True) == 2
    assert timelines["cut"].spans == timelines["whole"].spans
    assert len(timelines["cut"].spans) > 3


def test_damaged_frames_shift_the_numbers_behind_them(make_task, video, tmp_path):
    path = tmp_path / "damaged.mp4"
    path.write_bytes(video.read_bytes())
    damage_packets(path, [40, 41, 200, 599])
    whole, before = score(make_task(part_frames=0), path)
    cut, after = score(make_task(), path)
    assert before.total.undecodable == after.total.undecodable >= 4
    # faces may differ near a cut, frames and their times must not
    numbers = [dict.fromkeys((frame.index, frame.time_s) for frame in frames) for frames in (cut, whole)]
    assert list(numbers[0]) == list(numbers[1])


def test_a_run_that_ends_between_parts_goes_on_there(make_task, video, tmp_path):
    inputs = [Input(str(video), "video"), Input(str(video) + ".none.jpg", "image")]
    with Store(tmp_path / "whole.csv") as store:
        score_inputs(inputs, make_task(), SerialEngine(), store=store)
    expected = (tmp_path / "whole.csv").read_bytes()

    scored = []

    class Task(ScoreTask):
        def __call__(self, item):
            scored.append(item.part and item.part.number)
            for number, chunk in enumerate(super().__call__(item)):
                if dies and item.part is not None and item.part.number == 2 and number == 1:
                    raise KeyboardInterrupt
                yield chunk

    task = Task(Seen(), part_frames=PART)

    def run():
        with Store(tmp_path / "t.csv", resume=True) as store:
            return score_inputs(inputs, task, SerialEngine(), store=store)

    dies = True
    with pytest.raises(KeyboardInterrupt):
        run()
    assert scored == [0, 1, 2]
    dies = False
    summary = run()
    # the part in work is done again, those before it are not
    assert scored == [0, 1, 2, 2, 3, None]
    assert (tmp_path / "t.csv").read_bytes() == expected
    assert (summary.inputs, summary.total.frames) == (2, N_FRAMES)
    assert sorted(os.listdir(tmp_path)) == ["t.csv", "whole.csv"]


def test_frames_of_an_earlier_run_count_for_neither_progress_nor_rate(video, tmp_path, monkeypatch):
    task = ScoreTask(Seen(), part_frames=PART)
    monkeypatch.setattr(Job, "_task", lambda *_: task)

    def interrupt(state):
        if state.done > 2 * PART:
            raise KeyboardInterrupt

    def job():
        return Job([str(video)], [Table(tmp_path / "t.csv")], running=Running(resume=True))

    with pytest.raises(KeyboardInterrupt):
        job().run(task.rejector, progress=interrupt)
    cuts, told = cuts_of(task, video), []
    again = job()
    summary = again.run(task.rejector, progress=told.append)
    assert (told[0].done, told[0].total) == (0, N_FRAMES - cuts[1])
    assert told[-1].done == told[-1].total
    assert summary.frames - summary.earlier.frames == told[-1].done


def test_a_video_that_has_changed_is_scored_from_its_start(make_task, video, tmp_path):
    path = tmp_path / "changing.mp4"
    path.write_bytes(video.read_bytes())
    first = Input(str(tmp_path / "a.jpg"), "image")
    inputs = [first, Input(str(path), "video")]

    def interrupt(item, chunk, last):
        if any(frame.index > 250 for frame in chunk.frames):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Store(tmp_path / "t.csv") as store:
        score_inputs(inputs, make_task(), SerialEngine(), store=store, on_chunk=interrupt)
    encode(path, map(numbered, range(400)), rate=30, g=20, sc_threshold=0)
    with Store(tmp_path / "t.csv", resume=True) as store:
        score_inputs(inputs, make_task(), SerialEngine(), store=store)
    frames = list(read_table(str(tmp_path / "t.csv")))
    assert frames[0].source == first.path
    assert list(by_number(frames[1:])) == list(range(400))


def test_a_video_that_was_begun_comes_first_also_if_other_files_were_added(make_task, video, tmp_path):
    def interrupt(item, chunk, last):
        if any(frame.index > 250 for frame in chunk.frames):
            raise KeyboardInterrupt

    begun, added = Input(str(video), "video"), Input(str(tmp_path / "a.jpg"), "image")
    with pytest.raises(KeyboardInterrupt), Store(tmp_path / "t.csv") as store:
        score_inputs([begun], make_task(), SerialEngine(), store=store, on_chunk=interrupt)
    with Store(tmp_path / "t.csv", resume=True) as store:
        score_inputs([added, begun], make_task(), SerialEngine(), store=store)
    sources = [frame.source for frame in read_table(str(tmp_path / "t.csv"))]
    assert sources == sorted(sources, key=lambda source: source != begun.path)


def test_a_part_that_fails_ends_the_video(make_task, video, tmp_path):
    class Task(ScoreTask):
        def __call__(self, item):
            for number, chunk in enumerate(super().__call__(item)):
                if item.part.number == 1 and number == 2:
                    raise RuntimeError("boom")
                yield chunk

    lasts = []
    frames, summary = score(
        Task(Seen(), part_frames=PART), video, on_chunk=lambda item, chunk, last: lasts.append(last)
    )
    assert frames[-1].problem == "failed: RuntimeError: boom"
    numbers = [frame.index for frame in frames[:-1]]
    assert numbers == sorted(numbers)
    assert PART <= numbers[-1] < 2 * PART + WARM_UP
    assert (summary.inputs, summary.failed) == (1, 1)
    assert lasts == [False] * (len(lasts) - 1) + [True]


def face_at(x, track, y=0.0):
    return Face(Box(x, y, 50.0, 50.0), 1.0, np.zeros((68, 2)), 1.0, 1.0, True, track=track)


def test_tracks_are_joined_by_place():
    def chunk(start, frames):
        return Chunk(
            [
                FaceFrame(number, round(number / 10 + start, 6), NO_IMAGE, [face_at(x, t) for t, x in faces])
                for number, faces in frames.items()
            ]
        )

    joined = JoinedParts("cuts")
    joined.join(chunk(0.0, {0: [(0, 0)], 1: [(0, 0), (1, 200)], 2: [(1, 200)]}))
    joined.end_part()
    # run-up: both are seen, in the other order, and somebody whom the first part has not seen
    joined.join(chunk(0.3, {-2: [(0, 205), (1, 5)], -1: [(0, 205), (2, 400)]}))
    frames = joined.join(chunk(0.3, {0: [(0, 205), (2, 400)], 1: [(1, 5), (0, 205), (3, 600)]})).frames
    tracks = [(frame.index, [face.track for face in frame.faces]) for frame in frames]
    assert tracks == [(3, [1, 2]), (4, [0, 1, 3])]


def test_a_note_restores_what_it_was_made_of():
    joined = JoinedParts("cuts")
    joined.join(Chunk([FaceFrame(0, 0.25, NO_IMAGE, [face_at(1.5, 0, 2.0)])]))
    joined.end_part()
    other = JoinedParts.from_note(joined.note)
    assert (other.note, other.frames, other.tracks, other.done) == (joined.note, 1, 1, 1)
    for damaged in ("", "[]", "{}", "[1, 2]", json.dumps(["c", 1, 1, 1, [[0.0, 1, 2]]])):
        assert JoinedParts.from_note(damaged) is None


@pytest.fixture(scope="module")
def real_video(tmp_path_factory):
    """Long enough for three parts of 60 frames, and nobody in it: quick to score by the real detector."""
    path = tmp_path_factory.mktemp("real") / "real.mp4"
    images = (numbered(index)[::2, ::2].copy() for index in range(200))
    return encode(path, images, rate=30, g=20, sc_threshold=0)


def test_workers_give_the_table_of_one_process(real_video):
    task = ScoreTask(FaceRejector.pretrained(), part_frames=60)
    one, _ = score(task, real_video)
    several, summary = score(task, real_video, WorkerEngine(2))
    assert [(frame.index, frame.time_s, frame.faces) for frame in several] == [
        (frame.index, frame.time_s, frame.faces) for frame in one
    ]
    assert summary.total.frames == 200


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9 elsewhere")
def test_a_kill_costs_the_part_in_work(real_video, tmp_path):
    code = f"""
import sys, time
from facereject.sources.inputs import Input
from facereject.pipeline.run import score_inputs
from facereject.pipeline.store import Store
from facereject.pipeline.task import Chunk, ScoreTask
from facereject.faces import FaceRejector
from facereject.parallel import SerialEngine
from facereject.pipeline.store import Store
def halt(item, chunk, last):
    if sys.argv[1] == "halt" and any(frame.index > 130 for frame in chunk.frames):
        print("there", flush=True)
        time.sleep(600)
task = ScoreTask(FaceRejector.pretrained(), part_frames=60)
with Store({str(tmp_path / "t.csv")!r}, resume=True) as store:
    score_inputs([Input({str(real_video)!r}, "video")], task, SerialEngine(), store=store, on_chunk=halt)
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen([*command, "halt"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGKILL)
    with sqlite3.connect(tmp_path / "t.csv.partial") as database:
        ((done,),) = database.execute("SELECT frames FROM inputs").fetchall()
    # the parts before the one in work
    assert 0 < done <= 130
    subprocess.run([*command, "go on"], check=True)
    frames, _ = score(ScoreTask(FaceRejector.pretrained(), part_frames=60), real_video)
    kept = list(read_table(str(tmp_path / "t.csv")))
    assert [(frame.index, frame.time_s) for frame in kept] == [
        (frame.index, frame.time_s) for frame in frames
    ]
