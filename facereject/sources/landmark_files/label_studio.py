"""Label Studio: tasks as JSON or JSON_MIN, with key points in percent of the image's width and height.

A face is a rectangle with the key points that have it as parent. Key points without a parent (all of them in
JSON_MIN) form one face; where a label occurs again, the next face begins. Points whose labels are numbers are
sorted by them, others keep the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import numpy as np

from facereject.sources.landmark_files._found import DAMAGE, FoundFace, json_parts, number, pairs

SUFFIXES = (".json",)

_ANSWERS = ("annotations", "completions", "predictions")


def knows(path: str, beginning: str) -> bool:
    """Whether a file of JSON has tasks with key points."""
    return '"keypointlabels"' in beginning


def read(path: str) -> Iterator[FoundFace]:
    """The faces of all tasks: of their first annotation, or of their first prediction if they have none."""
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
