"""Landmark files as other tools write them, by the documentation of each."""

from __future__ import annotations

import json

import numpy as np


def write_openface(path, faces, *, video=True):
    """``FeatureExtraction`` (a row per frame) or ``FaceLandmarkImg`` (a row per face) of OpenFace 2.

    ``faces`` are (points, confidence, success). Names have a blank in front; the points of the eyes and those
    in millimetres have similar names.
    """
    n = len(faces[0][0])
    head = ["frame", "face_id", "timestamp", "confidence", "success"] if video else ["face", "confidence"]
    head += ["gaze_0_x", "gaze_0_y", "gaze_0_z", "eye_lmk_x_0", "eye_lmk_y_0"]
    head += [f"x_{i}" for i in range(n)] + [f"y_{i}" for i in range(n)]
    head += [f"{axis}_{i}" for axis in "XYZ" for i in range(n)] + ["AU01_r", "AU45_c"]
    lines = [", ".join(head)]
    for k, (points, confidence, success) in enumerate(faces):
        start = [k + 1, 0, f"{k / 30:.3f}", confidence, int(success)] if video else [k, confidence]
        cells = [
            *start,
            0.01,
            0.02,
            -0.9,
            5.5,
            6.6,
            *points[:, 0],
            *points[:, 1],
            *np.full(3 * n, 7.7),
            0.5,
            0,
        ]
        lines.append(", ".join(str(cell) for cell in cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_pts(path, points):
    """The mark-up of 300-W: points count from 1."""
    rows = "\n".join(f"{x + 1:.6f} {y + 1:.6f}" for x, y in points)
    path.write_text(f"version: 1\nn_points:  {len(points)}\n{{\n{rows}\n}}\n", encoding="utf-8")
    return path


def mediapipe_result(faces, size, name="faceLandmarks"):
    """What MediaPipe's face landmarker returns: shares of width and height."""
    shares = [
        [{"x": x / size[0], "y": y / size[1], "z": -0.01} for x, y in points.tolist()] for points in faces
    ]
    if name == "multi_face_landmarks":
        shares = [{"landmark": points} for points in shares]
    return {name: shares, "faceBlendshapes": [], "facialTransformationMatrixes": []}


def coco(faces, *, results=False):
    """Keypoints of images as COCO and MMPose have them; ``faces`` are (image, points, score)."""
    names = list(dict.fromkeys(name for name, _, _ in faces))
    annotations = [
        {
            "id": k,
            "image_id": name if results else 100 + names.index(name),
            "category_id": 1,
            "keypoints": [value for x, y in points.tolist() for value in (x, y, 2)],
            "num_keypoints": len(points),
            "score": score,
        }
        for k, (name, points, score) in enumerate(faces)
    ]
    if results:
        return annotations
    images = [{"id": 100 + k, "file_name": name, "width": 1, "height": 1} for k, name in enumerate(names)]
    return {
        "info": {},
        "images": images,
        "annotations": annotations,
        "categories": [{"id": 1, "name": "face"}],
    }


def write_deeplabcut(path, rows, *, likelihood=0.9, individuals=("",)):
    """``rows`` are (index cells, points of every individual); an empty cell stands for a missing point."""
    width = len(rows[0][0])
    n = len(rows[0][1][0])
    columns = [
        (owner, f"p{i}", c) for owner in individuals for i in range(n) for c in ("x", "y", "likelihood")
    ]
    pad = [""] * (width - 1)
    lines = [["scorer", *pad, *["DLC_resnet50"] * len(columns)]]
    if individuals != ("",):
        lines.append(["individuals", *pad, *(owner for owner, _, _ in columns)])
    lines.append(["bodyparts", *pad, *(part for _, part, _ in columns)])
    lines.append(["coords", *pad, *(coord for _, _, coord in columns)])
    for index, faces in rows:
        cells = [c for points in faces for x, y in points.tolist() for c in _cells(x, y, likelihood)]
        lines.append([*index, *cells])
    path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
    return path


def _cells(x, y, likelihood):
    return (x, y, likelihood) if np.isfinite([x, y]).all() else ("", "", "")


def dump(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
