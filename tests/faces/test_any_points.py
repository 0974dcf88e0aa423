"""Rejectors for other points than the 68: dlib's five, twenty of the mouth; photo, video, table, file."""

from __future__ import annotations

import csv
import json
import pickle
import shutil
import warnings
from dataclasses import replace

import numpy as np
import PIL.Image
import pytest
from plugins_of_others import FIVE, MOUTH, Mouth, plain_mouth

from facereject.faces import (
    FaceDataset,
    FaceRejector,
    FaceSample,
    LandmarkFailureWarning,
    LandmarkModelError,
    LandmarkPredictor,
    PredictorMismatchWarning,
    evaluate_face_rejector,
    make_landmarks,
    register_landmarks,
    train_face_rejector,
    train_landmark_predictor,
)
from facereject.faces.face import NO_IMAGE, FaceFrame
from facereject.faces.features.recipe import LandmarkStability
from facereject.faces.images import to_gray
from facereject.faces.landmarks.dlib_trees import default_model_path
from facereject.faces.landmarks.point_set import POINTS_300W, mirror_partners
from facereject.faces.training.degrade import random_degradation
from facereject.faces.training.train import Training
from facereject.losses import landmark_nme
from facereject.modelfile import ModelFileContentError, read_model, write_model
from facereject.outputs._drawing.faces import draw_faces
from facereject.outputs._video.writer import VideoWriter
from facereject.outputs.summary import Counts
from facereject.pipeline.store import Store
from facereject.pipeline.task import ScoreTask
from facereject.sources.inputs import Input
from facereject.tables.columns import HEAD
from facereject.tables.errors import SettingsError
from facereject.tables.reading import read_table
from facereject.tables.writing import encode_frame

TRAINING = Training(degradations=1, alphas=(1.0,), folds=2)
QUICK = {"training": TRAINING, "workers": 1}


@pytest.fixture(scope="module", autouse=True)
def registered():
    register_landmarks("test-mouth", Mouth)


@pytest.fixture(scope="module")
def degraded(astronaut, astronaut_landmarks, tmp_path_factory):
    """The astronaut, degraded in ten ways: needs no data."""
    folder, samples = tmp_path_factory.mktemp("faces"), []
    for i in range(10):
        image, points, *_ = random_degradation(astronaut, astronaut_landmarks, random_state=i)
        PIL.Image.fromarray(image).save(folder / f"{i}.png", compress_level=0)
        samples.append(FaceSample(folder / f"{i}.png", points, str(i)))
    return FaceDataset(samples)


@pytest.fixture(scope="module")
def five(photographs):
    """A rejector for dlib's five points, with stability."""
    some = photographs.with_points(FIVE)[:16]
    return train_face_rejector(
        some,
        predictor=make_landmarks("dlib-5"),
        training=replace(TRAINING, stability=LandmarkStability()),
        workers=1,
    )


@pytest.fixture(scope="module")
def mouth(photographs):
    """A rejector for the twenty points of a predictor that declares all there is."""
    return train_face_rejector(photographs.with_points(MOUTH)[:16], predictor=Mouth(), **QUICK)


@pytest.fixture
def rejector(request):
    return request.getfixturevalue(request.param)


BOTH = pytest.mark.parametrize(("rejector", "n"), [("five", 5), ("mouth", 20)], indirect=["rejector"])


@BOTH
def test_what_training_makes(rejector, n):
    assert rejector.n_points == n
    assert rejector.hog.n_features == 36 * n
    assert rejector.points.normalizer == {5: "points:0,2", 20: "points:0,6"}[n]
    assert 0.5 < rejector.calibration.losses.min() < np.median(rejector.calibration.losses) < 30


