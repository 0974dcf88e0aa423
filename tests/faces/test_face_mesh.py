"""The face mesh and its maps to 68 points, against annotation, geometry and known maps."""

from __future__ import annotations

import pickle
import threading

import cv2
import numpy as np
import pytest

from facereject.faces import make_landmarks
from facereject.faces.datasets import match_face
from facereject.faces.detectors.yunet import YuNetDetector
from facereject.faces.face import Box
from facereject.faces.geometry import transform_points
from facereject.faces.landmarks.conversion import FIXED, MeshMap, fitted_map, to_68
from facereject.faces.landmarks.face_mesh import FaceMesh, Square
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.faces.weights import WeightsError
from facereject.losses import landmark_nme


@pytest.fixture
def mesh(mesh_weights):
    return FaceMesh()


@pytest.fixture
def face_box(mesh_weights, astronaut):
    (found,) = YuNetDetector().detect(astronaut)
    return found.box


def turned(image, angle, center):
    matrix = np.asarray(cv2.getRotationMatrix2D(center, angle, 1.0), dtype=np.float64)
    size = image.shape[1::-1]
    return cv2.warpAffine(image, matrix, size, borderMode=cv2.BORDER_REPLICATE), matrix


def test_errors_against_annotation(mesh_weights, photographs):
    errors = {"fixed": [], "fitted": []}
    detector = YuNetDetector()
    for sample in photographs[::2]:
        image = sample.load()
        found = match_face(detector.detect(image), sample.landmarks)
        points = FaceMesh()(image, found.box)
        for name, values in errors.items():
            values.append(landmark_nme(sample.landmarks, FaceMesh(name).mapped(points)))
    assert np.mean(errors["fixed"]) < 6.5
    assert np.mean(errors["fitted"]) < 4.8


def test_it_follows_a_turned_face(mesh, astronaut, face_box):
    expected = mesh.mesh(astronaut, face_box)
    center = tuple(float(v) for v in face_box.center)
    for angle in (-45, 30, 60):
        image, matrix = turned(astronaut, angle, center)
        found = mesh.mesh(image, face_box)
        distance = np.linalg.norm(found.points - transform_points(matrix, expected.points), axis=1)
        assert distance.mean() < 0.05 * np.linalg.norm(expected.points[33] - expected.points[263])
        assert found.looks > 1


def test_the_box_of_the_frame_before_needs_one_look(mesh, astronaut, face_box):
    square = Square.of_mesh(mesh(astronaut, face_box))
    level, _ = turned(astronaut, np.degrees(square.angle), (square.x, square.y))
    first = mesh.mesh(level, face_box)
    square = Square.of_mesh(first.points)
    # of a tracker that knows the face of the frame before
    side = square.side / 1.66
    again = mesh.mesh(level, Box(square.x - side / 2, square.y - side / 2 + 0.013 * side, side, side))
    assert again.looks == 1
    distance = np.linalg.norm(again.points - first.points, axis=1)
    assert distance.mean() < 0.02 * np.linalg.norm(first.points[33] - first.points[263])


def test_its_confidence_tells_faces_from_background(mesh, astronaut, face_box):
    assert mesh.mesh(astronaut, face_box).confidence > 0.9
    assert mesh.mesh(astronaut, Box(20, 350, 90, 90)).confidence < 0.5


def test_points_beyond_the_image(mesh, astronaut, face_box):
    half = astronaut[:, : int(face_box.center[0])]
    points = mesh(np.ascontiguousarray(half), face_box)
    assert np.isfinite(points).all()
    assert points[:, 0].max() > half.shape[1]
    for box in (Box(-900, -900, 10, 10), Box(0, 0, 1e5, 1e5), Box(3, 3, 0.01, 0.01)):
        assert np.isfinite(mesh(astronaut, box)).all()


def test_grey_images_will_do(mesh, astronaut, face_box):
    gray = cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY)
    distance = np.linalg.norm(mesh(gray, face_box) - mesh(astronaut, face_box), axis=1)
    assert distance.mean() < 2


