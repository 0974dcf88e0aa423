"""Tables of facereject, and plain tables and arrays as people write them; coordinates in pixels, 0-based.

- CSV, TSV, Parquet or JSON lines with the columns ``image`` (or ``source``, ``file``, ``path``, ``name``) and
  ``x0, y0, x1, y1, …`` or ``x_0, …, y_0, …`` or ``p0_x, p0_y, …``, numbered from 0 or 1; ``frame`` and
  ``confidence`` are optional. Without a column of images the file is named after its image or video.
  ``photo`` names images of one photo.
- The same with one column ``landmarks`` (or ``points``): a list of [x, y]. An object of JSON from names of
  images to such lists.
- NPZ with ``image`` (n names) and ``landmarks`` (n, points, 2), optional ``frame`` and ``confidence``.
- NPY of shape (points, 2), named after its image, or (frames, points, 2), named after its video.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import suffix_of
from facereject.faces.geometry import FloatArray
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    grouped,
    json_parts,
    named_after,
    number,
    numbered_lines,
    pairs,
    separator_of,
)
from facereject.tables.errors import TableFormatError
from facereject.tables.reading import read_table

_JSON = (".json", ".jsonl")
PLAIN_SUFFIXES = (".csv", ".tsv", ".txt", *_JSON, ".parquet", ".npz", ".npy")

_IMAGES = (
    *("image", "source", "file", "file_name", "filename", "path", "image_path", "name"),
    *("images", "names"),
)
_POINTS = ("landmarks", "points")
_CONFIDENCES = ("confidence", "score", "likelihood")
# keys of a row that no column can have
_ENTRY, _DAMAGE = "entry of the file", "damage of the row"
# x0, x_0 and x[0], or 0_x, p0_x and landmark_0_x
_COORDINATE = re.compile(r"(?P<a>[xy])[_\[]?(?P<i>\d{1,5})\]?|(?P<p>[a-z_]*)(?P<j>\d{1,5})_?(?P<b>[xy])")
_BY_IMAGE = re.compile(r'\s*\{\s*"[^"]+"\s*:\s*\[\s*\[')


def knows_plain(path: str, beginning: str) -> bool:
    """Whether a file has such columns or members."""
    suffix = suffix_of(path)
    if suffix in (".npy", ".npz"):
        return True
    if suffix in _JSON:
        keys = re.findall(r'"([^"]+)"\s*:', beginning)
        named = any(key in _POINTS or _COORDINATE.fullmatch(key.lower()) for key in keys)
        return named or bool(_BY_IMAGE.match(beginning))
    names = header_of(path, beginning)
    return bool(_coordinates(names) or set(_POINTS) & {name.lower() for name in names})


def header_of(path: str, beginning: str) -> list[str]:
    """The names of the columns of a table, or of the members of its first object; empty if it has none."""
    suffix = suffix_of(path)
    line = beginning.partition("\n")[0]
    if suffix == ".parquet":
        return [str(name) for name in _parquet(path).schema_arrow.names]
    if suffix in _JSON:
        try:
            first = json.loads(line)
        except (ValueError, RecursionError):
            return []
        return list(first) if isinstance(first, dict) else []
    return [cell.strip().strip('"') for cell in line.split(separator_of(line))]


def read_plain(path: str) -> Iterator[FoundFace]:
    """The faces of a file, those of an image together."""
    suffix = suffix_of(path)
    if suffix == ".npy":
        array = _load(path)[""]
        if array.ndim not in (2, 3) or array.shape[-1] != 2:
            raise LandmarkFileError(f"{path}: an array of shape {array.shape}; (points, 2) is needed")
        rows: Iterable[Mapping[str, Any]] = (
            {"frame": frame, "landmarks": points}
            for frame, points in enumerate(array.reshape(-1, *array.shape[-2:]))
        )
    elif suffix == ".npz":
        rows = _arrays(path)
    elif suffix == ".parquet":
        rows = (row for batch in _parquet(path).iter_batches(1000) for row in batch.to_pylist())
    elif suffix in _JSON:
        rows = _objects(path)
    else:
        rows = lines_of(path)
    yield from grouped(face_of(path, row) for row in rows)


def face_of(path: str, row: Mapping[str, Any]) -> FoundFace:
    """The face of a row, by the names of its columns."""
    image = next((str(row[name]) for name in _IMAGES if row.get(name) not in (None, "")), named_after(path))
    entry, photo = str(row.get(_ENTRY, "")), str(row.get("photo") or "")
    try:
        if (damage := row.get(_DAMAGE)) is not None:
            raise ValueError(damage)
        frame = row.get("frame")
        number_of_frame = 0 if frame in (None, "") else int(float(frame))
        confidence = next((number(row[name]) for name in _CONFIDENCES if name in row), None)
        return FoundFace(image, _points(row), number_of_frame, confidence, entry=entry, photo=photo)
    except DAMAGE as error:
        return FoundFace(image, None, problem=f"{path}: a damaged face ({error})", entry=entry)


def _points(row: Mapping[str, Any]) -> FloatArray | None:
    given = next((row[name] for name in _POINTS if name in row), None)
    if isinstance(given, str):
        # a cell of a table, as str() and json.dumps write a list
        given = json.loads(given) if given.strip() else [[np.nan, np.nan]]
    if given is not None:
        points = np.asarray(given, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"landmarks of shape {points.shape}")
        return pairs(points[:, 0], points[:, 1])
    names = _coordinates(row)
    if not names:
        return None
    x, y = ([row[name] for name in axis] for axis in zip(*names, strict=True))
    return pairs(
        ["" if value is None else value for value in x], ["" if value is None else value for value in y]
    )


def _coordinates(names: Iterable[str]) -> list[tuple[str, str]]:
    """The columns of x and y of every point; empty if there are none, or one is missing."""
    groups: dict[str, dict[str, dict[int, str]]] = {}
    for name in names:
        if match := _COORDINATE.fullmatch(name.strip().lower()):
            group = groups.setdefault(match["p"] or "", {"x": {}, "y": {}})
            # x_0 before X_0, which is in millimetres in files of OpenFace
            group[match["a"] or match["b"]].setdefault(int(match["i"] or match["j"]), name)
    # of several kinds of points those with most
    found = max(groups.values(), key=lambda group: len(group["x"]), default={"x": dict[int, str]()})
    numbers = sorted(found["x"])
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(numbers))) or numbers[0] > 1:
        return []
    return [(found["x"][i], found["y"][i]) for i in numbers] if sorted(found["y"]) == numbers else []


def lines_of(path: str) -> Iterator[Mapping[str, Any]]:
    """The rows of a text table; `face_of` reports damaged ones."""
    lines = numbered_lines(path)
    names = [cell.strip() for cell in next(lines, (0, []))[1]]
    # names of columns in any case
    keys = [name if _COORDINATE.fullmatch(name.lower()) else name.lower() for name in names]
    if not _coordinates(names) and not set(_POINTS) & set(keys):
        raise LandmarkFileError(f"{path}: has no columns x0, y0, x1, y1, …")
    for line, cells in lines:
        row: dict[str, Any] = dict(zip(keys, cells, strict=False))
        row[_ENTRY] = f"line {line}"
        if len(cells) < len(keys):
            row[_DAMAGE] = "the line is cut off"
        elif any(cells[len(keys) :]):
            row[_DAMAGE] = f"{len(cells)} values for {len(keys)} columns"
        yield row


def _objects(path: str) -> Iterator[Mapping[str, Any]]:
    whole = {}
    for key, part in json_parts(path):
        if key and key not in _POINTS and isinstance(part, list):
            yield {"image": key, "landmarks": part}
        elif key:
            whole[key] = part
        else:
            yield part if isinstance(part, dict) else {"landmarks": part}
    if whole:
        yield whole


def _arrays(path: str) -> Iterator[Mapping[str, Any]]:
    arrays = _load(path)
    points = next((arrays[name] for name in _POINTS if name in arrays), None)
    names = next((arrays[name] for name in _IMAGES if name in arrays), None)
    if points is None or names is None or points.ndim != 3 or names.shape != points.shape[:1]:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise LandmarkFileError(
            f"{path}: needs image (n,) and landmarks (n, points, 2); has {shapes or 'nothing'}"
        )
    others: dict[str, NDArray[Any]] = {
        name: arrays[name] for name in ("frame", "confidence") if name in arrays
    }
    if any(array.shape != names.shape for array in others.values()):
        raise LandmarkFileError(f"{path}: frame and confidence need one value for each of {len(names)} faces")
    for i, name in enumerate(names):
        row = {key: array[i].item() for key, array in others.items()}
        yield {"image": str(name), "landmarks": points[i], **row}


def _load(path: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; the one array of an NPY file has none."""
    try:
        stored = np.load(path, allow_pickle=False)
        if not isinstance(stored, np.lib.npyio.NpzFile):
            return {"": np.asarray(stored)}
        with stored:
            return {name: np.asarray(stored[name]) for name in stored.files}
    except Exception as error:
        # NumPy, zipfile and tokenize report damage in many ways
        text = " ".join(str(error).split())
        raise LandmarkFileError(f"{path}: damaged, or not written by NumPy ({text[:120]})") from None


def _parquet(path: str) -> Any:
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError:
        raise LandmarkFileError(f"{path}: Parquet needs pyarrow: pip install pyarrow") from None
    return pyarrow.parquet.ParquetFile(path)


def read_own_table(path: str) -> Iterator[FoundFace]:
    """The faces of a table; inputs and frames without a face have one without landmarks."""
    try:
        for frame in read_table(path):
            index = max(frame.index, 0)
            for face in frame.faces:
                points = None if np.isnan(face.landmarks).all() else face.landmarks
                score = None if math.isnan(face.detector_score) else face.detector_score
                yield FoundFace(frame.source, points, index, score, False, face.box)
            if not frame.faces:
                problem = f"the table says: {frame.problem}" if frame.problem else ""
                yield FoundFace(frame.source, None, index, problem=problem)
    except (TableFormatError, OSError) as error:
        raise LandmarkFileError(str(error)) from None
