"""WFLW: a line per face, 98 points x0 y0 x1 y1 …, (box and six attributes,) and the name of the image."""

from __future__ import annotations

from collections.abc import Iterator

from facereject.faces.face import Box
from facereject.sources.landmark_files._found import DAMAGE, FoundFace, grouped, pairs

SUFFIXES = (".txt",)

_VALUES = 2 * 98
# box (left, top, right, bottom) and pose, expression, illumination, make-up, occlusion, blur
_MORE = (0, 4, 10)


def knows(path: str, beginning: str) -> bool:
    """Whether the first line has the number of values of a WFLW list."""
    n_values = len(beginning.partition("\n")[0].split())
    return n_values - 1 - _VALUES in _MORE


def read(path: str) -> Iterator[FoundFace]:
    """The faces of a list, those of an image together."""
    yield from grouped(_read(path))


def _read(path: str) -> Iterator[FoundFace]:
    with open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words:
                continue
            entry = f"line {number}"
            try:
                if len(words) - 1 - _VALUES not in _MORE:
                    raise ValueError(f"{len(words)} values")
                points = pairs(words[:_VALUES:2], words[1:_VALUES:2])
                left, top, right, bottom = map(
                    float, words[_VALUES : _VALUES + 4] if len(words) > 200 else [0] * 4
                )
                box = Box(left, top, right - left, bottom - top) if right > left and bottom > top else None
            except DAMAGE as error:
                yield FoundFace(words[-1], None, problem=f"{path}: a damaged line ({error})", entry=entry)
                continue
            yield FoundFace(words[-1], points, 0, None, False, box, entry=entry)
