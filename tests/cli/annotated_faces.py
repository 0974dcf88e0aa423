"""A small data set of annotated faces: the astronaut, degraded in many ways, in every format that is read."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import PIL.Image
import skimage.data

from facereject.faces import FaceDetector, LandmarkPredictor
from facereject.faces.training.degrade import random_degradation


@cache
def astronaut_with_landmarks():
    """The middle of the photograph, and what dlib finds on it."""
    photo = skimage.data.astronaut()[:300, 60:400].copy()
    (found,) = FaceDetector().detect(photo)
    return photo, LandmarkPredictor()(photo, found.box)


def write_faces(folder: Path, count: int, *, seed: int = 0, form: str = "csv") -> Path:
    """Write the photographs and their annotation; return what is to be passed as DATASET."""
    folder.mkdir(parents=True, exist_ok=True)
    photo, landmarks = astronaut_with_landmarks()
    entries = []
    for i in range(count):
        image, points = photo, landmarks
        # every fourth is clean but for its position
        if i % 4:
            image, points, *_ = random_degradation(photo, landmarks, random_state=[seed, i])
        else:
            image, points = photo[i:, i:], landmarks - (i, i)
        name = f"face{seed}_{i}.png"
        PIL.Image.fromarray(image).save(folder / name, compress_level=0)
        entries.append((name, points))
    if form == "300w":
        for name, points in entries:
            lines = "\n".join(f"{x + 1} {y + 1}" for x, y in points)
            text = f"version: 1\nn_points: 68\n{{\n{lines}\n}}\n"
            (folder / name).with_suffix(".pts").write_text(text)
        return folder
    if form == "xml":
        boxes = [
            f'<image file="{name}"><box top="0" left="0" width="9" height="9">'
            + "".join(f'<part name="{k:02}" x="{x}" y="{y}"/>' for k, (x, y) in enumerate(points))
            + "</box></image>"
            for name, points in entries
        ]
        (folder / "faces.xml").write_text(f"<dataset><images>{''.join(boxes)}</images></dataset>")
        return folder / "faces.xml"
    with open(folder / "faces.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", *(f"{axis}{i}" for i in range(68) for axis in "xy")])
        writer.writerows([name, *points.ravel().tolist()] for name, points in entries)
    return folder / "faces.csv"
