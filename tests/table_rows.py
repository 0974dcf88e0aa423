"""The rows of a CSV table, read without facereject."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np

from facereject.faces.face import Box


def read_csv(path):
    """One object per row, with the columns as attributes; what is missing is None."""
    with open(path, newline="", encoding="utf-8") as file:
        return [_row(values) for values in csv.DictReader(file)]


def _row(values):
    numbers = {name: float(text) if text else None for name, text in values.items() if _is_number(name)}
    points = [[numbers[name] for name in values if name.startswith(axis)] for axis in ("x_", "y_")]
    errors = [numbers[name] for name in values if name.startswith("e_")]
    return SimpleNamespace(
        **{name: values[name] for name in ("source", "reason", "cause", "detector")},
        **{name: int(values[name]) if values[name] else None for name in ("frame", "face", "track")},
        **{name: numbers[name] for name in ("time_s", "detector_score", "uncertainty", "expected_error")},
        **{name: numbers[name] for name in ("yaw", "pitch", "roll")},
        accepted={"true": True, "false": False}[values["accepted"]],
        box=None if numbers["x"] is None else Box(*(numbers[name] for name in ("x", "y", "width", "height"))),
        landmarks=None if points[0][0] is None else np.array(points).T,
        landmark_errors=None if errors[0] is None else np.array(errors),
    )


def _is_number(name):
    return name not in ("source", "reason", "cause", "detector", "accepted", "frame", "face", "track")
