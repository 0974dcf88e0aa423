"""--detector and --landmarks: by name or file in every command, and one sentence for what is not there."""

from __future__ import annotations

import csv

import PIL.Image
import pytest
import skimage.data
from annotated_faces import write_faces

from facereject.faces import Detection, FaceDetector, FaceRejector, register_detector
from facereject.faces.landmarks.dlib_trees import default_model_path

FIVE = "45,42,36,39,33"


class Upright:
    """dlib's detector under another name, without options."""

    definition = {"name": "upright"}  # noqa: RUF012

    def detect(self, image):
        return [Detection(found.box, found.score) for found in FaceDetector().detect(image)]


@pytest.fixture(autouse=True)
def registered():
    register_detector("upright", Upright)


@pytest.fixture
def photo(work):
    PIL.Image.fromarray(skimage.data.astronaut()).save(work / "photo.png")
    return work / "photo.png"


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_detector_by_name(photo, run):
    for options in (["--detector", "dlib"], ["--detector", "upright"]):
        assert run("score", photo, "-o", "t.csv", *options).exit_code == 0
        (row,) = rows_of("t.csv")
        assert row["x"] == "179"
    result = run("filter", photo, "-o", "t.csv", "--detector", "upright", "--min-face", 30)
    assert result.exit_code == 2
    assert result.stderr == "--min-face: the detector upright has no option min_face; it has none\n"


def test_other_points_from_training_to_table(work, photo, run):
    data = write_faces(work / "data", 10)
    options = ["--landmarks", "dlib-5", "--points", FIVE]
    quick = ["--degradations", 1, "--workers", 1, "--score", "reg", "--coverage", 0.5]
    result = run("train", data, "-o", "five.model", "--detector", "upright", *options, *quick)
    assert result.exit_code == 0, result.output
    assert "180 HOG values at 5 of 5 landmarks" in " ".join(result.stdout.split())
    model = FaceRejector.load("five.model")
    assert isinstance(model.detector, Upright)
    assert model.n_points == 5
    assert run("score", photo, "--model", "five.model", "-o", "t.csv").exit_code == 0
    (row,) = rows_of("t.csv")
    assert list(row)[-15:] == [f"{axis}_{i}" for axis in "xye" for i in range(5)]
    result = run("info", "five.model")
    assert "upright" in result.stdout
    assert "dlib-5 (SHA-256" in result.stdout
    assert "the distance of the points 0 and 2" in " ".join(result.stdout.split())
    result = run("evaluate", "five.model", data, "--report", "report", "--workers", 1, "--points", FIVE)
    assert result.exit_code == 0, result.output
    assert "points 0 and 2" in result.stdout
    assert "mean distance of the 5 landmarks" in (work / "report" / "index.html").read_text()
    result = run("evaluate", "five.model", data, "--report", "other", "--workers", 1)
    assert result.exit_code == 2
    assert "annotated with 68 points, but the model is for 5" in result.stderr
    # a table of 68 points is not continued with five
    assert run("score", photo, "-o", "t.csv", "--overwrite").exit_code == 0
    result = run("score", photo, "-o", "t.csv", "--model", "five.model", "--resume")
    assert result.exit_code == 2
    assert "68 landmarks, not 5" in result.stderr


def test_landmarks_by_file(photo, run):
    assert run("score", photo, "-o", "t.csv", "--landmarks", default_model_path()).exit_code == 0


def test_what_is_not_there(photo, run):
    cases = [
        (["--detector", "magic"], "--detector: no detector is registered as 'magic'; there are"),
        (["--landmarks", "magic"], "--landmarks: no landmark predictor is registered as 'magic'; there are"),
        (["--landmarks", "magic.dat"], "--landmarks: magic.dat: no such landmark model"),
        (["--landmarks", "dlib-5"], "--landmarks: the predictor dlib-5 places 5 landmarks, 68 are needed"),
    ]
    for arguments, words in cases:
        result = run("score", photo, "-o", "t.csv", *arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_points_that_are_none(work, run):
    data = write_faces(work / "data", 4)
    for points, words in (("1;2", "--points must be whole numbers"), ("0,99", "--points: points must be")):
        result = run("train", data, "-o", "m", "--points", points)
        assert result.exit_code == 2
        assert words in result.stderr
    result = run("train", data, "-o", "m", "--landmarks", "dlib-5", "--workers", 1)
    assert result.exit_code == 2
    assert "annotated with 68 points, but the predictor places 5" in result.stderr
