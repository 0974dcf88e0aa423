"""SLEAP: the analysis HDF5, with ``tracks`` (tracks, 2, nodes, frames) in pixels, named after its video."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    named_after,
    number,
    pairs,
)
from facereject.sources.landmark_files._h5 import SIGNATURE, array, has, open_h5, texts

SUFFIXES = (".h5", ".hdf5")


def knows(path: str, beginning: str) -> bool:
    """Whether a file of HDF5 has tracks."""
    if not beginning.startswith(SIGNATURE):
        return False
    with open_h5(path) as file:
        return has(file, "tracks") and has(file, "node_names")


def read(path: str) -> Iterator[FoundFace]:
    """The instances of all frames, frame by frame; those that are not there are left out."""
    with open_h5(path) as file:
        try:
            tracks = array(file, "tracks").astype(np.float64)
            nodes = texts(array(file, "node_names"))
            scores = _scores(file, (tracks.shape[0], tracks.shape[-1]))
            video = texts(array(file, "video_path"))[0] if has(file, "video_path") else ""
        except DAMAGE as error:
            raise LandmarkFileError(f"{path}: {error}") from None
    if tracks.ndim != 4 or tracks.shape[1:3] != (2, len(nodes)):
        raise LandmarkFileError(
            f"{path}: tracks of shape {tracks.shape}; (tracks, 2, {len(nodes)}, frames) is needed"
        )
    image = os.path.basename(video.replace("\\", "/")) or named_after(path)
    for frame in range(tracks.shape[3]):
        for k, (x, y) in enumerate(tracks[:, :, :, frame]):
            points = pairs(x, y)
            if points is not None:
                yield FoundFace(image, points, frame, number(scores[k, frame]))


def _scores(file: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Scores of instances, else the means of those of their points; NaN where neither is known."""
    scores = np.full(shape, np.nan)
    if has(file, "point_scores"):
        points = array(file, "point_scores").astype(np.float64)
        if points.ndim == 3 and (points.shape[0], points.shape[2]) == shape:
            total, count = np.nansum(points, axis=1), np.isfinite(points).sum(axis=1)
            scores = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    if has(file, "instance_scores"):
        instances = array(file, "instance_scores").astype(np.float64)
        if instances.shape == shape:
            scores = np.where(np.isfinite(instances), instances, scores)
    return scores
