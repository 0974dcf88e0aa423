"""The three rejection models: reject at a cost, bound the selective risk, bound the coverage.

A model is a setting: like a scikit-learn estimator it has ``get_params`` / ``set_params`` and clones. Its
``fit`` leaves it unchanged and returns the optimal :class:`Selector`.

Notation: sorted by uncertainty, accept a share phi of the examples and let L(phi) be the sum of their losses
over n, so that the selective risk is R_S = L(phi) / phi. L is piecewise linear: inside a group of equal
uncertainties only a random choice is possible. On a sample R_S need not grow with phi, so every model looks
at all thresholds rather than at the first one that fits. A rule that accepts the whole sample has the
threshold +inf: it never rejects, not even a new example more uncertain than all seen.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

from sklearn.base import BaseEstimator

from facereject.selection.ranking import Ranking
from facereject.selection.selector import Selector
from facereject.selection.thresholds import largest_coverage, lowest_cost, lowest_risk


class RejectionModel(BaseEstimator, metaclass=ABCMeta):
    """A criterion that says which threshold rule on the uncertainty is the best."""

    def fit(self, losses: Any, uncertainty: Any, sample_weight: Any = None) -> Selector:
        """Find the optimal randomised threshold rule on a sample.

        Parameters
        ----------
        losses : array-like of shape (n,)
            Loss of every example, >= 0.
        uncertainty : array-like of shape (n,)
            Higher = less certain.
        sample_weight : array-like of shape (n,), optional
            Weights >= 0; only their ratios matter. Default: all equal.

        Returns
        -------
        Selector
            ``coverage_`` and ``selective_risk_`` describe this sample; on new data both are estimates (see
            :mod:`facereject.selection.guarantees` for a promise).

        Raises
        ------
        InfeasibleTargetError
            If no rule that accepts anything meets the target.
        """
        return self._solve(Ranking.of(losses, uncertainty, sample_weight))

    @abstractmethod
    def _solve(self, ranking: Ranking) -> Selector:
        """Check the parameters and return the optimal rule."""


class CostBased(RejectionModel):
    """Minimise the expected loss when a rejection costs ``cost`` (in units of the loss).

    min over c of  L(phi) + cost * (1 - phi)

    The criterion is linear inside a group, so no randomisation is needed. Among equally good rules the one of
    largest coverage is returned: a prediction that costs no more than its rejection is made.

    Parameters
    ----------
    cost : float
        Loss of one rejection, >= 0.
    """

    def __init__(self, cost: float):
        self.cost = cost

    def _solve(self, ranking: Ranking) -> Selector:
        return lowest_cost(ranking, self.cost)


class BoundedImprovement(RejectionModel):
    """Accept as much as possible while the selective risk is at most ``risk``.

    max over c of  phi   subject to   L(phi) / phi <= risk

    Unless everything can be accepted, the bound holds with equality.

    Parameters
    ----------
    risk : float
        Target selective risk, >= 0, in units of the loss.
    """

    def __init__(self, risk: float):
        self.risk = risk

    def _solve(self, ranking: Ranking) -> Selector:
        return largest_coverage(ranking, self.risk)


class BoundedCoverage(RejectionModel):
    """Make the selective risk as small as possible while at least ``coverage`` is accepted.

    min over c of  L(phi) / phi   subject to   phi >= coverage

    Inside a group L(phi) / phi is monotone, so the optimum accepts exactly ``coverage`` (with a random choice
    among ties), or whole groups beyond it if that lowers the risk, which can happen on a sample. Among
    equally good rules the one closest to the target is returned.

    Parameters
    ----------
    coverage : float
        Target share of accepted examples, 0 < coverage <= 1.
    """

    def __init__(self, coverage: float):
        self.coverage = coverage

    def _solve(self, ranking: Ranking) -> Selector:
        return lowest_risk(ranking, self.coverage)
