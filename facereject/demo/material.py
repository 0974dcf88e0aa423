"""What the demonstration shows: scikit-image's astronaut, degraded versions of it, and a short video."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import cv2
import numpy as np
import skimage.data

from facereject.faces import REGIONS, FaceDetector, LandmarkPredictor
from facereject.faces.geometry import FloatArray, transform_points
from facereject.faces.images import ImageArray
from facereject.faces.training.degrade import degrade

# kind, severity (0 just noticeable, 1 hopeless), seed
_DEGRADED = [
    ("blur", 0.3, 0),
    ("noise", 0.5, 0),
    ("low_resolution", 0.75, 1),
    ("cut", 0.75, 1),
    ("shadow", 0.75, 0),
    ("rotation", 0.9, 1),
    ("haze", 0.9, 2),
]

#: of the video: frames per second, width and height in pixels
FPS = 15.0
SIZE = (400, 300)

_FRAMES = 108


class Picture(NamedTuple):
    """A version of the photo, and where the landmarks of the clean one are on it."""

    name: str
    image: ImageArray
    landmarks: FloatArray


class Scene(NamedTuple):
    """A degraded part of the video: first and last frame, kind, largest severity, and seed."""

    start: int
    end: int
    kind: str
    severity: float
    seed: int


#: between the scenes nothing is wrong
SCENES = [
    Scene(10, 29, "blur", 0.85, 0),
    Scene(36, 53, "haze", 0.8, 1),
    Scene(60, 75, "rotation", 0.95, 1),
    Scene(82, 99, "occlusion", 0.9, 24),
]


def clean_picture() -> Picture:
    """The astronaut, with the landmarks that dlib's published predictor finds on it."""
    astronaut: Callable[[], ImageArray] = skimage.data.astronaut
    photo = astronaut()
    (found,) = FaceDetector().detect(photo)
    return Picture("clean", photo, LandmarkPredictor()(photo, found.box))


def degraded_pictures(clean: Picture) -> list[Picture]:
    """The clean photo first, then degraded versions; the name says how, and how severely."""
    pictures = [clean]
    for kind, severity, seed in _DEGRADED:
        image, landmarks, *_ = degrade(clean.image, clean.landmarks, kind, severity, random_state=seed)
        pictures.append(Picture(f"{kind.replace('_', ' ')} {severity:g}", image, landmarks))
    return pictures


def covered_mouth(clean: Picture) -> Picture:
    """The clean photo with an ellipse over the mouth."""
    mouth = clean.landmarks[list(REGIONS["mouth"])]
    x, y = (round(float(value)) for value in mouth.mean(axis=0))
    width, height = np.ptp(mouth, axis=0) * (0.8, 1.2)
    image = clean.image.copy()
    cv2.ellipse(image, (x, y), (int(width), int(height)), 0, 0, 360, (40, 60, 120), -1, cv2.LINE_AA)
    return Picture("covered mouth", image, clean.landmarks)


def video_frames(clean: Picture) -> Iterator[ImageArray]:
    """The video: a camera that moves over the photo while the image is degraded and recovers."""
    x, y = clean.landmarks.mean(axis=0)
    for frame in range(_FRAMES):
        turn = 2 * math.pi * frame / _FRAMES
        zoom = 1.25 + 0.15 * math.sin(2 * turn)
        # the camera circles around the face, a few pixels away
        look = (x + 22 * math.sin(turn), y + 12 * math.sin(3 * turn))
        width, height = SIZE
        matrix = np.array(
            [[zoom, 0, width / 2 - zoom * look[0]], [0, zoom, height / 2 - zoom * look[1]]], dtype=np.float64
        )
        view = cv2.warpAffine(clean.image, matrix, SIZE, borderMode=cv2.BORDER_REPLICATE)
        image: ImageArray = np.asarray(view, dtype=np.uint8)
        for scene in SCENES:
            if scene.start <= frame <= scene.end:
                done = (frame - scene.start + 0.5) / (scene.end - scene.start + 1)
                points = transform_points(matrix, clean.landmarks)
                severity = scene.severity * math.sin(math.pi * done)
                image = degrade(image, points, scene.kind, severity, random_state=scene.seed).image
        yield image
