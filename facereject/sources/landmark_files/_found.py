"""One face as another tool wrote it, and the helpers that all readers share."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from facereject._files import InputError
from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray

_BLANK = re.compile(r"[ \t\r\n]*")
_END = object()

# characters; the text itself is kept in memory while it is parsed
_MAX_JSON = 1 << 28

# bytes
_MAX_XML = 1 << 30

# pixels; no image is as large, and squares of such coordinates are still exact
_FARTHEST = 1e6

#: what readers meet in damaged files; `read_landmarks` turns them into a `LandmarkFileError`
DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
    csv.Error,
)


class LandmarkFileError(InputError):
    """A file holds no landmarks that can be read; the message names it."""


class FoundFace(NamedTuple):
    """One face as another tool found it.

    Attributes
    ----------
    image : str
        Name of its image or video as the file has it, perhaps without a suffix.
    landmarks : ndarray of shape (n, 2) or None
        x, y in pixels, 0-based; NaN for a missing point, None where the tool found nothing.
    frame : int
        Number of the frame in a video, from 0.
    confidence : float or None
        The tool's own.
    relative : bool
        Points are shares of width and height, as MediaPipe has them, instead of pixels.
    box : Box or None
        The detector's box in pixels, where the file has it.
    problem : str
        Why there is nothing to score although there should be: a damaged file or line. Else empty.
    entry : str
        Where in the file it is, such as "line 3".
    photo : str
        Name of the photo, where several images show the same one.
    file : str
        The landmark file.
    tool : int
        0 for the tool whose landmarks are scored, else the number of one they are compared with.
    predicted : bool
        Only tools write this format, so the landmarks are no annotation.
    """

    image: str
    landmarks: FloatArray | None
    frame: int = 0
    confidence: float | None = None
    relative: bool = False
    box: Box | None = None
    problem: str = ""
    entry: str = ""
    photo: str = ""
    file: str = ""
    tool: int = 0
    predicted: bool = False

    @property
    def points(self) -> FloatArray | None:
        """The landmarks if none is missing, else None."""
        complete = self.landmarks is not None and np.isfinite(self.landmarks).all()
        return self.landmarks if complete else None


def named_after(path: str) -> str:
    """A file without its suffix: tools name their results by the image, often in folders like its own."""
    return os.path.splitext(path)[0]


def pairs(x: Any, y: Any) -> FloatArray | None:
    """Points from their coordinates, NaN where one is missing; None if there are none."""
    points = np.column_stack([_values(x), _values(y)])
    points[~np.isfinite(points).all(axis=1)] = np.nan
    if np.isnan(points).all():
        return None
    if np.nanmax(np.abs(points)) > _FARTHEST:
        raise ValueError(f"a coordinate of {np.nanmax(np.abs(points)):.3g}")
    return points


def placed(face: FoundFace, problem: str, points: Callable[..., FloatArray | None], *given: Any) -> FoundFace:
    """The face with the points that a function makes of what a file gives, or with a problem."""
    try:
        return face._replace(landmarks=points(*given))
    except DAMAGE as error:
        return face._replace(problem=f"{problem} ({error})")


def grouped(faces: Iterable[FoundFace]) -> Iterator[FoundFace]:
    """The faces with those of an image together, images in the order in which they first appear."""
    found = list(faces)
    order = {name: i for i, name in enumerate(dict.fromkeys(face.image for face in found))}
    yield from sorted(found, key=lambda face: order[face.image])


def _values(cells: Sequence[Any]) -> FloatArray:
    try:
        return np.asarray(cells, dtype=np.float64)
    except ValueError:
        # empty cells and decimal commas
        texts = (str(cell).strip().replace(",", ".") for cell in cells)
        return np.array([float(text) if text else np.nan for text in texts])


def number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        found = float(value.replace(",", ".") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if np.isfinite(found) else None


def numbered_lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of the lines that are not empty; cells are separated by commas, semicolons or tabs."""
    with open(path, encoding=_encoding(path), newline="") as file:
        separator = separator_of(file.readline())
        file.seek(0)
        lines = csv.reader(file, delimiter=separator)
        yield from ((lines.line_num, cells) for cells in lines if cells)


