"""Confidence score: what the predictor says of itself and its training examples, weighed by SELE."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.utils.validation import check_is_fitted

from facereject._labels import error_probability, top_and_gap
from facereject._validation import FloatArray, check_number, check_same_length, check_vector
from facereject.risks import SELE
from facereject.scores._base import BaseScore, Standardizer, check_sample_weight
from facereject.scores._reading.predictor import check_outputs
from facereject.scores._weighting import count_errors
from facereject.solver import LinearObjective, bundle_minimize

# regularisation and accuracy of a linear start of other scores
START_ALPHA, START_TOL = 1e-3, 1e-3
# largest weight of the standardised base score that is searched, and how exactly it is found: w corrects it
_MAX_BETA, _BETA_TOL = 64.0, 0.01
# least regularisation with a single error; it falls with their number
_ALPHA_OF_ONE = 2.0
# share of the examples at either end of an auxiliary column that count as at the end of the others
_TAIL = 0.02


class Confidence(NamedTuple):
    """Columns about each prediction, (n, m), and the uncertainty the predictor itself states, (n,).

    The last ``n_auxiliary`` columns are auxiliary features, those before them are what the predictor says of
    itself.
    """

    columns: FloatArray
    base_score: FloatArray | None
    n_auxiliary: int = 0


class OutputReader:
    """Turns outputs of a classifier into the numbers that tell how sure it is.

    From probabilities: the log-odds against the prediction log((1 − p)/p), p the largest probability; p; its
    distance to the second largest; the entropy. From decision values: the largest and its distance to the
    second, or the absolute value of a single one. The first column is the base score.
    """

    def __init__(self, outputs: Any):
        values = as_columns(outputs)
        self.n_outputs = values.shape[1]
        self.probabilities = self.n_outputs > 1 and bool(
            values.min() >= 0 and np.abs(values.sum(axis=1) - 1.0).max() < 1e-3
        )
        self.floor = 0.0
        if self.probabilities:
            rest = error_probability(values)
            # an ensemble may be unanimous; how much more certain that is than the next best, nobody knows.
            # What rounds to probability 1 is no less certain than the rest of it
            self.floor = max(0.5 * float(rest[rest > 0].min(initial=1.0)), float(np.finfo(np.float64).eps))

    def __call__(self, outputs: Any) -> FloatArray:
        values = as_columns(outputs)
        if values.shape[1] != self.n_outputs:
            raise ValueError(f"outputs must have {self.n_outputs} columns as in fit, got {values.shape[1]}")
        if self.n_outputs == 1:
            return -np.abs(values)
        top, gap = top_and_gap(values)
        if not self.probabilities:
            return np.column_stack([-gap, -top])
        entropy = -(values * np.log(np.maximum(values, np.finfo(np.float64).tiny))).sum(axis=1)
        odds = np.log(np.maximum(error_probability(values), self.floor)) - np.log(np.maximum(top, self.floor))
        return np.column_stack([odds, -top, -gap, entropy])


class ConfidenceReader:
    """Remembers what ``fit`` was given about the predictor and reads the same from ``predict``."""

    def __init__(self, outputs: Any, auxiliary: Any, base_score: Any, n: int):
        self._outputs = None if outputs is None else OutputReader(outputs)
        self._n_auxiliary = None if auxiliary is None else as_columns(auxiliary, "auxiliary", n).shape[1]
        self._has_base_score = base_score is not None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known but the features."""
        return self._outputs is None and self._n_auxiliary is None and not self._has_base_score

    def __call__(self, outputs: Any, auxiliary: Any, base_score: Any, n: int) -> Confidence:
        for name, value, expected in (
            ("outputs", outputs, self._outputs is not None),
            ("auxiliary", auxiliary, self._n_auxiliary is not None),
            ("base_score", base_score, self._has_base_score),
        ):
            if (value is not None) != expected:
                raise ValueError(f"{name} must be given to fit and to predict, or to neither")
        columns, start = [np.empty((n, 0))], None
        if self._outputs is not None:
            columns.append(self._outputs(as_columns(outputs, "outputs", n)))
            start = columns[-1][:, 0]
        if base_score is not None:
            start = check_vector(base_score, "base_score")
            check_same_length(X=np.empty(n), base_score=start)
            columns.append(start[:, None])
        if auxiliary is not None:
            columns.append(as_columns(auxiliary, "auxiliary", n))
            if columns[-1].shape[1] != self._n_auxiliary:
                raise ValueError(
                    f"auxiliary must have {self._n_auxiliary} columns as in fit, got {columns[-1].shape[1]}"
                )
        return Confidence(np.hstack(columns), start, self._n_auxiliary or 0)


