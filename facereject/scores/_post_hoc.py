"""Uncertainty read from saved outputs of a classifier: logits or probabilities, no estimator needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from facereject._labels import top_and_gap
from facereject._validation import FloatArray, check_same_length, check_vector
from facereject.losses import zero_one_loss
from facereject.metrics import aurc
from facereject.scores._base import BaseScore, check_sample_weight
from facereject.scores._reading.predictor import check_outputs
from facereject.scores._weighting import compare_areas

# a probability below this is written as this: its logarithm must be finite
_SMALLEST = 1e-30


def _odds(logits: FloatArray) -> FloatArray:
    """log((1 − p)/p) of the largest softmax probability p, without rounding p to 1."""
    ordered = np.partition(logits, logits.shape[1] - 1, axis=1)
    return np.asarray(logsumexp(ordered[:, :-1], axis=1) - ordered[:, -1])


def _entropy(logits: FloatArray) -> FloatArray:
    logs = log_softmax(logits, axis=1)
    return np.asarray(-(np.exp(logs) * logs).sum(axis=1))


def _doctor(logits: FloatArray) -> FloatArray:
    """log((1 − g)/g), g = Σ p²: the odds of a wrong label drawn from p twice."""
    logs = log_softmax(logits, axis=1)
    agreement = logsumexp(2.0 * logs, axis=1)
    return np.asarray(np.log(np.maximum(-np.expm1(agreement), _SMALLEST)) - agreement)


def _normalised_logit(logits: FloatArray, p: float) -> FloatArray:
    """−max z/‖z‖_p of centred logits z; p = 0 leaves them as they are."""
    centred = logits - logits.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, ord=p, axis=1) if p else 1.0
    return np.asarray(-centred.max(axis=1) / np.maximum(length, _SMALLEST))


#: kind -> (formula of the logits and a parameter, values of the parameter to try)
_KINDS: dict[str, tuple[Callable[[FloatArray, float], FloatArray], tuple[float, ...]]] = {
    "max-softmax": (lambda z, _: _odds(z), (1.0,)),
    "gap": (lambda z, _: -top_and_gap(z)[1], (1.0,)),
    "entropy": (lambda z, _: _entropy(z), (1.0,)),
    "energy": (lambda z, _: -logsumexp(z, axis=1), (1.0,)),
    "doctor": (lambda z, _: _doctor(z), (1.0,)),
    # where all are equally good, the first
    "temperature": (lambda z, t: _odds(z / t), (1.0, 2.0, 0.5, 4.0, 0.25, 8.0, 0.125, 16.0, 32.0)),
    "max-logit": (_normalised_logit, tuple(float(p) for p in range(9))),
}


class PostHocScore(BaseScore):
    """Uncertainty computed from the logits or probabilities of a classifier; at most one number is learned.

    =============  ====================================================================================
    max-softmax    odds against the most probable class
    gap            negated distance of the two largest logits
    entropy        of the probabilities
    energy         −log Σ exp z (Liu et al. 2020); constant for probabilities
    doctor         odds that two draws from the probabilities differ (Granese et al. 2021)
    temperature    max-softmax of z/T, T chosen by AuRC
    max-logit      −max z/‖z‖_p of centred logits, p in 0 … 8 chosen by AuRC (Cattelan and Silva 2024)
    auto           the one with the lowest AuRC, unless max-softmax is within 1.25 standard errors of it
    =============  ====================================================================================

    Parameters
    ----------
    kind : str
        A row of the table.

    Attributes
    ----------
    kind_ : str
        The kind that is used: ``kind``, or the one that "auto" has chosen.
    parameter_ : float
        Temperature or p; 1 where there is none.
    probabilities_ : bool
        Whether ``fit`` was given probabilities.
    weight_ : float
        1: nothing is mixed with it.

    See Also
    --------
    ConfidenceScore : weighs such columns and others by SELE.
    facereject.selective.SelectivePredictor.from_outputs : starts from ``PostHocScore("auto")``.

    References
    ----------
    .. [1] W. Liu, X. Wang, J. Owens, Y. Li, "Energy-based out-of-distribution detection", NeurIPS 2020.
    .. [2] F. Granese, M. Romanelli, D. Gorla, C. Palamidessi, P. Piantanida, "DOCTOR: a simple method for
       detecting misclassification errors", NeurIPS 2021.
    .. [3] L. F. P. Cattelan, D. Silva, "How to fix a broken confidence estimator: evaluating post-hoc methods
       for selective classification with deep neural networks", UAI 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import PostHocScore
    >>> logits = np.array([[4.0, 0.0, 0.0], [1.0, 0.9, 0.0], [9.0, 8.9, 0.0]])
    >>> PostHocScore("gap").fit(None, outputs=logits).predict(None, outputs=logits).round(1)
    array([-4. , -0.1, -0.1])
    """

    response = "auto"
    reads_features = False

    def __init__(self, kind: str = "auto"):
        self.kind = kind

    def fit(
        self,
        X: Any,
        losses: Any = None,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any,
    ) -> PostHocScore:
        """Choose kind and parameter where there is a choice.

        Parameters
        ----------
        X : None
            Not used; present so that this score can stand where others do.
        losses : array-like of shape (n,), optional
            Loss ≥ 0 of each prediction; needed for "temperature", "max-logit" and "auto".
        predictions : None
            Not used.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples.
        outputs : array-like of shape (n, K)
            Logits or probabilities, one column per class.

        Returns
        -------
        self
            The fitted score.
        """
        if self.kind != "auto" and self.kind not in _KINDS:
            raise ValueError(f"kind must be one of {', '.join([*_KINDS, 'auto'])}, got {self.kind!r}")
        self.probabilities_ = are_probabilities(outputs)
        logits = as_logits(outputs, self.probabilities_)
        self.n_outputs_ = logits.shape[1]
        kinds = tuple(_KINDS) if self.kind == "auto" else (self.kind,)
        self.kind_, self.parameter_, self.weight_ = kinds[0], _KINDS[kinds[0]][1][0], 1.0
        choices = [(kind, value) for kind in kinds for value in _KINDS[kind][1]]
        if len(choices) == 1:
            return self
        if losses is None:
            raise ValueError(f"losses are needed to choose the parameter of {self.kind!r}")
        losses = check_vector(losses, "losses", non_negative=True)
        check_same_length(outputs=logits, losses=losses)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, losses)
        scores = [_KINDS[kind][0](logits, value) for kind, value in choices]
        if self.kind != "auto":
            best = int(np.argmin([aurc(losses, score) for score in scores]))
        else:
            best, equal = compare_areas(losses, scores, sample_weight)
            # max-softmax is what everybody has: another one must be clearly better
            best = 0 if 0 in equal else best
        self.kind_, self.parameter_ = choices[best]
        return self

    def predict(self, X: Any, predictions: Any = None, *, outputs: Any) -> FloatArray:
        """Uncertainty of each row of ``outputs``; higher = less certain.

        Parameters
        ----------
        X, predictions : None
            Not used.
        outputs : array-like of shape (n, K)
            Logits or probabilities, as in ``fit``.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        check_is_fitted(self, "kind_")
        logits = as_logits(outputs, self.probabilities_)
        if logits.shape[1] != self.n_outputs_:
            raise ValueError(f"outputs must have {self.n_outputs_} columns as in fit, got {logits.shape[1]}")
        return np.asarray(_KINDS[self.kind_][0](logits, self.parameter_), dtype=np.float64)


