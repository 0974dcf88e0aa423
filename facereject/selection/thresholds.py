"""The optimal rule of each rejection model on ranked examples; see `facereject.selection.models`.

Separate from the models, which are scikit-learn estimators: a photo is scored without that import.
"""

from __future__ import annotations

import numpy as np

from facereject._validation import check_number
from facereject.selection.errors import InfeasibleTargetError
from facereject.selection.ranking import TOLERANCE, Ranking
from facereject.selection.selector import Selector


def lowest_cost(ranking: Ranking, cost: float) -> Selector:
    """The rule of least L(phi) + cost * (1 - phi)."""
    cost = ranking.scaled(check_number(cost, "cost", minimum=0))
    total = ranking.weight[-1]
    criterion = ranking.loss + cost * (total - ranking.weight)
    tie = TOLERANCE * (ranking.loss[-1] + cost * total)
    best = np.flatnonzero(criterion <= criterion.min() + tie)[-1]
    return ranking.selector(int(best))


def largest_coverage(ranking: Ranking, risk: float) -> Selector:
    """The rule of largest phi with L(phi) / phi <= risk."""
    target = check_number(risk, "risk", minimum=0)
    limit, risks = ranking.scaled(target), ranking.selective_risks
    # Risks are compared as quotients: 29 errors in 100 are at most 0.29, but 0.29 * 100 < 29.
    feasible = np.flatnonzero(risks <= limit * (1 + TOLERANCE))
    if not len(feasible):
        smallest = ranking.in_unit(risks.min())
        raise InfeasibleTargetError(
            f"no threshold has a selective risk of at most {target:g}: the smallest reachable risk is "
            f"{smallest:g}",
            smallest,
        )
    k = int(feasible[-1]) + 1
    if k == len(ranking.values):
        return ranking.selector(k)
    # L(phi) - risk * phi is <= 0 after k groups and > 0 after the next: accept up to its zero in between.
    excess = ranking.loss[k : k + 2] - limit * ranking.weight[k : k + 2]
    acceptance = -min(excess[0], 0.0) / (excess[1] - min(excess[0], 0.0))
    return ranking.selector(k, acceptance if acceptance > TOLERANCE else 0.0)


def lowest_risk(ranking: Ranking, coverage: float) -> Selector:
    """The rule of least L(phi) / phi with phi >= coverage."""
    coverage = check_number(coverage, "coverage", above=0, maximum=1)
    if coverage == 1:
        return ranking.selector(len(ranking.values))
    total = ranking.weight[-1]
    # k groups fit below the target; a share of the next one makes up the rest.
    k = int(np.searchsorted(ranking.weight[:-1], coverage * total * (1 + TOLERANCE), side="right")) - 1
    missing = coverage * total - ranking.weight[k]
    acceptance = missing / (ranking.weight[k + 1] - ranking.weight[k])
    acceptance = acceptance if k == 0 or missing > TOLERANCE * total else 0.0
    risks = ranking.selective_risks[k:]
    if risks.min() < ranking.risk(k, acceptance) * (1 - TOLERANCE):
        beyond = np.flatnonzero(risks <= risks.min() * (1 + TOLERANCE))[0]
        return ranking.selector(k + 1 + int(beyond))
    return ranking.selector(k, acceptance)
