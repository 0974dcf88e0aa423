"""A shipped score adapted to the landmarks of a tool by a linear map on what it sees of a face."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces.features.recipe import FaceFeatures
from facereject.faces.models.score_models import CompactScoreModel, Details

FloatArray = NDArray[np.float64]


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class AdaptedScoreModel(CompactScoreModel):
    """uncertainty = <coef, (columns, base score, what tools say)> + intercept: the expected log error.

    Columns, base score, errors of points and causes are those of the model it is adapted from. The last
    features are the tool's own confidence and, in some models, its disagreement with other tools.

    Parameters
    ----------
    coef : ndarray of shape (k + 2,) or (k + 3,)
    intercept : float
    unknown : float
        Value used for an unknown confidence.
    """

    coef: FloatArray = field(default_factory=lambda: np.zeros(0))
    intercept: float = 0.0
    unknown: float = 0.0

    kind = "adapted"
    specs = CompactScoreModel.specs | {
        "adapted_coef": ("float64", (None,)),
        "adapted_rest": ("float64", (2,)),
    }

    @property
    def n_features(self) -> int:
        return self.columns.n_features + len(self.coef) - self.columns.n_columns - 1

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        return self._adapted(features, self.columns(features), super().__call__(features))

    def seen(self, features: NDArray[np.float32]) -> FloatArray:
        """What the linear map takes: columns, base score and what tools say, of rows of features."""
        return self._seen(features, self.columns(features), super().__call__(features))

    def details(self, features: NDArray[np.float32]) -> Details:
        """All it has to say about one face, given as one row of features."""
        found = super().details(features)
        columns = self.columns(features)
        uncertainty = self._adapted(features, columns, np.array([found.uncertainty]))
        return dataclasses.replace(found, uncertainty=float(uncertainty[0]))

    def _seen(
        self, features: NDArray[np.float32], columns: NDArray[np.float32], base: FloatArray
    ) -> FloatArray:
        told = features[:, self.columns.n_features :].astype(np.float64)
        known = np.where(np.isfinite(told), told, self.unknown)
        return np.column_stack([columns.astype(np.float64), base, known])

    def _adapted(
        self, features: NDArray[np.float32], columns: NDArray[np.float32], base: FloatArray
    ) -> FloatArray:
        # row by row: sums over several rows may differ in the last bit
        seen = self._seen(features, columns, base)
        return np.asarray(np.einsum("ij,j->i", seen, self.coef) + self.intercept)

    def arrays(self) -> dict[str, NDArray[Any]]:
        rest = np.array([self.intercept, self.unknown])
        return super().arrays() | {"adapted_coef": self.coef, "adapted_rest": rest}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], features: FaceFeatures) -> AdaptedScoreModel:
        if features.context is None or not features.context.confidence:
            raise ValueError("an adapted score needs the confidence of the tool among the features")
        needed = 2 + features.context.disagreement
        context = dataclasses.replace(features.context, confidence=False, disagreement=False)
        base = CompactScoreModel.from_arrays(arrays, dataclasses.replace(features, context=context))
        coef, (intercept, unknown) = arrays["adapted_coef"], arrays["adapted_rest"].tolist()
        if len(coef) != base.columns.n_columns + needed:
            raise ValueError(f"coef has {len(coef)} values, {base.columns.n_columns + needed} are needed")
        parts = {each.name: getattr(base, each.name) for each in dataclasses.fields(base)}
        return cls(**parts, coef=coef, intercept=intercept, unknown=unknown)
