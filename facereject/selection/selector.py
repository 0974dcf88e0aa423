"""The selection function c that every rejection model ends in: a threshold and a boundary probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray, check_vector
from facereject._words import counted


@dataclass(frozen=True)
class GroupSelection:
    """The effect of a guaranteed threshold on one group of the calibration sample.

    Attributes
    ----------
    name : str
        Name of the group.
    n, n_accepted : int
        Calibration examples of the group, and the accepted among them.
    coverage : float
        Their accepted share, weighted if the guarantee is.
    selective_risk : float
        Mean loss of the accepted; NaN if there are none.
    threshold : float
        The largest uncertainty that is accepted in this group.

    See Also
    --------
    Guarantee : Lists the groups.

    Examples
    --------
    >>> from facereject.selection import GroupSelection
    >>> group = GroupSelection("old", 500, 300, coverage=0.6, selective_risk=0.08, threshold=0.7)
    >>> group.n_accepted
    300
    """

    name: str
    n: int
    n_accepted: int
    coverage: float
    selective_risk: float
    threshold: float


@dataclass(frozen=True)
class Guarantee:
    """A guarantee of a threshold, and what it is based on.

    Attributes
    ----------
    quantity : str
        ``"risk"`` (true selective risk <= ``bound``) or ``"coverage"`` (true coverage >= ``bound``).
    bound : float
        The guaranteed value: the ``max_risk`` or ``min_coverage`` that was asked for.
    delta : float
        The statement is true with probability at least 1 - delta over the calibration sample.
    n : int
        Size of the calibration sample.
    method : str
        The test behind it: ``"binomial"``, ``"betting"``, ``"hoeffding-bentkus"`` or ``"order statistic"``.
    loss_bound : float or None
        The risk statement is about min(loss, loss_bound), the error rate for losses of 0 and 1. None for
        coverage.
    n_clipped : int
        How many calibration losses were above ``loss_bound``.
    start : float or None
        The threshold, fixed in advance, from which the search began.
    group_delta : float or None
        The level at which each group was tested; None without groups.
    groups : tuple of GroupSelection
        The groups for each of which the statement holds, all at once; empty without groups.
    weight_bound : float or None
        The statement is about data that differ from the calibration data by the weights given, clipped to
        this value. None without weights.

    See Also
    --------
    guaranteed_risk, guaranteed_coverage : Functions that make one.

    Examples
    --------
    >>> from facereject.selection import Guarantee
    >>> print(Guarantee("coverage", bound=0.8, delta=0.05, n=1000, method="order statistic").statement)
    With probability at least 0.95 over the 1000 calibration examples, at least 0.8 of all predictions are
    accepted.
    """

    quantity: str
    bound: float
    delta: float
    n: int
    method: str
    loss_bound: float | None = None
    n_clipped: int = 0
    start: float | None = None
    group_delta: float | None = None
    groups: tuple[GroupSelection, ...] = ()
    weight_bound: float | None = None

    @property
    def statement(self) -> str:
        """The guarantee in one sentence."""
        start = f"With probability at least {1 - self.delta:g} over the {self.n} calibration examples, "
        if self.quantity == "coverage":
            return start + f"at least {self.bound:g} of all predictions are accepted."
        every = f" in each of the {len(self.groups)} groups" if self.groups else ""
        shifted = ""
        if self.weight_bound is not None:
            shifted = (
                f", for data that differ from the calibration data by the weights given (at most "
                f"{self.weight_bound:g})"
            )
        most = f"at most {self.bound:g}{every}{shifted}"
        if self.method.startswith("binomial") and self.loss_bound == 1 and not self.n_clipped:
            return start + f"the error rate of accepted predictions is {most}."
        clipped = counted(self.n_clipped, "calibration loss was", "calibration losses were")
        return start + (
            f"the mean of min(loss, {self.loss_bound:g}) over accepted predictions is {most}; {clipped} "
            f"above {self.loss_bound:g}."
        )

    @property
    def table(self) -> str:
        """Numbers of every group on the calibration sample, one line each."""
        width = max([len("group"), *(len(row.name) for row in self.groups)])
        lines = [
            f"{'group':{width}}  {'n':>7}  {'accepted':>8}  {'coverage':>8}  {'risk':>9}  {'threshold':>9}"
        ]
        lines += [
            f"{row.name:{width}}  {row.n:7d}  {row.n_accepted:8d}  {row.coverage:8.3f}  "
            f"{row.selective_risk:9.4g}  {row.threshold:9.4g}"
            for row in self.groups
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Selector:
    """Randomised threshold rule on an uncertainty s (higher = less certain).

    c(s) = 1 if s < threshold_, acceptance_ if s = threshold_, 0 if s > threshold_

    Attributes
    ----------
    threshold_ : float
        The largest uncertainty that can be accepted; -inf rejects and +inf accepts everything.
    acceptance_ : float
        Probability to accept at s = threshold_. It is 1 unless a target can only be met exactly by
        randomising among examples that share this uncertainty.
    coverage_ : float
        Accepted share of the examples the rule was fitted on, expected over the randomisation.
    selective_risk_ : float
        Mean loss of the accepted among them; NaN if nothing is accepted or no losses were given.
    guarantee_ : Guarantee or None
        The guarantee for new data, if the rule comes from a function that gives one.

    See Also
    --------
    CostBased, BoundedImprovement, BoundedCoverage : Models that find a selector.
    guaranteed_risk : Finds one with a guarantee.

    Examples
    --------
    >>> from facereject.selection import Selector
    >>> selector = Selector(threshold_=0.5, acceptance_=1.0, coverage_=0.8, selective_risk_=0.02)
    >>> selector.accept([0.1, 0.5, 0.9])
    array([ True,  True, False])
    """

    threshold_: float
    acceptance_: float
    coverage_: float
    selective_risk_: float
    guarantee_: Guarantee | None = None

    def accept_probability(self, uncertainty: Any) -> FloatArray:
        """Compute the acceptance probability c(s) of every example.

        Parameters
        ----------
        uncertainty : array-like of shape (n,)
            Higher = less certain.

        Returns
        -------
        probability : ndarray of shape (n,)
            0, 1, or ``acceptance_`` at the threshold.
        """
        s = check_vector(uncertainty, "uncertainty", min_length=0)
        return np.where(s < self.threshold_, 1.0, np.where(s == self.threshold_, self.acceptance_, 0.0))

    def accept(self, uncertainty: Any, random_state: Any = None) -> NDArray[np.bool_]:
        """Accept (True) or reject (False) every example.

        Parameters
        ----------
        uncertainty : array-like of shape (n,)
            Higher = less certain. May be empty.
        random_state : int, RandomState or None
            Decides the examples on the boundary; of no effect where acceptance_ is 0 or 1.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        # imported here, so that a threshold alone does not load scikit-learn
        from sklearn.utils import check_random_state

        probability = self.accept_probability(uncertainty)
        # One draw per example, boundary or not: the fate of an example then depends only on its position.
        # random_sample() is in [0, 1), so probability 1 always accepts and 0 never does.
        draws = np.asarray(check_random_state(random_state).random_sample(len(probability)))
        accepted: NDArray[np.bool_] = draws < probability
        return accepted
