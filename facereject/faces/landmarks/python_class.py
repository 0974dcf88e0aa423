"""A predictor named as ``module:Class``: code that the user asked for, and that a model file never runs."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

from facereject.faces.face import Box
from facereject.faces.geometry import FloatArray
from facereject.faces.images import ImageArray
from facereject.faces.landmarks.base import LandmarkModelError
from facereject.faces.plugins import color_of, fingerprint_of

NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class PythonLandmarks:
    """The predictor that a class or function makes.

    Parameters
    ----------
    target : str
        ``module:Class``, called without arguments; the module is looked for in the current folder, too.
    n_points : int or None
        How many points it places, as a model file remembers.
    color : str
    """

    def __init__(self, target: str, n_points: int | None = None, color: str = "rgb") -> None:
        self.target, self.n_points, self.color = str(target), n_points, str(color)
        self._predictor: Any = None

    @classmethod
    def imported(cls, target: str) -> PythonLandmarks:
        """Import the module and make the predictor. **This runs its code.**"""
        module, _, name = target.partition(":")
        if "" not in sys.path:
            sys.path.insert(0, "")
        try:
            predictor = getattr(importlib.import_module(module), name)()
        except Exception as error:
            raise LandmarkModelError(
                f"{target}: cannot be made ({type(error).__name__}: {error}); it names a class or function "
                "that is called without arguments"
            ) from error
        if not callable(predictor):
            raise LandmarkModelError(f"{target}: makes no function of (image, box)")
        made = cls(target, getattr(predictor, "n_points", None), color_of(predictor))
        made._predictor = predictor
        return made

    @property
    def definition(self) -> dict[str, Any]:
        """What a model file keeps: the name; the code is not run when the model is loaded."""
        return {"name": "python", "target": self.target, "n_points": self.n_points, "color": self.color}

    @property
    def fingerprint(self) -> str:
        """The name, and what the predictor says of itself."""
        return f"python:{self.target}:{fingerprint_of(self._predictor) or ''}"

    def __call__(self, image: ImageArray, box: Box) -> FloatArray:
        """Landmarks by the predictor."""
        if self._predictor is None:
            raise LandmarkModelError(
                f"the model was trained for {self.target}, which a model file does not run: name it with "
                f"--landmarks {self.target}"
            )
        found: FloatArray = self._predictor(image, box)
        return found
