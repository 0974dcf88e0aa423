"""Trained scores as plain arrays: what a model file stores, and how features become an uncertainty."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from facereject._lazy import Lazy, LazyField
from facereject._trees import TreeScore as TreeScore
from facereject.faces.features.recipe import FaceFeatures
from facereject.faces.models.causes import CauseModel
from facereject.faces.models.compact import CompactColumns
from facereject.faces.models.domain import Domain
from facereject.faces.models.point_errors import PointErrors
from facereject.faces.regions import region_names, region_points
from facereject.modelfile import ArraySpec

FloatArray = NDArray[np.float64]
T = TypeVar("T")

_N_POINTS = 68


class ScoreModel(Protocol):
    """Features (m, d) in, uncertainties (m,) out; and back to named arrays for a model file."""

    @property
    def kind(self) -> str: ...

    @property
    def n_features(self) -> int: ...

    def __call__(self, features: NDArray[np.float32]) -> FloatArray: ...

    def arrays(self) -> dict[str, NDArray[Any]]: ...


@dataclass(frozen=True, eq=False)
class Details:
    """What a score says of one face; all but the uncertainty may be lazy.

    Attributes
    ----------
    uncertainty : float
    point_errors : ndarray of shape (u,) or None
        Expected error in percent of the points that are used.
    hidden : ndarray of shape (u,), bool, or None
        Which of them are taken to be covered.
    causes : ndarray of shape (k,) or None
        Log-odds of the causes, in the order of `facereject.faces.CAUSES`.
    typicality : float
        Share of the calibration faces that are at least as unusual; NaN if the model has no summary of them.
    description : ndarray of shape (k,), int8, or None
        See `Domain.describe`.
    """

    uncertainty: float
    point_errors: LazyField[FloatArray | None] = LazyField(None)  # noqa: RUF009
    hidden: LazyField[NDArray[np.bool_] | None] = LazyField(None)  # noqa: RUF009
    causes: LazyField[FloatArray | None] = LazyField(None)  # noqa: RUF009
    typicality: LazyField[float] = LazyField(math.nan)  # noqa: RUF009
    description: LazyField[NDArray[np.int8] | None] = LazyField(None)  # noqa: RUF009


@runtime_checkable
class DetailedScore(ScoreModel, Protocol):
    """A score that says more of a face than its uncertainty."""

    def details(self, features: NDArray[np.float32]) -> Details: ...


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class LinearScoreModel:
    """uncertainty = <coef, features> + intercept. Standardisation is folded into both."""

    coef: NDArray[np.float32]
    intercept: float

    kind = "linear"
    specs = {"coef": ("float32", (None,)), "intercept": ("float64", (1,))}  # noqa: RUF012

    @property
    def n_features(self) -> int:
        return len(self.coef)

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        return (features @ self.coef).astype(np.float64) + self.intercept

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"coef": self.coef, "intercept": np.array([self.intercept])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], features: FaceFeatures) -> LinearScoreModel:
        if len(arrays["coef"]) != features.n_features:
            raise ValueError(
                f"coef has {len(arrays['coef'])} values, the features have {features.n_features}"
            )
        return cls(arrays["coef"], float(arrays["intercept"][0]))


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class CompactScoreModel:
    """Trees on the columns of `CompactColumns`; it may also tell the error of every point, and a cause.

    Parameters
    ----------
    columns : CompactColumns
    trees : TreeScore
    point_errors : PointErrors or None
    causes : CauseModel or None
    domain : Domain or None
    """

    columns: CompactColumns
    trees: TreeScore
    point_errors: PointErrors | None = None
    causes: CauseModel | None = None
    domain: Domain | None = None

    kind = "compact"
    specs = CompactColumns.specs | TreeScore.specs

    @property
    def n_features(self) -> int:
        return self.columns.n_features

    @property
    def parts(self) -> list[str]:
        """Which of `PARTS` it has."""
        return [name for name in PARTS if getattr(self, name) is not None]

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        return self.trees(self.columns(features))

    def details(self, features: NDArray[np.float32]) -> Details:
        """All it has to say about one face, given as one row of features."""
        measured = self.columns.measure(features)
        columns = self.columns(features, measured=measured)
        errors, causes, domain = self.point_errors, self.causes, self.domain
        points = None if errors is None else _later(lambda: errors(features, columns, measured))
        return Details(
            float(self.trees(columns)[0]),
            None if points is None else Lazy(lambda: points().errors[0]),
            None if points is None else Lazy(lambda: points().hidden[0]),
            None if causes is None else _later(lambda: causes(columns)[0]),
            math.nan if domain is None else _later(lambda: float(domain.typicality(columns)[0])),
            None if domain is None else _later(lambda: domain.describe(columns)[0]),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        parts = [getattr(self, name).arrays() for name in self.parts]
        return functools.reduce(operator.or_, parts, self.columns.arrays() | self.trees.arrays())

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], features: FaceFeatures) -> CompactScoreModel:
        columns = CompactColumns.from_arrays(arrays, features)
        trees = TreeScore.from_tables(arrays, columns.n_columns)
        errors = PointErrors.from_arrays(arrays, columns) if "point_weights" in arrays else None
        causes = CauseModel.from_arrays(arrays, columns.n_columns) if "cause_weights" in arrays else None
        domain = Domain.from_arrays(arrays, columns) if "domain_rows" in arrays else None
        return cls(columns, trees, errors, causes, domain)


def _later(work: Callable[[], T]) -> Lazy[T]:
    """A lazy value, computed without warnings about features that overflow."""
    return Lazy(np.errstate(over="ignore", invalid="ignore")(work))


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class RegionScore:
    """The mean expected error of the points of some regions, in percent, as the uncertainty.

    Parameters
    ----------
    score : CompactScoreModel
        With ``point_errors``, for the 68 points of 300-W.
    names : tuple of str
        Of `facereject.faces.REGIONS`.
    """

    score: CompactScoreModel
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        points = self.score.columns.points
        if self.score.point_errors is None or points.n != _N_POINTS or points.used is not None:
            raise ValueError("regions need a model that tells the error of each of the 68 points")
        object.__setattr__(self, "names", region_names(self.names))

    @property
    def kind(self) -> str:
        return self.score.kind

    @property
    def n_features(self) -> int:
        return self.score.n_features

    def __call__(self, features: NDArray[np.float32]) -> FloatArray:
        assert self.score.point_errors is not None
        errors = self.score.point_errors(features, self.score.columns(features)).errors
        return np.asarray(errors[:, list(region_points(self.names))].mean(axis=1))

    def details(self, features: NDArray[np.float32]) -> Details:
        """All it has to say about one face, given as one row of features."""
        found = self.score.details(features)
        assert found.point_errors is not None
        uncertainty = float(found.point_errors[list(region_points(self.names))].mean())
        return dataclasses.replace(found, uncertainty=uncertainty)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.score.arrays()


#: parts of a compact score that a model file may hold, and their arrays
PARTS: dict[str, Mapping[str, ArraySpec]] = {
    "point_errors": PointErrors.specs,
    "causes": CauseModel.specs,
    "domain": Domain.specs,
}
