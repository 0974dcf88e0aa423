"""Faces of a running camera: typicality of the last ones, one face per track compared."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest

from facereject.faces import DomainMonitor
from facereject.faces.domain_monitor import FaceReservoir
from facereject.faces.face import Box, Face, Lazy
from facereject.faces.models.domain import DomainCheck


def face(typicality, track=None):
    return Face(Box(0, 0, 9, 9), 1.0, np.zeros((68, 2)), 1.0, 3.0, True, track=track, typicality=typicality)


def monitor(unlike=False):
    asked = []

    def check_domain(faces):
        asked.append(len(faces))
        return DomainCheck(len(faces), 0.9, 0.0 if unlike else 1.0)

    return DomainMonitor(SimpleNamespace(check_domain=check_domain, domain="a summary", info={})), asked


def test_one_person_in_front_of_a_camera_is_told_by_typicality_alone():
    watched, asked = monitor()
    assert math.isnan(watched.typicality)
    for _ in range(39):
        watched.add([face(0.01, track=1)])
    assert not watched.unusual
    watched.add([face(0.02, track=1)])
    assert watched.unusual
    # a face without landmarks says nothing
    watched.add([face(math.nan, track=1)])
    assert watched.typicality == 0.01
    assert "95%" in watched.to_dict()["sentence"]
    assert asked == []
    # the last hundred count: somebody else came
    for _ in range(60):
        watched.add([face(0.5, track=2)])
    assert not watched.unusual
    found = watched.to_dict()
    assert "at least 40 different faces" in found.pop("not_compared")
    assert found == {"typicality": 0.5, "unusual": False, "check": None, "sentence": ""}


def test_many_people_are_compared_again_after_a_quarter_more():
    watched, asked = monitor(unlike=True)
    for number in range(49):
        watched.add([face(0.5, track=number)] * 3)
        found = watched.check()
        assert (found is None) == (number < 39)
    assert asked == [40]
    watched.add([face(0.5, track=49)])
    assert watched.to_dict()["check"]["n"] == 50
    assert asked == [40, 50]
    assert watched.to_dict()["sentence"] == watched.check().sentence


def test_the_faces_kept_hold_no_image():
    """A thumbnail that nobody asked for would keep its photo in memory."""
    sample = FaceReservoir()
    whole = dataclasses.replace(face(0.3), thumbnail=Lazy(lambda: pytest.fail("made")), cause="dark")
    sample.add(whole)
    (kept,) = sample.kept
    assert not any(isinstance(value, Lazy) for value in kept.later.values())
    assert kept.typicality == 0.3
    assert kept.thumbnail == b""
