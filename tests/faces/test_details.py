"""What the shipped models say besides the uncertainty: errors of points, covered points, causes, regions."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from facereject.demo.material import Picture, covered_mouth
from facereject.faces import REGIONS, FaceRejector
from facereject.faces.face import CAUSES
from facereject.faces.landmarks.point_set import POINTS_300W, pose_of
from facereject.faces.models.calibration import Calibration, RegionSample
from facereject.faces.models.compact import PointErrors
from facereject.faces.models.score_models import Details
from facereject.faces.regions import region_points
from facereject.faces.training.degrade import degrade


@pytest.fixture(scope="module", params=["default", "thorough"])
def rejector(request):
    return FaceRejector.pretrained(request.param)


@pytest.fixture(scope="module")
def masked(astronaut, astronaut_landmarks):
    return covered_mouth(Picture("clean", astronaut, astronaut_landmarks)).image


def test_every_point_has_an_expected_error(rejector, astronaut):
    (face,) = rejector(astronaut)
    assert face.landmark_errors.shape == (68,)
    assert (face.landmark_errors > 0).all()
    # jaw points are hard to place, eye corners easy, on any face
    assert face.region_errors["jaw"] > face.region_errors["eyes"]
    # the mean over the points and the error of the face are two estimates of one thing
    assert face.landmark_errors.mean() == pytest.approx(face.expected_error, rel=0.6)
    for name, points in REGIONS.items():
        assert face.region_errors[name] == pytest.approx(face.landmark_errors[list(points)].mean())
    assert face.visible.mean() > 0.9
    assert face.cause == ""


def test_covered_points_stand_out(rejector, astronaut, masked, astronaut_detection):
    clean, covered = (rejector.assess_box(image, astronaut_detection.box) for image in (astronaut, masked))
    ratio = covered.landmark_errors / clean.landmark_errors
    mouth, eyes = list(REGIONS["mouth"]), list(REGIONS["eyes"])
    assert np.median(ratio[mouth]) > 1.5 * np.median(ratio[eyes])
    assert (~covered.visible[mouth]).mean() > 0.5
    assert covered.visible[eyes].mean() > 0.8


def test_what_nobody_reads_is_not_worked_out(monkeypatch, astronaut, astronaut_detection):
    rejector, asked = FaceRejector.pretrained(), []
    judge, pose = PointErrors.__call__, pose_of
    monkeypatch.setattr(PointErrors, "__call__", lambda *given: asked.append("points") or judge(*given))
    monkeypatch.setattr(
        "facereject.faces.rejector.pose_of", lambda points: asked.append("pose") or pose(points)
    )
    face = rejector.assess_box(astronaut, astronaut_detection.box)
    other = dataclasses.replace(rejector.rescore(face, face.uncertainty), track=3)
    assert face.accepted
    assert not asked
    assert other.landmark_errors is face.landmark_errors
    assert face.visible.all()
    assert other.pose == face.pose == pose(face.landmarks)
    assert asked == ["points", "pose"]


def test_lazy_values_do_not_follow_what_is_done_to_the_landmarks(rejector, astronaut):
    faces = [rejector(astronaut)[0] for _ in range(2)]
    faces[1].landmarks[:] += 10_000
    for name in ("landmark_errors", "visible", "likely_cause", "pose"):
        np.testing.assert_array_equal(getattr(faces[0], name), getattr(faces[1], name))


def test_faces_pickle_with_all_that_is_known_of_them(rejector, astronaut):
    (face,) = rejector(astronaut)
    copy = pickle.loads(pickle.dumps(face))  # noqa: S301
    assert copy.to_dict() == face.to_dict()
    assert (copy.likely_cause, copy.thumbnail) == (face.likely_cause, face.thumbnail)
    # neither the model nor the features come along
    assert len(pickle.dumps(face)) < 10_000


def test_points_outside_the_picture_are_not_visible(rejector, astronaut, astronaut_landmarks):
    middle = round(float(astronaut_landmarks[:, 0].mean()))
    face = rejector.assess(np.ascontiguousarray(astronaut[:, :middle]), astronaut_landmarks)
    assert not face.visible[astronaut_landmarks[:, 0] > middle].any()


def test_a_covered_mouth_is_good_enough_for_the_eyes(rejector, masked, astronaut_detection):
    faces = {name: rejector.for_region(name).assess_box(masked, astronaut_detection.box) for name in REGIONS}
    assert faces["eyes"].accepted
    assert not faces["mouth"].accepted
    assert faces["mouth"].expected_error > faces["eyes"].expected_error
    whole = rejector.assess_box(masked, astronaut_detection.box)
    for name, face in faces.items():
        assert face.uncertainty == pytest.approx(whole.landmark_errors[list(REGIONS[name])].mean())


def test_a_rejector_for_regions_is_calibrated_for_their_points(rejector, astronaut, tmp_path):
    both = rejector.for_region("mouth,eyes")
    assert both.region == ("eyes", "mouth")
    assert "eyes,mouth" in repr(both)
    # the same share of the calibration faces, and errors that are those of 12 and 20 points
    assert both.selector.coverage_ == pytest.approx(rejector.selector.coverage_, abs=0.01)
    regions = rejector.calibration.regions
    names = list(REGIONS)
    eyes, mouth = (regions.losses[:, names.index(name)] for name in ("eyes", "mouth"))
    np.testing.assert_allclose(both.calibration.losses, (12 * eyes + 20 * mouth) / 32, rtol=1e-5)
    assert both.with_target(max_error=3.0).selector.selective_risk_ <= 3.0 + 1e-9
    both.save(tmp_path / "both")
    again = FaceRejector.load(tmp_path / "both")
    (a,), (b,) = both(astronaut), again(astronaut)
    assert (a.uncertainty, a.expected_error, a.accepted) == (b.uncertainty, b.expected_error, b.accepted)
    assert again.region == both.region
    assert again.for_region("nose").region == ("nose",)
    assert again.for_region(names).calibration.losses.mean() == pytest.approx(
        rejector.calibration.losses.mean(), rel=0.01
    )


def test_regions_that_cannot_be():
    default = FaceRejector.pretrained()
    with pytest.raises(ValueError, match="jaw, brows, nose, eyes, mouth"):
        default.for_region("ears")
    with pytest.raises(ValueError, match="does not tell the error of each point"):
        FaceRejector.pretrained("dlib").for_region("eyes")


def test_region_samples(rng):
    expected, losses = rng.gamma(2, size=(30, 68)), rng.gamma(2, size=(30, 68))
    sample = RegionSample.of_points(expected, losses)
    found = sample.calibration(("jaw", "nose"))
    points = list(region_points("jaw,nose"))
    np.testing.assert_allclose(found.losses, losses[:, points].mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.uncertainty, expected[:, points].mean(axis=1), rtol=1e-5)
    with pytest.raises(ValueError, match="one column"):
        RegionSample(expected, losses)
    with pytest.raises(ValueError, match="regions has 30"):
        Calibration([1.0, 2.0], [0.0, 1.0], sample)


@pytest.mark.parametrize(
    ("kind", "severity", "causes"),
    [
        ("dark", 1.0, {"dark"}),
        ("noise", 1.0, {"noise"}),
        ("motion", 1.0, {"motion", "blur"}),
        ("blur", 1.0, {"blur", "low_resolution"}),
    ],
)
def test_the_cause_of_a_rejection(
    kind, severity, causes, astronaut, astronaut_landmarks, astronaut_detection
):
    rejector = FaceRejector.pretrained()
    image = degrade(astronaut, astronaut_landmarks, kind, severity, random_state=4).image
    face = rejector.assess_box(image, astronaut_detection.box)
    assert not face.accepted
    assert face.cause in causes
    assert face.hint == CAUSES[face.cause]
    # the decision may change afterwards, as in a smoothed video
    assert rejector.rescore(face, -9.0).cause == ""
    assert rejector.rescore(rejector.rescore(face, -9.0), 9.0).cause == face.cause


@pytest.mark.parametrize(("shift", "cause"), [(0, "occluded"), (-180, "cut_off")])
def test_only_a_face_at_the_border_was_cut_off_by_the_frame(
    shift, cause, astronaut, astronaut_landmarks, astronaut_detection
):
    size, points = astronaut.shape[1::-1], astronaut_landmarks + (shift, 0)
    box = astronaut_detection.box._replace(x=astronaut_detection.box.x + shift)
    chances = np.array([{"cut_off": 2.0, "occluded": 1.0}.get(name, -1.0) for name in CAUSES])
    said = Details(9.0, causes=lambda: chances).of_face(points, box, size, POINTS_300W, relative=False)
    assert said["likely_cause"]() == cause
    # what the model said is not changed
    assert chances.max() == 2


def test_the_old_name_of_rescore_works_and_warns(rejector, astronaut):
    (face,) = rejector(astronaut)
    with pytest.warns(FutureWarning, match="rescore"):
        old = rejector.judge(face, 0.5)
    assert old.to_dict() == rejector.rescore(face, 0.5).to_dict()
