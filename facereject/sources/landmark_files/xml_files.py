"""Landmarks in XML, in pixels: dlib's imglab, and CVAT 1.1 "for images" and "for video"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    named_after,
    number,
    pairs,
    placed,
    xml_elements,
)

_SHAPES = ("skeleton", "points")


def read_dlib(path: str) -> Iterator[FoundFace]:
    """Parts named 0, 1, 2, … of all boxes; a box with another number of parts than most is a problem."""
    # for the usual number of parts, before any is read
    counts = Counter(len(box.findall("part")) for box in xml_elements(path, "box"))
    n_points = max(counts, key=lambda n: (counts[n], n), default=0)
    for image in xml_elements(path, "image"):
        name = image.get("file") or ""
        boxes = image.findall("box")
        for k, box in enumerate(boxes):
            face = FoundFace(name, None, 0, None, False, _box(box), entry=f"{name} box {k}")
            try:
                yield face._replace(landmarks=_parts(box, n_points))
            except DAMAGE as error:
                needed = f"needs {n_points} parts named 0 to {n_points - 1} with x and y"
                yield face._replace(problem=f"{path}: {needed}: {error}")
        if not boxes:
            yield FoundFace(name, None)


def _parts(box: Element, n_points: int) -> FloatArray | None:
    parts = sorted((int(part.attrib["name"]), part) for part in box.findall("part"))
    names = [number for number, _ in parts]
    if names != list(range(n_points)):
        shown = f"{names[0]} to {names[-1]}" if names else "none"
        raise ValueError(f"found {len(names)}, {shown}")
    return pairs([part.attrib["x"] for _, part in parts], [part.attrib["y"] for _, part in parts])


def _box(box: Element) -> Box | None:
    left, top, width, height = (number(box.get(name)) for name in ("left", "top", "width", "height"))
    if left is None or top is None or not width or not height or min(width, height) <= 0:
        return None
    return Box(left, top, width, height)


def read_cvat(path: str) -> Iterator[FoundFace]:
    """<points>, or <skeleton> of <points>, of all images or of the frames of a video."""
    order = _skeleton_labels(path)
    # exports are called annotations.xml; the video is named inside
    video = next((each.text for each in xml_elements(path, "source") if each.text), named_after(path))
    for image in xml_elements(path, "image"):
        name = image.get("name") or ""
        shapes = [shape for shape in image if shape.tag in _SHAPES]
        for k, shape in enumerate(shapes):
            yield _face(path, FoundFace(name, None, entry=f"{name} shape {k}"), shape, order)
        if not shapes:
            yield FoundFace(name, None)
    for track in xml_elements(path, "track"):
        for shape in track:
            if shape.tag in _SHAPES and shape.get("outside") != "1":
                frame = int(number(shape.get("frame")) or 0)
                face = FoundFace(video, None, frame, entry=f"track {track.get('id')}")
                yield _face(path, face, shape, order)


def _skeleton_labels(path: str) -> dict[str, int]:
    """Place of every point of a skeleton among its siblings, as the description of the task has them."""
    labels = [label for labels in xml_elements(path, "labels") for label in labels.findall("label")]
    points = [label.findtext("name") or "" for label in labels if label.findtext("parent")]
    return {name: i for i, name in enumerate(dict.fromkeys(points))}


def _face(path: str, face: FoundFace, shape: Element, order: dict[str, int]) -> FoundFace:
    attributes = {each.get("name"): each.text for each in shape.findall("attribute")}
    face = face._replace(confidence=number(attributes.get("confidence")))
    return placed(face, f"{path}: a damaged {shape.tag}", _points, shape, order)


def _points(shape: Element, order: dict[str, int]) -> FloatArray | None:
    if shape.tag == "points":
        xy = [pair.split(",") for pair in shape.attrib["points"].split(";")]
        return pairs([x for x, _ in xy], [y for _, y in xy])
    parts = shape.findall("points")
    names = [part.get("label") or "" for part in parts]
    place = order if set(names) <= set(order) else {name: i for i, name in enumerate(_sorted(names))}
    points = np.full((len(place), 2), np.nan)
    for name, part in zip(names, parts, strict=True):
        if part.get("outside") != "1":
            x, y = part.attrib["points"].split(",")
            points[place[name]] = float(x), float(y)
    return pairs(points[:, 0], points[:, 1])


def _sorted(names: list[str]) -> list[str]:
    """By number where all names are numbers, else as they are."""
    return sorted(names, key=int) if all(name.isdecimal() for name in names) else names
