"""Decisions, tables and the check of the domain for faces that were scored before.

POST /api/decide, POST /api/table, POST /api/domain. The server keeps nothing between requests: the page holds
the responses it got and sends them back.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from starlette.exceptions import HTTPException

from facereject.faces import Face, FaceRejector
from facereject.faces.domain_monitor import FaceReservoir, why_not_compared
from facereject.faces.face import NO_IMAGE, Box, FaceFrame, Pose
from facereject.outputs.sorted_files import SortedFiles
from facereject.serve.bodies import PrivateFile
from facereject.serve.responses import encode, unusable
from facereject.tables.packing import rows_of
from facereject.tables.writing import write_rows

T = TypeVar("T")

_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}

# integers beyond are not exact in JavaScript, and the largest ones have no place in a table
_LARGEST_INTEGER = 2**53


def formats() -> list[str]:
    """The kinds of tables that can be made here."""
    return [name for name in _TYPES if name != "parquet" or importlib.util.find_spec("pyarrow") is not None]


def media_type(name: str) -> str:
    """The media type of a kind of table; error 422 for other kinds."""
    if name not in formats():
        missing = "; Parquet needs: pip install pyarrow" if name == "parquet" else ""
        raise unusable(f"format must be one of {', '.join(formats())}{missing}")
    return _TYPES[name]


def decide(choose: Callable[[], FaceRejector], body: bytes, *, max_items: int) -> bytes:
    """Decisions on uncertainties, as JSON.

    The body is ``{"inputs": [{"frames": [[0.1, null], ...]}, ...]}``: for each frame the uncertainties of its
    faces. The response has for each input ``accepted``, ``frames`` and ``faces``; a video is accepted by the
    share of its frames, as in `facereject.score_files`.

    Parameters
    ----------
    choose : callable
        Gives the rejector.
    body : bytes
    max_items : int
        Lists and objects that the body may hold; error 413 for more.
    """
    rejector = choose()
    return encode({"inputs": [_decide_input(rejector, item) for item in _inputs(body, max_items)]})


def write_table(
    choose: Callable[[], FaceRejector],
    body: bytes,
    kind: str,
    target: PrivateFile,
    *,
    max_items: int,
    max_rows: int,
) -> None:
    """Write a table of faces, decided by the rejector, into a file.

    The body is ``{"inputs": [{"source": "a.jpg", "frames": [{"frame": 0, "time_s": null, "faces": [...]}]},
    {"source": "b.jpg", "error": "..."}]}`` with faces as /api/score and /api/video give them.
    """
    rejector = choose()
    frames = (frame for item in _inputs(body, max_items) for frame in _frames(rejector, item))
    rows = (row for frame in frames for row in rows_of(frame))
    write_rows(target.file, f".{kind}", _limited(rows, max_rows), rejector.n_points)
    target.file.seek(0)


def check_domain(choose: Callable[[], FaceRejector], body: bytes, *, max_items: int) -> bytes:
    """Whether faces are like those the model was calibrated on, as JSON; the body is that of a table.

    Parameters
    ----------
    choose, body, max_items
        As in `decide`.

    Returns
    -------
    bytes
        ``check`` is null for fewer than 40 faces, one of each track, or a model that cannot tell;
        ``not_compared`` says why.
    """
    rejector, sample = choose(), FaceReservoir()
    for item in _inputs(body, max_items):
        sample.new_input()
        for frame in _frames(rejector, item):
            for face in frame.faces:
                sample.add(face)
    check = rejector.check_domain(sample.kept)
    reason = why_not_compared(rejector, sample.n_described)
    return encode({"check": None if check is None else check.to_dict(), "not_compared": reason})


def _limited(rows: Iterable[T], most: int) -> Iterator[T]:
    for count, row in enumerate(rows):
        if count == most:
            raise HTTPException(413, f"more than {most:,} rows; use `facereject score` for large tables")
        yield row


def _inputs(body: bytes, max_items: int) -> list[Any]:
    # counted before they are made: an empty list takes 20 times the memory of its two bytes
    if body.count(b"[") + body.count(b"{") > max_items:
        raise HTTPException(413, f"more than {max_items:,} lists and objects; send less at a time")
    try:
        content = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise unusable("the body must be JSON") from None
    inputs = content.get("inputs") if isinstance(content, dict) else None
    if not isinstance(inputs, list):
        raise unusable('the body must be an object with a list "inputs"')
    return inputs


def _decide_input(rejector: FaceRejector, item: Any) -> dict[str, Any]:
    try:
        frames = item["frames"]
        values = [math.nan if value is None else float(value) for frame in frames for value in frame]
        accepted = iter(rejector.decide(np.array(values)).tolist())
        faces = [list(itertools.islice(accepted, len(frame))) for frame in frames]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise unusable('an input must be {"frames": [[uncertainty, ...], ...]}') from None
    good = [bool(frame) and all(frame) for frame in faces]
    share = sum(good) >= SortedFiles.video_share * len(good)
    return {"accepted": bool(good) and share, "frames": good, "faces": faces}


def _frames(rejector: FaceRejector, item: Any) -> Iterator[FaceFrame]:
    try:
        source, error, frames = item["source"], item.get("error"), item.get("frames", [])
        if not isinstance(source, str) or not isinstance(frames, list):
            raise TypeError
        # valid UTF-8 even if the name of the file is not
        source = source.encode("utf-8", "backslashreplace").decode()
        if error is not None:
            yield FaceFrame(-1, math.nan, NO_IMAGE, [], source, f"unreadable: {error}")
            return
        for frame in frames:
            faces = [_face(face, rejector.n_points) for face in frame["faces"]]
            decided = [rejector.rescore(face, face.uncertainty) for face in faces]
            index, time_s = _integer(frame["frame"]), _finite(frame["time_s"], math.nan)
            if index < 0:
                raise ValueError("frames are numbered from 0")
            yield FaceFrame(index, time_s, NO_IMAGE, decided, source)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise unusable("an input must have source and frames, and a frame frame, time_s and faces") from None


def _face(response: Any, n_points: int) -> Face:
    """The face of a response that has come back; error 422 if it is none."""
    try:
        points = response["landmarks"]
        landmarks = np.full((n_points, 2), np.nan) if points is None else np.asarray(points, dtype=np.float64)
        if landmarks.shape != (n_points, 2) or np.isinf(landmarks).any():
            raise ValueError("landmarks")
        errors, visible, pose = (response.get(name) for name in ("landmark_errors", "visible", "pose"))
        track, described = response.get("track"), response.get("description")
        box = response["box"]
        return Face(
            Box(*(_finite(box[name]) for name in Box._fields)),
            _finite(response.get("detector_score"), math.nan),
            landmarks,
            _finite(response["uncertainty"], math.inf),
            _finite(response["expected_error"], math.nan),
            accepted=response["accepted"] is True,
            reason=str(response["reason"])[:200],
            track=None if track is None else _integer(track),
            detector=str(response.get("detector", ""))[:200],
            landmark_errors=_values(errors, n_points),
            visible=None if visible is None else _values(visible, n_points) == 1.0,
            cause=str(response.get("cause", ""))[:200],
            likely_cause=str(response.get("likely_cause", ""))[:200],
            typicality=_finite(response.get("typicality"), math.nan),
            description=None if described is None else np.array(described, dtype=np.int8),
            pose=None if pose is None else Pose(*(_finite(pose[name], math.nan) for name in Pose._fields)),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        raise unusable("a face must have the form in which /api/score gives it") from None


def _finite(value: Any, missing: float | None = None) -> float:
    """A finite number, or what null stands for."""
    if value is None and missing is not None:
        return missing
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number


def _integer(value: Any) -> int:
    number = int(value)
    if abs(number) > _LARGEST_INTEGER:
        raise ValueError("too large")
    return number


def _values(values: Any, n_points: int) -> Any:
    if values is None:
        return None
    array = np.array([_finite(value, math.nan) for value in values])
    if array.shape != (n_points,):
        raise ValueError("values")
    return array


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
