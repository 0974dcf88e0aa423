"""COCO keypoints: images, annotations with x, y, visibility, and the score of every face."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any

from facereject._options import option
from facereject.faces.face import Face, FaceFrame
from facereject.outputs.keypoints.collected import KeypointFile, confidence, rounded, seen


@dataclass
class COCOKeypoints(KeypointFile):
    """Write all faces as COCO keypoints.

    ``keypoints`` are x, y, v with v = 2 for visible and 1 for hidden landmarks. ``score`` is the confidence,
    2 ** (-e / 5) for an expected error of e percent; ``expected_error``, ``uncertainty``, ``accepted`` and
    ``reason`` are beside it. Frames of a video have ``file_name`` and ``frame``.

    Parameters
    ----------
    path : path
        ``.json``.

    See Also
    --------
    FiftyOne : The same faces for FiftyOne.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import COCOKeypoints
    >>> score_files("photos", COCOKeypoints("faces.json"))  # doctest: +SKIP
    """

    title = "COCO"
    videos = True

    path: str = option(
        MISSING, "--coco", metavar="FILE", help="COCO keypoints with score and visibility (.json)."
    )

    def begun(self) -> None:
        """Count from the start."""
        self._images = self._annotations = self._points = 0

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """An image and its annotations."""
        self._images += 1
        width, height = self.size
        video = {"frame": frame.index} if self.media.kind == "video" else {}
        image = {
            "id": self._images,
            "file_name": self.name,
            "width": width,
            "height": height,
            **video,
        }
        self.add("images", json.dumps(image))
        for face in faces:
            self._annotations += 1
            self._points = max(self._points, len(face.landmarks))
            visible = seen(face, self.size) if width else [True] * len(face.landmarks)
            rows = zip(face.landmarks.tolist(), visible, strict=True)
            points = [value for (x, y), v in rows for value in (round(x, 3), round(y, 3), 2 if v else 1)]
            box = rounded(face.box)
            annotation: dict[str, Any] = {
                "id": self._annotations,
                "image_id": self._images,
                "category_id": 1,
                "keypoints": points,
                "num_keypoints": len(face.landmarks),
                "bbox": box,
                "area": round(box[2] * box[3], 3),
                "segmentation": [],
                "iscrowd": 0,
                "score": round(confidence(face), 5),
                "expected_error": _known(face.expected_error),
                "uncertainty": _known(face.uncertainty),
                "accepted": face.accepted,
                "reason": face.reason,
            }
            self.add("annotations", json.dumps(annotation))

    def assembled(self) -> Iterator[str]:
        """The file."""
        yield '{"info": {"description": "facereject"},\n"images": [\n'
        yield from self.pieces("images")
        yield '],\n"annotations": [\n'
        yield from self.pieces("annotations")
        names = [str(i) for i in range(self._points)]
        category = {"id": 1, "name": "face", "keypoints": names, "skeleton": []}
        yield f'],\n"categories": [{json.dumps(category)}]}}\n'


def _known(value: float) -> float | None:
    return round(value, 6) if abs(value) < float("inf") else None
