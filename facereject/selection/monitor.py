"""Monitors of a rule in use: alarms about its risk or coverage that are valid at any time.

**The bet.** Under the hypothesis "all is well" each new loss x_i in [0, 1] has, given everything before it,
a mean of at most m. A gambler who bets on large losses then multiplies his capital by 1 + b (x_i - m), with a
bet 0 <= b < 1/m, and can expect no gain: the capital is a supermartingale that starts at 1. By Ville's
inequality it *ever* reaches 1/delta with probability at most delta: one may look after every label, stop and
go on at will. So the alarm is raised when it does.

**Many gamblers.** One of them, who bets b from example j on, holds 1 before and then, after example i,
K_i(b, j) = prod_{j <= k <= i} (1 + b (x_k - m)). The evidence is the mean of all of them, uniform over a grid
of bets and with weights q(j) = T(j - 1) - T(j), T(i) = 1 / (1 + log(1 + i)), over the beginnings: it is such
a capital again. The sum over the beginnings needs one number per bet, A_i = (A_{i-1} + q(i)) (1 + b (x_i -
m)), and the capital T(i) of those yet to begin. A change after j good examples is found although the early
gamblers have lost their money; it costs about log(j) of the logarithm of the evidence.
"""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from facereject._validation import FloatArray, check_number, check_same_length, check_vector

# Bets stay below the largest admissible one, with which a single loss of 0 would lose the capital for ever.
_LARGEST_BET = 0.95
_N_BETS = 12
_BET_RATIO = 2.0


@dataclass
class _Evidence:
    """Capital of all gamblers, as logarithms; ``mean`` is m."""

    mean: float
    n: int = 0
    log_capital: FloatArray = field(default_factory=lambda: np.full(_N_BETS, -np.inf))

    @property
    def bets(self) -> FloatArray:
        return _LARGEST_BET / self.mean * _BET_RATIO ** -np.arange(_N_BETS, dtype=np.float64)

    def add(self, values: FloatArray) -> FloatArray:
        """Logarithm of the evidence after each of the values."""
        path = np.empty(len(values))
        gains = np.log1p(np.multiply.outer(values - self.mean, self.bets))
        for i, gain in enumerate(gains):
            begin = math.log(_yet_to_begin(self.n) - _yet_to_begin(self.n + 1))
            self.n += 1
            self.log_capital = np.logaddexp(self.log_capital, begin) + gain
            waiting = math.log(_yet_to_begin(self.n))
            betting = float(np.logaddexp.reduce(self.log_capital)) - math.log(_N_BETS)
            path[i] = np.logaddexp(waiting, betting)
        return path


def _yet_to_begin(i: int) -> float:
    return 1 / (1 + math.log1p(i))


