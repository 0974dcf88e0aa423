"""FiftyOne: samples as JSON (``Dataset.write_json``), key points as shares of width and height."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from facereject.sources.landmark_files._found import DAMAGE, FoundFace, json_parts, number, pairs

SUFFIXES = (".json",)


def knows(path: str, beginning: str) -> bool:
    """Whether a file of JSON has samples of FiftyOne."""
    return '"filepath"' in beginning and '"samples"' in beginning


def read(path: str) -> Iterator[FoundFace]:
    """The key points of all samples, of whichever field."""
    for key, sample in json_parts(path, ("samples",)):
        if key != "samples":
            continue
        image = str(sample["filepath"])
        fields = (field for field in sample.values() if isinstance(field, dict))
        faces = [face for field in fields for face in field.get("keypoints") or ()]
        for face in faces:
            try:
                points = np.array(face["points"], dtype=np.float64).reshape(-1, 2)
                # one number per point
                confidence = number(np.nanmean(face["confidence"])) if face.get("confidence") else None
                yield FoundFace(image, pairs(*points.T), 0, confidence, relative=True)
            except DAMAGE as error:
                yield FoundFace(image, None, problem=f"{path}: a damaged keypoint ({error})")
        if not faces:
            yield FoundFace(image, None)
