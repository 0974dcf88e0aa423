"""A guaranteed threshold for faces, the rejector that has it, and what else could be guaranteed.

Landmark errors have no upper limit, and no mean of such a quantity can be bounded from a finite sample. So
the promise is about min(error, loss_bound): a lost face counts as an error of ``loss_bound`` percent, however
far off its landmarks are.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject.faces.models.calibration import Calibration, RegionSample
from facereject.faces.models.guarantee import guarantee_record
from facereject.faces.rejector import FaceRejector
from facereject.selection import NoValidThresholdError, guaranteed_risk
from facereject.selection.start import guaranteed_risk_from

#: errors above, in percent, count as this much: a face with such an error is lost
LOSS_BOUND = 20.0

# landmark errors are real numbers: the test for two-valued losses must never be chosen by accident
_METHOD = "betting"

# how many times larger a sample is imagined when asking what more faces could promise
_GROWTH = (1, 2, 4, 8, 16, 32, 64)

# fewer faces say nothing about how many more would do
_ENOUGH_TO_TELL = 20


def independent_rows(photos: Sequence[str], random_state: int = 0) -> NDArray[np.int64]:
    """One row per photo, chosen at random: faces of one photo are no independent draws."""
    order = np.random.default_rng(random_state).permutation(len(photos))
    shuffled = np.asarray(photos, dtype=np.str_)[order]
    return np.sort(order[np.unique(shuffled, return_index=True)[1]])


def certified(
    rejector: FaceRejector,
    losses: Any,
    uncertainty: Any,
    max_error: float,
    *,
    delta: float = 0.05,
    loss_bound: float = LOSS_BOUND,
    regions: RegionSample | None = None,
) -> FaceRejector:
    """A rejector whose threshold is guaranteed, calibrated on faces neither predictor nor score has seen.

    With probability at least 1 - delta over the calibration faces, the mean of min(error, loss_bound) over
    accepted faces is at most ``max_error``, for faces drawn like them; `facereject.guaranteed_risk` says
    what is not promised. The expected errors are fitted again (isotonic regression) on the same faces: they
    are no part of the promise. The promise is kept in ``info["certificate"]``.

    Parameters
    ----------
    rejector : FaceRejector
        It stays as it is.
    losses, uncertainty : array-like of shape (n,)
        Of independent faces; losses in percent.
    max_error : float
        In percent, below ``loss_bound``.
    delta : float
        Probability that the promise fails, between 0 and 1.
    loss_bound : float
        In percent. Choose it before looking at the errors.
    regions : RegionSample or None
        Of the same faces, for `FaceRejector.for_region`.

    Returns
    -------
    FaceRejector

    Raises
    ------
    NoValidThresholdError
        If these faces certify no threshold; the message says what they could promise.

    See Also
    --------
    facereject.guaranteed_risk : The same for any losses and scores.
    FaceRejector.with_target : A target without a guarantee.

    Examples
    --------
    >>> from facereject import FaceRejector
    >>> from facereject.faces import certified
    >>> rejector = FaceRejector.pretrained("dlib")
    >>> # your own annotated faces go here; these are known to the model
    >>> losses, uncertainty = rejector.calibration.losses, rejector.calibration.uncertainty
    >>> certified(rejector, losses, uncertainty, max_error=4).info["certificate"]["delta"]
    0.05
    """
    check_promise(max_error, delta, loss_bound)
    calibration = Calibration(losses=losses, uncertainty=uncertainty, regions=regions)
    try:
        selector = guaranteed_risk_from(
            # what the model was calibrated on before; these faces say where to start
            rejector.calibration.losses,
            rejector.calibration.uncertainty,
            calibration.losses,
            calibration.uncertainty,
            max_risk=max_error,
            delta=delta,
            loss_bound=loss_bound,
            method=_METHOD,
        )
    except NoValidThresholdError:
        raise NoValidThresholdError(_what_could_be(calibration, max_error, delta, loss_bound)) from None
    # full coverage is the rule that accepts every face: a model file holds finite numbers only
    promised = rejector.with_pose_limits().with_target(coverage=1.0)
    promised = promised.with_calibration(losses, uncertainty, regions)
    if math.isfinite(selector.threshold_):
        promised = promised.with_target(threshold=selector.threshold_)
    promised.info["certificate"] = guarantee_record(promised, selector)
    return promised


def check_promise(max_error: float, delta: float, loss_bound: float) -> None:
    """Raise ValueError for what cannot be guaranteed with any faces, before any work is done."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta:g}")
    if not 0 < max_error < loss_bound < math.inf:
        raise ValueError(
            f"max_error must be above 0 and below loss_bound = {loss_bound:g} percent, got {max_error:g}"
        )


