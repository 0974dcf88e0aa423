"""LandmarkHOG against scikit-image and a plain NumPy rendering of its definition; invariances; borders."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import skimage.feature

from facereject.faces.features.context import image_quality, looked_at
from facereject.faces.features.hog import LandmarkHOG, _mean_gradient
from facereject.faces.geometry import bounding_box, overlap, transform_points
from facereject.faces.images import to_gray
from facereject.faces.landmarks.point_set import MEAN_SHAPE, POINTS_300W


def cosine(a, b):
    return float(np.vdot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.fixture(scope="module")
def gray(astronaut):
    return to_gray(astronaut)


@pytest.fixture(scope="module", params=[(100, 4, 1.0), (100, 8, 0.0), (64, 6, 5.0)], ids=str)
def hog(request):
    return LandmarkHOG(*request.param)


def windows(hog, gray, landmarks):
    chip, points = hog.chip(gray, landmarks)
    cell = hog.cell_size
    padded = np.pad(chip, 2 * cell, mode="edge")
    corners = np.rint(points).astype(int) + cell
    return [padded[y : y + 2 * cell, x : x + 2 * cell] for x, y in corners], padded, corners


def test_shape_and_norm(hog, gray, astronaut_landmarks):
    values = hog(gray, astronaut_landmarks)
    assert values.shape == (2448,) == (hog.n_features,)
    assert values.dtype == np.float32
    norms = np.linalg.norm(values.reshape(68, 36), axis=1)
    assert norms.max() < 1.01
    if hog.contrast_floor == 0:
        np.testing.assert_allclose(norms, 1, atol=0.02)
    assert values.min() >= 0


@pytest.mark.parametrize("shift", [0, 40])
def test_what_is_left_out_of_a_chip_is_not_looked_at(gray, astronaut_landmarks, shift):
    hog, points = LandmarkHOG(), astronaut_landmarks.copy()
    # one point far from the others reaches farther into the chip than the rest, or beyond it
    points[8] += shift
    (whole, places), (part, same) = hog.chip(gray, points), hog.chip(gray, points, looked_at(hog.chip_size))
    np.testing.assert_array_equal(same, places)
    np.testing.assert_array_equal(hog.describe(part, places), hog.describe(whole, places))
    np.testing.assert_array_equal(image_quality(part), image_quality(whole))
    computed = part[part.any(axis=1)][:, part.any(axis=0)]
    assert computed.size < whole.size
    np.testing.assert_array_equal(computed, whole[: len(computed), : computed.shape[1]])


def test_agrees_with_scikit_image(hog, gray, astronaut_landmarks):
    """scikit-image does not interpolate between bins and cells, so the two are close, not equal."""
    cell = hog.cell_size
    patches, _, _ = windows(hog, gray, astronaut_landmarks)
    options = {"pixels_per_cell": (cell, cell), "cells_per_block": (2, 2), "block_norm": "L2-Hys"}
    # scikit-image lists cells row by row
    reference = np.array([skimage.feature.hog(p, **options).reshape(2, 2, 9).swapaxes(0, 1) for p in patches])
    ours = hog(gray, astronaut_landmarks).reshape(68, 2, 2, 9)
    similar = np.array([cosine(a, b) for a, b in zip(ours, reference, strict=True)])
    assert similar.mean() > 0.8
    # the order is landmark, column, row, orientation: any other arrangement fits clearly worse
    for other in (reference.swapaxes(1, 2), reference[..., ::-1], np.roll(reference, 1, axis=-1)):
        wrong = np.mean([cosine(a, b) for a, b in zip(ours, other, strict=True)])
        assert wrong < similar.mean() - 0.05


def definition_by_loops(padded, corner, cell, floor):
    """One window of the written definition, pixel by pixel."""
    image = padded.astype(float)
    histogram = np.zeros((2, 2, 9))
    contrast = 0.0
    sigma = cell / 2  # OpenCV: (width + height) / 8 of the window
    for v in range(2 * cell):
        for u in range(2 * cell):
            x, y = corner[0] + u, corner[1] + v
            right, left = image[y, min(x + 1, image.shape[1] - 1)], image[y, max(x - 1, 0)]
            below, above = image[min(y + 1, image.shape[0] - 1), x], image[max(y - 1, 0), x]
            dx, dy = right - left, below - above
            weight = np.hypot(dx, dy)
            contrast += weight / (2 * cell) ** 2
            weight *= np.exp(-((u - cell) ** 2 + (v - cell) ** 2) / (2 * sigma**2))
            bin_position = (np.arctan2(dy, dx) % np.pi) / (np.pi / 9) - 0.5
            for b in (int(np.floor(bin_position)), int(np.floor(bin_position)) + 1):
                for i in range(2):
                    for j in range(2):
                        share = 1 - abs(bin_position - b)
                        share *= max(0, 1 - abs((u + 0.5) / cell - 0.5 - i)) * max(
                            0, 1 - abs((v + 0.5) / cell - 0.5 - j)
                        )
                        histogram[i, j, b % 9] += weight * share
    # OpenCV keeps the norm away from zero by 0.1 per value
    histogram = np.minimum(histogram / (np.linalg.norm(histogram) + 3.6), 0.2)
    return (histogram / (np.linalg.norm(histogram) + 1e-3)).ravel() * contrast / (contrast + floor)


def test_equals_its_written_definition(hog, gray, astronaut_landmarks):
    _, padded, corners = windows(hog, gray, astronaut_landmarks)
    ours = hog(gray, astronaut_landmarks).reshape(68, 36)
    for landmark in (0, 8, 30, 36, 57):
        np.testing.assert_allclose(
            ours[landmark],
            definition_by_loops(padded, corners[landmark], hog.cell_size, hog.contrast_floor),
            atol=0.01,
        )


def test_translation_scale_and_rotation_change_little(hog, gray, astronaut_landmarks):
    values = hog(gray, astronaut_landmarks)
    shifted = hog(np.roll(gray, (11, -23), axis=(0, 1)), astronaut_landmarks + [-23, 11])
    assert cosine(values, shifted) > 0.999
    for zoom in (0.8, 1.7, 3.3, 6.0):
        method = cv2.INTER_AREA if zoom < 1 else cv2.INTER_CUBIC
        scaled = cv2.resize(gray, None, fx=zoom, fy=zoom, interpolation=method)
        assert cosine(values, hog(scaled, (astronaut_landmarks + 0.5) * zoom - 0.5)) > 0.93, zoom
    for angle in (-120, 30, 75):
        matrix = cv2.getRotationMatrix2D((220.0, 115.0), angle, 1.0)
        turned = cv2.warpAffine(gray, matrix, (512, 512), borderMode=cv2.BORDER_REPLICATE)
        assert cosine(values, hog(turned, transform_points(matrix, astronaut_landmarks))) > 0.93, angle


def test_large_photographs_are_averaged_not_skipped_over(hog, gray, astronaut_landmarks, rng):
    """Fine noise on an enlarged photograph must vanish in the chip as it would to the eye."""
    big = cv2.resize(gray, None, fx=8, fy=8, interpolation=cv2.INTER_LINEAR)
    noisy = np.clip(big + rng.normal(0, 40, size=big.shape), 0, 255).astype(np.uint8)
    points = (astronaut_landmarks + 0.5) * 8 - 0.5
    assert cosine(hog(big, points), hog(noisy, points)) > 0.9


def test_faces_beyond_the_border_give_no_silent_zeros(hog, gray, astronaut_landmarks):
    x, y, width, height = (int(v) for v in bounding_box(astronaut_landmarks))
    cut = gray[y + height // 2 :, x + width // 2 :]
    values = hog(cut, astronaut_landmarks - [x + width // 2, y + height // 2])
    assert np.isfinite(values).all()
    inside = hog(gray, astronaut_landmarks).reshape(68, 36)
    # windows that lie in the remaining part are what they were
    lower_right = [8, 9, 10, 11, 12]
    assert cosine(values.reshape(68, 36)[lower_right], inside[lower_right]) > 0.9
    for far in (np.array([5000.0, 5000.0]), np.array([-900.0, 0.0])):
        assert np.isfinite(hog(gray, astronaut_landmarks + far)).all()
    tiny = astronaut_landmarks * 0.01 + 100
    huge = (astronaut_landmarks - 200) * 200
    assert np.isfinite(hog(gray, tiny)).all()
    assert np.isfinite(hog(gray, huge)).all()


def test_features_fade_where_there_is_no_contrast(gray, astronaut_landmarks):
    hog = LandmarkHOG(contrast_floor=1.0)
    flat = (gray // 32 + 100).astype(np.uint8)
    assert np.linalg.norm(hog(flat, astronaut_landmarks)) < 0.7 * np.linalg.norm(
        hog(gray, astronaut_landmarks)
    )
    assert hog(np.full_like(gray, 90), astronaut_landmarks).max() == 0


def test_definition_round_trip():
    hog = LandmarkHOG(96, 5, 2.0)
    assert LandmarkHOG.from_definition(hog.definition) == hog
    for change in (
        {"version": 2},
        {"name": "x"},
        {"face_size": 1e9},
        {"cell_size": "4"},
        {"contrast_floor": None},
        {"more": 1},
    ):
        with pytest.raises(ValueError, match=r"face_size|cell_size|contrast|unknown"):
            LandmarkHOG.from_definition(hog.definition | change)


def test_mean_shape_is_centred_symmetric_and_one_unit_wide():
    assert MEAN_SHAPE.shape == (68, 2)
    box = bounding_box(MEAN_SHAPE)
    assert box.width == pytest.approx(1, abs=0.01)
    assert box.center == pytest.approx((0, 0), abs=0.01)
    np.testing.assert_allclose(MEAN_SHAPE[:17] * [-1, 1], MEAN_SHAPE[16::-1], atol=1e-9)


def test_box_of_landmarks_resembles_the_detector(astronaut_landmarks, astronaut_detection):
    assert overlap(POINTS_300W.box_of(astronaut_landmarks), astronaut_detection.box) > 0.7


def test_gradients_do_not_depend_on_where_the_image_lies_in_memory(rng):
    hog, corners = LandmarkHOG(), rng.integers(0, 80, size=(68, 2))
    # with a pixel around the windows, which the corners do not count
    image = np.pad(rng.integers(0, 256, size=(96, 96), dtype=np.uint8), 1, mode="edge")
    memory = np.empty(image.size + 64, dtype=np.uint8)
    found = set()
    for shift in range(64):
        moved = memory[shift : shift + image.size].reshape(image.shape)
        moved[:] = image
        tiles = hog._tiles(moved, corners + (1.0 + hog.cell_size))
        found.add(_mean_gradient(tiles, 8).tobytes())
    padded = image.astype(np.float64)
    dx, dy = padded[1:-1, 2:] - padded[1:-1, :-2], padded[2:, 1:-1] - padded[:-2, 1:-1]
    # the squares are whole numbers, so the only rounding is that of the root
    exact = np.hypot(dx, dy).astype(np.float32)
    means = [exact[y : y + 8, x : x + 8].ravel().mean() for x, y in corners]
    assert len(found) == 1
    np.testing.assert_allclose(np.frombuffer(found.pop(), dtype=np.float32), means, rtol=2e-7)
