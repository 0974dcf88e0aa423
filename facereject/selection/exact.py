"""Rejection models for a known discrete distribution, and conversion between their targets."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from facereject._validation import check_same_length, check_vector
from facereject.selection.errors import InfeasibleTargetError
from facereject.selection.models import BoundedCoverage, BoundedImprovement, CostBased, RejectionModel
from facereject.selection.ranking import Ranking
from facereject.selection.selector import Selector

Model = TypeVar("Model", bound=RejectionModel)


def optimal_selection(model: RejectionModel, probabilities: Any, conditional_risks: Any) -> Selector:
    """Find the best of all selection functions for a known discrete distribution.

    With probabilities p(x) and conditional risks r(x) of the predictions, coverage and selective risk of a
    selection function c: X -> [0, 1] are phi(c) = sum_x p(x) c(x) and R_S(c) = sum_x p(x) c(x) r(x) / phi(c).
    Some optimum of each of the three models is a randomised threshold rule on r(x) itself, so the optimum
    over these rules is the optimum over all c.

    Parameters
    ----------
    model : CostBased, BoundedImprovement or BoundedCoverage
        What to optimise.
    probabilities : array-like of shape (m,)
        p(x) of the m possible inputs; they sum to 1.
    conditional_risks : array-like of shape (m,)
        r(x) >= 0, the expected loss of the prediction for x.

    Returns
    -------
    Selector
        A rule on the conditional risk: ``accept_probability(conditional_risks)`` is the optimal c.

    Raises
    ------
    InfeasibleTargetError
        If the target risk is below the smallest conditional risk.

    See Also
    --------
    convert : Expresses a target in the terms of another model.

    References
    ----------
    V. Franc, D. Průša, V. Voráček: Optimal strategies for reject option classifiers. Journal of Machine
    Learning Research 24, 2023.

    Examples
    --------
    >>> from facereject.selection import BoundedCoverage, optimal_selection
    >>> best = optimal_selection(BoundedCoverage(0.6), [0.5, 0.2, 0.3], [0.0, 0.1, 0.4])
    >>> best.accept_probability([0.0, 0.1, 0.4])
    array([1. , 0.5, 0. ])
    """
    p = check_vector(probabilities, "probabilities", non_negative=True)
    r = check_vector(conditional_risks, "conditional_risks", non_negative=True)
    check_same_length(probabilities=p, conditional_risks=r)
    if not np.isclose(p.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"probabilities must sum to 1, got {p.sum():g}")
    return model.fit(losses=r, uncertainty=r, sample_weight=p)


def convert(
    model: RejectionModel, to: type[Model], losses: Any, uncertainty: Any, sample_weight: Any = None
) -> Model:
    """Express a target in the terms of another rejection model.

    The three models lead to the same family of rules, so a cost, a target risk and a target coverage can
    describe the same rule. For example, what does a rejection cost if a risk of 5 % is the right target?

    To a risk or a coverage: the selective risk or the coverage of the rule that ``model`` selects. From a
    cost, fitting the result gives the same coverage and risk again, unless rules of the same risk tie.

    To a cost: the conditional risk at the threshold, i.e. the expected loss of the least certain accepted
    examples, estimated by isotonic regression of the losses on the uncertainty. If the rule of ``model``
    minimises L(phi) + cost * (1 - phi) for any cost, it does so for this one. There are two limits. Costs
    only reach the rules on the lower convex hull of L, so on a sample a risk or coverage target can select a
    rule that is best for no cost; the cost then belongs to the piece of the hull below it. And at this cost
    all rules along a straight piece tie, of which ``CostBased`` takes the one of largest coverage.

    Parameters
    ----------
    model : CostBased, BoundedImprovement or BoundedCoverage
        The target to express differently.
    to : type
        One of these three classes. A model of the same class is returned as a copy.
    losses, uncertainty, sample_weight : array-like of shape (n,)
        The sample on which the rules are compared, as in ``fit``. For a known distribution pass the
        conditional risks as both ``losses`` and ``uncertainty``, the probabilities as ``sample_weight``.

    Returns
    -------
    model : instance of ``to``
        The same target.

    Raises
    ------
    InfeasibleTargetError
        If ``model`` cannot be met, or is met by rejecting everything: that has no selective risk.

    See Also
    --------
    CostBased, BoundedImprovement, BoundedCoverage : The three models.

    Examples
    --------
    >>> from facereject.selection import BoundedImprovement, CostBased, convert
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> uncertainty = rng.random(2000)
    >>> losses = (rng.random(2000) < 0.3 * uncertainty**2).astype(float)
    >>> bool(0.1 < convert(BoundedImprovement(0.05), CostBased, losses, uncertainty).cost < 0.3)
    True
    """
    if to not in (CostBased, BoundedImprovement, BoundedCoverage):
        raise ValueError(f"to must be CostBased, BoundedImprovement or BoundedCoverage, got {to!r}")
    ranking = Ranking.of(losses, uncertainty, sample_weight)
    selector = model._solve(ranking)
    if isinstance(model, to):
        return to(**model.get_params())
    if selector.coverage_ == 0:
        raise InfeasibleTargetError(f"{model!r} rejects every example here: no other target says the same")
    if to is BoundedCoverage:
        return to(selector.coverage_)
    if to is BoundedImprovement:
        return to(selector.selective_risk_)
    least_certain = int(np.searchsorted(ranking.values, selector.threshold_, side="right")) - 1
    return to(ranking.in_unit(ranking.conditional_risks()[least_certain]))
