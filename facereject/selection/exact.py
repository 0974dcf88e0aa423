"""Rejection models for a known discrete distribution, and the exchange rate between their settings."""

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
    """The best of all selection functions when the distribution is known and discrete.

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
    stand for the same rule. For example, what does a rejection cost if a risk of 5 % is the right target?

    ``convert(BoundedImprovement(0.05), CostBased, losses, uncertainty).cost``

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
        One of the same three classes. A model of this class already is returned as a copy.
    losses, uncertainty, sample_weight : array-like of shape (n,)
        The sample on which the rules are compared, as in ``fit``. For a known distribution pass the
        conditional risks as both ``losses`` and ``uncertainty``, the probabilities as ``sample_weight``.

    Returns
    -------
    instance of ``to``

    Raises
    ------
    InfeasibleTargetError
        If ``model`` cannot be met, or is met by rejecting everything: that has no selective risk.
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