class ColumnRange(NamedTuple):
    """What columns may say at most: beyond, they count as at the end of their range in training.

    For auxiliary features the range is that of all but the most extreme 2 % on either side. A linear score
    multiplies any value of a column: an example that is almost a copy of another one, and yet predicted
    wrongly, would otherwise become the most certain of all, and a single such error makes up a large part of
    a small AuRC.
    """

    lowest: FloatArray
    highest: FloatArray

    @classmethod
    def of(cls, confidence: Confidence) -> ColumnRange:
        """The range of the training columns."""
        columns, m = confidence.columns, confidence.n_auxiliary
        if not columns.size:
            return cls(*np.empty((2, columns.shape[1])))
        lowest, highest = columns.min(axis=0), columns.max(axis=0)
        if m:
            lowest[-m:], highest[-m:] = np.quantile(columns[:, -m:], (_TAIL, 1.0 - _TAIL), axis=0)
        return cls(lowest, highest)

    def __call__(self, columns: FloatArray) -> FloatArray:
        return np.clip(columns, self.lowest, self.highest)


class LinearStart(NamedTuple):
    """s = β (o − ō) + ⟨w, c⟩ + b on standardised columns c within their range; o may be absent."""

    range: ColumnRange
    standardizer: Standardizer
    weights: FloatArray
    centre: float = 0.0
    slope: float = 0.0
    intercept: float = 0.0

    def __call__(self, confidence: Confidence) -> FloatArray:
        inside = self.range(confidence.columns)
        scores = self.standardizer(inside)[:] @ self.weights + self.intercept
        if confidence.base_score is not None:
            scores = scores + self.slope * (confidence.base_score - self.centre)
        return np.asarray(scores, dtype=np.float64)


