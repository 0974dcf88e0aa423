"""The one table: columns, rows of a frame, reasons, and when a frame is accepted."""

from __future__ import annotations

import os

import numpy as np
import pytest

from facereject._files import display_name
from facereject.faces import Face
from facereject.faces.face import Box
from facereject.tables.rows import (
    COLUMNS,
    REASONS,
    Row,
    failed_row,
    frame_accepted,
    rows_of_frame,
    unreadable_row,
)

POINTS = np.arange(136.0).reshape(68, 2)
NOTHING = np.full((68, 2), np.nan)


def face(*, landmarks=POINTS, uncertainty=0.5, accepted=True, size=10.0, detector_score=1.25):
    expected = 3.5 if np.isfinite(uncertainty) else np.nan
    return Face(Box(1, 2, size, size), detector_score, landmarks, uncertainty, expected, accepted, "")


def test_columns_are_those_promised():
    head = "source frame time_s face track x y width height detector_score uncertainty expected_error"
    head += " accepted reason cause yaw pitch roll"
    points = [f"{name}_{i}" for name in ("x", "y", "e") for i in range(68)]
    assert list(COLUMNS) == [*head.split(), *points]


def test_values_follow_the_columns():
    (row,) = rows_of_frame("a.mp4", [face()], frame=7, time_s=0.25, tracks=[3])
    values = dict(zip(COLUMNS, row.values(), strict=True))
    assert (values["source"], values["frame"], values["time_s"]) == ("a.mp4", 7, 0.25)
    assert (values["face"], values["track"], values["width"]) == (0, 3, 10)
    assert (values["accepted"], values["reason"]) == (True, "")
    assert [values[f"x_{i}"] for i in range(68)] == POINTS[:, 0].tolist()
    assert [values[f"y_{i}"] for i in range(68)] == POINTS[:, 1].tolist()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (face(), ""),
        (face(accepted=False), "uncertain"),
        (face(accepted=False, uncertainty=np.inf), "no_score"),
        (face(accepted=False, uncertainty=np.inf, landmarks=NOTHING), "no_landmarks"),
    ],
)
def test_reason_of_a_face(given, reason):
    (row,) = rows_of_frame("a.jpg", [given])
    assert row.reason == reason
    assert reason == "" or reason in REASONS


def test_what_is_not_known_is_empty_never_zero():
    without = face(landmarks=NOTHING, uncertainty=np.inf, accepted=False, detector_score=np.nan)
    for row in [
        *rows_of_frame("a.jpg", [without]),
        *rows_of_frame("a.jpg", []),
        unreadable_row("a.jpg", "empty"),
    ]:
        values = dict(zip(COLUMNS, row.values(), strict=True))
        assert {values[name] for name in COLUMNS if name[:2] in ("x_", "y_")} == {None}
        assert values["uncertainty"] is None
        assert values["expected_error"] is None
        assert values["detector_score"] is None
        assert values["accepted"] is False


def test_one_row_for_an_input_without_a_face():
    (row,) = rows_of_frame("a.jpg", [])
    assert row.reason == "no_face"
    assert row.frame == 0
    assert row.face is None


@pytest.mark.parametrize("make", [unreadable_row, failed_row])
def test_details_stay_on_one_line(make):
    row = make("a.jpg", "first\n  second")
    code, detail = row.reason.split(": ", 1)
    assert code in REASONS
    assert detail == "first second"
    assert row.frame is None


def test_names_are_valid_utf8():
    name = os.fsdecode(b"caf\xe9.jpg")
    assert display_name(name) == r"caf\xe9.jpg"
    assert display_name("café.jpg") == "café.jpg"


def test_frame_rules():
    good, bad = face(size=10.0), face(accepted=False, size=20.0)
    rows = rows_of_frame("a.jpg", [good, bad])
    assert not frame_accepted(rows)
    assert frame_accepted(rows, "any")
    assert not frame_accepted(rows, "largest")
    assert frame_accepted(rows[:1])
    for rule in ("all", "any", "largest"):
        assert not frame_accepted(rows_of_frame("a.jpg", []), rule)
    with pytest.raises(ValueError, match="all, any or largest"):
        frame_accepted([Row("a.jpg", box=Box(0, 0, 1, 1))], "most")
