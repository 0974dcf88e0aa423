"""Reading annotations in three formats; bad entries are named, splits keep photographs whole."""

from __future__ import annotations

import csv

import numpy as np
import PIL.Image
import pytest

from facereject.faces.datasets import DatasetError, FaceDataset, FaceSample, Problem, match_face, read_pts
from facereject.faces.face import Detection
from facereject.faces.geometry import bounding_box


@pytest.fixture
def points(rng):
    return np.round(rng.uniform(5, 95, size=(68, 2)), 3)


def write_pts(path, points, header=True):
    body = "\n".join(f"{x:.6f} {y:.6f}" for x, y in points + 1)
    path.write_text(f"version: 1\nn_points: 68\n{{\n{body}\n}}\n" if header else body + "\n")


def write_image(path):
    PIL.Image.new("RGB", (100, 100)).save(path)


@pytest.mark.parametrize("header", [True, False])
def test_pts_is_one_based_with_or_without_header(tmp_path, points, header):
    write_pts(tmp_path / "a.pts", points, header)
    np.testing.assert_allclose(read_pts(tmp_path / "a.pts"), points, atol=1e-6)


def test_300w_folder_names_what_it_leaves_out(tmp_path, points):
    folder = tmp_path / "sub"
    folder.mkdir()
    for name in ["1345_1", "1345_2", "image_0001", "image_0002"]:
        write_pts(folder / f"{name}.pts", points)
        write_image(folder / f"{name}.jpg")
    write_pts(folder / "lonely.pts", points)
    write_image(folder / "short.png")
    (folder / "short.pts").write_text("version: 1\n1 2\n")
    write_image(folder / "junk.png")
    (folder / "junk.pts").write_bytes(bytes(range(256)))
    dataset = FaceDataset.load(tmp_path)
    assert len(dataset) == 4
    assert dataset.photos == ["sub/1345", "sub/image_0001", "sub/image_0002"]
    assert {problem.entry: problem.reason for problem in dataset.problems}.keys() == {
        "sub/lonely.pts",
        "sub/short.pts",
        "sub/junk.pts",
    }
    assert dataset[0].load().shape == (100, 100, 3)
    assert "3 problems" in repr(dataset)


def test_dlib_xml(tmp_path, points):
    write_image(tmp_path / "a.jpg")
    parts = "".join(f'<part name="{i:02d}" x="{x}" y="{y}"/>' for i, (x, y) in enumerate(points))
    (tmp_path / "all.xml").write_text(
        f'<dataset><images><image file="a.jpg"><box>{parts}</box><box><part name="00" x="1"/></box></image>'
        f'<image file="gone.jpg"><box>{parts}</box></image></images></dataset>'
    )
    dataset = FaceDataset.load(tmp_path / "all.xml")
    np.testing.assert_allclose(dataset[0].landmarks, points)
    assert [problem.entry for problem in dataset.problems] == ["a.jpg box 1", "gone.jpg box 0"]


