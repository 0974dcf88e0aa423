"""Annotation and predictions of any format, paired by image and overlap."""

from __future__ import annotations

import json
import pickle

import cv2
import numpy as np
import PIL.Image
import pytest

from facereject import annotated_faces
from facereject.faces import DatasetError, ImageError
from facereject.faces.landmarks.conversion import WFLW
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.sources.annotated import pair_faces

LEFT, RIGHT = 40 * MEAN_SHAPE + (40, 50), 40 * MEAN_SHAPE + (140, 50)


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "photos" / "sub"
    folder.mkdir(parents=True)
    for name in ("a.png", "b.png"):
        PIL.Image.new("RGB", (200, 100)).save(folder / name)
    return tmp_path / "photos"


def table(path, faces):
    columns = [f"{axis}{i}" for i in range(len(faces[0][1])) for axis in "xy"]
    rows = [",".join(["image", *columns, "confidence"])]
    rows += [",".join([name, *map(str, points.ravel()), str(sure)]) for name, points, sure in faces]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_predictions_are_paired_by_image_and_overlap(tmp_path, images):
    truth = table(tmp_path / "truth.csv", [("a", LEFT, 1), ("a", RIGHT, 1), ("sub/b.png", LEFT, 1)])
    # in another order and under other names; somewhere else on b.png
    faces = [("a.png", RIGHT + 1, 0.5), ("a.png", LEFT - 1, 0.25), ("b", RIGHT + 40, 0.1), ("c.png", LEFT, 1)]
    faces = annotated_faces(truth, images, table(tmp_path / "predicted.csv", faces))
    assert [sample.confidence for sample in faces] == [0.25, 0.5]
    np.testing.assert_allclose(faces[0].predicted, LEFT - 1)
    np.testing.assert_allclose(faces[1].landmarks, RIGHT)
    assert [problem.reason for problem in faces.problems] == ["the tool has no landmarks on this face"]


def test_one_face_each_is_paired_however_wrong():
    assert pair_faces([LEFT], [LEFT + 28]) == [(0, 0)]
    assert pair_faces([LEFT], [LEFT + 200]) == []
    assert pair_faces([LEFT, RIGHT], [LEFT + 28]) == []


def test_other_mark_ups_are_mapped_to_that_of_the_annotation(tmp_path, images):
    wide = np.zeros((98, 2))
    wide[list(WFLW)] = LEFT
    wide[np.setdiff1d(np.arange(98), WFLW)] = LEFT.mean(axis=0)
    (tmp_path / "wide.json").write_text(json.dumps([{"image": "a.png", "landmarks": wide.tolist()}]))
    truth = table(tmp_path / "truth.csv", [("a.png", LEFT, 1)])
    (face,) = annotated_faces(truth, images, tmp_path / "wide.json")
    np.testing.assert_allclose(face.predicted, LEFT)


def test_some_points_of_faces_that_lack_others(tmp_path, images):
    gaps = LEFT.copy()
    gaps[3] = np.nan
    truth = table(tmp_path / "truth.csv", [("a.png", gaps, 1), ("b.png", LEFT, 1)])
    truth.write_text(truth.read_text().replace("nan", ""))
    whole = annotated_faces(truth, images)
    assert len(whole) == 1
    assert "1 of 68 points are missing: 3" in whole.problems[0].reason
    some = annotated_faces(truth, images, table(tmp_path / "p.csv", [("a.png", gaps, 1)]), points=[0, 5, 9])
    np.testing.assert_allclose(some[0].predicted, LEFT[[0, 5, 9]])


def test_what_is_wrong_is_said(tmp_path, images):
    truth = table(tmp_path / "truth.csv", [("a.png", LEFT, 1)])
    with pytest.raises(DatasetError, match=r"none of its images, such as .*, is annotated"):
        annotated_faces(truth, images, table(tmp_path / "p.csv", [("z.png", LEFT, 1)]))
    with pytest.raises(DatasetError, match="none of its faces is annotated"):
        annotated_faces(truth, images, table(tmp_path / "p.csv", [("a.png", LEFT[:7], 1)]))
    (tmp_path / "odd.csv").write_text("file,left eye\na.png,3\n")
    with pytest.raises(DatasetError, match=r"begins with: file, left eye.*image, x0, y0.*pts"):
        annotated_faces(tmp_path / "odd.csv", images)


@pytest.fixture
def clip(tmp_path):
    """Twelve frames, of which each has another brightness."""
    path = tmp_path / "clips" / "clip.avi"
    path.parent.mkdir()
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 10, (200, 100))
    for k in range(12):
        writer.write(np.full((100, 200, 3), 20 * k, np.uint8))
    writer.release()
    return path


def of_frames(path, frames, shift=0.0):
    columns = [f"{axis}{i}" for i in range(68) for axis in "xy"]
    rows = [",".join(["image", "frame", *columns])]
    rows += [",".join(["clip.avi", str(k), *map(str, (LEFT + shift + k).ravel())]) for k in frames]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_frames_of_a_video_are_annotated(tmp_path, clip):
    # in no order, beside the video or with its folder named, and predictions of other frames, too
    truth = of_frames(clip.parent / "truth.csv", [9, 2, 3, 2])
    for images in (None, clip.parent, clip):
        faces = annotated_faces(truth, images, of_frames(tmp_path / "p.csv", range(12), 1.0))
        assert [face.frame for face in faces] == [2, 3, 9]
        # workers get them pickled
        for face in pickle.loads(pickle.dumps(list(reversed(faces)))):  # noqa: S301
            assert face.load().mean() == pytest.approx(20 * face.frame, abs=2)
            np.testing.assert_allclose(face.predicted, LEFT + face.frame + 1)
        assert len(faces.photos) == 3


def test_neighbouring_frames_form_groups(tmp_path, clip):
    faces = annotated_faces(of_frames(tmp_path / "t.csv", range(12)), clip)
    assert len(faces.photos) == 10
    assert [face.photo for face in faces] == sorted(face.photo for face in faces)


def test_a_frame_that_is_missing_is_said(tmp_path, clip):
    (face,) = annotated_faces(of_frames(tmp_path / "t.csv", [40]), clip)
    with pytest.raises(ImageError, match="has no frame 40"):
        face.load()
