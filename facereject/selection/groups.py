"""Risk guarantees for every group at once, with one threshold per group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray, check_same_length, check_vector
from facereject.selection._problem import RiskProblem
from facereject.selection.errors import NoValidThresholdError
from facereject.selection.selector import Guarantee


def check_groups(groups: Any, uncertainty: FloatArray) -> dict[str, NDArray[np.intp]]:
    """Rows of every group by its name, in the order of the names."""
    names = _names(groups)
    check_same_length(uncertainty=uncertainty, groups=names)
    return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}


@dataclass(frozen=True)
class GroupSelector:
    """A threshold for every group: c(s, g) = [s <= thresholds_[g]].

    Attributes
    ----------
    thresholds_ : mapping of str to float
        Largest accepted uncertainty by group; -inf where nothing could be certified.
    coverage_, selective_risk_ : float
        Of the calibration sample.
    guarantee_ : Guarantee
        ``guarantee_.table`` lists the groups.

    See Also
    --------
    guaranteed_risk_per_group : Finds the thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.selection import guaranteed_risk_per_group
    >>> rng = np.random.default_rng(0)
    >>> uncertainty, groups = rng.random(4000), rng.choice(["easy", "hard"], 4000)
    >>> rate = np.where(groups == "hard", 0.6, 0.1) * uncertainty**2
    >>> losses = (rng.random(4000) < rate).astype(float)
    >>> selector = guaranteed_risk_per_group(losses, uncertainty, groups, max_risk=0.1)
    >>> selector.accept([0.9, 0.9], ["easy", "hard"])
    array([ True, False])
    """

    thresholds_: Mapping[str, float]
    coverage_: float
    selective_risk_: float
    guarantee_: Guarantee

    def accept(self, uncertainty: Any, groups: Any) -> NDArray[np.bool_]:
        """Accept (True) or reject (False) every example by the threshold of its group.

        Parameters
        ----------
        uncertainty : array-like of shape (n,)
            Higher = less certain.
        groups : array-like of shape (n,)
            Group of every example.

        Returns
        -------
        accepted : ndarray of bool, shape (n,)
            True where the example is accepted.

        Raises
        ------
        ValueError
            For a group that the calibration sample did not have: there is no guarantee for it.
        """
        s = check_vector(uncertainty, "uncertainty", min_length=0)
        names = _names(groups)
        check_same_length(uncertainty=s, groups=names)
        unknown = sorted(set(names.tolist()) - set(self.thresholds_))
        if unknown:
            raise ValueError(
                f"groups has {', '.join(map(repr, unknown))}, about which nothing is known: the calibration "
                f"sample had {', '.join(self.thresholds_)}"
            )
        limits = np.array([self.thresholds_[name] for name in names], dtype=np.float64)
        accepted: NDArray[np.bool_] = s <= limits
        return accepted


def guaranteed_risk_per_group(
    losses: Any,
    uncertainty: Any,
    groups: Any,
    max_risk: float,
    delta: float = 0.05,
    loss_bound: float = 1.0,
    *,
    weights: Any = None,
    weight_bound: float | None = None,
    method: str = "auto",
    random_state: int | None = None,
) -> GroupSelector:
    """Find for every group the threshold of largest coverage with a guaranteed risk.

    With probability >= 1 - delta over the calibration sample, E[min(loss, loss_bound) | group, accepted] is
    at most max_risk in all groups at once. Correction: each of the G groups spends delta / G. Groups accept
    more than by the common threshold of ``guaranteed_risk(groups=...)``, but the group of new examples must
    be known. A group without a certified threshold is rejected as a whole.

    Parameters
    ----------
    losses, uncertainty
        As in `guaranteed_risk`.
    groups : array-like of shape (n,)
        Group of every calibration example.
    max_risk, delta, loss_bound, weights, weight_bound, method, random_state
        As in `guaranteed_risk`.

    Returns
    -------
    GroupSelector
        A threshold for every group.

    Raises
    ------
    NoValidThresholdError
        If no group has a threshold that can be certified.

    See Also
    --------
    guaranteed_risk : One threshold for all groups.
    GroupSelector : The result, with an example.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.selection import guaranteed_risk_per_group
    >>> rng = np.random.default_rng(0)
    >>> uncertainty, groups = rng.random(4000), rng.choice(["old", "young"], 4000)
    >>> losses = (rng.random(4000) < 0.3 * uncertainty**2).astype(float)
    >>> selector = guaranteed_risk_per_group(losses, uncertainty, groups, max_risk=0.1)
    >>> sorted(selector.thresholds_)
    ['old', 'young']
    """
    problem = RiskProblem.of(
        losses, uncertainty, max_risk, delta, loss_bound, weights, weight_bound, method, random_state
    )
    rows = check_groups(groups, problem.uncertainty)
    level = problem.delta / len(rows)
    parts = {name: replace(problem.part(mine), delta=level) for name, mine in rows.items()}
    thresholds = {}
    for name, part in parts.items():
        threshold, _ = part.certified(None, 1.0, {})
        thresholds[name] = -math.inf if threshold is None else threshold
    if max(thresholds.values()) == -math.inf:
        raise NoValidThresholdError(problem.why_none(level, rows, list(rows)))
    accepted = np.zeros(len(problem.losses), dtype=bool)
    for name, mine in rows.items():
        accepted[mine] = problem.uncertainty[mine] <= thresholds[name]
    coverage, risk = problem.measure(accepted)
    results = tuple(part.group_result(name, thresholds[name]) for name, part in parts.items())
    return GroupSelector(thresholds, coverage, risk, problem.guarantee(results, level))


def _names(groups: Any) -> NDArray[np.str_]:
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError(f"groups must be one-dimensional, got an array of shape {labels.shape}")
    if isinstance(groups, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(groups)
    elif labels.dtype == object:
        missing = np.array([_is_missing(label) for label in labels], dtype=bool)
    else:
        missing = np.asarray(labels != labels)
    if missing.any():
        position = int(np.flatnonzero(missing)[0])
        raise ValueError(f"groups must name every group, but groups[{position}] is {labels[position]}")
    return labels.astype(np.str_)


def _is_missing(label: Any) -> bool:
    """None, NaN, or pandas' NA, which refuses to be compared."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True
