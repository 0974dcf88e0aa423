"""CVAT: XML 1.1 "for images" and "for video", with <points> or <skeleton> of <points>, in pixels."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

import numpy as np

from facereject.faces.geometry import FloatArray
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    named_after,
    number,
    pairs,
    xml_elements,
)

SUFFIXES = (".xml",)

_SHAPES = ("skeleton", "points")


def knows(path: str, beginning: str) -> bool:
    """Whether a file of XML has the root and version of CVAT."""
    return "<annotations>" in beginning and "<version>" in beginning


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all images, or of the frames of a video."""
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
    try:
        confidence = number(_attribute(shape, "confidence"))
        return face._replace(landmarks=_points(shape, order), confidence=confidence)
    except DAMAGE as error:
        return face._replace(problem=f"{path}: a damaged {shape.tag} ({error})")


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


def _attribute(shape: Element, name: str) -> str | None:
    return next((each.text for each in shape.findall("attribute") if each.get("name") == name), None)
