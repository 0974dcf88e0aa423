"""The stand-in for a detector that is never run: faces come from files."""

from __future__ import annotations

from typing import Any

from facereject.faces.face import Detection
from facereject.faces.images import ImageArray


class FileDetector:
    """The detector of a model for landmarks in files: finds none itself."""

    color = "gray"

    @property
    def definition(self) -> dict[str, Any]:
        """How it can be made again."""
        return {"name": "files"}

    def detect(self, image: ImageArray) -> list[Detection]:
        """ValueError, as it is never to be run."""
        raise ValueError(
            "this model scores landmarks that a tool wrote to files: use FaceRejector.assess or "
            "facereject assess"
        )
