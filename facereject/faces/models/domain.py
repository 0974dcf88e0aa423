"""A small summary of the calibration faces: how typical a face is, and whether a batch is like them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject._words import counted
from facereject.faces.models.compact import CompactColumns
from facereject.modelfile import ArraySpec

#: fewer faces than this are not compared
LEAST_FACES = 40

#: parts of 300-W that are left out of the calibration are told apart up to this often: less is no alarm
MARGIN = 0.83

#: p-value below which faces are called unlike
LEVEL = 0.05

# a smaller factor rounds to 1.0
_WORTH_SAYING = 1.05

# faces in the summary of a model, about 35 kB of its file; fewer than the least are no summary
_SUMMARISED, _LEAST_SUMMARISED = 800, 50

# faces of a batch that are compared; more would only take longer
_MOST_FACES = 1000

# summarised faces whose mean distance tells how typical a face is
_NEIGHBOURS = 10

#: standard deviations as small integers: steps per standard deviation
STEPS = 20.0

# standard deviations beyond this count as this
_LARGEST = 6.0

# added to the variances of whitened columns, so that those of rounding do not count
_RIDGE = 0.1


class DomainCheck(NamedTuple):
    """Whether some faces are like those a model was calibrated on.

    Attributes
    ----------
    n : int
        Faces that were compared.
    told_apart : float
        How often a classifier recognises one of them beside a calibration face: 0.5 is a guess.
    p_value : float
        Of the hypothesis that this is at most `MARGIN`, as for other data sets of ordinary photos.
    factor : float
        Estimate of true over expected errors of faces that are unlike, at least 1; 1 if they are not, or if
        the model has no estimate.
    """

    n: int
    told_apart: float
    p_value: float
    factor: float = 1.0

    @property
    def unlike(self) -> bool:
        """Whether expected errors may not hold for these faces."""
        return self.p_value < LEVEL

    @property
    def sentence(self) -> str:
        """The result in words."""
        if not self.unlike:
            return f"The {counted(self.n, 'face')} compared are like the calibration faces of the model."
        larger = ""
        if self.factor >= _WORTH_SAYING:
            larger = f"; the true ones are estimated to be {self.factor:.1f} times as large"
        return (
            f"The faces are unlike the calibration faces of the model (told apart {self.told_apart:.0%} of "
            f"the time): expected errors may be too small{larger}. Annotate about 30 faces and run "
            "`facereject calibrate --unit`."
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**self._asdict(), "unlike": self.unlike, "sentence": self.sentence}


# arrays have no truth value, so a generated == would raise
@dataclass(frozen=True, eq=False)
class Domain:
    """A sample of the calibration faces, described by shape, local contrast and image quality.

    Parameters
    ----------
    columns : CompactColumns
        Its ``described`` columns are the description.
    rows : ndarray of shape (n, k), int8
        The described columns in standard deviations, 20 steps each.
    centre, scale : ndarray of shape (k,), float32
        Mean and standard deviation of the columns.
    clean : ndarray of shape (n,), uint8
        1 for photos as they are, 0 for degraded ones.
    """

    columns: CompactColumns
    rows: NDArray[np.int8]
    centre: NDArray[np.float32]
    scale: NDArray[np.float32]
    clean: NDArray[np.uint8]

    specs: ClassVar[dict[str, ArraySpec]] = {
        "domain_rows": ("int8", (None, None)),
        "domain_centre": ("float32", (None,)),
        "domain_scale": ("float32", (None,)),
        "domain_clean": ("uint8", (None,)),
    }

    def __post_init__(self) -> None:
        n, k = len(self.clean), len(self.columns.described)
        lengths = {"rows": (n, k), "centre": (k,), "scale": (k,)}
        for name, shape in lengths.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"domain {name} must have shape {shape}, got {getattr(self, name).shape}")
        if n <= _NEIGHBOURS:
            raise ValueError(f"the domain must have more than {_NEIGHBOURS} faces, got {n}")
        if not (np.isfinite(self.centre).all() and np.isfinite(self.scale).all() and (self.scale > 0).all()):
            raise ValueError("domain centre and scale must be finite, and the scale positive")

    @classmethod
    def of_rows(cls, columns: CompactColumns, described: FloatArray, clean: NDArray[np.bool_]) -> Domain:
        """Summarise faces given by their described columns."""
        centre, scale = described.mean(axis=0), np.maximum(described.std(axis=0), 1e-3)
        rows = _in_steps(described, centre, scale)
        centre, scale = centre.astype(np.float32), scale.astype(np.float32)
        return cls(columns, rows, centre, scale, np.asarray(clean, dtype=np.uint8))

    @classmethod
    def sampled(
        cls,
        columns: CompactColumns,
        values: NDArray[np.float32],
        clean: NDArray[np.bool_],
        random_state: int = 0,
    ) -> Domain | None:
        """Summarise a random sample of calibration faces; None for fewer than 50 faces.

        Parameters
        ----------
        columns : CompactColumns
        values : ndarray of shape (n, c)
            All columns of the calibration faces.
        clean : ndarray of shape (n,), bool
        random_state : int, default=0
        """
        if len(values) < _LEAST_SUMMARISED:
            return None
        rng = np.random.default_rng(random_state)
        parts = [rng.permutation(np.flatnonzero(part)) for part in (clean, ~clean)]
        # half of either kind; where one is rare, more of the other
        counts = [max(_SUMMARISED // 2, _SUMMARISED - len(other)) for other in parts[::-1]]
        chosen = np.sort(np.concatenate([part[:n] for part, n in zip(parts, counts, strict=True)]))
        described = values[chosen][:, columns.described].astype(np.float64)
        return cls.of_rows(columns, described, clean[chosen])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file stores."""
        return {name: getattr(self, name.removeprefix("domain_")) for name in self.specs}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], columns: CompactColumns) -> Domain:
        """The inverse of `arrays`."""
        return cls(columns, **{name.removeprefix("domain_"): arrays[name] for name in cls.specs})

    def typicality(self, columns: NDArray[np.floating[Any]]) -> FloatArray:
        """Share of the calibration faces that are at least as unusual as each face, above 0 and up to 1.

        How unusual a face is, is its mean distance to the ten nearest of them, in whitened columns.

        Parameters
        ----------
        columns : ndarray of shape (m, c)
            All columns of `CompactColumns`.
        """
        described = _standardised(columns[:, self.columns.described], self.centre, self.scale)
        nearer = np.searchsorted(self._sorted_distances, self._distances(described @ self._whitening))
        return np.asarray((len(self.rows) - nearer + 1) / (len(self.rows) + 1))

    def describe(self, columns: NDArray[np.floating[Any]]) -> NDArray[np.int8]:
        """The described columns of faces as `rows` has them, for `check`."""
        return _in_steps(columns[:, self.columns.described], self.centre, self.scale)

    def check(self, described: NDArray[np.int8], random_state: int = 0) -> DomainCheck | None:
        """Compare a batch of faces with the calibration faces.

        A cross-fitted classifier (`facereject.selection.two_sample_test`) tries to tell the batch from clean
        calibration faces, from degraded ones, and from both; the batch is unlike them only if it differs
        from all three. A batch of good photos, or of poor ones, is no other kind.

        Parameters
        ----------
        described : ndarray of shape (m, k), int8
            As from `describe`. The faces should be independent: one per track of a video.

        Returns
        -------
        DomainCheck or None
            None for fewer than `LEAST_FACES` faces.
        """
        # imported here: it takes scikit-learn, and a face is scored without it
        from facereject.selection.shift import two_sample_test

        if len(described) < LEAST_FACES:
            return None
        if len(described) > _MOST_FACES:
            described = np.random.default_rng(random_state).permutation(described)[:_MOST_FACES]
        own, new = (rows / STEPS for rows in (self.rows, described))
        clean = self.clean.astype(bool)
        parts = [part for part in (clean, ~clean, clean | True) if part.sum() >= LEAST_FACES // 2]
        found = [two_sample_test(own[part], new, margin=MARGIN, random_state=random_state) for part in parts]
        if not found:
            return None
        least = max(found, key=lambda test: test.p_value)
        return DomainCheck(len(described), least.told_apart, least.p_value)

    @functools.cached_property
    def _whitening(self) -> FloatArray:
        variances, directions = np.linalg.eigh(np.cov(self.rows.T / STEPS))
        return np.asarray(directions / np.sqrt(np.maximum(variances, 0) + _RIDGE))

    @functools.cached_property
    def _points(self) -> FloatArray:
        return np.asarray(self.rows / STEPS @ self._whitening)

    @functools.cached_property
    def _sorted_distances(self) -> FloatArray:
        """Of every summarised face to its nearest others, ascending."""
        return np.sort(self._distances(self._points, among_themselves=True))

    def _distances(self, points: FloatArray, *, among_themselves: bool = False) -> FloatArray:
        own = self._points
        squares = np.einsum("ij,ij->i", points, points)[:, None] + np.einsum("ij,ij->i", own, own)
        squares -= 2 * (points @ own.T)
        if among_themselves:
            np.fill_diagonal(squares, np.inf)
        nearest = np.partition(squares, _NEIGHBOURS - 1, axis=1)[:, :_NEIGHBOURS]
        return np.asarray(np.sqrt(np.maximum(nearest, 0)).mean(axis=1))


def _standardised(
    values: NDArray[np.floating[Any]], centre: NDArray[np.floating[Any]], scale: NDArray[np.floating[Any]]
) -> FloatArray:
    """In standard deviations, clipped; NaN counts as the largest value."""
    away = np.nan_to_num((values - centre) / scale, nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)
    return np.asarray(np.clip(away, -_LARGEST, _LARGEST), dtype=np.float64)


def _in_steps(
    values: NDArray[np.floating[Any]], centre: NDArray[np.floating[Any]], scale: NDArray[np.floating[Any]]
) -> NDArray[np.int8]:
    return np.round(STEPS * _standardised(values, centre, scale)).astype(np.int8)