def xml_elements(path: str, tag: str) -> Iterator[ElementTree.Element]:
    """Iterate over the elements with a tag; only one is in memory at a time."""
    if os.path.getsize(path) > _MAX_XML:
        raise LandmarkFileError(f"{path}: more than {_MAX_XML >> 20} MB of XML; split it")
    parser: Any = ElementTree.XMLPullParser(["start", "end"])
    inside = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 16):
            if b"<!ENTITY" in block:
                # an entity may stand for a gigabyte, or for another file
                raise LandmarkFileError(f"{path}: declares entities, which are not read")
            parser.feed(block)
            for event, element in parser.read_events():
                if event == "start":
                    inside += element.tag == tag
                    continue
                if element.tag == tag:
                    inside -= 1
                    yield element
                if not inside:
                    element.clear()
    parser.close()


def separator_of(line: str) -> str:
    """What separates the cells of a line."""
    return max(",;\t", key=line.count)


def json_parts(path: str, lists: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """Iterate over the parts of a JSON file; only one of them is in memory as Python objects.

    Parameters
    ----------
    path : str
        Holds a list, an object, or one object per line.
    lists : collection of str
        Members of the object that are lists of parts.

    Yields
    ------
    key : str
        Of a member of the object; empty for an item of a list and for a line.
    value
    """
    if os.path.getsize(path) > _MAX_JSON:
        raise LandmarkFileError(f"{path}: more than {_MAX_JSON >> 20} MB of JSON; split it")
    with open(path, encoding=_encoding(path)) as file:
        text = file.read()
    # an empty list takes 20 times the memory of its characters; real points are longer than that
    if 5 * text.count("[") + 12 * text.count("{") > len(text) + 10_000:
        raise LandmarkFileError(f"{path}: its JSON consists of little but brackets")
    first, _, rest = text.partition("\n")
    if rest.strip() and _is_json(first):
        yield from (("", json.loads(line)) for line in io.StringIO(text) if line.strip())
        return
    decode = json.JSONDecoder().raw_decode

    def after_blanks(at: int) -> int:
        return _BLANK.match(text, at).end()  # type: ignore[union-attr]

    def members(at: int, key: str, end: str) -> Iterator[tuple[str, Any, int]]:
        """Key, value and position behind it of the members of a list or object; the last has no value."""
        named, at = end == "}", after_blanks(at + 1)
        while text[at : at + 1] != end:
            if named:
                key, at = decode(text, at)
                at = after_blanks(at)
                if not isinstance(key, str) or text[at : at + 1] != ":":
                    raise ValueError(f"no key and value at character {at}")
                at = after_blanks(at + 1)
            if named and key in lists and text[at : at + 1] == "[":
                for part in members(at, key, "]"):
                    at = part[2]
                    yield part
            else:
                value, at = decode(text, at)
                yield key, value, at
            at = after_blanks(at)
            if text[at : at + 1] == ",":
                at = after_blanks(at + 1)
            elif text[at : at + 1] != end:
                raise ValueError(f"neither , nor {end} at character {at}")
        yield key, _END, at + 1

    start = after_blanks(0)
    end = {"[": "]", "{": "}"}.get(text[start : start + 1])
    if end is None:
        raise ValueError("neither a list nor an object")
    position = start
    for key, value, position in members(start, "", end):  # noqa: B007
        if value is not _END:
            yield key, value
    if text[position:].strip():
        raise ValueError(f"more behind the end, at character {position}")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def opening(path: str, size: int = 1 << 16) -> str:
    """The beginning of a file as text."""
    try:
        with open(path, "rb") as file:
            return file.read(size).decode(_encoding(path), "replace")
    except OSError as error:
        raise LandmarkFileError(f"{path}: cannot be read ({error.strerror})") from None


def _encoding(path: str) -> str:
    """UTF-8, or UTF-16 where its mark is at the beginning, as Windows writes what is redirected to a file."""
    with open(path, "rb") as file:
        start = file.read(2)
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
