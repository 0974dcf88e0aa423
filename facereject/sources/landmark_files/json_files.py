"""Landmarks in JSON: COCO, FiftyOne, Label Studio, and the results of MediaPipe's face landmarker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import numpy as np

from facereject.faces.geometry import FloatArray
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    grouped,
    json_parts,
    named_after,
    number,
    pairs,
    placed,
)

_COCO_POINTS = ("face_kpts", "keypoints")
_ANSWERS = ("annotations", "completions", "predictions")
_FACES = ("faceLandmarks", "face_landmarks", "multi_face_landmarks", "multiFaceLandmarks")
_IMAGES = ("image", "file_name", "file", "image_path")
# a list of faces, each a list of points
_BARE = re.compile(r'\s*\[\s*\[\s*\{\s*"x"')


def knows_coco(path: str, beginning: str) -> bool:
    """Whether the JSON lists images, annotations or results with keypoints."""
    listed = '"annotations"' in beginning or '"images"' in beginning
    return listed or ('"image_id"' in beginning and any(f'"{name}"' in beginning for name in _COCO_POINTS))


def read_coco(path: str) -> Iterator[FoundFace]:
    """The faces of all annotations, in the order of the images; images without any have none.

    ``images`` and ``annotations`` with ``keypoints`` [x, y, v, …] in pixels, as MMPose has for WFLW;
    ``face_kpts`` of COCO-WholeBody; and the list of results that detectors write, where ``image_id`` is the
    name of the file or, with ``images`` missing, its number.
    """
    names: dict[Any, tuple[str, int]] = {}
    faces: dict[Any, list[FoundFace]] = {}
    for key, part in json_parts(path, ("images", "annotations")):
        if key == "images":
            # files of facereject have frames of videos
            names[part["id"]] = str(part["file_name"]), int(part.get("frame", 0))
        elif key in ("annotations", ""):
            face = FoundFace("", None, 0, number(part.get("score")))
            found = placed(face, f"{path}: damaged keypoints", _coco_points, part)
            faces.setdefault(part["image_id"], []).append(found)
    if faces and not any(
        face.landmarks is not None or face.problem for found in faces.values() for face in found
    ):
        raise LandmarkFileError(f"{path}: none of its annotations has {' or '.join(_COCO_POINTS)}")
    for key in dict.fromkeys([*names, *faces]):
        image, frame = names.get(key, (str(key), 0))
        for face in faces.get(key, [FoundFace("", None)]):
            yield face._replace(image=image, frame=frame)


def _coco_points(annotation: dict[str, Any]) -> FloatArray | None:
    name = next((name for name in _COCO_POINTS if name in annotation), None)
    if annotation.get("face_valid") is False or name is None:
        return None
    values = np.array(annotation[name], dtype=np.float64)
    triples = values.reshape(-1, 3) if values.ndim == 1 else values
    if triples.ndim != 2 or triples.shape[1] < 2:
        raise ValueError(f"an array of shape {values.shape}")
    if triples.shape[1] > 2 and name == "keypoints" and "score" not in annotation:
        # v = 0: a point without a place, for which COCO writes x = y = 0; in results it is a confidence
        triples[(triples[:, 2] == 0) & (triples[:, :2] == 0).all(axis=1)] = np.nan
    return pairs(triples[:, 0], triples[:, 1])


def read_fiftyone(path: str) -> Iterator[FoundFace]:
    """The key points of all samples (``Dataset.write_json``), of any field: shares of width and height."""
    for key, sample in json_parts(path, ("samples",)):
        if key != "samples":
            continue
        image = str(sample["filepath"])
        fields = (field for field in sample.values() if isinstance(field, dict))
        faces = [face for field in fields for face in field.get("keypoints") or ()]
        for face in faces:
            try:
                points = np.array(face["points"], dtype=np.float64).reshape(-1, 2)
                # one number per point
                confidence = number(np.nanmean(face["confidence"])) if face.get("confidence") else None
                yield FoundFace(image, pairs(*points.T), 0, confidence, relative=True)
            except DAMAGE as error:
                yield FoundFace(image, None, problem=f"{path}: a damaged keypoint ({error})")
        if not faces:
            yield FoundFace(image, None)


def read_label_studio(path: str) -> Iterator[FoundFace]:
    """The faces of all tasks: of their first annotation, or of their first prediction if they have none.

    Tasks are JSON or JSON_MIN, with key points in percent of the image's width and height. A face is a
    rectangle with the key points that have it as parent. Key points without a parent (all of them in
    JSON_MIN) form one face; where a label occurs again, the next face begins. Points whose labels are numbers
    are sorted by them, others keep the order of the file.
    """
    for _, task in json_parts(path):
        image = ""
        try:
            data = task.get("data", task)
            image = _image(data)
            answer: dict[str, Any] = next((task[name][0] for name in _ANSWERS if task.get(name)), {})
            results = _minimal(task) if data is task else answer.get("result", [])
            faces = list(_faces(image, [each for each in results if isinstance(each, dict)], answer))
        except DAMAGE as error:
            yield FoundFace(image, None, problem=f"{path}: a damaged task ({error})")
            continue
        yield from faces or [FoundFace(image, None)]


def _minimal(task: dict[str, Any]) -> list[Any]:
    """The results of a task of JSON_MIN: lists of values by the name of their control."""
    values = [each for value in task.values() if isinstance(value, list) for each in value]
    return [{**each, "value": each} for each in values if isinstance(each, dict)]


def _image(data: dict[str, Any]) -> str:
    """The name of the image: the end of its address."""
    address = next(str(data[key]) for key in ("image", "img", "captioning", *data) if key in data)
    parts = urlparse(address)
    # storage of the server itself: /data/local-files/?d=folder/a.jpg
    name = parse_qs(parts.query).get("d", [unquote(parts.path)])[0]
    last = name.rpartition("/")[2]
    # uploads get eight hexadecimal digits in front of their name
    start, _, rest = last.partition("-")
    uploaded = "/upload/" in name and len(start) == 8 and all(c in "0123456789abcdef" for c in start)
    return rest if uploaded and rest else name


def _faces(image: str, results: list[dict[str, Any]], answer: dict[str, Any]) -> Iterator[FoundFace]:
    groups: dict[Any, list[tuple[str, dict[str, Any]]]] = {}
    counts: dict[Any, int] = {}
    for each in results:
        if "keypointlabels" in each.get("value", {}):
            parent, label = each.get("parentID"), str(each["value"]["keypointlabels"][0])
            if parent is None:
                # the k-th of its label belongs to the k-th face
                counts[label] = parent = counts.get(label, -1) + 1
            groups.setdefault(parent, []).append((label, each))
    scores = {each.get("id"): number(each.get("score")) for each in results}
    for parent, members in groups.items():
        labels = [label for label, _ in members]
        places = list(range(len(labels)))
        if all(label.isdecimal() for label in labels):
            places = [int(label) for label in labels]
            # numbers may begin with 1
            places = [place - (min(places) == 1) for place in places]
            if max(places) >= 10 * len(places) + 1000 or len(set(places)) < len(places):
                raise ValueError("labels that number the points of no face")
        xy = np.full((max(places) + 1, 2), np.nan)
        for place, (_, each) in zip(places, members, strict=True):
            x, y = (float(each["value"][axis]) / 100 for axis in "xy")
            xy[place] = x * float(each["original_width"]), y * float(each["original_height"])
        confidence = scores.get(parent, number(answer.get("score")))
        yield FoundFace(image, pairs(xy[:, 0], xy[:, 1]), 0, confidence)


def knows_mediapipe(path: str, beginning: str) -> bool:
    """Whether the JSON has faces of MediaPipe."""
    return any(f'"{name}"' in beginning for name in _FACES) or bool(_BARE.match(beginning))


def read_mediapipe(path: str) -> Iterator[FoundFace]:
    """The faces of all results of a file, those of an image together; points are shares of width and height.

    ``faceLandmarks`` (as its JavaScript names it, ``face_landmarks`` in Python) or ``multi_face_landmarks``
    of older versions: a list of faces, each a list of ``{"x": …, "y": …, "z": …}``. A file has one result,
    named after its image; or several with ``image`` (and ``frame``), in a JSON list or one per line; or an
    object from image to result; or the list of faces alone.
    """
    yield from grouped(_mediapipe(path))


def _mediapipe(path: str) -> Iterator[FoundFace]:
    image, whole = named_after(path), {}
    for key, part in json_parts(path):
        if not key:
            yield from _results(part, image, path)
        elif isinstance(part, dict) and any(name in part for name in _FACES):
            # read at once, so that a large file is never in memory as a whole
            yield from _results(part, key, path)
        else:
            # part of a single result, or an object around results
            whole[key] = part
    yield from _results(whole, image, path)


def _results(content: Any, image: str, path: str) -> Iterator[FoundFace]:
    if isinstance(content, list) and content and isinstance(content[0], dict) and "x" in content[0]:
        content = {_FACES[0]: [content]}
    if isinstance(content, list):
        for entry in content:
            yield from _results(entry, image, path)
    if not isinstance(content, dict):
        return
    name = next((key for key in _FACES if key in content), None)
    if name is None:
        for key, entry in content.items():
            yield from _results(entry, key, path)
        return
    image = next((str(content[key]) for key in _IMAGES if key in content), image)
    try:
        frame = int(content.get("frame", 0))
        faces = [_mesh(face) for face in content[name] or [None]]
    except DAMAGE as error:
        yield FoundFace(image, None, problem=f"{path}: a damaged result ({error})")
        return
    for points in faces:
        yield FoundFace(image, points, frame, None, points is not None)


def _mesh(face: Any) -> FloatArray | None:
    if face is None:
        return None
    landmarks = (face.get("landmark") or face["landmarks"]) if isinstance(face, dict) else face
    xy = [(p["x"], p["y"]) if isinstance(p, dict) else p[:2] for p in landmarks]
    points = np.array(xy, dtype=np.float64).reshape(-1, 2)
    return pairs(points[:, 0], points[:, 1])