class SavedOutputs(ClassifierMixin, BaseEstimator):
    """A classifier that was run elsewhere: the columns of X are its outputs, then features if there are any.

    Parameters
    ----------
    classes : ndarray of shape (K,)
    base : PostHocScore
        The uncertainty that other scores start from; fitted.
    n_features : int
        Number of features.
    """

    def __init__(self, classes: NDArray[Any], base: PostHocScore, n_features: int = 0):
        self.classes = classes
        self.base = base
        self.n_features = n_features

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels of the columns."""
        return self.classes

    @classmethod
    def of(cls, outputs: Any, y: Any, classes: Any, loss: Callable[[Any, Any], Any] | None) -> SavedOutputs:
        """The classifier behind outputs for examples with labels y."""
        logits = as_logits(outputs, are_probabilities(outputs))
        labels = np.arange(logits.shape[1]) if classes is None else np.asarray(classes)
        if labels.shape != (logits.shape[1],):
            raise ValueError(
                f"classes must name the {logits.shape[1]} columns of outputs, got {labels.shape}"
            )
        if len(np.unique(labels)) != len(labels) or (np.sort(labels) != labels).any():
            raise ValueError("classes must be different and in ascending order, as the columns of outputs")
        y = np.asarray(y)
        check_same_length(outputs=logits, y=y)
        known = np.isin(y, labels)
        # with names for the columns, some examples may be of another class
        if not (known.all() if classes is None else known.any()):
            raise ValueError(
                f"y holds {y[~known].tolist()[0]!r}, but the columns of outputs are the classes "
                f"{labels.tolist()[0]!r} to {labels.tolist()[-1]!r}: pass classes, the label of each column "
                "of outputs"
            )
        losses = (zero_one_loss if loss is None else loss)(y, labels[logits.argmax(axis=1)])
        return cls(labels, PostHocScore().fit(None, losses, outputs=outputs))

    def table(self, outputs: Any, features: Any) -> FloatArray:
        """X: logits and features side by side."""
        columns = as_logits(outputs, self.base.probabilities_)
        if features is None:
            return columns
        features = np.asarray(features, dtype=np.float64)
        if features.ndim != 2 or len(features) != len(columns):
            raise ValueError(f"features must have shape ({len(columns)}, d), got {features.shape}")
        self.n_features = features.shape[1]
        return np.hstack([columns, features])

    def outputs(self, X: Any) -> FloatArray:
        """The columns of X that are outputs, as logits."""
        return as_logits(self._split(X)[0], self.base.probabilities_)

    def features(self, X: Any) -> FloatArray:
        """What scores may learn from: the features, or the outputs where there are none."""
        return self._split(X)[1] if self.n_features else self.outputs(X)

    def _split(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Outputs, in one column or one per class, and features."""
        table = np.asarray(X, dtype=np.float64)
        table = table[:, None] if table.ndim == 1 else table
        n_outputs = table.shape[1] - self.n_features
        if n_outputs != len(self.classes) and (n_outputs, len(self.classes)) != (1, 2):
            raise ValueError(
                f"X must have {len(self.classes)} columns of outputs and {self.n_features} of features, got "
                f"{table.shape[1]} columns"
            )
        return table[:, :n_outputs], table[:, n_outputs:]

    def own_uncertainty(self, X: Any) -> FloatArray:
        """The best score that can be read from the outputs."""
        return self.base.predict(None, outputs=self.outputs(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Softmax of the outputs; probabilities as they are."""
        return np.asarray(np.exp(log_softmax(self.outputs(X), axis=1)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest output."""
        return np.asarray(self.classes[self.outputs(X).argmax(axis=1)])


def are_probabilities(outputs: Any) -> bool:
    """Whether all rows are probabilities of the classes, or a single column lies in [0, 1]."""
    values = check_outputs(outputs, "outputs")
    if values.min() < 0:
        return False
    return bool(values.max() <= 1 if values.ndim == 1 else np.abs(values.sum(axis=1) - 1.0).max() < 1e-3)


def as_logits(outputs: Any, probabilities: bool) -> FloatArray:
    """Logits of shape (n, K ≥ 2): outputs as they are, or logarithms of probabilities.

    A single column is the logit of the second of two classes, or its probability. A few rows of logits can
    look like probabilities, so that ``fit`` decides which of both they are. Where they are probabilities,
    negative numbers are their logarithms.
    """
    values = check_outputs(outputs, "outputs")
    probabilities = probabilities and bool(values.min() >= 0)
    if values.ndim == 1:
        values = np.column_stack([1.0 - values if probabilities else np.zeros(len(values)), values])
    return np.asarray(np.log(np.maximum(values, _SMALLEST))) if probabilities else values
