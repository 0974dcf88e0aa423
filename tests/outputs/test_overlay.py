"""What the window says: the limit with the value, the pose, what to do, and that it is loading."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from fake_world import Someone, World, blank

from facereject.faces import Pose
from facereject.faces.face import EXPLANATIONS
from facereject.outputs._drawing.faces import RED
from facereject.outputs._drawing.overlay import Status, advice, draw_view, limit_text, loading_view
from facereject.outputs._drawing.text import text_mask
from facereject.outputs.camera.window import fitting_size


@pytest.fixture
def world():
    return World(Someone(60, 60, uncertainty=-0.5), Someone(180, 60, uncertainty=0.7))


def test_the_limit_stands_beside_the_value(world):
    # the expected error is 5 + 2 u, the threshold 0
    certain, uncertain = world(blank())
    assert limit_text([certain, uncertain], world) == "expected error 6.4 % > 5.0 %"
    assert limit_text([certain], world) == "expected error 4.0 % <= 5.0 %"
    close = dataclasses.replace(uncertain, uncertainty=0.01, expected_error=5.02)
    assert limit_text([close], world) == "expected error 5.02 % > 5.00 %"
    assert limit_text([], world) == "accept up to 5.0 % expected error"
    world.selector.threshold_ = np.inf
    assert limit_text([certain], world) == "every face is accepted"


def test_the_font_has_every_sign(world):
    certain, uncertain = world(blank())
    posed = dataclasses.replace(uncertain, pose=Pose(1, 2, 3))
    texts = [
        limit_text([certain], world),
        limit_text([uncertain], world),
        advice([posed]),
        *EXPLANATIONS.values(),
    ]
    missing = text_mask("\uffff", 20)
    for sign in set("".join(texts)) - {" "}:
        assert not np.array_equal(text_mask(sign, 20), missing), sign


def test_the_least_certain_rejected_face_gets_the_advice(world):
    certain, uncertain = world(blank())
    certain = dataclasses.replace(certain, pose=Pose(-0.2, 12.4, 3.0))
    assert advice([]) == ""
    assert advice([certain]) == "yaw +0°  pitch +12°  roll +3°"
    dark = dataclasses.replace(uncertain, cause="dark", pose=None)
    assert advice([certain, dark]) == "too dark: add light"
    turned = dataclasses.replace(certain, accepted=False, reason="turned")
    assert advice([turned]).endswith("further than the limits allow")


def test_the_view_has_room_for_all_of_it(world):
    image, faces = blank(), world(blank())
    view = draw_view(image, faces, False, world, Status())
    assert view.shape[1] == image.shape[1]
    assert view.shape[0] > image.shape[0]
    posed = [dataclasses.replace(face, pose=Pose(10, 0, 0)) for face in faces]
    other = draw_view(image, posed, False, world, Status())
    changed = np.argwhere((view != other).any(axis=2))
    # the pose stands below the decision, not on the picture
    assert changed[:, 0].min() > image.shape[0]


@pytest.mark.parametrize("skipped", [(178, 278), (12345, 23456)])
def test_the_scale_ends_before_the_figures(world, skipped):
    image = np.zeros((480, 640, 3), np.uint8)
    some, other = (draw_view(image, [], False, world, Status(dropped=n))[480:] for n in skipped)
    text = np.argwhere((some != other).any(axis=2))
    rows = slice(text[:, 0].min(), text[:, 0].max() + 1)
    scale = np.argwhere((some[rows] == RED).all(axis=2))
    # the word of the decision is red too, but always on the left
    assert len(scale) > 50
    assert scale[:, 1].max() < text[:, 1].min()


def test_loading_is_said():
    view = loading_view((320, 200))
    assert view.shape == (200, 320, 3)
    assert len(np.unique(view.reshape(-1, 3), axis=0)) > 5


@pytest.mark.parametrize("shape", [(240, 320), (520, 640), (2200, 3840), (1920, 1080)])
def test_the_window_fits_the_screen_and_the_picture(shape):
    width, height = fitting_size(*shape)
    assert width <= 1280
    assert height <= 720
    assert width == 1280 or height == 720
    assert width / height == pytest.approx(shape[1] / shape[0], rel=0.01)
