"""The summary of the calibration faces, and how much larger errors are on atypical ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.faces.models.calibration import Calibration, isotonic
from facereject.faces.models.compact import CompactColumns
from facereject.faces.models.domain import Domain
from facereject.faces.models.score_models import LinearScoreModel
from facereject.faces.training._score_trees import clean_weights, grow_trees
from facereject.faces.training.cross_validation import photo_folds
from facereject.faces.training.extract import Extractor
from facereject.faces.training.fit_compact import LinearFit, learn_columns, linear_on_clean
from facereject.faces.training.fit_score import fit_score
from facereject.faces.training.table import FaceTable

# summarised faces, clean and degraded alike: about 35 kB in a model file
_FACES = 800

# fewer calibration faces than this are no domain to compare with
_LEAST_FACES = 50

# upper ends of the groups of typicality whose errors are compared
_GROUPS = (0.05, 0.1, 0.2, 0.5, 1.0)

# corrections above this factor are chance
_LARGEST_FACTOR = 2.0


class Atypical(NamedTuple):
    """How much larger the errors of atypical faces are than their uncertainty says.

    Attributes
    ----------
    typicality : tuple of float
        Ascending.
    factor : tuple of float
        True over expected error there, relative to typical faces; never ascending, at least 1.
    """

    typicality: tuple[float, ...] = ()
    factor: tuple[float, ...] = ()


def fit_domain(
    columns: CompactColumns,
    values: NDArray[np.float32],
    clean: NDArray[np.bool_],
    calibration: Calibration,
    atypical: Atypical | None = None,
    random_state: int = 0,
) -> tuple[Domain | None, FloatArray]:
    """Summarise calibration faces; None for fewer than 50.

    Parameters
    ----------
    columns : CompactColumns
    values : ndarray of shape (n, c)
        The columns of the calibration faces.
    clean : ndarray of shape (n,), bool
    calibration : Calibration
        Of the same faces: it tells by how much the uncertainty has to grow for an error that is larger by
        some factor.
    atypical : Atypical or None
    random_state : int, default=0
        Chooses the faces of the summary.

    Returns
    -------
    domain : Domain or None
    shift : ndarray of shape (n,)
        What it adds to the uncertainty of these faces.
    """
    if len(values) < _LEAST_FACES:
        return None, np.zeros(len(values))
    rng = np.random.default_rng(random_state)
    parts = [rng.permutation(np.flatnonzero(part)) for part in (clean, ~clean)]
    # one kind may be rare: then there are more of the other
    counts = [min(len(part), max(_FACES // 2, _FACES - len(other))) for part, other in (parts, parts[::-1])]
    chosen = np.sort(np.concatenate([part[:count] for part, count in zip(parts, counts, strict=True)]))
    given = Atypical() if atypical is None else atypical
    shift = np.log(given.factor) / _log_slope(calibration)
    described = values[:, columns.described[0]].astype(np.float64)
    domain = Domain.of_rows(columns, described[chosen], clean[chosen], (given.typicality, shift))
    typicality = domain.typicality(values)
    # a face is no neighbour of itself
    typicality[chosen] = domain.own_typicality
    return domain, domain.shift_of(typicality)


def _log_slope(calibration: Calibration) -> float:
    """By how much the logarithm of the expected error grows with the uncertainty, by least squares."""
    log_expected = np.log(np.maximum(calibration.expected_error(calibration.uncertainty), 1e-3))
    away = calibration.uncertainty - calibration.uncertainty.mean()
    spread = float(away @ away)
    return max(float(away @ log_expected) / spread, 1e-6) if spread > 0 else 1.0


def learn_atypical(
    table: FaceTable,
    photos: Sequence[str],
    sources: Sequence[str],
    extractor: Extractor,
    *,
    alpha: float = 1.0,
    clip: float | None = 10.0,
    n_trees: int = 150,
    random_state: int = 0,
) -> Atypical:
    """Learn from data sets that were left out how much larger the errors of atypical faces are.

    For each data set, score, calibration and summary are learned from the others. In groups of typicality,
    its true errors over the expected ones, divided by the same for typical faces, are pooled over the data
    sets and made monotone.

    Parameters
    ----------
    table : FaceTable
    photos, sources : sequence of str
        The photo and the data set of every sample; at least two data sets.
    extractor : Extractor
        What made the table.
    alpha, clip, n_trees
        Of the linear columns and of the trees.
    random_state : int, default=0
    """
    names, fold = np.unique(np.asarray(sources)[table.sample], return_inverse=True)
    if len(names) < 2:
        return Atypical()
    hog = FaceTable(**{**vars(table), "features": _hog(table, extractor)})
    fits = [fit_score(hog, "sele", alpha, clip, rows=fold != k) for k in range(len(names))]
    uncertainty = np.empty(len(table))
    for k, fit in enumerate(fits):
        uncertainty[fold == k] = fit(hog.features[fold == k])
    assert isinstance(fits[0], LinearScoreModel)
    linear, clean = LinearFit(fits[0], uncertainty), linear_on_clean(hog, fold, alpha, clip)
    columns, seen = learn_columns(table, extractor.features, fold, linear, clean)
    photo = np.asarray(photos, dtype=np.str_)[table.sample]

    def scored(train: NDArray[np.int64], test: NDArray[np.int64]) -> FloatArray:
        weights = clean_weights(table.clean[train])
        trees, _ = grow_trees(seen[train], table.losses[train], clip, weights, n_trees=n_trees)
        return np.column_stack([kind(seen[test]) for kind in trees])

    typicality, expected = np.empty(len(table)), np.empty(len(table))
    for k in range(len(names)):
        rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        inner = photo_folds(photo[rest].tolist(), 3, random_state)
        own = np.empty((len(rest), 2))
        for j in range(3):
            own[inner == j] = scored(rest[inner != j], rest[inner == j])
        share = 1 / np.maximum(own[table.clean[rest]].std(axis=0), 1e-9)
        calibration = Calibration(table.losses[rest], own @ share)
        domain, _ = fit_domain(columns, seen[rest], table.clean[rest], calibration, None, random_state)
        if domain is None:
            return Atypical()
        typicality[out] = domain.typicality(seen[out])
        expected[out] = calibration.expected_error(scored(rest, out) @ share)
    return _ratios(typicality, expected, table.losses)


def _ratios(typicality: FloatArray, expected: FloatArray, losses: FloatArray) -> Atypical:
    group = np.searchsorted(_GROUPS, typicality)
    counts = np.bincount(group, minlength=len(_GROUPS))
    present = counts > 0
    true, said = (np.bincount(group, each, len(_GROUPS))[present] for each in (losses, expected))
    middles = (np.bincount(group, typicality, len(_GROUPS)) / np.maximum(counts, 1))[present]
    ratio = true / np.maximum(said, 1e-9)
    # never ascending with typicality: isotonic in its opposite
    knots, values = isotonic(-middles[::-1], ratio[::-1], counts[present][::-1].astype(np.float64))
    factor = np.clip(values[::-1] / values[0], 1.0, _LARGEST_FACTOR)
    return Atypical(tuple((-knots[::-1]).tolist()), tuple(factor.tolist()))


def _hog(table: FaceTable, extractor: Extractor) -> NDArray[np.float32]:
    return np.ascontiguousarray(table.features[:, : extractor.hog.n_features])
