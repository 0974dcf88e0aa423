"""Damaged landmark files of other tools: faces or a sentence, never anything else."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import warnings
from pathlib import Path

import numpy as np

from facereject.sources.landmark_files import READERS, read_landmarks
from facereject.sources.landmark_files._found import LandmarkFileError
from tools.stress.mutations import mutated
from tools.stress.trial import Trial

_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
_ODD = [
    *(b"inf", b"-1e999", b"1e400", b"9" * 400, b"9" * 5000, b"1e300"),
    *(b"NaN", b"null", b"[]", b"{}", b'"x"', b""),
]


def damaged_landmark_files(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` files of every format with changed bytes or odd numbers."""
    warnings.simplefilter("ignore")
    samples = _samples()
    for number in range(count):
        if not trial.goes_on():
            return
        name, data = rng.choice(samples)
        if number % 2:
            changed = mutated(data, rng, rng.choice(samples)[1])
        else:
            changed = _with_odd_number(data, rng)
        path = folder / name
        path.write_bytes(changed)
        format = rng.choice([None, None, *READERS])
        try:
            found = list(read_landmarks(path, format))
            problem = "" if all(_is_sound(face.points) for face in found) else "points that are no numbers"
        except LandmarkFileError as error:
            problem = "" if str(path) in str(error) else f"the message does not name the file: {error}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        trial.check(not problem, f"{name} {number} as {format}: {problem}")


def _is_sound(points: np.ndarray | None) -> bool:
    return points is None or bool(points.ndim == 2 and np.isfinite(points).all())


def _with_odd_number(data: bytes, rng: random.Random) -> bytes:
    places = list(_NUMBER.finditer(data))
    if not places:
        return data
    place = rng.choice(places)
    return data[: place.start()] + rng.choice(_ODD) + data[place.end() :]


def _samples() -> list[tuple[str, bytes]]:
    """A small file of every format."""
    points = np.random.default_rng(0).uniform(10, 90, (2, 68, 2)).round(2)
    axes = [f"{axis}_{i}" for axis in "xy" for i in range(68)]
    flat = [face.T.ravel().tolist() for face in points]
    mixed = [f"{axis}{i}" for i in range(68) for axis in "xy"]
    openface = [["frame", "face_id", "confidence", "success", *axes]]
    openface += [[k + 1, 0, 0.9, 1, *values] for k, values in enumerate(flat)]
    parts = [f"p{i}" for i in range(68) for _ in range(3)]
    deeplabcut = [
        ["scorer", *["net"] * 204],
        ["bodyparts", *parts],
        ["coords", *["x", "y", "likelihood"] * 68],
    ]
    deeplabcut += [[k, *(v for x, y in face for v in (x, y, 0.9))] for k, face in enumerate(points.tolist())]
    plain = [["image", *mixed]] + [["a.png", *face.ravel().tolist()] for face in points]
    keypoints = [[v for x, y in face for v in (x, y, 2)] for face in points.tolist()]
    coco = {
        "images": [{"id": 1, "file_name": "a.png"}],
        "annotations": [{"image_id": 1, "keypoints": values, "score": 0.5} for values in keypoints],
    }
    mesh = [[{"x": x / 100, "y": y / 100, "z": 0.0} for x, y in face] for face in points.tolist()]
    rows = "\n".join(f"{x} {y}" for x, y in points[0])
    array, archive = io.BytesIO(), io.BytesIO()
    np.save(array, points)
    np.savez(archive, image=np.array(["a.png", "b.png"]), landmarks=points)
    lines = [json.dumps({"image": "a.png", "landmarks": face}) for face in points.tolist()]
    keypoint = {"points": (points[0] / 100).tolist(), "confidence": [0.5] * 68}
    fiftyone = {"samples": [{"filepath": "a.png", "faces": {"keypoints": [keypoint]}}]}
    marks = [
        {"x": x, "y": y, "keypointlabels": [str(i)], "original_width": 9, "original_height": 9}
        for i, (x, y) in enumerate(points[0].tolist())
    ]
    return [
        ("samples.json", json.dumps(fiftyone).encode()),
        ("tasks.json", json.dumps([{"image": "a.png", "points": marks}]).encode()),
        ("by_name.json", json.dumps({"a.png": points[0].tolist()}).encode()),
        ("a.csv", _csv(openface)),
        ("aDLC_net.csv", _csv(deeplabcut)),
        ("plain.csv", _csv(plain)),
        ("coco.json", json.dumps(coco).encode()),
        ("mesh.json", json.dumps({"faceLandmarks": mesh, "frame": 3}).encode()),
        ("lines.jsonl", "\n".join(lines).encode()),
        ("a.pts", f"version: 1\nn_points: 68\n{{\n{rows}\n}}\n".encode()),
        ("a.npy", array.getvalue()),
        ("a.npz", archive.getvalue()),
    ]


def _csv(rows: list[list[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
