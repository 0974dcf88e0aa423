"""The question a risk guarantee answers: checked arguments, what they certify, the rule with its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._validation import (
    FloatArray,
    check_integer,
    check_losses_and_uncertainty,
    check_number,
    check_same_length,
    check_vector,
)
from facereject._words import counted
from facereject.selection._walk import (
    Sample,
    Start,
    fixed_start,
    largest_below,
    largest_certified,
    part_of,
    rank_starts,
    walk_stop,
)
from facereject.selection.selector import GroupSelection, Guarantee

#: rows of every group by its name
Groups = Mapping[str, NDArray[np.intp]]

METHODS = ("auto", "binomial", "betting", "hoeffding-bentkus")

# groups that a message lists
_SHOWN_GROUPS = 10


class Certified(NamedTuple):
    """The largest certified threshold, None if there is none, and the groups in which none is certified."""

    threshold: float | None
    unsafe: list[str]


@dataclass(frozen=True)
class RiskProblem:
    """Checked arguments of a risk guarantee; losses and weights are divided by their bounds."""

    losses: FloatArray
    uncertainty: FloatArray
    weights: FloatArray | None
    max_risk: float
    delta: float
    loss_bound: float
    weight_bound: float | None
    method: str
    n_clipped: int
    random_state: int | None = None

    @classmethod
    def of(
        cls,
        losses: Any,
        uncertainty: Any,
        max_risk: Any,
        delta: Any,
        loss_bound: Any,
        weights: Any,
        weight_bound: Any,
        method: str,
        random_state: Any = None,
    ) -> RiskProblem:
        losses, uncertainty = check_losses_and_uncertainty(losses, uncertainty)
        loss_bound = check_number(loss_bound, "loss_bound", above=0)
        max_risk = check_number(max_risk, "max_risk", above=0)
        if max_risk >= loss_bound:
            raise ValueError(
                f"max_risk must be below loss_bound, got {max_risk:g} and {loss_bound:g}: losses count at "
                "most loss_bound, which must suit their unit"
            )
        delta = check_number(delta, "delta", above=0, below=1)
        if weights is None:
            if weight_bound is not None:
                raise ValueError("weight_bound needs weights")
        else:
            weights = check_vector(weights, "weights", non_negative=True)
            check_same_length(losses=losses, uncertainty=uncertainty, weights=weights)
            if not weights.any():
                raise ValueError("weights must have a positive entry")
            weight_bound = check_number(
                float(weights.max()) if weight_bound is None else weight_bound, "weight_bound", above=0
            )
            weights = np.minimum(weights, weight_bound) / weight_bound
        clipped = np.minimum(losses, loss_bound)
        method = _resolve_method(method, clipped, loss_bound)
        if random_state is not None:
            random_state = check_integer(random_state, "random_state", minimum=0)
            if method == "hoeffding-bentkus":
                raise ValueError("random_state needs the method 'binomial' or 'betting'")
        return cls(
            losses=np.divide(clipped, loss_bound, out=clipped),
            uncertainty=uncertainty,
            weights=weights,
            max_risk=max_risk,
            delta=delta,
            loss_bound=loss_bound,
            weight_bound=weight_bound,
            method=method,
            n_clipped=int(np.count_nonzero(losses > loss_bound)),
            random_state=random_state,
        )

    @property
    def risk(self) -> float:
        """``max_risk`` in units of ``loss_bound``."""
        return self.max_risk / self.loss_bound

    def part(self, rows: Any) -> RiskProblem:
        """The same question for some of the examples."""
        return replace(
            self,
            losses=self.losses[rows],
            uncertainty=self.uncertainty[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def certified(self, start: float | None, start_share: float, groups: Groups) -> Certified:
        """The largest threshold that is certified for all groups; without groups, for all examples."""
        sample = Sample.of(self.losses, self.uncertainty, self.weights)
        members = {name: np.isin(sample.rows, rows) for name, rows in groups.items()}
        smallest = min((int(np.count_nonzero(mine)) for mine in members.values()), default=None)
        starts: list[Start] = []
        if start is not None:
            starts.append(fixed_start(sample, start, start_share * self.delta))
        if start is None or start_share < 1:
            rest = self.delta if start is None else (1 - start_share) * self.delta
            starts += rank_starts(len(sample.losses), self.risk, rest, smallest)
        if len(groups) < 2:
            tests = sample.tests(self.method, self.risk, self.delta, self.random_state)
            threshold = largest_certified(sample, tests, starts, self.method, self.risk)
            return Certified(threshold, [] if threshold is not None else list(groups))
        found: list[float | None] = []
        safe: set[str] = set()
        parts = {name: part_of(sample, mine) for name, mine in members.items()}
        p_values = {
            name: part.p_values(self.method, self.risk, self.delta, self.random_state)
            for name, part in parts.items()
        }
        for begin in starts:
            stops: dict[str, float] = {}
            for name, part in parts.items():
                count = int(np.count_nonzero(members[name][: begin.count]))
                stop = walk_stop(part, p_values[name], count, begin.budget)
                if stop is not None:
                    stops[name] = stop
            safe.update(stops)
            if len(stops) == len(parts):
                found.append(largest_below(sample, begin, min(stops.values())))
        thresholds = [threshold for threshold in found if threshold is not None]
        return Certified(max(thresholds, default=None), [name for name in groups if name not in safe])

    def measure(self, accepted: NDArray[np.bool_]) -> tuple[float, float]:
        """Coverage and selective risk of a choice of examples."""
        weights = np.ones_like(self.losses) if self.weights is None else self.weights
        mass, total = float(weights[accepted].sum()), float(weights.sum())
        risk = float(weights[accepted] @ self.losses[accepted]) / mass if mass > 0 else math.nan
        return mass / total if total > 0 else math.nan, self.loss_bound * risk

    def group_result(self, name: str, threshold: float) -> GroupSelection:
        """The numbers of a group, of which these are the examples."""
        accepted = self.uncertainty <= threshold
        coverage, risk = self.measure(accepted)
        return GroupSelection(
            name, len(self.losses), int(np.count_nonzero(accepted)), coverage, risk, threshold
        )

    def guarantee(
        self,
        groups: tuple[GroupSelection, ...] = (),
        group_delta: float | None = None,
        start: float | None = None,
    ) -> Guarantee:
        """What is promised."""
        return Guarantee(
            quantity="risk",
            bound=self.max_risk,
            delta=self.delta,
            n=len(self.losses),
            method=self.method + ("" if self.random_state is None else f", random_state {self.random_state}"),
            loss_bound=self.loss_bound,
            n_clipped=self.n_clipped,
            start=start,
            group_delta=group_delta,
            groups=groups,
            weight_bound=self.weight_bound,
        )

    def why_none(self, level: float, groups: Groups, unsafe: list[str]) -> str:
        """Why no threshold is certified, and what would help."""
        n, bound = len(self.losses), self.loss_bound
        fewest = math.ceil(math.log(level) / math.log1p(-self.risk))
        where = ""
        if groups:
            more = f" and {len(unsafe) - _SHOWN_GROUPS} more" if len(unsafe) > _SHOWN_GROUPS else ""
            listed = ", ".join(unsafe[:_SHOWN_GROUPS]) + more
            where = f" in every group (none in: {listed})" if unsafe else " common to all groups"
        clipped = ""
        if self.n_clipped:
            losses = counted(self.n_clipped, "loss was", "losses were")
            clipped = f"; {losses} clipped to loss_bound = {bound:g}"
        return (
            f"{n} calibration examples certify no threshold{where} with a selective risk of at most "
            f"{self.max_risk:g} at delta = {self.delta:g} (even without any loss it takes {fewest} accepted "
            f"examples{' of each group' if groups else ''}); use more examples, or a larger max_risk or delta"
            + clipped
            + (", which seems too small for their unit" if 2 * self.n_clipped > n else "")
        )


def check_start(start: Any, start_share: Any) -> tuple[float | None, float]:
    start_share = check_number(start_share, "start_share", above=0, maximum=1)
    return None if start is None else check_number(start, "start"), start_share


def _resolve_method(method: str, clipped: FloatArray, loss_bound: float) -> str:
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    two_valued = bool(np.all((clipped == 0) | (clipped == loss_bound)))
    if method == "binomial" and not two_valued:
        raise ValueError(
            f"losses must be 0 or at least loss_bound = {loss_bound:g} for the binomial method; use 'betting'"
        )
    if method == "auto":
        return "binomial" if two_valued else "betting"
    return method