class Monitor(metaclass=ABCMeta):
    """Base of the monitors.

    Attributes
    ----------
    n_ : int
        Number of examples seen.
    mean_ : float
        Mean of what is watched over all of them; NaN before the first.
    evidence_ : float
        Evidence against "all is well": at most 1 in expectation as long as it is. 1 at the beginning.
    alarm_ : bool
        Whether the evidence has ever reached 1 / delta.
    alarm_at_ : int or None
        After how many examples it first did.
    values_ : ndarray of shape (n_,)
        What was watched.
    evidence_path_ : ndarray of shape (n_,)
        The evidence after each example.
    """

    def __init__(self, hypothesis: float, delta: float) -> None:
        self.delta = check_number(delta, "delta", above=0, below=1)
        self._evidence = _Evidence(hypothesis)
        self._values: list[FloatArray] = []
        self._log_path: list[FloatArray] = []
        self.alarm_at_: int | None = None

    @property
    @abstractmethod
    def limit(self) -> float:
        """The value that must not be passed."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """What is known so far, in one sentence."""

    def _add(self, values: FloatArray, scaled: FloatArray) -> bool:
        path = self._evidence.add(scaled)
        reached = np.flatnonzero(path >= -math.log(self.delta))
        if self.alarm_at_ is None and len(reached):
            self.alarm_at_ = self.n_ - len(path) + int(reached[0]) + 1
        self._values.append(values)
        self._log_path.append(path)
        return self.alarm_

    @property
    def n_(self) -> int:
        """Number of examples seen."""
        return self._evidence.n

    @property
    def alarm_(self) -> bool:
        """Whether the evidence has ever reached 1 / delta."""
        return self.alarm_at_ is not None

    @property
    def values_(self) -> FloatArray:
        """The watched values."""
        return np.concatenate(self._values) if self._values else np.empty(0)

    @property
    def mean_(self) -> float:
        """Mean of the watched values; NaN before the first."""
        return float(self.values_.mean()) if self.n_ else math.nan

    @property
    def evidence_path_(self) -> FloatArray:
        """The evidence after each example."""
        # exp(700) is near the largest number; more evidence than that is of no interest
        return np.exp(np.minimum(np.concatenate(self._log_path), 700.0)) if self._log_path else np.empty(0)

    @property
    def evidence_(self) -> float:
        """Evidence that the limit has been passed; 1 at the beginning."""
        path = self.evidence_path_
        return float(path[-1]) if len(path) else 1.0

    def _verdict(self, watched: str, unit: str) -> str:
        if self.alarm_:
            return (
                f"Alarm after {self.alarm_at_} {unit}: {watched}. Had it never been so, an alarm would have "
                f"come with probability at most {self.delta:g}, however long one watches."
            )
        return f"No alarm after {self.n_} {unit}: no evidence that {watched}."

    def __repr__(self) -> str:
        state = f"alarm at {self.alarm_at_}" if self.alarm_ else f"evidence {self.evidence_:.3g}"
        return f"{type(self).__name__}(limit={self.limit:g}, n={self.n_}, mean={self.mean_:.4g}, {state})"


class RiskMonitor(Monitor):
    """Watch the risk of accepted predictions as their labels arrive.

    Alarm means: the mean loss of accepted predictions was above ``max_risk`` at some time. False alarms: as
    long as each loss has, given those before, an expectation of at most ``max_risk``, the probability of ever
    raising an alarm is at most ``delta``. No number of examples need be fixed, and one may look at any time.
    Labels may come late and for few predictions only, but which ones are labelled must not depend on the
    loss, or it is the risk of the labelled ones that is watched.

    Parameters
    ----------
    max_risk : float
        What the risk must not exceed, 0 < max_risk < loss_bound; for a guaranteed selector
        ``selector.guarantee_.bound``.
    delta : float
        Probability of a false alarm, over all time.
    loss_bound : float
        Losses above it are clipped to it, as in `guaranteed_risk`.

    See Also
    --------
    CoverageMonitor : Needs no labels.
    guaranteed_risk : A threshold with a guarantee to watch.
    facereject.plotting.MonitorDisplay : Draws the course of a monitor.

    References
    ----------
    A. Podkopaev, A. Ramdas: Tracking the risk of a deployed model and detecting harmful distribution shifts.
    ICLR, 2022.

    Examples
    --------
    >>> from facereject.selection import RiskMonitor
    >>> monitor = RiskMonitor(max_risk=0.05)
    >>> monitor.update(losses=[0, 0, 1, 0])
    False
    >>> monitor.update(losses=[1, 1, 1, 1])
    True
    >>> monitor.alarm_at_
    6
    """

    def __init__(self, max_risk: float, delta: float = 0.05, loss_bound: float = 1.0) -> None:
        self.loss_bound = check_number(loss_bound, "loss_bound", above=0)
        self.max_risk = check_number(max_risk, "max_risk", above=0, below=self.loss_bound)
        super().__init__(self.max_risk / self.loss_bound, delta)
        self._zero_one = self.loss_bound == 1

    @property
    def limit(self) -> float:
        """The largest allowed risk, ``max_risk``."""
        return self.max_risk

    def update(self, losses: Any, accepted: Any = None) -> bool:
        """Add labelled predictions in the order in which the labels came.

        Parameters
        ----------
        losses : array-like of shape (n,)
            Losses >= 0; may be empty.
        accepted : array-like of bool of shape (n,), optional
            Which of the predictions were accepted; the others are left out. By default all.

        Returns
        -------
        bool
            Whether there has been an alarm, now or before.
        """
        x = check_vector(losses, "losses", non_negative=True, min_length=0)
        if accepted is not None:
            mask = _check_accepted(accepted)
            check_same_length(losses=x, accepted=mask)
            x = x[mask]
        self._zero_one &= bool(((x == 0) | (x == 1)).all())
        x = np.minimum(x, self.loss_bound)
        return self._add(x, x / self.loss_bound)

    @property
    def statement(self) -> str:
        """What is known so far, in one sentence."""
        risk = "error rate" if self._zero_one else f"mean of min(loss, {self.loss_bound:g})"
        return self._verdict(
            f"the {risk} of accepted predictions is above {self.max_risk:g}", "labels of accepted predictions"
        )


class CoverageMonitor(Monitor):
    """Watch the share of accepted predictions; no labels are needed.

    Alarm means: the share was below ``min_coverage`` at some time, for instance because the data became
    harder. As long as each prediction is accepted, given those before, with probability at least
    ``min_coverage``, the probability of ever raising an alarm is at most ``delta``.

    Parameters
    ----------
    min_coverage : float
        Between 0 and 1; for a rule of `guaranteed_coverage`, ``selector.guarantee_.bound``.
    delta : float
        Probability of a false alarm, over all time.

    See Also
    --------
    RiskMonitor : Watches the risk.
    guaranteed_coverage : A threshold with a guarantee to watch.

    Examples
    --------
    >>> from facereject.selection import CoverageMonitor
    >>> monitor = CoverageMonitor(min_coverage=0.8)
    >>> monitor.update(accepted=[True] * 8 + [False] * 2)
    False
    >>> monitor.update(accepted=[False] * 10)
    True
    """

    def __init__(self, min_coverage: float, delta: float = 0.05) -> None:
        self.min_coverage = check_number(min_coverage, "min_coverage", above=0, below=1)
        super().__init__(1 - self.min_coverage, delta)

    @property
    def limit(self) -> float:
        """The smallest allowed coverage, ``min_coverage``."""
        return self.min_coverage

    def update(self, accepted: Any) -> bool:
        """Add decisions in their order.

        Parameters
        ----------
        accepted : array-like of bool of shape (n,)
            True where the prediction was accepted; may be empty.

        Returns
        -------
        bool
            Whether there has been an alarm, now or before.
        """
        x = _check_accepted(accepted).astype(np.float64)
        return self._add(x, 1 - x)

    @property
    def statement(self) -> str:
        """What is known so far, in one sentence."""
        return self._verdict(
            f"less than {self.min_coverage:g} of the predictions are accepted", "predictions"
        )


def _check_accepted(accepted: Any) -> Any:
    array = np.asarray(accepted)
    if array.ndim != 1:
        raise ValueError(f"accepted must be one-dimensional, got an array of shape {array.shape}")
    if array.size and array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise ValueError("accepted must hold True or False")
    return array.astype(np.bool_)