class ShiftedRisk:
    """risk(start + scores) as a risk of the scores."""

    def __init__(self, risk: Any, start: FloatArray):
        self.risk = risk
        self.start = start
        self.score_shape: tuple[int, ...] = risk.score_shape

    def __call__(self, scores: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.risk(self.start + scores)
        return value, gradient


def fit_start(
    confidence: Confidence, losses: FloatArray, sample_weight: FloatArray | None, alpha: float, tol: float
) -> LinearStart:
    """Minimise SELE first over β ≥ 0 and then over w, both with alpha/2 times their squares.

    The fewer errors there are, the more it is left to chance which of two columns that say nearly the same
    gets the weight: with m errors (``count_errors``) alpha is at least 2/m.
    """
    bounds, base_score = ColumnRange.of(confidence), confidence.base_score
    columns = bounds(confidence.columns)
    mean = float(np.average(losses, weights=sample_weight))
    standardizer = (
        Standardizer.of(columns, sample_weight) if columns.size else Standardizer(*np.empty((2, 0)))
    )
    weights = np.zeros(columns.shape[1])
    if mean <= 0:
        # no error to learn from: the predictor's own order stands
        return LinearStart(bounds, standardizer, weights, slope=0.0 if base_score is None else 1.0)
    alpha = max(alpha, _ALPHA_OF_ONE / count_errors(losses, sample_weight))
    risk: Any = SELE(losses / mean, sample_weight)
    centre = slope = spread = 0.0
    if base_score is not None:
        (centre,), (spread,) = Standardizer.of(base_score[:, None], sample_weight)
        unit = (base_score - centre) / spread
        beta = _fit_slope(risk, unit, alpha)
        slope = beta / spread
        risk = ShiftedRisk(risk, beta * unit)
    if weights.size:
        objective = LinearObjective(standardizer(columns), risk, fit_intercept=False)
        weights = bundle_minimize(objective, alpha, tol=tol).x
    return LinearStart(bounds, standardizer, weights, float(centre), float(slope))


def _fit_slope(risk: Any, unit: FloatArray, alpha: float) -> float:
    """The β ≥ 0 that minimises alpha/2 β² + risk(β unit): where the derivative changes its sign."""

    def derivative(beta: float) -> float:
        return float(alpha * beta + risk(beta * unit)[1] @ unit)

    low, high = 0.0, 1.0
    if derivative(low) >= 0:
        return 0.0
    while derivative(high) < 0:
        if high >= _MAX_BETA:
            return _MAX_BETA
        low, high = high, 2.0 * high
    return float(brentq(derivative, low, high, rtol=_BETA_TOL, xtol=_BETA_TOL))


class ConfidenceScore(BaseScore):
    """Linear score on what the predictor says of itself, without the features: cheap, and hard to fool.

        s = β o + ⟨w, c⟩,     alpha/2 (β² + ‖w‖²) + 1/n² Σᵢ Σⱼ (ℓᵢ/ℓ̄) log(1 + exp(sⱼ − sᵢ))

    o is the uncertainty that the predictor states: the log-odds log((1 − p)/p) against the predicted class,
    or the ``base_score`` given. The columns c hold it again, with the largest output, its distance to the
    second largest, the entropy, and the auxiliary features, of which the most extreme 2 % on either side
    count as the next (``ColumnRange``). β is fitted first, by itself; then w corrects it.
    With m errors alpha is at least 2/m; for losses other than 0/1, m is (Σℓ)²/Σℓ². How much of this may
    change the order of o is decided on held-out losses (``weight_``): with few errors the score is o.

    ``cross_fit`` and ``SelectivePredictor`` supply the auxiliary features: the neighbours of an example in
    the part the predictor was trained on, what other classifiers trained on the same examples think of its
    class, and for a regressor its prediction and spread or, where it states none, what a few random trees
    say.

    Parameters
    ----------
    alpha : float
        Regularisation > 0, on standardised columns; the least, where there are many errors.
    tol : float
        Relative gap to the optimum at which the solver stops.

    Attributes
    ----------
    weight_ : float
        Weight of the learned score against the predictor's own uncertainty o, in [0, 1].
    start_ : LinearStart
        The fitted weights: ``slope`` is β per unit of o, ``weights`` are w on standardised columns.

    See Also
    --------
    PostHocScore : Read from outputs without weighing them.
    BoostedSELEScore : Starts from this score and looks at the features too.

    References
    ----------
    .. [1] V. Franc, D. Prusa, V. Voracek, "Optimal strategies for reject option classifiers", Journal of
       Machine Learning Research 24, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import ConfidenceScore
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.5, 1.0, size=500)
    >>> losses = (rng.uniform(size=500) > p).astype(float)  # a predictor that knows how sure it is
    >>> score = ConfidenceScore().fit(None, losses, outputs=np.column_stack([p, 1 - p]))
    >>> sure, unsure = score.predict(None, outputs=[[0.99, 0.01], [0.55, 0.45]])
    >>> bool(sure < unsure)
    True
    """

    response = "auto"
    reads_auxiliary = True
    reference_models = "few"
    reads_features = False

    def __init__(self, alpha: float = 1e-3, *, tol: float = 1e-3):
        self.alpha = alpha
        self.tol = tol

    def fit(
        self,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
    ) -> ConfidenceScore:
        """Learn the weights.

        Parameters
        ----------
        X : None
            Not used; present so that this score can stand where others do.
        losses : array-like of shape (n,)
            Loss ≥ 0 of each prediction, on examples that the predictor was not trained on.
        predictions : None
            Not used.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples.
        outputs : array-like of shape (n, K) or (n,), optional
            predict_proba or decision_function of a classifier.
        auxiliary : array-like of shape (n, m), optional
            Auxiliary features: further columns about the predictions, as distances to neighbours.
        base_score : array-like of shape (n,), optional
            The predictor's own uncertainty, where the log-odds of its outputs are not it: log plug-in risk
            for a loss other than 0/1, log standard deviation of a regressor.

        Returns
        -------
        self
            The fitted score.
        """
        check_number(self.alpha, "alpha", above=0)
        losses = check_vector(losses, "losses", non_negative=True)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, losses)
        reader = ConfidenceReader(outputs, auxiliary, base_score, len(losses))
        if reader.is_empty:
            raise ValueError(
                "this score learns from the predictor alone: pass outputs, auxiliary or base_score"
            )
        confidence = reader(outputs, auxiliary, base_score, len(losses))
        self._reader = reader
        self.start_ = fit_start(confidence, losses, sample_weight, self.alpha, self.tol)
        given = {"losses": losses, "sample_weight": sample_weight, "outputs": outputs}
        given.update(auxiliary=auxiliary, base_score=base_score)
        self._earn_weight(losses, confidence.base_score, given)
        return self

    def predict(
        self,
        X: Any,
        predictions: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
    ) -> FloatArray:
        """Uncertainty of each prediction; higher = less certain.

        Parameters
        ----------
        X, predictions : None
            Not used.
        outputs, auxiliary, base_score : array-likes with n rows, optional
            As in ``fit``; needed exactly when ``fit`` had them.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        check_is_fitted(self, "start_")
        given = next((part for part in (outputs, auxiliary, base_score) if part is not None), ())
        confidence = self._reader(outputs, auxiliary, base_score, len(given))
        return self._weighting(confidence.base_score, self.start_(confidence))


def as_columns(values: Any, name: str = "outputs", n: int | None = None) -> FloatArray:
    """Finite values as (n, m)."""
    array = check_outputs(values, name)
    if n is not None and len(array) != n:
        raise ValueError(f"{name} must have one row per row of X ({n}), got {len(array)}")
    return array[:, None] if array.ndim == 1 else array
