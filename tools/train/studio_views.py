"""Annotated faces to learn from, made of the Face Research Lab London Set (CC BY 4.0) alone.

The neutral faces have landmarks placed by hand. Those of the smiling ones are the predictor's, moved by its
mean error on the neutral ones. Each photo is used as it is, and in views with the head turned
(`tools/train/turned_views.py`), most of them before another background.
"""

from __future__ import annotations

import cv2
import numpy as np

from facereject.faces import FaceDataset, FaceSample, load_rgb
from facereject.faces.geometry import fit_similarity, transform_points
from facereject.faces.landmarks.mean_shape import MEAN_SHAPE
from tools.train.london_points import points_68
from tools.train.turned_views import mesh_3d, turned_view

#: degrees to either side that heads are turned by at most
MAX_YAW, MAX_PITCH = 40.0, 20.0

# share of the turned views that get another background
_OTHER_BACKGROUND = 2 / 3


def studio_views(folder, views, extractor, n_views, random_state=0):
    """The photos in ``folder`` and ``n_views`` turned views of each, which are written to ``views``.

    Both photos of a person, and all their views, have one name of a photo.
    """
    views.mkdir(parents=True, exist_ok=True)
    samples = []
    for number, (path, landmarks, box) in enumerate(_annotated(folder, extractor)):
        person = path.stem[:3]
        samples.append(FaceSample(path, landmarks, person))
        image = load_rgb(path)
        mesh = mesh_3d(image, box)
        background = _background(image, mesh)
        for view in range(n_views):
            rng = np.random.default_rng([random_state, number, view])
            shown = image
            if rng.random() < _OTHER_BACKGROUND:
                shown = np.where(background[:, :, None], _texture(image.shape, rng), image)
            yaw, pitch = rng.uniform(-MAX_YAW, MAX_YAW), rng.uniform(-MAX_PITCH, MAX_PITCH)
            turned, points = turned_view(shown, mesh, landmarks, yaw, pitch)
            file = views / f"{path.stem}-{view}.png"
            cv2.imwrite(str(file), cv2.cvtColor(turned, cv2.COLOR_RGB2BGR))
            samples.append(FaceSample(file, points, person))
    return FaceDataset(samples)


def _annotated(folder, extractor):
    """(path, landmarks, box) of every photo."""
    found, away = [], []
    with np.load(folder / "points189.npz") as stored:
        for path in sorted(folder.glob("*.jpg")):
            image = load_rgb(path)
            (face, *_) = extractor.detector.detect(image)
            own, placed = extractor.predictor(image, face.box), None
            if path.stem in stored.files:
                placed = points_68(stored[path.stem].astype(np.float64), own)
                frame = fit_similarity(own, MEAN_SHAPE)
                away.append(transform_points(frame, placed) - transform_points(frame, own))
            found.append((path, own, placed, face.box))
    mean = np.mean(away, axis=0)
    for path, own, placed, box in found:
        if placed is None:
            frame = fit_similarity(own, MEAN_SHAPE)
            level = transform_points(frame, own) + mean
            placed = np.linalg.solve(frame[:, :2], (level - frame[:, 2]).T).T
        yield path, placed, box


def _background(image, mesh):
    """Which pixels show the studio's grey wall: those joined with the upper corners, but none of the face."""
    height, width = image.shape[:2]
    mask = np.zeros((height + 2, width + 2), dtype=np.uint8)
    smooth = cv2.GaussianBlur(image, (0, 0), 2)
    for corner in ((0, 0), (width - 1, 0)):
        # compared with neighbours, as the wall becomes lighter towards the middle; 255 goes into the mask
        flags = 4 | cv2.FLOODFILL_MASK_ONLY | (255 << 8)
        cv2.floodFill(smooth, mask, corner, None, (2,) * 3, (2,) * 3, flags)
    wall = cv2.dilate(mask[1:-1, 1:-1], np.ones((7, 7), np.uint8))
    middle = mesh[:, :2].mean(axis=0)
    face = cv2.convexHull((middle + 1.1 * (mesh[:, :2] - middle)).astype(np.int32))
    return cv2.fillConvexPoly(wall, face, 0) > 0


def _texture(shape, rng):
    """Coloured noise whose power falls with the frequency, as in photos."""
    height, width = shape[:2]
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
    amplitude = 1 / np.maximum(frequency, 1 / max(height, width)) ** rng.uniform(0.9, 1.6)
    layers = []
    for _ in range(3):
        phases = np.exp(2j * np.pi * rng.random(amplitude.shape))
        layer = np.fft.irfft2(amplitude * phases, s=(height, width))
        layers.append(layer / layer.std())
    # mostly light and dark, with some colour
    colours = np.column_stack([np.ones(3), rng.uniform(-0.3, 0.3, size=(3, 2))])
    values = rng.uniform(60, 190) + rng.uniform(20, 50) * np.tensordot(colours, np.array(layers), 1)
    return np.clip(values.transpose(1, 2, 0), 0, 255).astype(np.uint8)
