"""Detectors and landmark predictors by name: this package's, registered ones, entry points."""

from __future__ import annotations

import importlib.metadata

import pytest
from plugins_of_others import Mouth, PlainDetector

from facereject.faces import (
    FaceDetector,
    LandmarkPredictor,
    make_detector,
    make_landmarks,
    register_detector,
    register_landmarks,
)
from facereject.faces.detectors import DETECTORS
from facereject.faces.landmarks import LANDMARKS
from facereject.faces.plugins import Registry, RegistryError, color_of


@pytest.fixture
def installed(monkeypatch):
    """Pretends that a package announces entry points."""

    def install(group, **points):
        found = [importlib.metadata.EntryPoint(name, value, group) for name, value in points.items()]

        def entry_points(*, group):
            return [entry for entry in found if entry.group == group]

        monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)

    return install


def test_those_of_this_package():
    assert make_detector("dlib", threshold=-0.5) == FaceDetector(threshold=-0.5)
    assert make_landmarks("dlib").fingerprint == LandmarkPredictor().fingerprint
    assert make_landmarks("dlib-5").n_points == 5
    assert DETECTORS.origins()["dlib"] == "facereject"
    assert set(LANDMARKS.origins()) >= {"dlib", "dlib-5"}


def test_registered_in_code():
    register_landmarks("test-mouth", Mouth)
    assert isinstance(make_landmarks("test-mouth"), Mouth)
    assert LANDMARKS.origins()["test-mouth"] == "registered in code"
    # a notebook cell that is run again brings a new class
    other = type("Other", (Mouth,), {})
    register_landmarks("test-mouth", other)
    assert isinstance(make_landmarks("test-mouth"), other)
    register_landmarks("test-mouth", Mouth)


def test_entry_points_are_found_and_loaded_when_asked_for(installed):
    installed(
        "facereject.detectors",
        found="plugins_of_others:PlainDetector",
        broken="no_such_module:Detector",
        dlib="plugins_of_others:PlainDetector",
    )
    origins = DETECTORS.origins()
    assert origins["found"] == "plugins_of_others:PlainDetector"
    assert origins["broken"] == "no_such_module:Detector"
    assert isinstance(make_detector("found"), PlainDetector)
    # nobody takes the name of this package's own
    assert isinstance(make_detector("dlib"), FaceDetector)
    with pytest.raises(RegistryError, match=r"'broken' of no_such_module:Detector cannot be loaded: Mod"):
        make_detector("broken")
    assert "found" not in LANDMARKS.origins()


def test_names_that_are_not_there_say_which_are():
    with pytest.raises(ValueError, match=r"no landmark predictor .* as 'x'; there are dlib, dlib-5"):
        make_landmarks("x")


def test_bad_options_and_bad_factories():
    with pytest.raises(ValueError, match="'dlib' cannot be made with the options luck"):
        make_detector("dlib", luck=1)
    register_detector("number", lambda: 7)
    with pytest.raises(TypeError, match=r"what the detector 'number' makes must be an object .* got int"):
        make_detector("number")
    with pytest.raises(ValueError, match="'dlib' is a detector of facereject itself"):
        register_detector("dlib", PlainDetector)
    with pytest.raises(TypeError, match="factory must be"):
        register_detector("text", "PlainDetector")
    for name in ("", " a", 3):
        with pytest.raises(ValueError, match="name must be a text"):
            register_detector(name, PlainDetector)


@pytest.mark.parametrize("definition", [{}, {"name": 3}, {"name": ["dlib"]}])
def test_definitions_without_a_name(definition):
    with pytest.raises(RegistryError, match="names none"):
        DETECTORS.restore(definition)


def test_colours_are_two():
    with pytest.raises(ValueError, match="must be 'gray' or 'rgb', got 'bgr'"):
        color_of(type("Odd", (), {"color": "bgr"})())


def test_definitions_must_survive_json():
    registry = Registry("thing", "none", "register", {})
    thing = type("Thing", (), {"definition": {"name": "thing", "sizes": (1, 2)}})
    registry.register("thing", lambda sizes: thing())
    with pytest.raises(ValueError, match="cannot be restored"):
        registry.checked_definition(thing())
