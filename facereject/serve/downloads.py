"""Decisions and tables for faces that were judged before: POST /api/decide and POST /api/table.

The server keeps nothing between requests. The page holds the answers it got and sends them back when the
target changes or a table is wanted.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from typing import Any

from facereject.faces import FaceRejector
from facereject.faces.face import Box
from facereject.pipeline._old.sorted_files import Placement
from facereject.serve.answers import face_of
from facereject.serve.bodies import private_file
from facereject.serve.refusals import Refusal, unusable
from facereject.tables.formats import csv_to_parquet, text_format
from facereject.tables.rows import Row, frame_accepted, rows_of_frame, unreadable_row

_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}


def formats() -> list[str]:
    """The kinds of tables that can be made here."""
    return [name for name in _TYPES if name != "parquet" or importlib.util.find_spec("pyarrow") is not None]


def media_type(name: str) -> str:
    """The media type of a kind of table; a `Refusal` with 422 for others."""
    if name not in formats():
        missing = "; Parquet needs: pip install 'facereject[parquet]'" if name == "parquet" else ""
        raise unusable(f"format must be one of {', '.join(formats())}{missing}")
    return _TYPES[name]


def parse(body: bytes) -> Any:
    """A body of JSON; a `Refusal` with 422 if it is none."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise unusable("the body must be JSON") from None


def decide(choose: Callable[[], FaceRejector], body: bytes) -> dict[str, Any]:
    """Decisions on uncertainties.

    The body is ``{"inputs": [{"frames": [[0.1, null], ...]}, ...]}``: for each frame the uncertainties of its
    faces. The answer has for each input ``accepted``, ``frames`` and ``faces``; a video is accepted by the
    share of its frames, as in `facereject.score_files`.
    """
    rejector = choose()
    return {"inputs": [_decide_input(rejector, item) for item in _inputs(parse(body))]}


def table(choose: Callable[[], FaceRejector], body: bytes, kind: str) -> bytes:
    """A table of faces, decided upon by the rejector.

    The body is ``{"inputs": [{"source": "a.jpg", "frames": [{"frame": 0, "time_s": null, "faces": [...]}]},
    {"source": "b.jpg", "error": "..."}]}`` with faces as /api/score and /api/video give them.
    """
    media_type(kind)
    rejector = choose()
    rows = [row for item in _inputs(parse(body)) for row in _rows_of_input(rejector, item)]
    form = text_format(f".{kind}", rejector.n_points)
    text = form.header + form.encode(rows)
    if kind != "parquet":
        return text
    with private_file() as source, private_file() as target:
        source.file.write(text)
        source.file.flush()
        csv_to_parquet(source.path, target.path)
        target.file.seek(0)
        return target.file.read()


def _inputs(body: Any) -> list[Any]:
    inputs = body.get("inputs") if isinstance(body, dict) else None
    if not isinstance(inputs, list):
        raise unusable('the body must be an object with a list "inputs"')
    return inputs


def _decide_input(rejector: FaceRejector, item: Any) -> dict[str, Any]:
    try:
        faces = [[_decide_one(rejector, value) for value in frame] for frame in item["frames"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise unusable('an input must be {"frames": [[uncertainty, ...], ...]}') from None
    somewhere = Box(0.0, 0.0, 1.0, 1.0)
    frames = [frame_accepted([Row("", box=somewhere, accepted=each) for each in frame]) for frame in faces]
    accepted = bool(frames) and sum(frames) >= Placement.video_share * len(frames)
    return {"accepted": accepted, "frames": frames, "faces": faces}


def _decide_one(rejector: FaceRejector, value: Any) -> bool:
    return value is not None and rejector.decide(float(value))


def _rows_of_input(rejector: FaceRejector, item: Any) -> Iterator[Row]:
    try:
        source, error, frames = item["source"], item.get("error"), item.get("frames", [])
        if not isinstance(source, str) or not isinstance(frames, list):
            raise TypeError
        if error is not None:
            yield unreadable_row(_name(source), str(error))
            return
        for frame in frames:
            time_s, number = frame["time_s"], int(frame["frame"])
            faces = [face_of(face, rejector.n_points) for face in frame["faces"]]
            judged = [rejector.judge(face, face.uncertainty) for face in faces]
            seconds = None if time_s is None else float(time_s)
            yield from rows_of_frame(_name(source), judged, frame=number, time_s=seconds)
    except Refusal:
        raise
    except (KeyError, TypeError, ValueError, AttributeError):
        raise unusable("an input must have source and frames, and a frame frame, time_s and faces") from None


def _name(source: str) -> str:
    """A name for the table, in valid UTF-8."""
    return source.encode("utf-8", "backslashreplace").decode()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
