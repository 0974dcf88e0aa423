"""The stand-in for a tool that is never run: its landmarks come from files."""

from __future__ import annotations

from typing import Any

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray
from facereject.faces.images import ImageArray
from facereject.faces.plugins import color_of, fingerprint_of


class FilePredictor:
    """The predictor of a model for landmarks in files: places none itself.

    Parameters
    ----------
    n_points : int
        How many points the tool places.
    tool : str
        What the user calls it.
    runs : mapping or None
        Definition of the predictor whose further runs near the given landmarks are features, for models that
        have such features.
    """

    levels = True

    def __init__(self, n_points: int, tool: str = "", runs: dict[str, Any] | None = None) -> None:
        from facereject.faces.landmarks import LANDMARKS

        self.n_points, self.tool = int(n_points), str(tool)
        self._definition = runs
        self._runs = None if runs is None else LANDMARKS.restore(runs)

    @property
    def color(self) -> str:
        """The image it is shown."""
        return "gray" if self._runs is None else color_of(self._runs)

    @property
    def definition(self) -> dict[str, Any]:
        """How it can be made again."""
        return {"name": "files", "n_points": self.n_points, "tool": self.tool, "runs": self._definition}

    @property
    def fingerprint(self) -> str:
        """What names it exactly."""
        runs = "" if self._runs is None else fingerprint_of(self._runs)
        return f"files:{self.n_points}:{self.tool}:{runs}"

    def __call__(self, image: ImageArray, box: Box) -> FloatArray:
        """Landmarks of the further runs; ValueError if there are none."""
        if self._runs is None:
            raise ValueError(
                "this model scores landmarks that a tool wrote to files: use FaceRejector.assess or "
                "facereject assess"
            )
        return self._runs(image, box)
