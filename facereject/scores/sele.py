"""SELE score: a linear uncertainty score that minimises the convex proxy of the area under the RC curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray
from facereject.risks import SELE
from facereject.scores._base import ALPHAS
from facereject.scores._linear import LinearScore, LinearScoreCV, Solution
from facereject.solver import LinearObjective, bundle_path
from facereject.solver.standardized import Standardized

if TYPE_CHECKING:
    from facereject.scores._dask import PartitionedObjective


class _SELEPath(LinearScore):
    """Minimises the SELE objective by the bundle method, cuts shared by all alphas."""

    tol: float
    max_iter: int
    _takes_dask = True

    def _path(
        self,
        Z: Standardized,
        target: FloatArray,
        blocks: NDArray[np.intp] | None,
        n_blocks: int,
        sample_weight: FloatArray | None,
        alphas: Sequence[float],
    ) -> list[Solution]:
        mean = np.average(target, weights=sample_weight)
        # losses in units of their mean: alpha then means the same for fractions, percent and pixels
        risk = SELE(target / mean if mean > 0 else target, sample_weight)
        return self._minimise(LinearObjective(Z, risk, blocks, None if blocks is None else n_blocks), alphas)

    def _minimise(
        self, objective: LinearObjective | PartitionedObjective, alphas: Sequence[float]
    ) -> list[Solution]:
        start = _first_step(objective, max(alphas))
        results = bundle_path(objective, alphas, tol=self.tol, max_iter=self.max_iter, x0=start)
        return [Solution(*objective.split(result.x), result.nit, float(result.gap)) for result in results]


def _first_step(objective: LinearObjective | PartitionedObjective, alpha: float) -> FloatArray:
    """One gradient step from zero, by 1/(alpha + a bound on the mean curvature).

    For large alpha this is the minimiser. Zero, which scores all examples alike, is then within ``tol`` of
    the optimum too, and a solver started there would stop at it: every example tied.
    """
    _, gradient = objective(np.zeros(objective.n_weights))
    # ψ'' ≤ mean ‖xᵢ − xⱼ‖²/4 = d/2 for standardised features and losses of mean 1
    return -gradient / (alpha + 0.5 * (objective.n_features + 1))


class SELEScore(_SELEPath):
    """Linear score learned by minimising SELE, over all pairs of examples.

        alpha/2 ‖θ‖² + 1/n² Σᵢ Σⱼ (ℓᵢ/ℓ̄) log(1 + exp(s(xⱼ) − s(xᵢ))),     ℓ̄ the mean loss
        s(x) = ⟨w_k, x⟩ + b_k,  k the predicted class (one block for all without predictions)

    The score orders predictions; its differences are log-odds, not losses. Dividing by the mean loss makes
    the score independent of the unit of the losses. It is the paper's score at C = alpha · ℓ̄.

    Parameters
    ----------
    alpha : float
        Regularisation ≥ 0, of weights and biases alike, on standardised features.
    tol : float
        Relative gap to the optimum at which the solver stops; the paper uses 0.01.
    max_iter : int
        Iterations after which the solver stops with a ConvergenceWarning.

    Attributes
    ----------
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_
        See ``LinearScore``.
    n_iter_ : int
    gap_ : float
        Certified relative distance of the objective from its minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import SELEScore
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> losses = rng.exponential(np.exp(X[:, 0]))  # the first feature tells how hard an example is
    >>> score = SELEScore(alpha=1e-3).fit(X, losses)
    >>> hard, easy = score.predict([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    >>> bool(hard > easy)
    True
    """

    def __init__(self, alpha: float = 1e-3, *, tol: float = 0.01, max_iter: int = 1000):
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, losses: Any, predictions: Any = None, sample_weight: Any = None) -> SELEScore:
        """Learn the score.

        Parameters
        ----------
        X : array-like, Dask array or Dask frame of shape (n, d)
            float32 stays float32. With Dask the optimum is the same; see Notes.
        losses : array-like, Dask array or series of shape (n,)
            Loss ≥ 0 of each prediction, on examples that the predictor was not trained on.
        predictions : array-like, Dask array or series of shape (n,), optional
            Predicted classes: each gets weights and a bias of its own.
        sample_weight : array-like, Dask array or series of shape (n,), optional

        Notes
        -----
        Dask collections need not fit in memory. All arguments have the same partitions, as the columns of one
        frame do; ``dask.dataframe.read_parquet(folder)`` makes such a frame. Partitions are read twice per
        evaluation of the risk, so ``X.persist()`` pays where the workers' memory holds it. Workers keep 30 to
        50 bytes per example; what they send does not grow with the number of examples. A Dask client, if
        there is one, runs the work on its cluster and makes up for lost workers; else local threads run it.
        """
        data = self._check_fit(X, losses, predictions, sample_weight)
        self._adopt(self._models(data, [self.alpha])[0])
        return self


class SELEScoreCV(_SELEPath, LinearScoreCV):
    """``SELEScore`` with alpha picked by validation AuRC; the grid shares cutting planes.

    Parameters
    ----------
    alphas : sequence of float
        Values to try. Of equally good ones the largest is taken.
    cv : int, cross-validation splitter or iterable of (train, test)
        Folds, used when ``fit`` gets no validation set.
    random_state : int, RandomState or None
        Shuffles the rows before they are cut into folds.
    tol, max_iter
        As in ``SELEScore``.

    Attributes
    ----------
    alpha_ : float
    alphas_, validation_aurc_ : ndarrays of equal length
        AuRC on the validation set, or its mean over the folds.
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, n_iter_, gap_
        As in ``SELEScore``.
    """

    def __init__(
        self,
        alphas: Sequence[float] = ALPHAS,
        *,
        cv: Any = 5,
        random_state: Any = 0,
        tol: float = 0.01,
        max_iter: int = 1000,
    ):
        super().__init__(alphas, cv=cv, random_state=random_state)
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        validation: Any = None,
    ) -> SELEScoreCV:
        """Learn the score and its regularisation.

        Parameters
        ----------
        X, losses, predictions, sample_weight
            As in ``SELEScore.fit``. With Dask collections each row is assigned to a fold at random, whatever
            its partition: files are often sorted by time or place, and a fold of whole partitions would then
            differ from the rest. ``cv`` and ``random_state`` must be integers.
        validation : tuple (X, losses) or (X, losses, predictions), optional
            Examples to pick alpha on; without it the training examples are cut into folds, and the score is
            fitted again to all of them at the alpha that won. Every validation example counts the same.
            Arrays in memory or Dask collections, whatever the other arguments are.
        """
        data = self._check_fit(X, losses, predictions, sample_weight)
        self._select(data, data.target, validation)
        return self
