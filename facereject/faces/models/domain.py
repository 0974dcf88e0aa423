"""A small summary of the calibration faces: how typical a face is, and whether a batch is like them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject._validation import FloatArray
from facereject._words import counted
from facereject.faces.models.compact import CompactColumns
from facereject.modelfile import ArraySpec

#: fewer faces than this are not compared
LEAST_FACES = 40

#: data sets of ordinary photos are told apart up to this often: less is no alarm
MARGIN = 0.75

#: p-value below which faces are called unlike
LEVEL = 0.05

# faces of a batch that are compared; more would only take longer
_MOST_FACES = 1000

# summarised faces whose mean distance tells how typical a face is
_NEIGHBOURS = 10

# standard deviations as small integers: steps per standard deviation, and the largest value kept
_STEPS, _LARGEST = 20.0, 6.0

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
    """

    n: int
    told_apart: float
    p_value: float

    @property
    def unlike(self) -> bool:
        """Whether expected errors may not hold for these faces."""
        return self.p_value < LEVEL

    @property
    def sentence(self) -> str:
        """The result in words."""
        if not self.unlike:
            return f"The {counted(self.n, 'face')} compared are like the calibration faces of the model."
        return (
            f"The faces are unlike the calibration faces of the model (told apart {self.told_apart:.0%} of "
            "the time): expected errors may be too small. Annotate about 30 faces and run "
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
    knots, shift : ndarray of shape (m,), float32
        Typicality, ascending, and what is added to the uncertainty there, never ascending; linear between
        knots. Empty for nothing.
    """

    columns: CompactColumns
    rows: NDArray[np.int8]
    centre: NDArray[np.float32]
    scale: NDArray[np.float32]
    clean: NDArray[np.uint8]
    knots: NDArray[np.float32]
    shift: NDArray[np.float32]

    specs: ClassVar[dict[str, ArraySpec]] = {
        "domain_rows": ("int8", (None, None)),
        "domain_centre": ("float32", (None,)),
        "domain_scale": ("float32", (None,)),
        "domain_clean": ("uint8", (None,)),
        "domain_knots": ("float32", (None,)),
        "domain_shift": ("float32", (None,)),
    }

    def __post_init__(self) -> None:
        n, k = len(self.clean), len(self.columns.described[0])
        lengths = {"rows": (n, k), "centre": (k,), "scale": (k,), "shift": self.knots.shape}
        for name, shape in lengths.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"domain {name} must have shape {shape}, got {getattr(self, name).shape}")
        if n <= _NEIGHBOURS:
            raise ValueError(f"the domain must have more than {_NEIGHBOURS} faces, got {n}")
        finite = all(np.isfinite(array).all() for array in (self.centre, self.scale, self.knots, self.shift))
        if not finite or not (self.scale > 0).all() or not (np.diff(self.knots) > 0).all():
            raise ValueError("the domain must have finite columns, positive scales and ascending knots")

    @classmethod
    def of_rows(
        cls,
        columns: CompactColumns,
        described: FloatArray,
        clean: NDArray[np.bool_],
        shift: tuple[ArrayLike, ArrayLike] = ((), ()),
    ) -> Domain:
        """Summarise faces given by their described columns; ``shift`` has the knots and their values."""
        centre, scale = described.mean(axis=0), np.maximum(described.std(axis=0), 1e-3)
        rows = np.round(_STEPS * _standardised(described, centre, scale)).astype(np.int8)
        centre, scale, knots, added = (np.asarray(a, dtype=np.float32) for a in (centre, scale, *shift))
        return cls(columns, rows, centre, scale, np.asarray(clean, dtype=np.uint8), knots, added)

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
        return self._shares(self._distances(self._whitened(columns[:, self.columns.described[0]])))

    def shift_of(self, typicality: FloatArray) -> FloatArray:
        """What is added to the uncertainty of faces of this typicality."""
        if not len(self.knots):
            return np.zeros(np.shape(typicality))
        return np.interp(typicality, self.knots, self.shift)

    def check(
        self, landmarks: FloatArray, typicality: FloatArray, random_state: int = 0
    ) -> DomainCheck | None:
        """Compare a batch of faces with the calibration faces.

        A cross-fitted classifier (`facereject.selection.two_sample_test`) tries to tell the batch from clean
        calibration faces, from degraded ones, and from both, by shape and typicality; the batch is unlike
        them only if it differs from all three. A batch of good photos, or of poor ones, is no other kind.

        Parameters
        ----------
        landmarks : ndarray of shape (m, p, 2)
            In pixels. The faces should be independent: one per track of a video.
        typicality : ndarray of shape (m,)

        Returns
        -------
        DomainCheck or None
            None for fewer than `LEAST_FACES` faces with landmarks and typicality.
        """
        # imported here: it takes scikit-learn, and a face is scored without it
        from facereject.selection.shift import two_sample_test

        known = np.isfinite(typicality) & np.isfinite(landmarks).all(axis=(1, 2))
        chosen = np.flatnonzero(known)
        if len(chosen) < LEAST_FACES:
            return None
        if len(chosen) > _MOST_FACES:
            chosen = np.random.default_rng(random_state).permutation(chosen)[:_MOST_FACES]
        n_shape = self.columns.described[1]
        shapes = self.columns.shapes(np.asarray(landmarks, dtype=np.float64)[chosen])
        shapes = _standardised(shapes, self.centre[:n_shape], self.scale[:n_shape])
        new = self._compared(shapes, typicality[chosen])
        own = self._compared(self.rows[:, :n_shape] / _STEPS, self.own_typicality)
        clean = self.clean.astype(bool)
        parts = [part for part in (clean, ~clean, clean | True) if part.sum() >= LEAST_FACES // 2]
        found = [two_sample_test(own[part], new, margin=MARGIN, random_state=random_state) for part in parts]
        if not found:
            return None
        least = max(found, key=lambda test: test.p_value)
        return DomainCheck(len(chosen), least.told_apart, least.p_value)

    def _compared(self, shapes: FloatArray, typicality: FloatArray) -> FloatArray:
        return np.column_stack([shapes, np.log(typicality)])

    def _whitened(self, described: NDArray[np.floating[Any]]) -> FloatArray:
        return np.asarray(_standardised(described, self.centre, self.scale) @ self._whitening)

    @functools.cached_property
    def _whitening(self) -> FloatArray:
        variances, directions = np.linalg.eigh(np.cov(self.rows.T / _STEPS))
        return np.asarray(directions / np.sqrt(np.maximum(variances, 0) + _RIDGE))

    @functools.cached_property
    def _points(self) -> FloatArray:
        return np.asarray(self.rows / _STEPS @ self._whitening)

    @functools.cached_property
    def _own_distances(self) -> FloatArray:
        """Of every summarised face to its nearest others."""
        return self._distances(self._points, among_themselves=True)

    @functools.cached_property
    def _sorted_distances(self) -> FloatArray:
        return np.sort(self._own_distances)

    @property
    def own_typicality(self) -> FloatArray:
        """Typicality of the summarised faces, each among the others."""
        return self._shares(self._own_distances)

    def _distances(self, points: FloatArray, *, among_themselves: bool = False) -> FloatArray:
        own = self._points
        squares = np.einsum("ij,ij->i", points, points)[:, None] + np.einsum("ij,ij->i", own, own)
        squares -= 2 * (points @ own.T)
        if among_themselves:
            np.fill_diagonal(squares, np.inf)
        nearest = np.partition(squares, _NEIGHBOURS - 1, axis=1)[:, :_NEIGHBOURS]
        return np.asarray(np.sqrt(np.maximum(nearest, 0)).mean(axis=1))

    def _shares(self, distances: FloatArray) -> FloatArray:
        n = len(self.rows)
        return np.asarray((n - np.searchsorted(self._sorted_distances, distances) + 1) / (n + 1))


def _standardised(
    values: NDArray[np.floating[Any]], centre: NDArray[np.floating[Any]], scale: NDArray[np.floating[Any]]
) -> FloatArray:
    """In standard deviations; what is far away or no number is as far as is counted."""
    away = np.nan_to_num((values - centre) / scale, nan=_LARGEST, posinf=_LARGEST, neginf=-_LARGEST)
    return np.asarray(np.clip(away, -_LARGEST, _LARGEST), dtype=np.float64)