def smallest_promise(
    calibration: Calibration, delta: float = 0.05, loss_bound: float = LOSS_BOUND
) -> tuple[float, float] | None:
    """Smallest max_error, to 0.05 percent, that the sample certifies, and the accepted share there.

    None if there is none. It is a hint for the next sample: a bound chosen by looking at a sample carries no
    guarantee from the same sample.
    """

    def share(max_error: float) -> float | None:
        return _certified_share(calibration, max_error, delta, loss_bound)

    errors = np.arange(0.05, loss_bound, 0.05).round(2).tolist()
    # a larger error is easier to promise
    place = bisect.bisect_left(errors, True, key=lambda error: share(error) is not None)
    covered = share(errors[place]) if place < len(errors) else None
    return None if covered is None else (errors[place], covered)


def fewest_faces(max_error: float, delta: float = 0.05, loss_bound: float = LOSS_BOUND) -> int:
    """The smallest sample that certifies ``max_error`` if all of its errors are 0."""

    def enough(n: int) -> bool:
        sample = Calibration(np.zeros(n), np.arange(n))
        return _certified_share(sample, max_error, delta, loss_bound) is not None

    most = 2
    while not enough(most):
        most *= 2
    return bisect.bisect_left(range(most), True, lo=1, key=enough)


def faces_needed(
    calibration: Calibration, max_error: float, delta: float = 0.05, loss_bound: float = LOSS_BOUND
) -> int | None:
    """How many faces like these might certify ``max_error``; None if 64 times as many would not.

    The larger sample is this one repeated, so it may take more new faces.
    """
    order = np.argsort(calibration.uncertainty, kind="stable")

    def enough(n: int) -> bool:
        # every face as often as the others, as nearly as that goes
        rows = order[np.arange(n) * len(order) // n]
        larger = Calibration(losses=calibration.losses[rows], uncertainty=calibration.uncertainty[rows])
        return _certified_share(larger, max_error, delta, loss_bound) is not None

    most = next((times * len(order) for times in _GROWTH if enough(times * len(order))), 0)
    # to about a tenth: a sample cannot tell more
    step = max(1, most // 20)
    return (
        next((n for n in (*range(most // 2 + step, most, step), most) if enough(n)), None) if most else None
    )


def _certified_share(
    calibration: Calibration, max_error: float, delta: float, loss_bound: float
) -> float | None:
    """Accepted share of the largest threshold that these faces certify; None if there is none."""
    try:
        return guaranteed_risk(
            losses=calibration.losses,
            uncertainty=calibration.uncertainty,
            max_risk=max_error,
            delta=delta,
            loss_bound=loss_bound,
            method=_METHOD,
        ).coverage_
    except NoValidThresholdError:
        return None


def _what_could_be(calibration: Calibration, max_error: float, delta: float, loss_bound: float) -> str:
    n = len(calibration.losses)
    text = (
        f"no threshold can guarantee a mean error of at most {max_error:g} % with confidence {1 - delta:g} "
        f"from {'this face' if n == 1 else f'these {n} faces'}"
    )
    smallest = smallest_promise(calibration, delta, loss_bound)
    # from the ranks of these faces alone; where that is less than was asked for, it is no advice
    if smallest is not None and smallest[0] > max_error:
        text += f". They can guarantee {smallest[0]:g} %, accepting {smallest[1]:.0%} of them"
    if n < _ENOUGH_TO_TELL:
        least = fewest_faces(max_error, delta, loss_bound)
        text += f". At least {least:,} are needed, even if every error were 0"
    elif (needed := faces_needed(calibration, max_error, delta, loss_bound)) is not None:
        text += f". If the errors stay like these, about {needed:,} faces can guarantee {max_error:g} %"
    else:
        text += f". More faces like these would not help: their errors are too large for {max_error:g} %"
    lower = smaller_bound(calibration, max_error, delta, loss_bound) if n >= _ENOUGH_TO_TELL else None
    if lower is not None:
        text += (
            f". With a loss bound of {lower[0]:g} % (larger errors count as that much) about {lower[1]:,} "
            "faces could"
        )
    return text + ". Choose a target, then certify it on faces that were not used to choose it"


def smaller_bound(
    calibration: Calibration, max_error: float, delta: float, loss_bound: float
) -> tuple[float, int] | None:
    """A smaller ``loss_bound`` with which fewer faces like these might certify ``max_error``, and how many.

    The largest of some round fractions of the bound that takes at most half as many faces; None if there is
    none. Like every hint from this sample, it is for the next one.
    """
    needed = faces_needed(calibration, max_error, delta, loss_bound)
    for share in (0.75, 0.5, 0.4, 0.3, 0.25):
        bound = loss_bound * share
        if bound < 2 * max_error:
            break
        fewer = faces_needed(calibration, max_error, delta, bound)
        if fewer is not None and (needed is None or 2 * fewer <= needed):
            return bound, fewer
    return None
