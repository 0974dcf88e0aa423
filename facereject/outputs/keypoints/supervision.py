"""Faces as ``supervision.KeyPoints``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from facereject.faces.face import Face
from facereject.outputs.keypoints.collected import confidences


def to_supervision(faces: Sequence[Face]) -> Any:
    """Convert faces to ``supervision.KeyPoints``, with a confidence per landmark.

    Parameters
    ----------
    faces : sequence of Face
        With the same number of landmarks; those without any are left out.

    Returns
    -------
    supervision.KeyPoints
        ``confidence`` is 2 ** (-e / 5) for an expected error of e percent; ``data`` has ``expected_error``,
        ``uncertainty`` and ``accepted`` of every face.

    See Also
    --------
    facereject.FaceRejector : Finds the faces.

    Examples
    --------
    >>> from facereject.outputs import to_supervision
    >>> to_supervision(rejector("photo.jpg"))  # doctest: +SKIP
    """
    try:
        import supervision
    except ImportError:
        raise ImportError("this needs: pip install supervision") from None
    known = [face for face in faces if np.isfinite(face.landmarks).all()]
    if not known:
        return supervision.KeyPoints.empty()
    values = {
        "expected_error": np.array([face.expected_error for face in known]),
        "uncertainty": np.array([face.uncertainty for face in known]),
        "accepted": np.array([face.accepted for face in known]),
    }
    points = np.array([face.landmarks for face in known], dtype=np.float32)
    sure = np.array([confidences(face) for face in known], dtype=np.float32)
    names = supervision.KeyPoints.__dataclass_fields__
    # later versions call the confidence of points by another name
    key = "keypoint_confidence" if "keypoint_confidence" in names else "confidence"
    return supervision.KeyPoints(
        xy=points, class_id=np.zeros(len(known), dtype=int), data=values, **{key: sure}
    )
