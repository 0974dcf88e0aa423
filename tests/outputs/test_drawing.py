"""Faces on pictures: seen in any size and without colours, the face itself left free."""

from __future__ import annotations

import numpy as np
import pytest

from facereject.faces import Face
from facereject.faces.face import Box
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.outputs._drawing.faces import GREEN, RED, draw_faces, draw_frame


def make_face(box, accepted=True, uncertainty=-0.5, landmarks=True):
    box = Box(*box)
    points = MEAN_SHAPE * box.width + np.array(box.center) if landmarks else np.full((68, 2), np.nan)
    return Face(box, 1.0, points, uncertainty, 3.2, accepted, "" if accepted else "uncertain")


def gray(width, height):
    return np.full((height, width, 3), 120, dtype=np.uint8)


def close_to(picture, color):
    return (np.abs(picture.astype(int) - color).max(axis=2) < 60).sum()


@pytest.mark.parametrize(("width", "height"), [(64, 48), (320, 240), (1920, 1080), (300, 1200)])
@pytest.mark.parametrize("accepted", [True, False])
def test_the_colour_tells_the_decision_in_any_size(width, height, accepted):
    image, side = gray(width, height), min(width, height) / 3
    face = make_face((width / 3, height / 3, side, side), accepted)
    drawn = draw_faces(image, [face], tracks=[3])
    assert drawn.shape == image.shape
    assert (image == 120).all()
    mine, other = (GREEN, RED) if accepted else (RED, GREEN)
    assert close_to(drawn, mine) > 20
    assert close_to(drawn, other) == 0


def test_the_decision_is_told_without_colours():
    face, other = (make_face((100, 100, 90, 90), accepted, landmarks=False) for accepted in (True, False))
    drawings = [draw_faces(gray(320, 240), [one]) for one in (face, other)]
    # white is the writing and the sign
    written = [(drawing.min(axis=2) > 200) for drawing in drawings]
    assert written[0].sum() > 50
    assert (written[0] != written[1]).sum() > 20


@pytest.mark.parametrize("place", [(10, 5), (230, 5), (10, 140), (230, 140), (115, 70)])
def test_labels_keep_away_from_all_faces(place):
    faces = [make_face((*place, 80, 80), landmarks=False), make_face((110, 150, 80, 80), landmarks=False)]
    drawn = draw_faces(gray(320, 240), faces, tracks=[0, 1])
    for face in faces:
        # the corners of the box are drawn inside it; between them nothing is
        x, y = (round(value) for value in face.box.center)
        assert (drawn[y - 20 : y + 20, x - 20 : x + 20] == 120).all()


@pytest.mark.parametrize("box", [(-50, -50, 90, 90), (300, 200, 100, 100), (-20, 30, 600, 600)])
def test_faces_may_reach_beyond_the_picture(box):
    assert draw_faces(gray(320, 240), [make_face(box)]).shape == (240, 320, 3)


def test_a_face_without_score_or_landmarks_is_drawn():
    for landmarks in (True, False):
        face = make_face((100, 100, 60, 60), False, float("inf"), landmarks)
        assert close_to(draw_faces(gray(320, 240), [face]), RED) > 20


def test_a_picture_without_faces_stays_as_it_is():
    assert (draw_faces(gray(80, 60), []) == 120).all()


@pytest.mark.parametrize(("accepted", "color"), [(True, GREEN), (False, RED)])
def test_a_frame_has_a_border_in_the_colour_of_its_decision(accepted, color):
    drawn = draw_frame(gray(320, 240), [], accepted, "no face  0:01.00")
    assert (drawn[0] == color).all()
    assert (drawn[:, -1] == color).all()
    assert (drawn[60:120, 60:260] == 120).all()
