"""How much larger errors are on faces that the landmark predictor has not seen, and a unit that counts it in.

A predictor that was trained on the calibration photos errs less there than elsewhere. Predictors of the same
kind, trained without some photos, show by how much: at equal uncertainty, their errors on unseen photos over
those on seen ones.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from facereject._validation import FloatArray, check_losses_and_uncertainty
from facereject.faces.rejector import FaceRejector


class UnseenRatio(NamedTuple):
    """Error on unseen faces over that on seen ones, by uncertainty: linear between knots, constant beyond.

    Attributes
    ----------
    knots, values : ndarray of shape (k,)
    """

    knots: FloatArray
    values: FloatArray

    def __call__(self, uncertainty: ArrayLike) -> FloatArray:
        """The ratio at some uncertainties."""
        return np.interp(np.asarray(uncertainty, dtype=np.float64), self.knots, self.values)

    def shrunk(self, share: float) -> UnseenRatio:
        """The ratio for a predictor that was trained on more photos.

        The ratio less 1 is taken to go down with the root of the number of photos. That is between what
        was measured with predictors of dlib's kind, hardly at all from 650 to 1,300 photos, and the
        theory of models with few parameters, as one over the number.

        Parameters
        ----------
        share : float
            Photos that the predictors of this ratio were trained on, over those of the other one.

        Examples
        --------
        >>> UnseenRatio(np.array([0.0, 1.0]), np.array([1.5, 1.0])).shrunk(0.25).values.tolist()
        [1.25, 1.0]
        """
        return UnseenRatio(self.knots, 1 + np.sqrt(share) * (self.values - 1))


def unseen_ratio(
    seen: tuple[ArrayLike, ArrayLike], unseen: tuple[ArrayLike, ArrayLike], groups: int = 4
) -> UnseenRatio:
    """The ratio of unseen to seen errors at equal uncertainty.

    The unseen faces are cut into groups of equal size by uncertainty. In each, their mean loss is divided by
    that of the seen faces between the same uncertainties.

    Parameters
    ----------
    seen, unseen : (losses, uncertainty)
        Of faces that the predictor was trained on, and of others.
    groups : int, default=4

    Examples
    --------
    >>> import numpy as np
    >>> u = np.linspace(0, 1, 400)
    >>> ratio = unseen_ratio((1 + u, u), (1.5 * (1 + u), u))
    >>> ratio([0.1, 0.9]).round(2).tolist()
    [1.5, 1.5]
    """
    seen_losses, seen_order = check_losses_and_uncertainty(*seen)
    losses, order = check_losses_and_uncertainty(*unseen)
    edges = np.quantile(order, np.linspace(0, 1, groups + 1))
    edges[0], edges[-1] = -np.inf, np.inf
    knots, values = [], []
    for low, high in itertools.pairwise(edges.tolist()):
        there, here = (order > low) & (order <= high), (seen_order > low) & (seen_order <= high)
        if there.any() and here.any():
            knots.append(float(np.median(order[there])))
            values.append(float(losses[there].mean() / max(seen_losses[here].mean(), 1e-9)))
    return UnseenRatio(np.array(knots), np.array(values))


def for_unseen_faces(rejector: FaceRejector, ratio: UnseenRatio) -> FaceRejector:
    """A rejector whose expected errors are those of unseen faces; a target in percent means these errors.

    The ratio is kept in ``info["unseen_ratio"]``. Until `FaceRejector.with_target` says otherwise, the same
    share of the calibration faces is accepted.
    """
    same = rejector.with_target(coverage=max(rejector.selector.coverage_, 1e-6))
    other = same.with_unseen_losses(ratio(rejector.calibration.uncertainty))
    other.info["unseen_ratio"] = {"uncertainty": ratio.knots.tolist(), "ratio": ratio.values.tolist()}
    return other
