"""A threshold fitted to decisions, and an honest estimate of how often it would agree with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from facereject._validation import FloatArray

#: fewer decisions say too little
LEAST_DECISIONS = 30

_FOLDS = 10


class FittedThreshold(NamedTuple):
    """A threshold that follows decisions.

    Attributes
    ----------
    threshold : float
        Of the uncertainty.
    decisions, accepted : int
        On how many faces it rests, and how many of them the user accepted.
    agreement : float
        Share of decisions that a threshold fitted without them would have made, by cross-validation.
    error : float
        Standard error of ``agreement``.
    trivial : float
        Share that always deciding like the majority would have made.
    """

    threshold: float
    decisions: int
    accepted: int
    agreement: float
    error: float
    trivial: float


def fit_threshold(uncertainty: ArrayLike, accept: ArrayLike, photo: ArrayLike) -> FittedThreshold:
    """The threshold that agrees with most decisions, tested on decisions it has not seen.

    Cross-validation leaves out whole photos: faces of one photo, or frames of one video, are alike.

    Parameters
    ----------
    uncertainty : array-like of shape (n,)
    accept : array-like of shape (n,), bool
        What the user decided.
    photo : array-like of shape (n,)
        Which input each face is from.

    Examples
    --------
    >>> found = fit_threshold([0.1, 0.2, 0.8, 0.9] * 10, [True, True, False, False] * 10, range(40))
    >>> found.threshold, found.agreement
    (0.5, 1.0)
    """
    values, wanted = np.asarray(uncertainty, np.float64), np.asarray(accept, bool)
    _, groups = np.unique(np.asarray(photo), return_inverse=True)
    n_folds = min(_FOLDS, int(groups.max()) + 1)
    # a fixed shuffle: the same decisions give the same estimate
    fold_of = np.random.default_rng(0).permutation(np.arange(groups.max() + 1) % n_folds)[groups]
    agrees = np.zeros(len(values))
    for fold in range(n_folds):
        held = fold_of == fold
        if held.all():
            # one photo alone: nothing is left to fit on
            agrees[held] = np.nan
            continue
        agrees[held] = (values[held] <= _best(values[~held], wanted[~held])) == wanted[held]
    n = len(values)
    agreement = float(np.mean(agrees))
    return FittedThreshold(
        _best(values, wanted),
        n,
        int(wanted.sum()),
        agreement,
        float(np.sqrt(max(agreement * (1 - agreement), 0) / n)),
        float(max(wanted.mean(), 1 - wanted.mean())),
    )


def _best(values: FloatArray, wanted: NDArray[np.bool_]) -> float:
    """The threshold with the fewest disagreements, midway between two faces; of equal ones the middle."""
    order = np.argsort(values, kind="stable")
    ranked, accepted = values[order], wanted[order]
    # disagreements if the first k are accepted
    wrong = np.concatenate([[0], np.cumsum(~accepted)]) + np.concatenate(
        [np.cumsum(accepted[::-1])[::-1], [0]]
    )
    cuts = np.concatenate([[ranked[0]], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1]]])
    cuts[0] = np.nextafter(ranked[0], -np.inf)
    # between equal values no threshold lies
    possible = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])
    best = np.flatnonzero(possible & (wrong == wrong[possible].min()))
    return float(cuts[best[len(best) // 2]])
