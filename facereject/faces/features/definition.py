"""Features that a model file describes by their name, version and settings."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from facereject.faces.landmarks.point_set import POINTS_300W, PointSet

Features = TypeVar("Features", bound="DefinedFeatures")


class DefinedFeatures:
    """Base of features that are dataclasses: their fields are settings, but for the points."""

    @property
    def definition(self) -> dict[str, Any]:
        """What the values mean besides the points, as plain JSON, for the model file."""
        settings = {name: getattr(self, name) for name in _settings(type(self))}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        return {"name": type(self).__name__, "version": 1, **plain}

    @classmethod
    def from_definition(
        cls: type[Features], definition: dict[str, Any], points: PointSet = POINTS_300W
    ) -> Features:
        """The inverse of `definition`; raises ValueError for features this version does not know."""
        given: dict[str, Any] = {name: definition[name] for name in _settings(cls)} | {"points": points}
        made = cls(**given)
        if definition != made.definition:
            raise ValueError(f"unknown features {definition!r}")
        return made


def _settings(features: Any) -> list[str]:
    return [field.name for field in fields(features) if field.name != "points"]
