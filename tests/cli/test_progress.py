"""Progress: lines where nobody watches, a bar on a terminal, nothing if quiet; figures that are right."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from facereject._cli import _progress, _shared
from facereject._cli._progress import ProgressBar, duration, figure
from facereject.faces.face import NO_IMAGE, Box, Face, FaceFrame
from facereject.pipeline import RunProgress
from facereject.pipeline.run import ProgressCounter
from facereject.pipeline.task import Chunk, problem_frame
from facereject.sources.inputs import Input


def chunk_of(n_frames, accepted=True):
    face = Face(Box(0.0, 0.0, 9.0, 9.0), 1.0, np.zeros((68, 2)), 0.0, 1.0, accepted)
    return Chunk([FaceFrame(number, number / 10, NO_IMAGE, [face], "a") for number in range(n_frames)])


ACCEPTED, REJECTED, BROKEN = chunk_of(1), chunk_of(1, False), Chunk([problem_frame("a", "unreadable: x")])


class Run:
    """Counts the chunks of a run and shows them."""

    def __init__(self, total, *, frames=False, quiet=False, accepted=0, alike=True):
        self.bar = ProgressBar(quiet=quiet)
        unit = "frames" if frames else "inputs"
        self.start = RunProgress(0, total, unit, accepted=accepted, alike=alike)

    def __enter__(self):
        self.bar.__enter__()
        self.count = ProgressCounter(self.start, self.bar)
        return self

    def __exit__(self, *error):
        self.bar.__exit__(*error)

    def __call__(self, chunk, last, kind="video"):
        self.count(Input("name", kind), chunk, last)


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only on request, in seconds."""
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])

    def advance(seconds):
        now[0] += seconds

    return advance


@pytest.fixture
def screen(monkeypatch):
    """What people see; the width and whether it is a terminal can be set."""

    def make(*, terminal, width=80):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal, width=width, color_system=None)
        monkeypatch.setattr(_progress, "console", console)
        monkeypatch.setattr(_shared, "console", console)
        return stream

    return make


def test_lines_every_few_seconds(screen, clock):
    stream = screen(terminal=False)
    with Run(100) as progress:
        # until the first answer models are loaded, which says nothing about the rate
        clock(30)
        progress(ACCEPTED, True)
        for chunk in (ACCEPTED, REJECTED, ACCEPTED, BROKEN) * 5:
            clock(0.5)
            progress(chunk, True)
    assert stream.getvalue().splitlines() == [
        "11 of 100 inputs, 2/s, 67% accepted, 2 failed, 44 s left",
        "21 of 100 inputs, 2/s, 69% accepted, 5 failed, 40 s left",
    ]


def test_frames_of_a_video(screen, clock):
    stream = screen(terminal=False)
    with Run(40, frames=True) as progress:
        for number in range(6):
            clock(5)
            progress(chunk_of(10), number == 5)
    # there were more than its header said
    assert stream.getvalue().splitlines()[-1] == "60 of 60 frames, 2/s, 100% accepted"


def test_a_photograph_that_cannot_be_read_counts_as_a_frame_as_well(screen, clock):
    stream = screen(terminal=False)
    with Run(12, frames=True) as progress:
        clock(5)
        progress(BROKEN, True, "image")
        clock(5)
        progress(ACCEPTED, True, "image")
        clock(5)
        progress(chunk_of(10), True)
    assert stream.getvalue().splitlines()[-1].startswith("12 of 12 frames")


def test_faces_that_are_decided_upon_at_the_end(screen, clock):
    stream = screen(terminal=False)
    with Run(4, accepted=None) as progress:
        for chunk in (BROKEN, ACCEPTED, REJECTED):
            clock(6)
            progress(chunk, True)
    assert stream.getvalue().splitlines()[-1] == "3 of 4 inputs, 0.167/s, 2 faces, 1 failed, 6 s left"


def test_no_time_left_where_photographs_tell_nothing_about_videos(screen, clock):
    stream = screen(terminal=False)
    with Run(1000, alike=False) as progress:
        for _ in range(2):
            clock(6)
            progress(ACCEPTED, True)
    assert stream.getvalue() == "2 of 1,000 inputs, 0.167/s, 100% accepted\n"


def test_the_rate_sinks_while_one_input_takes_long(screen, clock):
    stream = screen(terminal=False)
    with Run(40) as progress:
        for _ in range(21):
            clock(0.5)
            progress(ACCEPTED, True)
        for _ in range(15):
            clock(2)
            progress(ACCEPTED, False)
    assert stream.getvalue().splitlines()[-1] == "21 of 40 inputs, 0.286/s, 100% accepted, 1:06 min left"


def test_all_is_all(screen, clock):
    stream = screen(terminal=False)
    with Run(1000) as progress:
        for number in range(500):
            clock(0.1)
            progress(REJECTED if number == 200 else ACCEPTED, True)
    lines = stream.getvalue().splitlines()
    assert "100% accepted" in lines[2]
    assert ">99% accepted" in lines[-1]


def test_unknown_total(screen, clock):
    stream = screen(terminal=False)
    with Run(None) as progress:
        for _ in range(2):
            clock(6)
            progress(BROKEN, True)
    assert stream.getvalue() == "2 inputs, 0.167/s, 2 failed\n"


def test_bar_fits_the_terminal(screen, clock):
    stream = screen(terminal=True)
    with Run(50_000) as progress:
        for _ in range(4):
            clock(1)
            progress(REJECTED, True)
        progress(BROKEN, True)
    lines = [line for line in stream.getvalue().replace("\r", "\n").split("\n") if "inputs" in line]
    assert "4 of 50,000 inputs" in lines[-1]
    assert "1/s, 0% accepted, 13:53 h left" in lines[-1]
    assert all(len(line.removeprefix("\x1b[2K")) <= 80 for line in lines)


def test_quiet(screen, clock):
    stream = screen(terminal=True)
    with Run(10, quiet=True) as progress:
        clock(60)
        progress(ACCEPTED, True)
        clock(60)
        progress(ACCEPTED, True)
    assert stream.getvalue() == ""


def test_training_and_evaluation_use_the_same_bar(screen, clock):
    stream = screen(terminal=False)
    with ProgressBar(last_line=True) as bar:
        clock(30)
        for done in range(1, 21):
            bar(RunProgress(done, 20, "faces"))
            clock(0.5)
        # a second stage has a rate of its own
        bar(RunProgress(1, 1, "scores fitted"))
    assert stream.getvalue().splitlines() == [
        "11 of 20 faces, 2/s, 4 s left",
        "20 of 20 faces, 2/s",
        "1 of 1 scores fitted",
    ]


def test_answers_that_come_together_tell_no_rate(screen, clock):
    stream = screen(terminal=False)
    with ProgressBar(last_line=True) as bar:
        for done in (20, 40):
            clock(0.0001)
            bar(RunProgress(done, 40, "faces"))
    assert stream.getvalue() == "40 of 40 faces\n"


def test_durations():
    assert [duration(s) for s in (-1, 0.4, 59.4, 59.6, 200, 3600, 7500)] == [
        "0 s",
        "0 s",
        "59 s",
        "1:00 min",
        "3:20 min",
        "1:00 h",
        "2:05 h",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.6721, "0.672"), (37.84, "37.8"), (999.4, "999"), (999.6, "1,000"), (2381.2, "2,381")],
)
def test_rates_without_exponents(value, text):
    assert figure(value) == text
