"""Long videos in parts: the table is that of the whole video, whoever judged it in how many runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from fake_world import DOUBTFUL, GOOD, SIZE, Someone, World
from video_files import damage_packets, encode

from facereject.faces import FaceRejector
from facereject.faces.face import Box
from facereject.faces.views import Views
from facereject.parallel import SerialEngine, WorkerEngine
from facereject.pipeline._old.saved_video import VideoOutput
from facereject.pipeline._old.timeline import SpanCollector
from facereject.pipeline._store.sinks import NullSink, TableSink
from facereject.pipeline.parts import JoinedParts, PartFinder, cut_long_videos
from facereject.pipeline.run import score_inputs
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input
from facereject.sources.video_parts import WARM_UP
from facereject.tables.formats import read_csv
from facereject.tables.rows import Chunk, Row
from facereject.tracking.tracker import DETECT_EVERY

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
    return lambda **options: ScoreTask(Seen(), **{"part_frames": PART, **options})


class Collect(NullSink):
    def __init__(self):
        super().__init__()
        self.rows = []

    def write(self, rows):
        self.rows += rows


def judge(task, path, engine=None, **options):
    sink = Collect()
    score_inputs([Input(str(path), "video")], task, sink, engine or SerialEngine(), **options)
    return sink.rows, sink.summary


def frames_of(rows):
    frames = {}
    for row in rows:
        frames.setdefault(row.frame, []).append(
            (row.time_s, row.face, row.track, row.box, row.uncertainty, row.accepted, row.reason)
        )
    return frames


def cuts_of(task, path):
    (parts,) = PartFinder(part_frames=task.part_frames)(Input(str(path), "video"))
    return [part.number + WARM_UP for part in parts[1:]]


@pytest.mark.parametrize("options", [{}, {"every_frame": True}, {"detect_every": 25}])
def test_the_table_of_parts_is_that_of_the_whole_video(make_task, video, options):
    whole, before = judge(make_task(part_frames=0, **options), video)
    cut, after = judge(make_task(**options), video)
    cuts = cuts_of(make_task(), video)
    assert len(cuts) == 3
    assert list(frames_of(cut)) == list(range(N_FRAMES))
    assert after.inputs == before.inputs == 1
    assert after.total.frames == before.total.frames == N_FRAMES
    every = options.get("detect_every", DETECT_EVERY)
    one, other = frames_of(whole), frames_of(cut)
    different = [number for number in one if one[number] != other[number]]
    # near a cut: until the next search of the whole frame; most often nowhere
    assert all(any(cut <= number < cut + every for cut in cuts) for number in different)
    # tracks go on behind the cuts
    assert [face[2] for face in one[N_FRAMES - 1]] == [face[2] for face in other[N_FRAMES - 1]]


def test_the_task_is_told_what_to_do_once_per_part(make_task, video):
    items = list(cut_long_videos([Input(str(video), "video")], make_task(), NullSink(), SerialEngine()))
    assert [(item.part.number, item.part.count) for item in items] == [(i, 4) for i in range(4)]
    assert items[0].part.stretch.first == items[0].part.stretch.start
    assert items[-1].part.stretch.stop is None


def test_what_is_not_cut(make_task, video, tmp_path):
    still = Input("photo.jpg", "image")
    (tmp_path / "broken.mp4").write_bytes(video.read_bytes()[:200_000])
    inputs = [still, Input(str(tmp_path / "broken.mp4"), "video"), Input("none.mp4", "video")]
    assert list(cut_long_videos(inputs, make_task(), NullSink(), SerialEngine())) == inputs
    long = [Input(str(video), "video")]
    saving = make_task(video=VideoOutput(str(tmp_path / "out.mp4")))
    for task in (saving, make_task(part_frames=0), make_task(part_frames=400), lambda item: ()):
        assert list(cut_long_videos(long, task, NullSink(), SerialEngine())) == long


def test_observers_see_one_video(make_task, video):
    seen, timelines = [], {}
    for name, task in (("cut", make_task()), ("whole", make_task(part_frames=0))):
        timelines[name] = SpanCollector()
        judge(task, video, observers=[timelines[name], lambda *args: seen.append(args)])
    assert {item for item, _, _ in seen} == {Input(str(video), "video")}
    assert [last for _, _, last in seen].count(True) == 2
    assert timelines["cut"].spans == timelines["whole"].spans
    assert len(timelines["cut"].spans) > 3


def test_damaged_frames_shift_the_numbers_behind_them(make_task, video, tmp_path):
    path = tmp_path / "damaged.mp4"
    path.write_bytes(video.read_bytes())
    damage_packets(path, [40, 41, 200, 599])
    whole, before = judge(make_task(part_frames=0), path)
    cut, after = judge(make_task(), path)
    assert before.total.undecodable == after.total.undecodable >= 4
    # faces may differ near a cut, frames and their times must not
    numbers = [dict.fromkeys((row.frame, row.time_s) for row in rows) for rows in (cut, whole)]
    assert list(numbers[0]) == list(numbers[1])


def test_a_run_that_ends_between_parts_goes_on_there(make_task, video, tmp_path):
    inputs = [Input(str(video), "video"), Input(str(video) + ".none.jpg", "image")]
    with TableSink(tmp_path / "whole.csv") as sink:
        score_inputs(inputs, make_task(), sink, SerialEngine())
    expected = (tmp_path / "whole.csv").read_bytes()

    judged = []

    class Task(ScoreTask):
        def __call__(self, item):
            judged.append(item.part and item.part.number)
            for number, chunk in enumerate(super().__call__(item)):
                if dies and item.part is not None and item.part.number == 2 and number == 1:
                    raise KeyboardInterrupt
                yield chunk

    task = Task(Seen(), part_frames=PART)

    def run():
        with TableSink(tmp_path / "t.csv", resume=True) as sink:
            return score_inputs(inputs, task, sink, SerialEngine())

    dies = True
    with pytest.raises(KeyboardInterrupt):
        run()
    assert judged == [0, 1, 2]
    dies = False
    summary = run()
    # the part in work is done again, those before it are not
    assert judged == [0, 1, 2, 2, 3, None]
    assert (tmp_path / "t.csv").read_bytes() == expected
    assert (summary.inputs, summary.total.frames) == (2, N_FRAMES)
    assert sorted(os.listdir(tmp_path)) == ["t.csv", "whole.csv"]


def test_a_video_that_has_changed_is_judged_from_its_start(make_task, video, tmp_path):
    path = tmp_path / "changing.mp4"
    path.write_bytes(video.read_bytes())
    first = Input(str(tmp_path / "a.jpg"), "image")
    inputs = [first, Input(str(path), "video")]

    def interrupt(item, chunk, last):
        if any(row.frame and row.frame > 250 for row in chunk.rows):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), TableSink(tmp_path / "t.csv") as sink:
        score_inputs(inputs, make_task(), sink, SerialEngine(), observers=[interrupt])
    encode(path, map(numbered, range(400)), rate=30, g=20, sc_threshold=0)
    with TableSink(tmp_path / "t.csv", resume=True) as sink:
        score_inputs(inputs, make_task(), sink, SerialEngine())
    rows = list(read_csv(str(tmp_path / "t.csv")))
    assert rows[0].source == first.path
    assert list(frames_of(rows[1:])) == list(range(400))


def test_a_video_that_was_begun_comes_first_also_if_other_files_were_added(make_task, video, tmp_path):
    def interrupt(item, chunk, last):
        if any(row.frame and row.frame > 250 for row in chunk.rows):
            raise KeyboardInterrupt

    begun, added = Input(str(video), "video"), Input(str(tmp_path / "a.jpg"), "image")
    with pytest.raises(KeyboardInterrupt), TableSink(tmp_path / "t.csv") as sink:
        score_inputs([begun], make_task(), sink, SerialEngine(), observers=[interrupt])
    with TableSink(tmp_path / "t.csv", resume=True) as sink:
        score_inputs([added, begun], make_task(), sink, SerialEngine())
    sources = [row.source for row in read_csv(str(tmp_path / "t.csv"))]
    assert sources == sorted(sources, key=lambda source: source != begun.path)


def test_a_part_that_fails_ends_the_video(make_task, video, tmp_path):
    class Task(ScoreTask):
        def __call__(self, item):
            for number, chunk in enumerate(super().__call__(item)):
                if item.part.number == 1 and number == 2:
                    raise RuntimeError("boom")
                yield chunk

    lasts = []
    rows, summary = judge(
        Task(Seen(), part_frames=PART), video, observers=[lambda item, chunk, last: lasts.append(last)]
    )
    assert rows[-1].reason == "failed: RuntimeError: boom"
    numbers = [row.frame for row in rows[:-1]]
    assert numbers == sorted(numbers)
    assert PART <= numbers[-1] < 2 * PART + WARM_UP
    assert (summary.inputs, summary.failed) == (1, 1)
    assert lasts == [False] * (len(lasts) - 1) + [True]


def test_tracks_are_joined_by_place():
    def chunk(*faces):
        return Chunk(
            [
                Row("v", frame, round(frame / 10 + start, 6), 0, track, Box(x, 0, 50, 50))
                for frame, track, x in faces
            ],
            1,
        )

    joined = JoinedParts("cuts")
    start = 0.0
    joined.join(chunk((0, 0, 0), (1, 0, 0), (1, 1, 200), (2, 1, 200)))
    joined.end_part()
    start = 0.3
    # run-up: both are seen, in the other order, and somebody whom the first part has not seen
    joined.join(chunk((-2, 0, 205), (-2, 1, 5), (-1, 0, 205), (-1, 2, 400)))
    rows = joined.join(chunk((0, 0, 205), (0, 2, 400), (1, 1, 5), (1, 0, 205), (1, 3, 600))).rows
    assert [(row.frame, row.track) for row in rows] == [(3, 1), (3, 2), (4, 0), (4, 1), (4, 3)]
    assert [row.face for row in rows] == [0, 1, 0, 1, 2]


def test_a_note_restores_what_it_was_made_of():
    joined = JoinedParts("cuts")
    joined.join(Chunk([Row("v", 0, 0.25, 0, 0, Box(1.5, 2.0, 50.0, 50.0), uncertainty=1.0)], 1))
    joined.end_part()
    other = JoinedParts.from_note(joined.note)
    assert (other.note, other.frames, other.tracks, other.done) == (joined.note, 1, 1, 1)
    for damaged in ("", "[]", "{}", "[1, 2]", json.dumps(["c", 1, 1, 1, [[0.0, 1, 2]]])):
        assert JoinedParts.from_note(damaged) is None


@pytest.fixture(scope="module")
def real_video(tmp_path_factory):
    """Long enough for three parts of 60 frames, and nobody in it: quick to judge by the real detector."""
    path = tmp_path_factory.mktemp("real") / "real.mp4"
    images = (numbered(index)[::2, ::2].copy() for index in range(200))
    return encode(path, images, rate=30, g=20, sc_threshold=0)


def test_workers_give_the_table_of_one_process(real_video):
    task = ScoreTask(FaceRejector.pretrained(), part_frames=60)
    one, _ = judge(task, real_video)
    several, summary = judge(task, real_video, WorkerEngine(2))
    assert [row.values() for row in several] == [row.values() for row in one]
    assert summary.total.frames == 200


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9 elsewhere")
def test_a_kill_costs_the_part_in_work(real_video, tmp_path):
    code = f"""
import sys, time
from facereject.sources.inputs import Input
from facereject.pipeline.run import score_inputs
from facereject.pipeline.task import ScoreTask
from facereject.faces import FaceRejector
from facereject.parallel import SerialEngine
from facereject.pipeline._store.sinks import TableSink
def halt(item, chunk, last):
    if sys.argv[1] == "halt" and any(row.frame is not None and row.frame > 130 for row in chunk.rows):
        print("there", flush=True)
        time.sleep(600)
task = ScoreTask(FaceRejector.pretrained(), part_frames=60)
with TableSink({str(tmp_path / "t.csv")!r}, resume=True) as sink:
    score_inputs([Input({str(real_video)!r}, "video")], task, sink, SerialEngine(), observers=[halt])
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen([*command, "halt"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGKILL)
    noted = (tmp_path / "t.csv.partial.journal").read_text().count(str(real_video))
    assert noted == 2
    subprocess.run([*command, "go on"], check=True)
    rows, _ = judge(ScoreTask(FaceRejector.pretrained(), part_frames=60), real_video)
    kept = list(read_csv(str(tmp_path / "t.csv")))
    assert [(row.frame, row.time_s, row.reason) for row in kept] == [
        (row.frame, row.time_s, row.reason) for row in rows
    ]
