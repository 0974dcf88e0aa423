"""Outputs fed by hand: what a run does with them, without a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from facereject._files import stamp_of
from facereject.faces import Face
from facereject.faces.face import NO_IMAGE, Box, FaceFrame
from facereject.faces.images import MAX_PIXELS
from facereject.faces.landmarks.point_set import MEAN_SHAPE
from facereject.outputs._folders import base_of
from facereject.outputs.base import Media, Output, RunInfo
from facereject.parallel.base import SerialEngine


def prepared(output: Any, paths: Sequence[str] = (), *, others: Sequence[Output] = (), **options: Any) -> Any:
    """The output, ready for inputs below these paths."""
    values = {"frame_rule": "all", "overwrite": False, "max_pixels": MAX_PIXELS, "engine": SerialEngine()}
    names = tuple(map(str, paths))
    run = RunInfo(names, base_of(names), "", outputs=(*others, output), **(values | options))
    output.prepare(run)
    return output


def feed(
    output: Output,
    path: Any,
    frames: Iterable[FaceFrame],
    *,
    kind: str = "image",
    stamp: str | None = None,
    video: Any = None,
) -> None:
    """Give an output the frames of one input."""
    stamp = stamp_of(str(path)) if stamp is None else stamp
    output.begin(Media(str(path), str(path), kind, MEAN_SHAPE, video, stamp))
    for frame in frames:
        output.write(frame)
    output.end()


def face(
    accepted: bool = True, *, reason: str = "uncertain", track: int | None = None, **values: Any
) -> Face:
    """A face of 80 pixels."""
    options = {"uncertainty": 0.0, "expected_error": 2.0} | values
    box = options.pop("box", Box(20.0, 20.0, 80.0, 80.0))
    return Face(
        box,
        1.0,
        MEAN_SHAPE * 70 + 60,
        accepted=accepted,
        reason="" if accepted else reason,
        track=track,
        **options,
    )


def photo(*faces: Face, image: Any = NO_IMAGE, problem: str = "") -> FaceFrame:
    """The only frame of an image."""
    return FaceFrame(-1 if problem else 0, math.nan, image, list(faces), problem=problem)


def clip(signs: str, fps: float = 10.0, images: Sequence[Any] | None = None) -> list[FaceFrame]:
    """The frames of a video: + accepted, u uncertain, 0 without a face."""
    faces = {"+": [face()], "u": [face(False)], "-": [face(False)], "0": []}
    return [
        FaceFrame(i, i / fps, NO_IMAGE if images is None else images[i], faces[sign])
        for i, sign in enumerate(signs)
    ]


def noise(seed: int, side: int = 120) -> np.ndarray:
    """An image full of detail."""
    return np.random.default_rng(seed).integers(0, 255, (side, side, 3), dtype=np.uint8)
