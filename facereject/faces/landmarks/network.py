"""Landmark networks in ONNX files, with a description of what goes in and what comes out.

The description is JSON, in ``network.json`` beside ``network.onnx`` or in the file's own metadata under the
key ``facereject``. Coordinates in the input are those of its pixels: 0 is the centre of the first one. See
docs/networks.md for every entry and for the descriptions of networks that people use.

Before a library opens a network, its bytes are read here: its metadata, and whether it asks for other files.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from facereject._files import is_regular
from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray, fit_similarity, transform_points
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.base import LandmarkModelError
from facereject.faces.landmarks.point_set import N_LANDMARKS

#: how landmarks come out of a network, and in how many outputs
KINDS = {"coordinates": 1, "heatmaps": 1, "offsets": 3, "simcc": 2}
DECODINGS = ("argmax", "quarter", "gauss", "mean")

# bytes
_LARGEST_NETWORK = 1 << 30
_LARGEST_DESCRIPTION = 1 << 20

_HOW = "pass the network itself (--landmarks FILE)"


def _among(*known: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"must be one of {', '.join(known)}; got {value!r}")
        return str(value)

    return read


def _numbers(count: int | None = None, least: float = -1e9) -> Callable[[Any], Any]:
    """Reads some numbers, or ``count`` of them above ``least``; a single one is no tuple."""

    def read(value: Any) -> Any:
        found = tuple(float(v) for v in (value if isinstance(value, list) else [value]))
        if count not in (None, len(found)) or not all(least < v < 1e9 for v in found) or not found:
            raise ValueError(f"must be {count or 'some'} numbers above {least:g}; got {value!r}")
        return found[0] if count == 1 else found

    return read


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 < value <= 4096:
        raise ValueError(f"must be a whole number from 2 to 4096; got {value!r}")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false; got {value!r}")
    return value


def _template(value: Any) -> tuple[tuple[float, float], ...] | None:
    pairs = None if value is None else tuple(_numbers(2)(pair) for pair in value)
    if pairs is not None and len(pairs) != 5:
        raise ValueError("five points are needed")
    return pairs


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(v) for v in (value if isinstance(value, list) else [value]))


def _entry(read: Callable[[Any], Any], default: Any = MISSING) -> Any:
    """An entry of a description, and how its value is read from JSON."""
    return field(default=default, metadata={"read": read})


@dataclass(frozen=True)
class Description:
    """What a network takes and gives.

    Attributes
    ----------
    points : int
        Landmarks that come out of the network.
    size : (int, int)
        Width and height of its input.
    color : {"rgb", "bgr", "gray"}
    mean, scale : tuple of float
        The input is (pixel - mean) * scale, with pixels from 0 to 255; one value, or one per channel.
    layout : {"nchw", "nhwc"}
    crop_scale : float
        Side of the crop over the longer side of the face box.
    crop_shift : (float, float)
        By how much the crop is moved, in sides of the box.
    template : tuple of (float, float) or None
        Position in the input of the detector's five points (eyes, nose, corners of the mouth, as
        they are in the image from left to right); None crops by the box alone.
    upright : bool
        Whether tilted faces are turned upright first.
    kind : {"coordinates", "heatmaps", "offsets", "simcc"}
    outputs : tuple of str
        Names of the outputs: one; for SimCC those of x and y; for offsets those of the scores of the cells
        and of x and y within a cell. Empty for the first ones.
    range : (float, float)
        Coordinates: values at the first and the last edge of the input; (0, size) for pixels.
    decoding : {"argmax", "quarter", "gauss", "mean"}
        Heat maps and SimCC: the largest value; moved by a quarter to its larger neighbour; the peak of a
        Gaussian through its neighbours; or the centre of mass.
    split : float
        SimCC: bins per pixel.
    map_to_68 : tuple of int
        The output that is each of the 68 points of 300-W; empty if they stay as they are.
    names : tuple of str
        Names of the points, for people.
    normalizer : str or None
        What errors are divided by, see `facereject.losses.landmark_scale`.
    """

    points: int = _entry(_integer)
    size: tuple[int, int] = _entry(
        lambda value: tuple(_integer(v) for v in (value if isinstance(value, list) else [value] * 2)[:2])
    )
    color: str = _entry(_among("rgb", "bgr", "gray"), "rgb")
    mean: tuple[float, ...] = _entry(_numbers(), (0.0,))
    scale: tuple[float, ...] = _entry(_numbers(), (1.0,))
    layout: str = _entry(_among("nchw", "nhwc"), "nchw")
    crop_scale: float = _entry(_numbers(1, 0.0), 1.0)
    crop_shift: tuple[float, float] = _entry(_numbers(2), (0.0, 0.0))
    template: tuple[tuple[float, float], ...] | None = _entry(_template, None)
    upright: bool = _entry(_flag, True)
    kind: str = _entry(_among(*KINDS), "coordinates")
    outputs: tuple[str, ...] = _entry(_texts, ())
    range: tuple[float, float] = _entry(_numbers(2), (0.0, 1.0))
    decoding: str = _entry(_among(*DECODINGS), "argmax")
    split: float = _entry(_numbers(1, 0.0), 1.0)
    map_to_68: tuple[int, ...] = _entry(lambda value: tuple(int(v) for v in value), ())
    names: tuple[str, ...] = _entry(_texts, ())
    normalizer: str | None = _entry(lambda value: None if value is None else str(value), None)

    @classmethod
    def read(cls, text: str) -> Description:
        """From JSON; ValueError names the entry that is wrong."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"no JSON ({error})") from None
        if not isinstance(given, dict):
            raise ValueError("no JSON object")
        for name in ("points", "size"):
            if name not in given:
                raise ValueError(f"entry {name!r} is missing")
        known = {each.name: each.metadata["read"] for each in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise ValueError(f"unknown entry {name!r}; there are {', '.join(known)}")
            try:
                given[name] = known[name](value)
            except (TypeError, ValueError, KeyError, OverflowError) as error:
                raise ValueError(f"entry {name!r}: {error}") from None
        return cls(**given)

    def __post_init__(self) -> None:
        channels = 1 if self.color == "gray" else 3
        for name in ("mean", "scale"):
            if len(getattr(self, name)) not in (1, channels):
                raise ValueError(f"entry {name!r}: one value or {channels} are needed")
        if len(self.outputs) not in (0, KINDS[self.kind]):
            raise ValueError(f"entry 'outputs': {self.kind} has {KINDS[self.kind]}, got {len(self.outputs)}")
        if self.map_to_68 and (len(self.map_to_68) != N_LANDMARKS or max(self.map_to_68) >= self.points):
            raise ValueError(f"entry 'map_to_68': 68 numbers below {self.points} are needed")
        if self.names and len(self.names) != self.points:
            raise ValueError(f"entry 'names': {self.points} names are needed, got {len(self.names)}")
        if self.range[0] == self.range[1]:
            raise ValueError("entry 'range': two different numbers are needed")


class NetworkLandmarks:
    """A landmark predictor from an ONNX file and its description.

    Parameters
    ----------
    path : path
        The network.
    description : path, Description or None
        None is the JSON file of the same name beside it, else the metadata of the file.
    backend : {"onnxruntime", "opencv"} or None
        None is onnxruntime if it is installed.
    sha256 : str or None
        The fingerprint that is expected; None takes any files.

    Raises
    ------
    LandmarkModelError
        The files cannot be used, or do not fit each other.

    Examples
    --------
    >>> from facereject.faces import FaceRejector
    >>> from facereject.faces.landmarks.network import NetworkLandmarks
    >>> FaceRejector.pretrained(predictor=NetworkLandmarks("pfld.onnx"))  # doctest: +SKIP
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        description: str | os.PathLike[str] | Description | None = None,
        *,
        backend: str | None = None,
        sha256: str | None = None,
    ) -> None:
        self.path = Path(path)
        self._data = _content(self.path, _LARGEST_NETWORK)
        try:
            stored = metadata(self._data).get("facereject")
            elsewhere = refers_to_files(self._data)
        except ValueError as error:
            raise LandmarkModelError(f"{self.path}: {error}") from None
        if elsewhere:
            raise LandmarkModelError(
                f"{self.path}: keeps its weights in other files, which are not opened; save it as one file "
                "(onnx.save(onnx.load(path), path, save_as_external_data=False))"
            )
        if isinstance(description, Description):
            self.description, text = description, repr(description)
        else:
            self.description, text = _description(self.path, description, stored)
        self.fingerprint = hashlib.sha256(self._data + b"\0" + text.encode()).hexdigest()
        # compared before the network is given to any library
        if sha256 not in (None, self.fingerprint):
            raise LandmarkModelError(
                f"{path}: it or its description is not what the model was trained for; {_HOW}"
            )
        self._backend = _backend(backend)
        self._run = _runner(self.path, self._data, self._backend)
        # what does not fit is reported now, not on the first face
        self._outputs(np.zeros((*self.description.size[::-1], 1 if self.color == "gray" else 3), np.uint8))

    @classmethod
    def restored(cls, path: str, sha256: str) -> NetworkLandmarks:
        """The predictor that a model file names: only the files it was trained for."""
        if str(path).startswith(("//", "\\\\")) or not Path(path).is_file():
            raise LandmarkModelError(
                f"{path}: the model was trained for this file, which is not here; {_HOW}"
            )
        return cls(path, sha256=sha256)

    @property
    def n_points(self) -> int:
        """How many points it places."""
        return N_LANDMARKS if self.description.map_to_68 else self.description.points

    @property
    def color(self) -> str:
        """The image it is shown."""
        return "gray" if self.description.color == "gray" else "rgb"

    @property
    def levels(self) -> bool:
        """Whether tilted faces are left to it."""
        return not self.description.upright or self.description.template is not None

    @property
    def normalizer(self) -> str | None:
        """What errors are divided by."""
        return self.description.normalizer

    @property
    def definition(self) -> dict[str, Any]:
        """What a model file keeps: where the network is, and the digest of both files."""
        return {"name": "onnx", "path": str(self.path.absolute()), "sha256": self.fingerprint}

    def __call__(self, image: ImageArray, box: Box) -> FloatArray:
        """Landmarks (n, 2) in pixels of the image for the face in ``box``."""
        x, y, width, height = box
        told = self.description
        side = told.crop_scale * max(width, height)
        middle = np.array([x + width / 2, y + height / 2]) + np.array(told.crop_shift) * max(width, height)
        # the longer side of the input spans the crop
        factor = max(told.size) / side
        matrix = np.zeros((2, 3))
        matrix[:, :2] = factor * np.eye(2)
        matrix[:, 2] = np.array(told.size) / 2 - factor * middle
        return self._place(image, matrix)

    @property
    def by_five(self) -> bool:
        """Whether the crop is made by the five points of a detector, where it has them."""
        return self.description.template is not None

    def place_by_five(self, image: ImageArray, points: Sequence[tuple[float, float]]) -> FloatArray:
        """The same by the five points of a detector; the description must have a template for them."""
        if self.description.template is None:
            raise ValueError("the description has no template of five points")
        return self._place(image, fit_similarity(np.array(points), np.array(self.description.template)))

    def _place(self, image: ImageArray, matrix: FloatArray) -> FloatArray:
        """Landmarks by a crop that a similarity makes of the image."""
        told = self.description
        crop = np.asarray(cv2.warpAffine(image, matrix, told.size, flags=cv2.INTER_LINEAR), dtype=np.uint8)
        points = self._decoded(self._outputs(crop.reshape(*crop.shape[:2], -1)))
        if told.map_to_68:
            points = points[list(told.map_to_68)]
        back = np.asarray(cv2.invertAffineTransform(matrix), dtype=np.float64)
        return transform_points(back, points)

    def _outputs(self, crop: ImageArray) -> list[NDArray[np.float64]]:
        """What comes out for an image of the size of the input, checked against the description."""
        told = self.description
        pixels = crop[:, :, ::-1] if told.color == "bgr" else crop
        mean, scale = np.array(told.mean, np.float32), np.array(told.scale, np.float32)
        values = (pixels.astype(np.float32) - mean) * scale
        batch = values[None] if told.layout == "nhwc" else values.transpose(2, 0, 1)[None]
        try:
            found = self._run(np.ascontiguousarray(batch), told.outputs, KINDS[told.kind])
        except Exception as error:
            # libraries raise many kinds; all of them say that the network and this input do not fit
            text = " ".join(str(error).split())[:200]
            raise LandmarkModelError(f"{self.path}: cannot be run with its description ({text})") from None
        return [self._checked(np.asarray(each, dtype=np.float64)) for each in found]

    def _checked(self, output: NDArray[np.float64]) -> NDArray[np.float64]:
        n = self.description.points
        values = output[0] if output.ndim > 1 and output.shape[0] == 1 else output
        if self.description.kind == "coordinates":
            flat = values.reshape(-1)
            if flat.size not in (2 * n, 3 * n):
                raise LandmarkModelError(
                    f"{self.path}: {n} points are described, {flat.size} coordinates come out"
                )
            return flat.reshape(n, -1)[:, :2]
        needed = 2 if self.description.kind == "simcc" else 3
        if values.ndim != needed or values.shape[0] != n or values.size == 0:
            what = "maps" if needed == 3 else "rows of bins"
            raise LandmarkModelError(f"{self.path}: {n} {what} are described, {output.shape} comes out")
        return values

    def _decoded(self, outputs: list[NDArray[np.float64]]) -> FloatArray:
        """Points in pixels of the input."""
        told = self.description
        size = np.array(told.size, dtype=np.float64)
        if told.kind == "coordinates":
            low, high = told.range
            return (outputs[0] - low) / (high - low) * size
        if told.kind == "simcc":
            return np.column_stack([_peaks(bins, told.decoding) for bins in outputs]) / told.split
        maps = outputs[0]
        if told.kind == "offsets":
            # the cell with the largest score, and where in it the point is
            rows, cell = np.arange(len(maps)), maps.reshape(len(maps), -1).argmax(axis=1)
            corner = np.column_stack(np.unravel_index(cell, maps.shape[1:])[::-1])
            within = np.column_stack([each.reshape(len(maps), -1)[rows, cell] for each in outputs[1:]])
            return np.asarray((corner + within) * (size / maps.shape[:0:-1]))
        return _map_peaks(maps, told.decoding) * (size / maps.shape[:0:-1])

    def __getstate__(self) -> dict[str, Any]:
        # the session of a library cannot be pickled
        return {name: value for name, value in self.__dict__.items() if name != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._run = _runner(self.path, self._data, self._backend)

    def __repr__(self) -> str:
        return f"NetworkLandmarks({str(self.path)!r}, {self.n_points} points)"


def _content(path: Path, limit: int) -> bytes:
    """The bytes of a regular file up to a size."""
    try:
        if not path.is_file() or not is_regular(path):
            raise LandmarkModelError(f"{path}: no such file")
        if path.stat().st_size > limit:
            raise LandmarkModelError(f"{path}: larger than {limit >> 20} MB")
        return path.read_bytes()
    except OSError as error:
        raise LandmarkModelError(f"{path}: cannot be read ({error.strerror})") from None


def _description(path: Path, given: Any, stored: str | None) -> tuple[Description, str]:
    """The description of a network, and its text."""
    beside = path.with_suffix(".json") if given is None else Path(given)
    if given is not None or beside.is_file():
        where, text = str(beside), _content(beside, _LARGEST_DESCRIPTION).decode("utf-8", "replace")
    elif stored is not None:
        where, text = f"{path}, metadata `facereject`", stored
    else:
        raise LandmarkModelError(
            f"{path}: needs a description, {beside.name} beside it, such as "
            '{"points": 68, "size": [112, 112]}; see docs/networks.md'
        )
    try:
        return Description.read(text), text
    except ValueError as error:
        raise LandmarkModelError(f"{where}: {error}") from None


def _backend(name: str | None) -> str:
    if name not in (None, "onnxruntime", "opencv"):
        raise LandmarkModelError(f"backend must be onnxruntime or opencv, got {name!r}")
    if name == "opencv":
        return name
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        if name is None:
            return "opencv"
        raise LandmarkModelError("onnxruntime is missing: pip install onnxruntime") from None
    return "onnxruntime"


def _runner(path: Path, data: bytes, backend: str) -> Any:
    """A function from a batch, names of outputs and how many are needed to arrays."""
    try:
        return (_onnxruntime if backend == "onnxruntime" else _opencv)(data)
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise LandmarkModelError(f"{path}: cannot be read by {backend} ({text})") from None


def _onnxruntime(data: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # workers and threads share the cores already
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    (first,) = session.get_inputs()
    known = [output.name for output in session.get_outputs()]

    def run(batch: NDArray[np.float32], names: Sequence[str], count: int) -> list[Any]:
        chosen = _named(names, known, count)
        return list(session.run(chosen, {first.name: batch}))

    return run


def _opencv(data: bytes) -> Any:
    network = cv2.dnn.readNetFromONNX(np.frombuffer(data, dtype=np.uint8))
    # it keeps its input, so threads take turns
    lock = threading.Lock()
    known = list(network.getUnconnectedOutLayersNames())

    def run(batch: NDArray[np.float32], names: Sequence[str], count: int) -> list[Any]:
        with lock:
            network.setInput(batch)
            return list(network.forward(_named(names, known, count)))

    return run


def _named(names: Sequence[str], known: Sequence[str], count: int) -> list[str]:
    chosen = list(names) or list(known[:count])
    missing = [name for name in chosen if name not in known]
    if missing or len(chosen) < count:
        what = f"no output {missing[0]!r}" if missing else f"{len(known)} of {count} outputs"
        raise ValueError(f"{what}; there are {', '.join(known)}")
    return chosen


def _peaks(rows: NDArray[np.float64], decoding: str) -> FloatArray:
    """Where each row has its peak, in steps of the row."""
    places = np.arange(rows.shape[1], dtype=np.float64)
    if decoding == "mean":
        weights = np.clip(rows, 0, None)
        total = weights.sum(axis=1)
        return np.where(total > 0, weights @ places / np.where(total > 0, total, 1), places.mean())
    best = rows.argmax(axis=1)
    offsets = [_offset(row, i, decoding) for row, i in zip(rows, best.tolist(), strict=True)]
    return np.asarray(best + np.array(offsets), dtype=np.float64)


def _offset(row: NDArray[np.float64], i: int, decoding: str) -> float:
    """How far the peak is from the largest value."""
    if decoding == "argmax" or not 0 < i < len(row) - 1:
        return 0.0
    before, at, after = row[i - 1 : i + 2]
    if decoding == "quarter":
        return 0.25 * float(np.sign(after - before))
    # a parabola through the logarithms, which a Gaussian is
    before, at, after = np.log(np.maximum((before, at, after), 1e-12))
    bend = before - 2 * at + after
    return float(np.clip((before - after) / (2 * bend), -0.5, 0.5)) if bend < 0 else 0.0


def _map_peaks(maps: NDArray[np.float64], decoding: str) -> FloatArray:
    """x, y of the peak of each map, in its pixels."""
    if decoding == "mean":
        weights = np.clip(maps, 0, None)
        return np.column_stack([_peaks(weights.sum(axis=1), "mean"), _peaks(weights.sum(axis=2), "mean")])
    points = []
    for each in maps:
        y, x = np.unravel_index(int(each.argmax()), each.shape)
        points.append((x + _offset(each[y], int(x), decoding), y + _offset(each[:, x], int(y), decoding)))
    return np.array(points, dtype=np.float64)


# Fields of the messages of ONNX (onnx.proto) that lead to tensors: field number -> kind of message.
_INSIDE: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_METADATA = 14
# of a tensor: key-value pairs that name another file, and where the values are (1 is outside)
_EXTERNAL, _LOCATION = 13, 14
_DEEPEST = 40


def metadata(data: bytes) -> dict[str, str]:
    """The metadata of a model; ValueError if the bytes are no ONNX file."""
    found = {}
    for number, value in _fields(memoryview(data)):
        if number == _METADATA and not isinstance(value, int):
            pair = {key: bytes(text) for key, text in _fields(value) if not isinstance(text, int)}
            found[pair.get(1, b"").decode("utf-8", "replace")] = pair.get(2, b"").decode("utf-8", "replace")
    return found


def refers_to_files(data: bytes) -> bool:
    """Whether values of a model are in other files; ValueError if the bytes are no ONNX file."""
    return _refers(memoryview(data), "model", 0)


def _refers(message: memoryview, kind: str, depth: int) -> bool:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    inside = _INSIDE[kind]
    for number, value in _fields(message):
        if kind == "tensor" and (number == _EXTERNAL or (number == _LOCATION and value == 1)):
            return True
        if number in inside and not isinstance(value, int) and _refers(value, inside[number], depth + 1):
            return True
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of the fields of a message, in the wire format of protocol buffers."""
    position, end = 0, len(message)
    while position < end:
        key, position = _number(message, position)
        kind = key & 7
        if kind == 0:
            value, position = _number(message, position)
            yield key >> 3, value
            continue
        if kind == 2:
            size, position = _number(message, position)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("not a file of ONNX")
        if position + size > end:
            raise ValueError("a file of ONNX that is cut off")
        yield key >> 3, message[position : position + size]
        position += size


def _number(message: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            raise ValueError("a file of ONNX that is cut off")
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("not a file of ONNX")
