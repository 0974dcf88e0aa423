"""Label Studio: tasks as JSON, with key points in percent of the image's width and height.

A face is a rectangle with the key points that have it as parent, or all key points of an annotation without
one. Points with numbers as labels are in the order of their numbers, others in that of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import numpy as np

from facereject._files import suffix_of
from facereject.sources.landmark_files.found import DAMAGE, FoundFace, json_parts, number, pairs

SUFFIXES = (".json",)

_ANSWERS = ("annotations", "completions", "predictions")


def knows(path: str, beginning: str) -> bool:
    """Whether a file of JSON has tasks with key points."""
    return suffix_of(path) in SUFFIXES and '"keypointlabels"' in beginning and '"data"' in beginning


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all tasks: of their first annotation, or of their first prediction if they have none."""
    for _, task in json_parts(path):
        image = ""
        try:
            image = _image(task["data"])
            answer: dict[str, Any] = next(
                (task[name][0] for name in _ANSWERS if task.get(name)), {"result": []}
            )
            faces = list(_faces(image, answer))
        except DAMAGE as error:
            yield FoundFace(image, None, problem=f"{path}: a damaged task ({error})")
            continue
        yield from faces or [FoundFace(image, None)]


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


def _faces(image: str, answer: dict[str, Any]) -> Iterator[FoundFace]:
    results = [each for each in answer["result"] if isinstance(each, dict)]
    points = [each for each in results if "keypointlabels" in each.get("value", {})]
    parents: dict[Any, list[dict[str, Any]]] = {}
    for each in points:
        parents.setdefault(each.get("parentID"), []).append(each)
    scores = {each.get("id"): number(each.get("score")) for each in results}
    for parent, members in parents.items():
        labels = [str(each["value"]["keypointlabels"][0]) for each in members]
        if all(label.isdecimal() for label in labels):
            places = [int(label) for label in labels]
            n_points = max(places) + 1
            if n_points > 10 * len(places) + 1000 or len(set(places)) < len(places):
                raise ValueError("labels that number the points of no face")
        else:
            places, n_points = list(range(len(labels))), len(labels)
        xy = np.full((n_points, 2), np.nan)
        for place, each in zip(places, members, strict=True):
            value = each["value"]
            xy[place] = (
                float(value["x"]) / 100 * float(each["original_width"]),
                float(value["y"]) / 100 * float(each["original_height"]),
            )
        confidence = scores.get(parent, number(answer.get("score")))
        # numbers may begin with 1
        xy = xy[1:] if places and min(places) == 1 else xy
        yield FoundFace(image, pairs(xy[:, 0], xy[:, 1]), 0, confidence)
