"""Linear scores ⟨w_k, x⟩ + b_k, k the predicted class, and the choice of alpha by validation AuRC."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from numbers import Integral
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import check_is_fitted

from facereject._dask import is_dask
from facereject._labels import locate_labels
from facereject._validation import FloatArray, check_number, check_same_length, check_vector
from facereject.metrics import aurc
from facereject.scores._base import (
    ALPHAS,
    BaseScore,
    Standardizer,
    TrainingSet,
    check_groups_of_rows,
    check_predictions,
    make_folds,
)
from facereject.scores._confidence import Confidence, ConfidenceReader, LinearStart
from facereject.solver._features import CentredFeatures
from facereject.solver._standardized import Standardized

Linear = TypeVar("Linear", bound="LinearScore")
LinearCV = TypeVar("LinearCV", bound="LinearScoreCV")


class Solution(NamedTuple):
    """Weights (K, d) on standardised features and intercepts (K,), and how they were found."""

    coef: FloatArray
    intercept: FloatArray
    n_iter: int = 0
    gap: float = 0.0


class LinearModel(NamedTuple):
    """A fitted linear score with its standardisation."""

    standardizer: Standardizer
    classes: NDArray[Any] | None
    solution: Solution
    unseen: float

    def __call__(self, X: NDArray[Any], position: NDArray[np.intp] | None) -> FloatArray:
        """s(x) = ⟨w_k, (x − mean)/scale⟩ + b_k, k = ``position``; ``unseen`` where k is −1."""
        coef, intercept = self.solution.coef, self.solution.intercept
        blocks = np.zeros(len(X), np.int32) if position is None else np.maximum(position, 0, dtype=np.int32)
        scores = CentredFeatures(self.standardizer(X), blocks, len(coef)).product(coef)
        scores += intercept[blocks]
        if position is not None:
            scores[position < 0] = self.unseen
        return scores


class LinearScore(BaseScore):
    """Base of the scores that minimise alpha/2 ‖θ‖² + mean risk over θ = (w_1, b_1, …, w_K, b_K).

    Given outputs of the predictor, auxiliary features of its predictions or a base score, a start is fitted
    to these alone, one weight per column for all predicted classes, and the features correct it.

    A subclass implements ``_path`` and ``_fit_start``. Attributes after ``fit``:

    coef_ : ndarray of shape (K, d), ``intercept_`` : ndarray of shape (K,)
        Weights on the standardised features; K = 1 without predictions.
    classes_ : ndarray of shape (K,) or None
    mean_, scale_ : ndarrays of shape (d,)
    unseen_uncertainty_ : float
        Uncertainty of a predicted class that training never saw; added to the start where there is one.
    start_ : LinearStart or None
    """

    response: str | None = "auto"
    reads_auxiliary = True
    alpha: float
    # −1 where the target grows with certainty
    _sign = 1.0
    # whether the score can be learned from Dask collections
    _takes_dask = False

    def __init__(self, alpha: float = 1e-3, *, use_outputs: bool = True):
        self.alpha = alpha
        self.use_outputs = use_outputs

    def fit(
        self: Linear,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
        groups: Any = None,
    ) -> Linear:
        """Learn the score.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Features; float32 stays float32. ``SELEScore`` also takes Dask arrays and frames.
        losses : array-like of shape (n,)
            Loss ≥ 0 of each prediction, on examples that the predictor was not trained on.
        predictions : array-like of shape (n,), optional
            Predicted classes: each gets its own weights and bias.
        sample_weight : array-like of shape (n,), optional
            Weights of the examples.
        outputs, auxiliary, base_score : array-likes with n rows, optional
            What is known of the predictor, as in ``ConfidenceScore.fit``; not with Dask collections.
        groups : array-like of shape (n,), optional
            Examples of one group share a fold when the score is compared with the base score.

        Returns
        -------
        self
            The fitted score.
        """
        known = {"outputs": outputs, "auxiliary": auxiliary, "base_score": base_score}
        return self._train(X, losses, losses, predictions, sample_weight, known, groups)

    def _train(
        self: Linear,
        X: Any,
        target: Any,
        losses: Any,
        predictions: Any,
        sample_weight: Any,
        known: dict[str, Any],
        groups: Any,
        validation: Any = None,
    ) -> Linear:
        """Fit to the target; ``known`` is what is known of the predictor."""
        data = self._with_start(self._check_fit(X, target, predictions, sample_weight), **known)
        if losses is target:
            losses = data.target
        elif losses is not None:
            losses = check_vector(losses, "losses", non_negative=True)
            check_same_length(X=data.X, losses=losses)
        self._choose(data, losses, validation, groups)
        self._compare(X, data, losses, known, groups)
        return self

    def _choose(self, data: Any, losses: FloatArray | None, validation: Any, groups: Any) -> None:
        """Adopt the model of the alpha to use."""
        self._adopt(self._models(data, [self.alpha])[0])

    def _path(
        self, Z: Standardized, blocks: NDArray[np.intp] | None, data: TrainingSet, alphas: Sequence[float]
    ) -> list[Solution]:
        """Minimisers for each alpha, on standardised features ``Z``; they correct the start given."""
        raise NotImplementedError

    def _check_fit(self, X: Any, target: Any, predictions: Any, sample_weight: Any) -> Any:
        if not is_dask(X, target, predictions, sample_weight):
            return super()._check_fit(X, target, predictions, sample_weight)
        if not self._takes_dask:
            raise TypeError(
                f"{type(self).__name__} takes arrays in memory, not Dask collections; SELEScore takes both"
            )
        return _on_partitions().PartitionedSet(self, X, target, predictions, sample_weight)

    def _minimise(self, objective: Any, alphas: Sequence[float]) -> list[Solution]:
        """Minimisers for each alpha of an objective; needed where Dask collections are taken."""
        raise NotImplementedError

    def _fit_start(
        self, confidence: Confidence, target: FloatArray, sample_weight: FloatArray | None
    ) -> LinearStart:
        """Weights of what is known of the predictor, without the features."""
        raise NotImplementedError

    def _with_start(
        self, data: Any, outputs: Any = None, auxiliary: Any = None, base_score: Any = None
    ) -> Any:
        """The examples with the score they start from, which is fitted here if there is any."""
        partitioned = not isinstance(data, TrainingSet)
        if partitioned and any(value is not None for value in (outputs, auxiliary, base_score)):
            raise TypeError(
                "outputs, auxiliary and base_score are not taken with Dask collections: add them to X"
            )
        n = 0 if partitioned else len(data.X)
        self._reader = ConfidenceReader(outputs, auxiliary, base_score, n)
        self.start_: LinearStart | None = None
        if self._reader.is_empty:
            return data
        confidence = self._reader(outputs, auxiliary, base_score, n)
        self.start_ = self._fit_start(confidence, data.target, data.sample_weight)
        return data._replace(start=self.start_(confidence))

    def _start(self, confidence: Confidence) -> FloatArray:
        """Uncertainty before the features correct it."""
        n = len(confidence.columns)
        return np.zeros(n) if self.start_ is None else self._sign * self.start_(confidence)

    def _compare(
        self, X: Any, data: Any, losses: FloatArray | None, known: dict[str, Any], groups: Any
    ) -> None:
        """Set ``weight_``: the last step of ``fit``."""
        if not isinstance(data, TrainingSet):
            self._earn_weight(None, None, {})
            return
        given = {"X": X, self.target: data.target, "losses": losses, "predictions": data.predictions}
        given.update(sample_weight=data.sample_weight, **known)
        base = self._reader(**known, n=len(data.X)).base_score
        self._earn_weight(losses, base, given, groups)

    def _models(self, data: Any, alphas: Sequence[float]) -> list[LinearModel]:
        """One fitted model per alpha."""
        alphas = [check_number(alpha, "alpha", minimum=0) for alpha in alphas]
        if not isinstance(data, TrainingSet):
            return list(data.models(self._minimise, alphas))
        standardizer = Standardizer.of(data.X, data.sample_weight)
        classes = blocks = None
        if data.predictions is not None:
            classes, blocks = np.unique(data.predictions, return_inverse=True)
        models = []
        for solution in self._path(standardizer(data.X), blocks, data, alphas):
            signed = solution._replace(
                coef=self._sign * solution.coef, intercept=self._sign * solution.intercept
            )
            model = LinearModel(standardizer, classes, signed, np.nan)
            models.append(model._replace(unseen=float(model(data.X, blocks).max())))
        return models

    def _adopt(self, model: LinearModel) -> None:
        self._model = model
        self.mean_, self.scale_ = model.standardizer
        self.classes_ = model.classes
        self.coef_, self.intercept_, self.n_iter_, self.gap_ = model.solution
        self.unseen_uncertainty_ = model.unseen

    def predict(
        self,
        X: Any,
        predictions: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
    ) -> Any:
        """Uncertainty of the prediction at each row of X; higher = less certain.

        Parameters
        ----------
        X : array-like, Dask array or Dask frame of shape (n, d)
            Features, as in ``fit``.
        predictions : array-like, Dask array or series of shape (n,), optional
            Predicted classes; needed exactly when ``fit`` had them. A class that training never saw gets the
            highest uncertainty of the training examples: nothing is known about it.
        outputs, auxiliary, base_score : array-likes with n rows, optional
            As in ``fit``; needed exactly when ``fit`` had them.

        Returns
        -------
        ndarray of shape (n,); for Dask collections a Dask array, computed when asked for
        """
        check_is_fitted(self)
        if is_dask(X, predictions):
            return _on_partitions().predict(self, X, predictions)
        X, position = self._check_predict(X, predictions, self.classes_)
        confidence = self._reader(outputs, auxiliary, base_score, len(X))
        return self._weighting(confidence.base_score, self._start(confidence) + self._model(X, position))


class LinearScoreCV(LinearScore):
    """Base of the scores that pick alpha by validation AuRC: on a given set, or by folds.

    Parameters
    ----------
    alphas, cv, random_state, use_outputs
        As in ``SELEScoreCV``.
    """

    def __init__(
        self,
        alphas: Sequence[float] = ALPHAS,
        *,
        cv: Any = 5,
        random_state: Any = 0,
        use_outputs: bool = True,
    ):
        self.alphas = alphas
        self.cv = cv
        self.random_state = random_state
        self.use_outputs = use_outputs

    def fit(
        self: LinearCV,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        auxiliary: Any = None,
        base_score: Any = None,
        groups: Any = None,
        validation: Any = None,
    ) -> LinearCV:
        """Learn the score and its regularisation.

        Parameters
        ----------
        X, losses, predictions, sample_weight, outputs, auxiliary, base_score : array-likes
            As without the search for alpha. With Dask collections each row is assigned to a fold at random:
            files are often sorted by time or place, and a fold of whole partitions would then differ from the
            rest. ``cv`` and ``random_state`` must be integers.
        groups : array-like of shape (n,), optional
            Examples of one group share a fold: photos of one person, losses of one predictor. Not taken with
            Dask collections.
        validation : tuple (X, losses, predictions, outputs, auxiliary, base_score), optional
            Examples to pick alpha on; None for what is absent, and trailing Nones may be left out. Without it
            the training examples are cut into folds, and the score is fitted again to all of them at the
            alpha that won. Every validation example counts the same. Arrays in memory or Dask collections.

        Returns
        -------
        self
            The fitted score.
        """
        known = {"outputs": outputs, "auxiliary": auxiliary, "base_score": base_score}
        return self._train(X, losses, losses, predictions, sample_weight, known, groups, validation)

    def _repeated(self) -> Any:
        # with one value to try the folds decide nothing: as few as possible
        return super()._repeated().set_params(alphas=[self.alpha_], cv=2)

    def _choose(self, data: Any, losses: FloatArray | None, validation: Any, groups: Any) -> None:
        """Set ``alphas_``, ``validation_aurc_`` and ``alpha_``, and adopt the model of the best alpha."""
        if losses is None and validation is None and isinstance(data, TrainingSet):
            raise ValueError("alpha is picked by AuRC, which needs losses: pass losses or validation")
        self.alphas_ = check_vector(self.alphas, "alphas", non_negative=True)
        alphas = self.alphas_.tolist()
        if validation is not None:
            self._check_tuple(validation, data.predictions is not None)
            models = self._models(data, alphas)
            areas = self._areas_of_validation(models, validation, data.predictions is not None)
        else:
            areas = np.mean(list(self._areas_of_folds(data, losses, alphas, groups)), axis=0)
        self.validation_aurc_ = areas
        # of equally good values the largest: the simplest score
        best = max(np.flatnonzero(areas == areas.min()), key=lambda i: self.alphas_[i])
        self.alpha_ = float(self.alphas_[best])
        self._adopt(models[best] if validation is not None else self._models(data, [self.alpha_])[0])

    def _areas_of_validation(
        self, models: list[LinearModel], validation: Any, with_predictions: bool
    ) -> FloatArray:
        if not is_dask(*validation):
            return _areas(models, self._check_validation(validation, with_predictions))
        X, losses, *predictions = validation
        held = _on_partitions().PartitionedSet(self, X, losses, *(predictions or [None]), None, reset=False)
        return np.asarray(held.areas(models))

    def _areas_of_folds(
        self, data: Any, losses: Any, alphas: Sequence[float], groups: Any
    ) -> Iterator[FloatArray]:
        """AuRC on each fold of the models trained on the others."""
        if not isinstance(data, TrainingSet):
            if groups is not None:
                raise TypeError("groups are not taken with Dask collections: pass validation")
            for k, models in data.models_of_folds(self._minimise, alphas, self.cv, self.random_state):
                yield data.areas(models, k)
            return
        for train, held_out in self._folds(data.X, groups):
            models = self._models(data.rows(train), alphas)
            held = data.rows(held_out)
            start = None if held.start is None else self._sign * held.start
            yield _areas(models, held._replace(target=losses[held_out], start=start))

    def _folds(self, X: NDArray[Any], groups: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Rows to train on and rows held out; those of one group together."""
        folds = make_folds(self.cv, self.random_state)
        if groups is not None:
            groups = check_groups_of_rows(groups, len(X))
            if isinstance(self.cv, Integral):
                number = min(int(self.cv), len(np.unique(groups)))
                folds = GroupKFold(number, shuffle=True, random_state=self.random_state)
        yield from folds.split(X, groups=groups)

    def _check_tuple(self, validation: Any, with_predictions: bool) -> None:
        """Raise a ValueError unless ``validation`` holds what ``fit`` was given."""
        expected = "(X, losses, predictions)" if with_predictions else "(X, losses)"
        if self.start_ is not None:
            expected = "(X, losses, predictions, outputs, auxiliary, base_score)"
        most = 6 if self.start_ is not None else 2 + with_predictions
        if not isinstance(validation, (tuple, list)) or not 2 + with_predictions <= len(validation) <= most:
            raise ValueError(f"validation must be a tuple {expected}, as in the other arguments of fit")

    def _check_validation(self, validation: Any, with_predictions: bool) -> TrainingSet:
        """The tuple given as ``validation``, its losses as target and its start as an uncertainty."""
        X, _ = self._check_predict(validation[0], None, None)
        losses = check_vector(validation[1], "losses of validation", non_negative=True)
        check_same_length(**{"X of validation": X, "losses of validation": losses})
        predictions = check_predictions(validation[2], len(X)) if with_predictions else None
        outputs, auxiliary, base_score = (*validation[3:], None, None, None)[:3]
        start = self._start(self._reader(outputs, auxiliary, base_score, len(X)))
        return TrainingSet(X, losses, predictions, None, start)


def _areas(models: list[LinearModel], held: TrainingSet) -> FloatArray:
    """AuRC of each model; the target of ``held`` is its losses, its start an uncertainty."""
    areas = []
    for model in models:
        position = None
        if held.predictions is not None and model.classes is not None:
            position = locate_labels(held.predictions, model.classes, "predictions")
        scores = model(held.X, position)
        areas.append(aurc(held.target, scores if held.start is None else held.start + scores))
    return np.array(areas)


def _on_partitions() -> ModuleType:
    """The counterparts for Dask collections; importing them imports Dask."""
    return importlib.import_module("facereject.scores._linear.dask_training")
