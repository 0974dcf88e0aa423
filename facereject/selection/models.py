"""The three rejection models: reject at a cost, bound the selective risk, bound the coverage.

A model is a target: like a scikit-learn estimator it has ``get_params`` / ``set_params`` and can be cloned.
Its ``fit`` leaves it unchanged and returns the optimal `Selector`.

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
    """A target for selection: the base of `CostBased`, `BoundedImprovement` and `BoundedCoverage`.

    See Also
    --------
    CostBased : Rejections have a cost.
    BoundedImprovement : The risk is bounded.
    BoundedCoverage : The coverage is bounded.

    Examples
    --------
    >>> from facereject.selection import CostBased, RejectionModel
    >>> isinstance(CostBased(0.1), RejectionModel)
    True
    """

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
            ``coverage_`` and ``selective_risk_`` describe this sample; for new data both are estimates (see
            `guaranteed_risk` for a guarantee).

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

    See Also
    --------
    BoundedImprovement : Bounds the risk.
    BoundedCoverage : Bounds the coverage.
    convert : Converts between the three.

    References
    ----------
    V. Franc, D. Průša, V. Voráček: Optimal strategies for reject option classifiers. Journal of Machine
    Learning Research 24, 2023.

    Examples
    --------
    >>> from facereject.selection import CostBased
    >>> selector = CostBased(0.4).fit(losses=[0, 0, 1, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    >>> selector.threshold_, selector.coverage_
    (0.2, 0.5)
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

    See Also
    --------
    CostBased : Rejections have a cost.
    BoundedCoverage : Bounds the coverage.
    guaranteed_risk : A risk that holds for new data with high probability.

    References
    ----------
    V. Franc, D. Průša, V. Voráček: Optimal strategies for reject option classifiers. Journal of Machine
    Learning Research 24, 2023.

    Examples
    --------
    >>> from facereject.selection import BoundedImprovement
    >>> selector = BoundedImprovement(0.25).fit(losses=[0, 0, 0, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    >>> selector.coverage_, selector.selective_risk_
    (1.0, 0.25)
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

    See Also
    --------
    CostBased : Rejections have a cost.
    BoundedImprovement : Bounds the risk.
    guaranteed_coverage : A coverage that holds for new data with high probability.

    References
    ----------
    V. Franc, D. Průša, V. Voráček: Optimal strategies for reject option classifiers. Journal of Machine
    Learning Research 24, 2023.

    Examples
    --------
    >>> from facereject.selection import BoundedCoverage
    >>> selector = BoundedCoverage(0.5).fit(losses=[0, 0, 1, 1], uncertainty=[0.1, 0.2, 0.3, 0.4])
    >>> selector.accept([0.15, 0.35])
    array([ True, False])
    """

    def __init__(self, coverage: float):
        self.coverage = coverage

    def _solve(self, ranking: Ranking) -> Selector:
        return lowest_risk(ranking, self.coverage)
