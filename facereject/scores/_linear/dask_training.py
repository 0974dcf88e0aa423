"""Training and scoring on Dask collections: linear SELE scores of examples that no single place holds.

The driver sees weights, cells and sums; scores and gradients of the examples stay on the workers. Each
evaluation of the risk passes twice over X: once for the scores, once for Xᵀg. Between the passes the cells of
all partitions are merged, and the sum over all pairs is done on their Chebyshev nodes (``risks._cells``).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from facereject import _dask_metrics, _ranked_parts
from facereject._dask import align, is_dask
from facereject._validation import FloatArray
from facereject.risks._cells import merge
from facereject.risks._pairs import pair_potentials
from facereject.scores._base import BaseScore, Standardizer
from facereject.scores._linear import partitions as parts
from facereject.scores._linear.model import LinearModel, Solution
from facereject.solver._preconditioner import MAX_FEATURES, gram_preconditioner, spectrum
from facereject.solver._protocols import Preconditioner
from facereject.solver._standardized import ColumnMoments

dask = importlib.import_module("dask")
arrays = importlib.import_module("dask.array")

# partial sums added by one task
_FAN_IN = 8

Minimise = Callable[["PartitionedObjective", Sequence[float]], list[Solution]]


class PartitionedSet:
    """Checked arguments of ``fit`` in partitions: the counterpart of ``TrainingSet``."""

    #: the losses stay in their partitions
    target: None = None

    def __init__(
        self,
        score: BaseScore,
        X: Any,
        losses: Any,
        predictions: Any,
        sample_weight: Any,
        *,
        reset: bool = True,
    ):
        _check_columns_of(score, X, reset)
        self.n_features = int(score.n_features_in_)
        given = align(X=X, losses=losses, predictions=predictions, sample_weight=sample_weight)
        self.X = [dask.delayed(parts.as_matrix)(part) for part in given["X"]]
        absent = [None] * len(self.X)
        self.predictions = given.get("predictions")
        weights = given.get("sample_weight", absent)
        columns = zip(given["losses"], self.predictions or absent, weights, strict=True)
        make = dask.delayed(parts.make_columns)
        # a few numbers per example, read in every pass: kept by the workers
        (self.columns,) = dask.persist([make(*part, i) for i, part in enumerate(columns)])

    def models(
        self, minimise: Minimise, alphas: Sequence[float], held_out: int | None = None
    ) -> list[LinearModel]:
        """One fitted model per alpha, of the examples that are not held out."""
        survey, make_rows = dask.delayed(parts.survey), dask.delayed(parts.make_rows)
        found = _compute(
            survey(X, columns, i, self.n_features, held_out)
            for i, (X, columns) in enumerate(zip(self.X, self.columns, strict=True))
        )
        moments = ColumnMoments.merge((part.moments for part in found), self.n_features)
        if moments.mass == 0:
            raise ValueError("X must hold at least one example with a positive sample_weight")
        standardizer = Standardizer(moments.mean, moments.deviation())
        classes = None
        if self.predictions is not None:
            classes = np.unique(np.concatenate([part.classes for part in found if part.classes.size]))
        mean_loss = sum(part.loss for part in found) / moments.mass
        (rows,) = dask.persist(
            [make_rows(columns, classes, mean_loss, moments.mass, held_out) for columns in self.columns]
        )
        linear = parts.LinearPart(standardizer, 1 if classes is None else len(classes))
        single = any(part.single for part in found if part.length)
        no_rows = np.empty((0, self.n_features), np.float32 if single else np.float64)
        precision = linear.features(no_rows, None if classes is None else np.empty(0, np.int32)).precision
        n = sum(part.length for part in found)
        objective = PartitionedObjective(self.X, rows, linear, n, precision)
        models = [
            LinearModel(standardizer, classes, solution, np.nan) for solution in minimise(objective, alphas)
        ]
        largest = np.max(_compute(self._score(parts.largest_scores, models, held_out)), axis=0)
        return [model._replace(unseen=float(top)) for model, top in zip(models, largest, strict=True)]

    def models_of_folds(
        self, minimise: Minimise, alphas: Sequence[float], cv: Any, random_state: Any
    ) -> Iterator[tuple[int, list[LinearModel]]]:
        """The number of each fold, and models of the examples outside it."""
        n_folds, seed = _check_folds(cv, random_state)
        draw = dask.delayed(parts.draw_folds)
        (self.columns,) = dask.persist(
            [draw(columns, i, n_folds, seed) for i, columns in enumerate(self.columns)]
        )
        for k in range(n_folds):
            yield k, self.models(minimise, alphas, k)

    def areas(self, models: list[LinearModel], held_out: int | None = None) -> FloatArray:
        """AuRC of each model on the examples held out; on all of them for None."""
        (scored,) = dask.persist(self._score(parts.held_out_scores, models, held_out))
        areas = []
        for k in range(len(models)):
            ranking = _dask_metrics.rank_parts([(part[0], part[1][k]) for part in scored], "expected")
            areas.append(ranking.sum(_ranked_parts.sum_of_risks) / ranking.total)
        return np.array(areas)

    def _score(
        self, function: Callable[..., Any], models: list[LinearModel], held_out: int | None
    ) -> list[Any]:
        shared, call = dask.delayed(models, traverse=False), dask.delayed(function)
        return [call(X, columns, shared, held_out) for X, columns in zip(self.X, self.columns, strict=True)]


class PartitionedObjective:
    """SELE of linear scores as a function of the weights, for the solver.

    The solver does arithmetic with scores and gradients of all examples; here they would be n numbers on many
    workers. In their place it gets n_weights *whitened* numbers with the same geometry. With the Gram matrix
    G = V Λ Vᵀ of the features, a last entry 1 for the intercept among them,

        p(w) = √m Λ^½ Vᵀ w,    ‖p(w)‖² / m = wᵀ G w = mean squared score,    m = n_weights

    so that lengths, line searches and curvatures are those of the scores themselves. Above ``MAX_FEATURES``
    features, where there is no preconditioner that needs them, p(w) = w.
    """

    fit_intercept = True
    shared_weights = False

    def __init__(self, X: list[Any], rows: list[Any], linear: parts.LinearPart, n: int, precision: float):
        self._X, self._rows, self._n = X, rows, n
        self._linear = dask.delayed(linear, traverse=False)
        self.split = linear.split
        self.precision = precision
        self.n_features, self.n_blocks = linear.standardizer.mean.size, linear.n_blocks
        self.n_weights = self.n_blocks * (self.n_features + 1)
        self._grams: list[FloatArray] | None = None
        self._white: list[tuple[FloatArray, FloatArray]] | None = None
        if self.n_features < MAX_FEATURES:
            self._white = [spectrum(gram) for gram in self.grams()]

    def grams(self) -> list[FloatArray]:
        """1/n Σ (z, 1)(z, 1)ᵀ over the examples of each block, from one pass over X."""
        if self._grams is None:
            add, grams = dask.delayed(parts.add), dask.delayed(parts.LinearPart.grams)
            sums = [grams(self._linear, X, rows) for X, rows in zip(self._X, self._rows, strict=True)]
            while len(sums) > 1:
                sums = [add(sums[i : i + _FAN_IN]) for i in range(0, len(sums), _FAN_IN)]
            self._grams = [gram / self._n for gram in _compute(sums)[0]]
        return self._grams

    def preconditioner(self) -> Preconditioner | None:
        """As that of ``LinearObjective``."""
        return gram_preconditioner(self)

    def scores(self, w: FloatArray) -> FloatArray:
        """p(w)."""
        return self._per_block(w, lambda v, values, vectors: np.sqrt(values * w.size) * (v @ vectors))

    def risk(self, p: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient of the risk in p."""
        w = self._per_block(p, lambda v, values, vectors: vectors @ (v / np.sqrt(values * p.size)))
        value, gradient = self(w)
        return value, self._per_block(
            gradient, lambda v, values, vectors: (v @ vectors) / np.sqrt(values * w.size)
        )

    def pull_back(self, gradient: FloatArray) -> FloatArray:
        """From a gradient in p to one in w."""
        return self._per_block(
            gradient, lambda v, values, vectors: vectors @ (np.sqrt(values * gradient.size) * v)
        )

    def __call__(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Risk and gradient at the weights w."""
        each = list(zip(self._X, self._rows, strict=True))
        shared_w = dask.delayed(np.array(w), traverse=False)
        locate, summarise = dask.delayed(parts.LinearPart.locate), dask.delayed(parts.summarise_part)
        (located,) = dask.persist([locate(self._linear, X, rows, shared_w) for X, rows in each])
        cells = merge(_compute(dask.delayed(parts.occupied_cells)(part) for part in located))
        shared_cells = dask.delayed(cells, traverse=False)
        summaries = _compute(
            summarise(part, rows, shared_cells) for part, rows in zip(located, self._rows, strict=True)
        )
        potentials = pair_potentials(cells, summaries)
        pull_back = dask.delayed(parts.LinearPart.pull_back)
        gradients = _compute(
            pull_back(self._linear, X, rows, part, dask.delayed(field, traverse=False))
            for (X, rows), part, field in zip(each, located, potentials.gradient, strict=True)
        )
        return potentials.value, np.sum(gradients, axis=0)

    def _per_block(
        self, v: FloatArray, function: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    ) -> FloatArray:
        """Apply a function of (θ_k, Λ_k, V_k), θ_k = (w_k, b_k), to every block."""
        if self._white is None:
            return v
        out = np.empty_like(v)
        (coef, intercept), (out_coef, out_intercept) = self.split(v), self.split(out)
        for k, (values, vectors) in enumerate(self._white):
            theta = function(np.append(coef[k], intercept[k]), values, vectors)
            out_coef[k], out_intercept[k] = theta[:-1], theta[-1]
        return out


def predict(score: BaseScore, X: Any, predictions: Any) -> Any:
    """Scores of a collection as a lazy Dask array with a chunk per partition."""
    _check_columns_of(score, X, reset=False)
    given = align(X=X, predictions=predictions)
    n_parts = len(given["X"])
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * n_parts
    predicted = given.get("predictions", [None] * n_parts)
    shared, call = dask.delayed(score, traverse=False), dask.delayed(_predict)
    scores = [call(shared, *part) for part in zip(given["X"], predicted, strict=True)]
    chunks = [
        arrays.from_delayed(part, (length,), np.float64) for part, length in zip(scores, lengths, strict=True)
    ]
    return arrays.concatenate(chunks, allow_unknown_chunksizes=True)


def _predict(score: Any, X: Any, predictions: Any) -> FloatArray:
    return np.empty(0) if len(X) == 0 else np.asarray(score.predict(X, predictions))


def _compute(tasks: Any) -> list[Any]:
    return list(dask.compute(*tasks))


def _check_columns_of(score: BaseScore, X: Any, reset: bool) -> None:
    """Remember, or compare, the number and names of the features."""
    if not is_dask(X):
        raise TypeError("X must be a Dask array or frame if another argument is a Dask collection")
    if getattr(X, "ndim", 0) != 2:
        raise ValueError("X must be a Dask array of two dimensions, or a Dask frame")
    meta = np.empty((1, X.shape[1])) if hasattr(X, "chunks") else X._meta
    validate_data(score, meta, reset=reset, skip_check_array=True)


def _check_folds(cv: Any, random_state: Any) -> tuple[int, int]:
    if not isinstance(cv, Integral) or cv < 2:
        raise ValueError(
            f"cv must be an integer of at least 2 for Dask collections, got {cv!r}: rows are held out at "
            "random; pass validation= for a split of your own"
        )
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(
            f"random_state must be an integer ≥ 0 for Dask collections, got {random_state!r}: a partition "
            "that is computed again must have the same folds"
        )
    return int(cv), int(random_state)
