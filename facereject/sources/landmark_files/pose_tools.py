"""Landmarks of pose tools, named after their video: DeepLabCut's tables, SLEAP's analysis files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import suffix_of
from facereject.sources.landmark_files._found import (
    DAMAGE,
    FoundFace,
    LandmarkFileError,
    named_after,
    number,
    numbered_lines,
    pairs,
    placed,
    separator_of,
)
from facereject.sources.landmark_files._h5 import SIGNATURE, array, has, open_h5, pandas_frame, texts

HDF5 = (".h5", ".hdf5")


def knows_deeplabcut(path: str, beginning: str) -> bool:
    """Whether the header lines are those of DeepLabCut, or a file of HDF5 has a table of pandas."""
    if suffix_of(path) in HDF5:
        # what SLEAP writes is recognised before
        return beginning.startswith(SIGNATURE)
    lines = beginning.splitlines()[:4]
    starts = [line.split(separator_of(line), 1)[0].strip() for line in lines]
    return starts[:1] == ["scorer"] and "bodyparts" in starts and "coords" in starts


def read_deeplabcut(path: str) -> Iterator[FoundFace]:
    """The faces of one file: one per row, or one per individual and row.

    CSV with the header lines scorer, (individuals,) bodyparts, coords, or the same as HDF5. Rows are the
    frames of a video, which the file is named after (``clipDLC_resnet50….csv``), or images by their path, in
    one column or in three (labeled-data, folder, file).
    """
    if suffix_of(path) in HDF5:
        with open_h5(path) as file:
            try:
                frame = pandas_frame(file)
            except DAMAGE as error:
                raise LandmarkFileError(f"{path}: {error}") from None
        owners = ["/".join(column[1:-2]) for column in frame.columns]
        rows = zip(frame.rows, frame.values, strict=True)
        yield from _faces(path, owners, [column[-1] for column in frame.columns], rows)
        return
    lines = (cells for _, cells in numbered_lines(path))
    header: dict[str, list[str]] = {}
    while "coords" not in header:
        cells = next(lines, None)
        if cells is None:
            raise LandmarkFileError(f"{path}: has no header line `coords` of DeepLabCut")
        header[cells[0].strip()] = cells
    coords = [cell.strip() for cell in header["coords"]]
    first = coords.index("x")
    owners = header.get("individuals", [""] * len(coords))[first:]
    yield from _faces(path, owners, coords[first:], ((cells[:first], cells[first:]) for cells in lines))


def _faces(
    path: str, owners: Sequence[str], coords: Sequence[str], rows: Iterator[tuple[Sequence[str], Any]]
) -> Iterator[FoundFace]:
    """The faces of rows of values, of which each has an individual and is an x, a y or a likelihood."""
    places = [
        [
            [i for i, c in enumerate(coords) if c == kind and owners[i] == owner]
            for kind in ("x", "y", "likelihood")
        ]
        for owner in dict.fromkeys(owners)
    ]
    for index, values in rows:
        image, frame = _place(path, index)
        if len(values) < len(coords):
            yield FoundFace(image, None, frame, problem=f"{path}: a line is cut off")
            continue
        for x, y, likely in places:
            sure = [value for i in likely if (value := number(values[i])) is not None]
            face = FoundFace(image, None, frame, float(np.mean(sure)) if sure else None)
            axes = [[values[i] for i in axis] for axis in (x, y)]
            yield placed(face, f"{path}: a damaged line", pairs, *axes)


def _place(path: str, index: Sequence[str]) -> tuple[str, int]:
    """Image and frame of a row: a frame of the video, or a separate image."""
    if len(index) == 1 and index[0].strip().isdecimal():
        folder, name = os.path.split(named_after(path))
        return os.path.join(folder, re.split(r"DLC[_-]", name)[0]), int(index[0])
    return "/".join(part.strip() for part in index if part.strip()), 0


def knows_sleap(path: str, beginning: str) -> bool:
    """Whether a file of HDF5 has tracks."""
    if not beginning.startswith(SIGNATURE):
        return False
    with open_h5(path) as file:
        return has(file, "tracks") and has(file, "node_names")


def read_sleap(path: str) -> Iterator[FoundFace]:
    """All instances that are there, by frame: ``tracks`` (tracks, 2, nodes, frames) in pixels."""
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
