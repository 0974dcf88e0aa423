"""Keypoints as JSON: for COCO's tools, FiftyOne and Label Studio."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from facereject._options import option
from facereject.faces.face import Face, FaceFrame
from facereject.outputs.keypoints.collected import KeypointFile, confidence, confidences, rounded


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

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """An image and its annotations."""
        width, height = self.size
        image = {"id": self.n_images, "file_name": self.name, "width": width, "height": height}
        if self.media.kind == "video":
            image["frame"] = frame.index
        self._add("images", json.dumps(image))
        for number, face in enumerate(faces, self.n_faces - len(faces) + 1):
            rows = zip(face.landmarks.tolist(), self._visible(face), strict=True)
            points = [value for (x, y), v in rows for value in (round(x, 3), round(y, 3), 2 if v else 1)]
            box = rounded(face.box)
            annotation: dict[str, Any] = {
                "id": number,
                "image_id": self.n_images,
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
            self._add("annotations", json.dumps(annotation))

    def assembled(self) -> Iterator[str]:
        """The file."""
        yield '{"info": {"description": "facereject"},\n"images": [\n'
        yield from self._pieces("images")
        yield '],\n"annotations": [\n'
        yield from self._pieces("annotations")
        names = [str(i) for i in range(self.n_points)]
        category = {"id": 1, "name": "face", "keypoints": names, "skeleton": []}
        yield f'],\n"categories": [{json.dumps(category)}]}}\n'


def _known(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


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
            points[~self._visible(face)] = np.nan
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
        self._add("samples", json.dumps(sample))

    def assembled(self) -> Iterator[str]:
        """The file."""
        fields = {"faces": "fiftyone.core.fields.EmbeddedDocumentField(fiftyone.core.labels.Keypoints)"}
        head = {"name": "facereject", "media_type": "image", "sample_fields": fields, "info": {}}
        yield json.dumps(head)[:-1] + ', "samples": [\n'
        yield from self._pieces("samples")
        yield "]}\n"


@dataclass
class LabelStudio(KeypointFile):
    """Write all photos as tasks of Label Studio, with the faces as predictions.

    Every face is a rectangle ``face``; its key points have it as parent and are labelled 0, 1, 2, … The score
    of a prediction is the confidence of its least certain face, and ``expected_error`` of the worst face is
    in the data of the task, so that tasks can be filtered and sorted by either. Videos are left out.

    Parameters
    ----------
    path : path
        ``.json``.
    prefix : str
        What the addresses of images begin with; the default is that of local files that the server serves.

    See Also
    --------
    CVAT : The same faces for CVAT.

    Examples
    --------
    >>> from facereject import score_files
    >>> from facereject.outputs import LabelStudio
    >>> score_files("photos", LabelStudio("tasks.json"))  # doctest: +SKIP
    """

    title = "Label Studio"

    path: str = option(
        MISSING, "--label-studio", metavar="FILE", help="Tasks with predictions for Label Studio (.json)."
    )
    prefix: str = option(
        "/data/local-files/?d=",
        "--label-studio-prefix",
        metavar="TEXT",
        help="What the addresses of images begin with for Label Studio.",
    )

    def take(self, frame: FaceFrame, faces: list[Face]) -> None:
        """A task."""
        width, height = self.size
        if not width:
            return
        results: list[dict[str, Any]] = []

        def add(kind: str, name: str, value: dict[str, Any], score: float, **more: Any) -> None:
            control = {"rectanglelabels": "box", "keypointlabels": "points"}[kind]
            head = {"type": kind, "from_name": control, "to_name": "image", "image_rotation": 0}
            size = {"original_width": width, "original_height": height}
            results.append(
                {**head, **size, "value": {**value, kind: [name]}, "score": round(score, 5), **more}
            )

        for k, face in enumerate(faces):
            x, y, w, h = (100 * value / side for value, side in zip(face.box, self.size * 2, strict=True))
            box = {"x": x, "y": y, "width": w, "height": h, "rotation": 0}
            text = [f"expected error {face.expected_error:.2f} %"]
            add("rectanglelabels", "face", box, confidence(face), id=f"face{k}", meta={"text": text})
            for i, (point, sure) in enumerate(zip(face.landmarks.tolist(), confidences(face), strict=True)):
                place = {"x": 100 * point[0] / width, "y": 100 * point[1] / height, "width": 0.5}
                add("keypointlabels", str(i), place, float(sure), id=f"face{k}-{i}", parentID=f"face{k}")
        errors = [face.expected_error for face in faces if not math.isnan(face.expected_error)]
        score = round(min(map(confidence, faces)), 5) if faces else 0.0
        task = {
            "data": {
                "image": self.prefix + quote(self.media.source),
                "expected_error": round(max(errors), 4) if errors else None,
                "faces": len(faces),
                "accepted": bool(faces) and all(face.accepted for face in faces),
            },
            "predictions": [{"model_version": "facereject", "score": score, "result": results}],
        }
        self._add("tasks", json.dumps(task))

    def assembled(self) -> Iterator[str]:
        """The file."""
        yield "[\n"
        yield from self._pieces("tasks")
        yield "]\n"
