"""True class probability score: a linear estimate of p̂(y|x) at the true class y, negated."""

from __future__ import annotations

from typing import Any

from facereject.scores._base import TrainingSet
from facereject.scores._linear.model import LinearScoreCV
from facereject.scores._regression import RidgePath


class _TrueClassPath(RidgePath):
    """Ridge regression of a probability that grows with certainty."""

    target = "true_class_probability"
    _sign = -1.0

    def _check_fit(self, X: Any, target: Any, predictions: Any, sample_weight: Any) -> TrainingSet:
        data: TrainingSet = super()._check_fit(X, target, predictions, sample_weight)
        if data.target.max() > 1.0:
            raise ValueError(f"{self.target} must lie in [0, 1], got {data.target.max()}")
        return data


class TrueClassProbabilityScore(_TrueClassPath):
    """Linear score that estimates the probability given to the true class (TCP in the paper).

        alpha/2 ‖θ‖² + 1/n Σᵢ (p̂(yᵢ|xᵢ) − t(xᵢ))²,     uncertainty s(x) = −t(x)
        t(x) = ⟨w_k, x⟩ + b_k,  k the predicted class (one block for all without predictions)

    ``coef_`` and ``intercept_`` are those of s, hence the negated ones of the regression.

    Parameters
    ----------
    alpha : float
        Regularisation ≥ 0, of weights and biases alike, on standardised features.
    use_outputs : bool
        As in ``SELEScore``.

    Attributes
    ----------
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_
        See ``LinearScore``.

    See Also
    --------
    TrueClassProbabilityScoreCV : Picks alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import TrueClassProbabilityScore
    >>> X = np.arange(10.0)[:, None]
    >>> score = TrueClassProbabilityScore(alpha=0.0).fit(X, 1.0 - 0.1 * X[:, 0])
    >>> score.predict([[5.0]]).round(6)  # the probability of the true class, negated
    array([-0.5])
    """

    # named after what it is fitted to
    def fit(  # type: ignore[override]
        self,
        X: Any,
        true_class_probability: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
        losses: Any = None,
        groups: Any = None,
    ) -> TrueClassProbabilityScore:
        """Learn the score.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features.
        true_class_probability : array-like of shape (n,)
            What the predictor's predict_proba gives to the true class of each example.
        predictions, sample_weight, outputs, auxiliary, base_score : array-likes with n rows, optional
            As in ``SELEScore.fit``.
        losses : array-like of shape (n,), optional
            Losses of the training examples, by which the score is compared with the base score.
        groups : array-like of shape (n,), optional
            As in ``SELEScore.fit``.

        Returns
        -------
        self
            The fitted score.
        """
        known = {"outputs": outputs, "auxiliary": auxiliary, "base_score": base_score}
        return self._train(X, true_class_probability, losses, predictions, sample_weight, known, groups)


class TrueClassProbabilityScoreCV(_TrueClassPath, LinearScoreCV):
    """``TrueClassProbabilityScore`` with alpha picked by validation AuRC.

    Parameters
    ----------
    alphas, cv, random_state, use_outputs
        As in ``SELEScoreCV``.

    Attributes
    ----------
    alpha_, alphas_, validation_aurc_
        As in ``SELEScoreCV``.
    coef_, intercept_, classes_, mean_, scale_, unseen_uncertainty_, start_
        As in ``TrueClassProbabilityScore``.

    See Also
    --------
    TrueClassProbabilityScore : With a given alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.scores import TrueClassProbabilityScoreCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> p = 1.0 / (1.0 + np.exp(-X[:, 0]))
    >>> score = TrueClassProbabilityScoreCV().fit(X, p, losses=(rng.uniform(size=500) > p).astype(float))
    >>> sure, unsure = score.predict([[2.0, 0.0], [-2.0, 0.0]])
    >>> bool(sure < unsure)
    True
    """

    # named after what it is fitted to
    def fit(  # type: ignore[override]
        self,
        X: Any,
        true_class_probability: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        losses: Any = None,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
        groups: Any = None,
        validation: Any = None,
    ) -> TrueClassProbabilityScoreCV:
        """Learn the score and its regularisation.

        Parameters
        ----------
        X, true_class_probability, predictions, sample_weight : array-likes with n rows
            As in ``TrueClassProbabilityScore.fit``.
        losses : array-like of shape (n,)
            Losses of the training examples; needed without ``validation``, since AuRC is about losses.
        outputs, auxiliary, base_score : array-likes with n rows, optional
            As in ``TrueClassProbabilityScore.fit``.
        groups : array-like of shape (n,), optional
            As in ``SELEScoreCV.fit``.
        validation : tuple (X, losses, predictions, outputs, auxiliary, base_score), optional
            As in ``SELEScoreCV.fit``.

        Returns
        -------
        self
            The fitted score.
        """
        known = {"outputs": outputs, "auxiliary": auxiliary, "base_score": base_score}
        target = true_class_probability
        return self._train(X, target, losses, predictions, sample_weight, known, groups, validation)