def test_csv(tmp_path, points):
    write_image(tmp_path / "a.jpg")
    columns = [f"{axis}{i}" for i in range(68) for axis in "xy"]
    with open(tmp_path / "faces.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "photo", *columns])
        writer.writerow(["a.jpg", "p", *points.ravel()])
        writer.writerow(["a.jpg", "p", *points.ravel()[:-1], "x"])
        writer.writerow(["gone.jpg", "p", *points.ravel()])
    dataset = FaceDataset.load(tmp_path / "faces.csv")
    assert [sample.photo for sample in dataset] == ["p"]
    np.testing.assert_allclose(dataset[0].landmarks, points)
    assert [problem.entry for problem in dataset.problems] == ["line 3", "line 4"]


def test_data_sets_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.xml").write_text("<images>")
    (tmp_path / "bad.csv").write_text("image,x0\n")
    (tmp_path / "note.txt").write_text("")
    for name in ["bad.xml", "bad.csv", "note.txt", "none.xml", "none.csv", "."]:
        with pytest.raises(DatasetError, match=str(tmp_path)):
            FaceDataset.load(tmp_path / name)


def test_split_is_by_photograph_and_seeded(tmp_path, points):
    dataset = FaceDataset(FaceSample(tmp_path, points, f"photo{i // 3}") for i in range(300))
    parts = dataset.split(0.6, 0.2, 0.2, random_state=0)
    assert [len(part) for part in parts] == [180, 60, 60]
    seen = [set(part.photos) for part in parts]
    assert sum(map(len, seen)) == len(set.union(*seen))
    again = dataset.split(0.6, 0.2, 0.2, random_state=0)
    assert [part.photos for part in again] == [part.photos for part in parts]
    with pytest.raises(ValueError, match="shares"):
        dataset.split(0.7, 0.7)


def test_matching_takes_the_largest_overlap(points):
    face = bounding_box(points)
    right = Detection(face, 0.1)
    wrong = Detection(face._replace(x=face.x + face.width * 0.9), 3.0)
    assert match_face([wrong, right], points) is right
    assert match_face([wrong], points) is None
    assert match_face([], points) is None


def test_real_folder(faces_dir):
    dataset = FaceDataset.from_300w(faces_dir / "300w")
    assert len(dataset) == 2012
    assert not dataset.problems
    # faces of one photograph share its name in AFW and HELEN; LFPW numbers photographs
    assert len(dataset.photos) == 1773


def test_numbered_pictures_are_photographs_of_their_own(tmp_path, points):
    for number in range(1, 4):
        write_pts(tmp_path / f"face_{number:02d}.pts", points)
        write_image(tmp_path / f"face_{number:02d}.png")
    assert len(FaceDataset.from_300w(tmp_path).photos) == 3
    assert FaceDataset.from_300w(tmp_path, photo_of=lambda name: name.split("_")[0]).photos == ["face"]


def test_rows_of_another_length_are_problems(tmp_path, points):
    write_image(tmp_path / "a.jpg")
    columns = [f"{axis}{i}" for i in range(68) for axis in "xy"]
    with open(tmp_path / "faces.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "image"])
        writer.writerow(points.ravel())
        writer.writerow([*points.ravel(), "a.jpg", 3])
        writer.writerow([*points.ravel(), "a.jpg"])
    dataset = FaceDataset.load(tmp_path / "faces.csv")
    assert len(dataset) == 1
    assert [problem.entry for problem in dataset.problems] == ["line 2", "line 3"]


def test_parts_counted_from_one_are_refused(tmp_path, points):
    write_image(tmp_path / "a.jpg")
    parts = "".join(f'<part name="{i}" x="{x}" y="{y}"/>' for i, (x, y) in enumerate(points, start=1))
    (tmp_path / "a.xml").write_text(f'<d><image file="a.jpg"><box>{parts}</box></image></d>')
    with pytest.raises(DatasetError, match="found 68, 1 to 68"):
        FaceDataset.load(tmp_path / "a.xml")


def test_problems_survive_slices_and_splits(tmp_path, points):
    problems = [Problem("x", "y")]
    dataset = FaceDataset([FaceSample(tmp_path, points, str(i)) for i in range(4)], problems)
    for part in [dataset[:2], *dataset.split(0.5, 0.5, random_state=0)]:
        assert part.problems == tuple(problems)


def test_any_number_of_points(tmp_path, rng):
    write_image(tmp_path / "a.jpg")
    points = np.round(rng.uniform(5, 95, size=(5, 2)), 3)
    names = [f"{axis}{i}" for i in range(5) for axis in "xy"]
    with open(tmp_path / "faces.csv", "w", newline="") as file:
        csv.writer(file).writerows([["image", *names], ["a.jpg", *points.ravel()]])
    parts = "".join(f'<part name="{i}" x="{x}" y="{y}"/>' for i, (x, y) in enumerate(points))
    fewer = "".join(f'<part name="{i}" x="{x}" y="{y}"/>' for i, (x, y) in enumerate(points[:4]))
    boxes = f"<box>{parts}</box><box>{parts}</box><box>{fewer}</box>"
    (tmp_path / "faces.xml").write_text(f'<d><image file="a.jpg">{boxes}</image></d>')
    table, xml = FaceDataset.load(tmp_path / "faces.csv"), FaceDataset.load(tmp_path / "faces.xml")
    for sample in (*table, *xml):
        np.testing.assert_allclose(sample.landmarks, points)
    assert (len(table), len(xml)) == (1, 2)
    assert "needs 5 parts named 0 to 4 with x and y: found 4, 0 to 3" in xml.problems[0].reason


def test_some_of_the_points(tmp_path, points):
    dataset = FaceDataset([FaceSample(tmp_path, points, "a")], [Problem("x", "y")])
    chosen = dataset.with_points([5, 0, 7])
    np.testing.assert_array_equal(chosen[0].landmarks, points[[5, 0, 7]])
    assert chosen.problems == dataset.problems
    assert len(dataset[0].landmarks) == 68
