"""Values of a face that are computed when they are first read."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from facereject.faces.face import Box, Face, Lazy


def holder(value):
    return Face(Box(0.0, 0.0, 9.0, 9.0), 1.0, np.zeros((68, 2)), 0.0, 1.0, True, typicality=value)


def counting(result):
    calls = []

    def work():
        calls.append(None)
        return result

    return Lazy(work), calls


def test_the_work_is_done_once_and_only_when_read():
    lazy, calls = counting(3)
    face = holder(lazy)
    assert not calls
    assert (face.typicality, face.typicality, lazy()) == (3, 3, 3)
    assert len(calls) == 1


def test_a_changed_face_shares_the_work():
    lazy, calls = counting(None)
    face = holder(lazy)
    assert dataclasses.replace(face, track=1).typicality is face.typicality is None
    assert len(calls) == 1


def test_plain_values_and_defaults():
    assert holder(1).typicality == 1
    assert Face(Box(0.0, 0.0, 9.0, 9.0), 1.0, np.zeros((68, 2)), 0.0, 1.0, True).likely_cause == ""
    with pytest.raises(TypeError, match="colour"):
        Face(Box(0.0, 0.0, 9.0, 9.0), 1.0, np.zeros((68, 2)), 0.0, 1.0, True, colour=1)


def test_an_error_is_raised_again_for_the_next_reader():
    def fails():
        raise ValueError("not now")

    face = holder(Lazy(fails))
    for _ in range(2):
        with pytest.raises(ValueError, match="not now"):
            _ = face.typicality


def test_pickles_hold_values():
    lazy, calls = counting(3)
    assert pickle.loads(pickle.dumps(holder(lazy))).typicality == 3  # noqa: S301
    assert len(calls) == 1
