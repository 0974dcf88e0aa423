"""FiftyOne: the JSON that ``fiftyone.Dataset.from_json`` reads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import MISSING, dataclass

import numpy as np

from facereject._options import option
from facereject.faces.face import Face, FaceFrame
from facereject.outputs.keypoints.collected import KeypointFile, confidences, rounded, seen


@dataclass
class FiftyOne(KeypointFile):
    """Write all photos as samples of FiftyOne, with a ``Keypoint`` for every face.

    Points are shares of width and height, NaN where a landmark is not visible; ``confidence`` has one value
    per point. ``expected_error``, ``uncertainty``, ``accepted`` and ``reason`` are attributes of the face.
    Videos are left out.

    Parameters
    ----------
    path : path
        ``.json``.

    See Also
    --------
    COCOKeypoints : A format that many tools read.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import FiftyOne
    >>> score_files("photos", FiftyOne("samples.json"))  # doctest: +SKIP
    """

    title = "FiftyOne"

    path: str = option(
        MISSING,
        "--fiftyone",
        metavar="FILE",
        help="Samples for fiftyone.Dataset.from_json, with a confidence per point (.json).",
    )

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """A sample."""
        width, height = self.size
        if not width:
            return
        keypoints = []
        for face in faces:
            points = face.landmarks / (width, height)
            points[~seen(face, self.size)] = np.nan
            keypoints.append(
                {
                    "_cls": "Keypoint",
                    "attributes": {},
                    "tags": [],
                    "label": "face",
                    "points": [rounded(point, 6) for point in points],
                    "confidence": rounded(confidences(face), 4),
                    "expected_error": round(face.expected_error, 4),
                    "uncertainty": round(face.uncertainty, 6),
                    "accepted": face.accepted,
                    "reason": face.reason,
                }
            )
        sample = {
            "filepath": os.path.abspath(self.media.path),
            "tags": ["accepted" if faces and all(face.accepted for face in faces) else "rejected"],
            "metadata": {"_cls": "ImageMetadata", "width": width, "height": height},
            "faces": {"_cls": "Keypoints", "keypoints": keypoints},
        }
        # NaN as Python's own JSON, which FiftyOne reads, has it
        self.add("samples", json.dumps(sample))

    def assembled(self) -> Iterator[str]:
        """The file."""
        fields = {
            "faces": "fiftyone.core.fields.EmbeddedDocumentField(fiftyone.core.labels.Keypoints)",
        }
        head = {"name": "facereject", "media_type": "image", "sample_fields": fields, "info": {}}
        yield json.dumps(head)[:-1] + ', "samples": [\n'
        yield from self.pieces("samples")
        yield "]}\n"