def test_threads_and_pickles_give_the_same(mesh, astronaut, face_box):
    expected = mesh(astronaut, face_box)
    again = pickle.loads(pickle.dumps(mesh))  # noqa: S301
    results = []
    threads = [threading.Thread(target=lambda: results.append(again(astronaut, face_box))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert all(np.array_equal(points, expected) for points in results)


def test_names_and_declarations(mesh_weights):
    made = {name: make_landmarks(name) for name in ("mesh", "mesh-68", "mesh-68-free")}
    assert [each.n_points for each in made.values()] == [468, 68, 68]
    assert {name: each.definition["name"] for name, each in made.items()} == {name: name for name in made}
    assert len({each.fingerprint for each in made.values()}) == 3
    assert made["mesh"].normalizer == "points:33,263"
    assert made["mesh"].feature_points == FIXED
    assert made["mesh-68"].normalizer == "outer_eyes"
    with pytest.raises(ValueError, match="points must be one of all, fitted, fixed"):
        FaceMesh("70")


def test_without_weights_the_command_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("FACEREJECT_MODELS", str(tmp_path))
    with pytest.raises(WeightsError, match="facereject models get mesh"):
        FaceMesh()


def test_squares_survive_a_round_trip(rng):
    square = Square(100, 80, 60, 0.4)
    corners = transform_points(
        square.matrix, np.array([[0.0, 0.0], [191.0, 0.0], [191.0, 191.0], [0.0, 191.0]])
    )
    np.testing.assert_allclose(corners.mean(axis=0), (100, 80))
    side = np.linalg.norm(corners[1] - corners[0])
    assert side == pytest.approx(60 * 191 / 192)
    assert np.arctan2(*(corners[1] - corners[0])[::-1]) == pytest.approx(0.4)
    assert square.distance(square) == 0
    assert square.distance(square._replace(angle=0.4 + 2 * np.pi + 0.01)) == pytest.approx(0.01)


class TestMaps:
    """From 468 points to 68."""

    @pytest.fixture
    def faces(self, rng):
        base = rng.normal(size=(468, 2))
        base[list(FIXED)] = MEAN_SHAPE
        return base + 0.02 * rng.normal(size=(80, 468, 2))

    def test_correspondences_are_mirror_images(self):
        # a mirrored mesh swaps left and right: pairs of 300-W are pairs of the mesh
        assert len(set(FIXED)) == 68
        center = fitted_map().mean
        left = center[list(FIXED[:8])]
        right = center[list(FIXED[16:8:-1])]
        np.testing.assert_allclose(left * (-1, 1) + (2 * center[152][0], 0), right, atol=0.04)

    def test_shift_scale_and_rotation_change_nothing(self, faces):
        mapped = fitted_map()
        matrix = np.array([[2.0, -1.5, 30.0], [1.5, 2.0, -7.0]])
        expected = transform_points(matrix, mapped(faces[0]))
        np.testing.assert_allclose(mapped(transform_points(matrix, faces[0])), expected, rtol=1e-9, atol=1e-9)

    def test_strong_regularisation_leaves_the_correspondences(self, faces):
        fitted = MeshMap.fit(faces, faces[:, FIXED], 1e9)
        for face in faces[:5]:
            np.testing.assert_allclose(fitted(face), face[list(FIXED)], atol=1e-3)

    def test_a_known_map_is_found(self, faces, rng):
        # every target is the middle of two points of the mesh
        other = rng.permutation(468)[:68]
        targets = (faces[:, FIXED] + faces[:, other]) / 2
        fitted = MeshMap.fit(faces, targets, 1e-6)
        held = faces[0] + 0.02 * rng.normal(size=(468, 2))
        wrong = held[list(FIXED)]
        right = (wrong + held[other]) / 2
        # 80 faces are too few for 468 weights, but the map is closer than what it starts from
        assert np.linalg.norm(fitted(held) - right) < 0.5 * np.linalg.norm(wrong - right)

    def test_files_are_read_as_they_were_written(self, faces, tmp_path):
        fitted = MeshMap.fit(faces, faces[:, FIXED] + 0.1, 1.0)
        fitted.save(str(tmp_path / "map.safetensors"), note="test")
        again = MeshMap.load(str(tmp_path / "map.safetensors"))
        np.testing.assert_array_equal(again(faces[0]), fitted(faces[0]))

    def test_irises_are_left_out(self, faces, rng):
        with_irises = np.concatenate([faces[0], rng.normal(size=(10, 2))])
        for free in (False, True):
            np.testing.assert_array_equal(to_68(with_irises, free=free), to_68(faces[0], free=free))