@BOTH
def test_photograph_drawing_and_file(rejector, n, astronaut, tmp_path):
    (face,) = rejector(astronaut)
    assert face.landmarks.shape == (n, 2)
    assert np.isfinite([face.uncertainty, face.expected_error]).all()
    drawn = draw_faces(astronaut, [face])
    assert (drawn != astronaut).any()
    rejector.save(tmp_path / "model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = FaceRejector.load(tmp_path / "model")
    assert again.points == rejector.points
    assert type(again.predictor) is type(rejector.predictor)
    (other,) = again(astronaut)
    assert (other.uncertainty, other.accepted) == (face.uncertainty, face.accepted)
    np.testing.assert_array_equal(other.landmarks, face.landmarks)
    # landmarks from elsewhere, without a box
    assert again.assess(astronaut, face.landmarks).box.center == pytest.approx(face.box.center, abs=25)
    with pytest.raises(ValueError, match=rf"landmarks must have shape \({n}, 2\)"):
        again.assess(astronaut, np.arange(136.0).reshape(68, 2))
    with pytest.raises(LandmarkModelError, match=f"places 68 landmarks, {n} are needed"):
        FaceRejector.load(tmp_path / "model", predictor=make_landmarks("dlib"))


@BOTH
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_video_and_table(rejector, n, astronaut, tmp_path, suffix):
    part = astronaut[:240, 80:400]
    video = tmp_path / "video.mkv"
    with VideoWriter(video, 25, (320, 240)) as writer:
        for i in range(6):
            writer.write(np.roll(part, 3 * i, axis=1))
    blank = tmp_path / "blank.png"
    PIL.Image.new("RGB", (60, 60)).save(blank)
    task, path = ScoreTask(rejector), tmp_path / f"table.{suffix}"
    with Store(path, n_points=n) as store:
        for item in (Input(str(video), "video"), Input(str(blank), "image")):
            for chunk in task(item):
                store.write(chunk.frames)
            store.end_input(item.path, Counts())
    frames = list(read_table(str(path)))
    assert [frame.index for frame in frames] == [0, 1, 2, 3, 4, 5, 0]
    assert [len(frame.faces) for frame in frames] == [1] * 6 + [0]
    names = (*HEAD, *(f"{axis}_{i}" for axis in "xye" for i in range(n)))
    if suffix == "csv":
        with open(path, newline="") as file:
            lines = list(csv.reader(file))
        assert tuple(lines[0]) == names
        assert {len(line) for line in lines} == {len(HEAD) + 3 * n}
    elif suffix == "jsonl":
        assert tuple(json.loads(path.read_text().splitlines()[-1])) == names
    else:
        import pyarrow.parquet

        assert tuple(pyarrow.parquet.read_schema(path).names) == names
    # a table of other points is not continued
    with pytest.raises(SettingsError, match=f"faces have {n} landmarks, not 68"):
        Store(path, resume=True)
    with Store(path, resume=True, n_points=n) as store:
        assert store.has(str(blank))


@BOTH
def test_evaluation(rejector, n, photographs):
    points = {5: FIVE, 20: MOUTH}[n]
    with pytest.raises(ValueError, match=f"annotated with 68 points, but the model is for {n}"):
        evaluate_face_rejector(rejector, photographs, degradations=0, workers=1)
    result = evaluate_face_rejector(
        rejector, photographs.with_points(points)[16:24], degradations=0, workers=1
    )
    assert result.clean.n + result.clean.missed == 8
    assert not result.problems


def test_losses_are_those_of_the_rule(photographs, mouth):
    from facereject.faces.datasets import match_face
    from facereject.faces.images import to_gray
    from facereject.faces.training.extract import Extractor, extract

    some = photographs.with_points(MOUTH)[:3]
    table = extract(some, Extractor(mouth.predictor, mouth.detector, mouth.hog, degradations=0), workers=1)
    for row, index in enumerate(table.sample):
        sample = some[int(index)]
        gray = to_gray(sample.load())
        found = match_face(mouth.detector.detect(gray), sample.landmarks, points=mouth.points)
        points = mouth.predictor(gray, found.box)
        width = np.linalg.norm(sample.landmarks[0] - sample.landmarks[6])
        error = 100 * np.linalg.norm(points - sample.landmarks, axis=1).mean() / width
        assert table.losses[row] == pytest.approx(error)
        assert landmark_nme(sample.landmarks, points, "points:0,6") == pytest.approx(error)


def test_a_function_that_declares_nothing_works_but_is_not_saved(degraded, astronaut, tmp_path):
    rejector = train_face_rejector(degraded.with_points(MOUTH), predictor=plain_mouth, **QUICK)
    assert (rejector.n_points, rejector.points.normalizer) == (20, "box")
    (face,) = rejector(astronaut)
    assert face.landmarks.shape == (20, 2)
    pickle.loads(pickle.dumps(rejector))  # noqa: S301
    with pytest.raises(ValueError, match=r"plain_mouth cannot be stored in a model file.*register_landmarks"):
        rejector.save(tmp_path / "model")


def test_the_points_of_a_mesh_that_features_are_computed_at(degraded, astronaut):
    used = (0, 3, 6, 9)
    rejector = train_face_rejector(
        degraded.with_points(MOUTH),
        predictor=Mouth(),
        training=replace(TRAINING, feature_points=used, stability=LandmarkStability()),
        workers=1,
    )
    assert rejector.hog.n_features == 4 * 36
    assert rejector.stability.n_features == 4
    (face,) = rejector(astronaut)
    assert face.landmarks.shape == (20, 2)


def test_annotation_of_other_points_is_refused_before_any_work(degraded):
    with pytest.raises(ValueError, match="annotated with 68 points, but the predictor places 20"):
        train_face_rejector(degraded, predictor=Mouth(), **QUICK)
    mixed = [*degraded[:5], *degraded.with_points(MOUTH)[5:]]
    with pytest.raises(ValueError, match="same number of points, found 20 and 68"):
        train_face_rejector(mixed, predictor=plain_mouth, **QUICK)
    with pytest.raises(ValueError, match="points must be two or more different numbers from 0 to 67"):
        degraded.with_points([0, 68])


@pytest.mark.parametrize("given", [Mouth, "dlib-5", 3])
def test_what_is_no_predictor_is_refused_at_once(given, degraded):
    with pytest.raises(TypeError, match=r"predictor must be a function or object that takes \(image, box\)"):
        train_face_rejector(degraded, predictor=given, **QUICK)
    with pytest.raises(TypeError, match="predictor must be"):
        FaceRejector.pretrained(predictor=given)


def test_an_error_on_one_face_costs_that_face_alone(astronaut, predictor):
    twice = np.concatenate([astronaut, astronaut[:, ::-1]], axis=1)

    def moody(image, box):
        if box.x > 512:
            raise RuntimeError("no idea")
        return predictor(image, box)

    with pytest.warns(PredictorMismatchWarning):
        rejector = FaceRejector.pretrained(predictor=moody)
    with pytest.warns(LandmarkFailureWarning, match="the predictor failed: RuntimeError: no idea"):
        faces = rejector(twice)
    judged = {face.box.x > 512: face for face in faces}
    assert np.isfinite(judged[False].uncertainty)
    assert (judged[True].reason, judged[True].accepted) == ("no_landmarks", False)
    with pytest.warns(LandmarkFailureWarning):
        assert rejector.assess_box(twice, judged[True].box).reason == "no_landmarks"


def test_rows_of_other_points_are_not_mixed(mouth, astronaut):
    frame = FaceFrame(0, float("nan"), NO_IMAGE, mouth(astronaut), "a.png")
    with Store(None) as store, pytest.raises(ValueError, match="20 landmarks"):
        store.write([frame])
    line = json.loads(encode_frame(frame, n_points=20))
    assert len(line["faces"][0]) == len(HEAD) + 60


def test_a_predictor_of_any_points_can_be_trained(photographs, tmp_path):
    options = {"oversampling": 2, "depth": 2, "cascades": 3, "trees": 20, "workers": 1}
    few = photographs.with_points(FIVE)[:6]
    trained = train_landmark_predictor(few, tmp_path / "five.dat", **options)
    assert trained.n_points == 5
    where = {"path": str(tmp_path / "five.dat"), "sha256": trained.fingerprint}
    assert trained.definition == {"name": "dlib", **where}
    assert make_landmarks("dlib", **where).fingerprint == trained.fingerprint
    # these five may be others than the published ones, whose eyes are known
    assert (trained.normalizer, make_landmarks("dlib-5").normalizer) == (None, "points:0,2")


def test_a_predictor_learns_from_mirror_images(photographs, tmp_path):
    options = {"oversampling": 2, "depth": 2, "cascades": 3, "trees": 20, "workers": 1, "mirrored": True}
    trained = train_landmark_predictor(photographs[:6], tmp_path / "both.dat", **options)
    image = to_gray(photographs[0].load())
    box = POINTS_300W.box_of(photographs[0].landmarks)
    width = image.shape[1]
    other = trained(np.ascontiguousarray(image[:, ::-1]), box._replace(x=width - box.x - box.width))
    partners = list(mirror_partners(POINTS_300W))
    back = np.column_stack([width - 1 - other[:, 0], other[:, 1]])[partners]
    # trained on both, it cannot place the mirror image far from the mirrored landmarks
    assert np.abs(back - trained(image, box)).mean() < 0.1 * box.width
    with pytest.raises(ValueError, match="not symmetric"):
        train_landmark_predictor(
            photographs.with_points([0, 8, 30, 36, 48])[:6], tmp_path / "odd.dat", **options
        )


def test_a_copy_of_a_published_model_is_known_as_such(tmp_path):
    copy = tmp_path / "copy.dat"
    shutil.copyfile(default_model_path(5), copy)
    assert LandmarkPredictor(copy).definition == {"name": "dlib-5"}


def test_a_model_file_opens_nothing_but_the_file_it_was_trained_for(tmp_path):
    (tmp_path / "other.dat").write_bytes(b"something else")
    path = str(tmp_path / "other.dat")
    for given, words in (
        ({"path": path, "sha256": "0" * 64}, "is not the file the model was trained for"),
        ({"path": path}, "is not the file"),
        ({"path": str(tmp_path / "none.dat"), "sha256": "0" * 64}, "which is not here.*--landmarks FILE"),
        ({"path": "/dev/zero", "sha256": "0" * 64}, "not here"),
        ({"path": "//host/share.dat", "sha256": "0" * 64}, "not here"),
    ):
        with pytest.raises(LandmarkModelError, match=words):
            make_landmarks("dlib", **given)


@pytest.mark.parametrize(
    "change",
    [
        {"points": {"normalizer": "points:0,5", "used": None}},
        {"points": {"normalizer": "outer_eyes", "used": None}},
        {"points": {"normalizer": 3, "used": None}},
        {"points": {"normalizer": "box", "used": [0, 9]}},
        {"points": {"normalizer": "box", "used": [0, 0]}},
        {"points": {"normalizer": "box", "used": 7}},
        {"points": {"normalizer": "box"}},
        {"points": "five"},
        {"points": {"normalizer": "box", "used": [0, 1]}},
        {"landmarks": "dlib-5"},
        {"landmarks": {"name": "magic"}},
        {"landmarks": {"name": "dlib-5", "path": "x"}},
        {"detector": None},
        {"detector": {"name": "magic"}},
        {"detector": {"name": ["dlib"]}},
    ],
    ids=str,
)
def test_files_with_other_points_or_plug_ins_are_content_errors(five, tmp_path, change):
    path = tmp_path / "model"
    five.save(path)
    header, arrays = read_model(path, "face-rejector", None)
    header = {key: value for key, value in header.items() if key not in ("format", "kind")}
    write_model(path, "face-rejector", header | change, arrays)
    with pytest.raises(ModelFileContentError, match=str(path)):
        FaceRejector.load(path)


def test_mean_shapes_of_another_form_are_content_errors(five, tmp_path):
    path = tmp_path / "model"
    five.save(path)
    header, arrays = read_model(path, "face-rejector", None)
    header = {key: value for key, value in header.items() if key not in ("format", "kind")}
    for shape in (np.zeros((5, 2)), np.eye(4, 2), np.eye(5, 3), np.zeros((0, 2)), np.eye(1, 2)):
        write_model(path, "face-rejector", header, {**arrays, "mean_shape": shape})
        with pytest.raises((ModelFileContentError, LandmarkModelError)):
            FaceRejector.load(path)
