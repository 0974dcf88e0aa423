"""Label Studio: tasks with predictions, a rectangle and numbered key points for every face."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from typing import Any
from urllib.parse import quote

from facereject._options import option
from facereject.faces.face import Face, FaceFrame
from facereject.outputs.keypoints.collected import KeypointFile, confidence, confidences


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
        for k, face in enumerate(faces):
            x, y, w, h = face.box
            sure = confidences(face)
            results.append(
                {
                    "id": f"face{k}",
                    "type": "rectanglelabels",
                    "from_name": "box",
                    "value": {
                        "x": 100 * x / width,
                        "y": 100 * y / height,
                        "width": 100 * w / width,
                        "height": 100 * h / height,
                        "rotation": 0,
                        "rectanglelabels": ["face"],
                    },
                    "score": round(confidence(face), 5),
                    "meta": {"text": [f"expected error {face.expected_error:.2f} %"]},
                }
            )
            for i, (px, py) in enumerate(face.landmarks.tolist()):
                results.append(
                    {
                        "id": f"face{k}-{i}",
                        "parentID": f"face{k}",
                        "type": "keypointlabels",
                        "from_name": "points",
                        "value": {
                            "x": 100 * px / width,
                            "y": 100 * py / height,
                            "width": 0.5,
                            "keypointlabels": [str(i)],
                        },
                        "score": round(float(sure[i]), 5),
                    }
                )
        common = {"to_name": "image", "original_width": width, "original_height": height, "image_rotation": 0}
        errors = [face.expected_error for face in faces if face.expected_error == face.expected_error]
        task = {
            "data": {
                "image": self.prefix + quote(self.media.source),
                "expected_error": round(max(errors), 4) if errors else None,
                "faces": len(faces),
                "accepted": bool(faces) and all(face.accepted for face in faces),
            },
            "predictions": [
                {
                    "model_version": "facereject",
                    "score": round(min(map(confidence, faces)), 5) if faces else 0.0,
                    "result": [{**result, **common} for result in results],
                }
            ],
        }
        self.add("tasks", json.dumps(task))

    def assembled(self) -> Iterator[str]:
        """The file."""
        yield "[\n"
        yield from self.pieces("tasks")
        yield "]\n"
