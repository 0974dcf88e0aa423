"""dlib's imglab: XML with <image file>, <box>, <part name x y> in pixels, parts named 0, 1, 2, …"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray
from facereject.sources.landmark_files._found import DAMAGE, FoundFace, number, pairs, xml_elements

SUFFIXES = (".xml",)


def knows(path: str, beginning: str) -> bool:
    """Whether a file of XML has the elements of imglab."""
    return "<image file=" in beginning or "<dataset" in beginning


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all boxes; a box with another number of parts than most is a problem."""
    # for the usual number of parts, before any is read
    counts = Counter(len(box.findall("part")) for box in xml_elements(path, "box"))
    n_points = max(counts, key=lambda n: (counts[n], n), default=0)
    for image in xml_elements(path, "image"):
        name = image.get("file") or ""
        boxes = image.findall("box")
        for k, box in enumerate(boxes):
            face = FoundFace(name, None, 0, None, False, _box(box), entry=f"{name} box {k}")
            try:
                yield face._replace(landmarks=_points(box, n_points))
            except DAMAGE as error:
                needed = f"needs {n_points} parts named 0 to {n_points - 1} with x and y"
                yield face._replace(problem=f"{path}: {needed}: {error}")
        if not boxes:
            yield FoundFace(name, None)


def _points(box: Element, n_points: int) -> FloatArray | None:
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
