"""Trained scores as plain arrays: what a model file stores, and how features become an uncertainty."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from facereject._trees import TreeScore as TreeScore
from facereject.faces.face import CAUSES, Box, Lazy
from facereject.faces.features.recipe import FaceFeatures
from facereject.faces.landmarks.point_set import PointSet
from facereject.faces.models.compact import CauseModel, CompactColumns, PointErrors
from facereject.faces.models.domain import Domain
from facereject.faces.models.unlike import UnlikeFactor
from facereject.faces.regions import region_names, region_points
from facereject.modelfile import ArraySpec

FloatArray = NDArray[np.float64]
T = TypeVar("T")

_N_POINTS = 68

_CAUSES = tuple(CAUSES)
_CUT_OFF = _CAUSES.index("cut_off")

# sides of the box; the frame did not cut off a face all of whose points are farther from its border
_APART = 0.1


class ScoreModel(Protocol):
    """Features (m, d) in, uncertainties (m,) out; and back to named arrays for a model file."""

    @property
    def kind(self) -> str: ...

    @property
    def n_features(self) -> int: ...

    def __call__(self, features: NDArray[np.float32]) -> FloatArray: ...

    def arrays(self) -> dict[str, NDArray[Any]]: ...


class Details(NamedTuple):
    """What a score says of one face; all but the uncertainty is computed when it is called.

    Attributes
    ----------
    uncertainty : float
    point_errors : callable or None
        Expected error in percent of the points that are used, shape (u,).
    hidden : callable or None
        Which of them are taken to be covered, shape (u,).
    causes : callable or None
        Log-odds of the causes, in the order of `facereject.faces.CAUSES`.
    typicality : callable or None
        Share of the calibration faces that are at least as unusual.
    description : callable or None
        See `Domain.describe`.
    """

    uncertainty: float
    point_errors: Callable[[], FloatArray] | None = None
    hidden: Callable[[], NDArray[np.bool_]] | None = None
    causes: Callable[[], FloatArray] | None = None
    typicality: Lazy[float] | None = None
    description: Lazy[NDArray[np.int8]] | None = None

    def of_face(
        self, landmarks: FloatArray, box: Box, size: tuple[int, int], points: PointSet, *, relative: bool
    ) -> dict[str, Lazy[Any]]:
        """The attributes of a face that follow, lazy.

        Parameters
        ----------
        landmarks : ndarray of shape (n, 2)
        box : Box
        size : (int, int)
            Width and height of the image in pixels.
        points : PointSet
        relative : bool
            Whether errors are known up to a factor only, so that none are given.
        """
        # the caller may change the array of the face before lazy values are computed from it
        landmarks = landmarks.copy()
        found: dict[str, Lazy[Any]] = {}
        if (errors := self.point_errors) is not None and not relative:
            found["landmark_errors"] = Lazy(lambda: errors()[points.nearest_used])
        if (hidden := self.hidden) is not None:

            def visible() -> NDArray[np.bool_]:
                outside = ((landmarks < -0.5) | (landmarks > np.array(size) - 0.5)).any(axis=1)
                return np.asarray(~(hidden()[points.nearest_used] | outside))

            found["visible"] = Lazy(visible)
        if (causes := self.causes) is not None:

            def cause() -> str:
                chances = causes().copy()
                to_border = min(landmarks.min(), (np.array(size) - 1 - landmarks).min())
                if to_border > _APART * max(box.width, box.height):
                    chances[_CUT_OFF] = -np.inf
                return _CAUSES[int(chances.argmax())]

            found["likely_cause"] = Lazy(cause)
        more = {"typicality": self.typicality, "description": self.description}
        return found | {name: value for name, value in more.items() if value is not None}


def details_of(score: ScoreModel, row: NDArray[np.float32]) -> Details:
    """All that a score has to say about one face, given as one row of features."""
    details: Callable[[Any], Details] | None = getattr(score, "details", None)
    return Details(float(score(row)[0])) if details is None else details(row)


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
    unlike : UnlikeFactor or None
    """

    columns: CompactColumns
    trees: TreeScore
    point_errors: PointErrors | None = None
    causes: CauseModel | None = None
    domain: Domain | None = None
    unlike: UnlikeFactor | None = None

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
            None if domain is None else _later(lambda: float(domain.typicality(columns)[0])),
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
        unlike = None
        if "unlike_weights" in arrays:
            unlike = UnlikeFactor.from_arrays(arrays, len(columns.described))
        return cls(columns, trees, errors, causes, domain, unlike)


def _later(work: Callable[[], T]) -> Lazy[T]:
    """A lazy value, computed without warnings about features that overflow."""
    return Lazy(np.errstate(over="ignore", invalid="ignore")(work))


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
        return found._replace(uncertainty=float(uncertainty[0]))

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
        uncertainty = float(found.point_errors()[list(region_points(self.names))].mean())
        return found._replace(uncertainty=uncertainty)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.score.arrays()


#: parts of a compact score that a model file may hold, and their arrays
PARTS: dict[str, Mapping[str, ArraySpec]] = {
    "point_errors": PointErrors.specs,
    "causes": CauseModel.specs,
    "domain": Domain.specs,
    "unlike": UnlikeFactor.specs,
}
