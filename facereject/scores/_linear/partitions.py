"""Training a linear SELE score, as far as one partition of the examples is concerned.

They run where the partition is. Their other arguments and their results do not grow with the number
of examples, except the few numbers per example (``PartColumns``, ``Rows``, ``Located``) that stay with the
partition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from facereject._dask import check_part
from facereject._labels import locate_labels
from facereject._validation import FloatArray, check_same_length
from facereject.risks._cells import Cells, CellSummary, Field, Occupied, Part, evaluate, locate, summarise
from facereject.scores._base import Standardizer, check_predictions
from facereject.scores._linear.model import LinearModel
from facereject.solver._features import Features, make_features
from facereject.solver._standardized import ColumnMoments


class PartColumns(NamedTuple):
    """What is known of the examples of a partition besides their features."""

    losses: FloatArray
    predictions: NDArray[Any] | None
    weight: FloatArray | None
    fold: NDArray[np.int32] | None  # in which each is held out; None without cross-validation

    def trained_on(self, held_out: int | None) -> NDArray[np.bool_]:
        """Which examples do not belong to the fold that is held out."""
        if held_out is None or self.fold is None:
            return np.ones(self.losses.size, dtype=bool)
        return np.asarray(self.fold != held_out)

    def training(self, held_out: int | None) -> FloatArray:
        """Weight of each example, zero for those of the fold that is held out."""
        kept = self.trained_on(held_out)
        return kept.astype(np.float64) if self.weight is None else self.weight * kept


class Overview(NamedTuple):
    """Sums over the training examples of a partition."""

    moments: ColumnMoments
    loss: float  # Σ ω ℓ
    classes: NDArray[Any] | None
    single: bool  # whether X is float32
    length: int


class Rows(NamedTuple):
    """The examples of a partition as the risk sees them."""

    losses: FloatArray  # in units of their mean
    given: FloatArray | None  # weights that sum to one over all partitions; None where all are equal
    equal: float
    blocks: NDArray[np.int32] | None

    @property
    def weights(self) -> FloatArray:
        """Weight of each example; equal ones are not kept, a worker has millions of them."""
        return np.full(self.losses.size, self.equal) if self.given is None else self.given


class Located(NamedTuple):
    """Scores of the examples of a partition, and the cells they lie in."""

    scores: FloatArray
    cell: NDArray[np.int32]
    occupied: Occupied


def as_matrix(X: Any) -> NDArray[Any]:
    """The features of a partition, a frame or an array, as an array; float32 stays float32."""
    if hasattr(X, "dtypes"):
        single = all(dtype == np.float32 for dtype in X.dtypes)
        try:
            return np.asarray(X.to_numpy(dtype=np.float32 if single else np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must hold numbers: {error}") from None
    array = np.asarray(X)
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def make_columns(losses: Any, predictions: Any, weight: Any, number: int) -> PartColumns:
    """Checked columns of a partition."""
    losses = check_part(losses, "losses", number, non_negative=True)
    if predictions is not None:
        predictions = check_predictions(predictions, losses.size)
    if weight is not None:
        weight = check_part(weight, "sample_weight", number, non_negative=True)
        check_same_length(losses=losses, sample_weight=weight)
    return PartColumns(losses, predictions, weight, None)


def draw_folds(columns: PartColumns, number: int, n_folds: int, seed: int) -> PartColumns:
    """Assign each example of a partition to a fold.

    The generator depends on the seed and the number of the partition alone: a partition that is computed
    again, on another worker, has the same folds.
    """
    generator = np.random.default_rng([seed, number])
    return columns._replace(fold=generator.integers(n_folds, size=columns.losses.size, dtype=np.int32))


def check_features(X: NDArray[Any], columns: PartColumns, number: int, n_features: int) -> None:
    """Raise a ValueError that names the partition."""
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"X (partition {number}) must have {n_features} columns, got shape {X.shape}")
    check_same_length(**{f"X (partition {number})": X, "losses": columns.losses})
    if len(X):
        check_array(X, dtype=[np.float64, np.float32], input_name=f"X (partition {number})")


def survey(
    X: NDArray[Any], columns: PartColumns, number: int, n_features: int, held_out: int | None
) -> Overview:
    """Check a partition and sum over its training examples."""
    check_features(X, columns, number, n_features)
    weight = columns.training(held_out)
    classes = None
    if columns.predictions is not None:
        classes = np.unique(columns.predictions[columns.trained_on(held_out)])
    return Overview(
        ColumnMoments.of(X, weight), float(weight @ columns.losses), classes, X.dtype == np.float32, len(X)
    )


def make_rows(
    columns: PartColumns, classes: NDArray[Any] | None, mean_loss: float, mass: float, held_out: int | None
) -> Rows:
    """What the risk needs of a partition."""
    losses = columns.losses / mean_loss if mean_loss > 0 else columns.losses
    blocks = None
    if classes is not None and columns.predictions is not None:
        # a class that is only held out has no block; its examples have weight zero in any
        blocks = np.maximum(_positions(columns.predictions, classes), 0).astype(np.int32)
    if columns.weight is None and held_out is None:
        return Rows(losses, None, 1.0 / mass, blocks)
    return Rows(losses, columns.training(held_out) / mass, np.nan, blocks)


class LinearPart(NamedTuple):
    """How the scores of a partition depend on the weights: ⟨w_k, z⟩ + b_k for K blocks."""

    standardizer: Standardizer
    n_blocks: int

    def features(self, X: NDArray[Any], blocks: NDArray[np.int32] | None) -> Features:
        """Products with the standardised features of a partition."""
        return make_features(self.standardizer(X), blocks, self.n_blocks)

    def split(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights (K, d) and intercepts (K,)."""
        return w[: -self.n_blocks].reshape(self.n_blocks, -1), w[-self.n_blocks :]

    def locate(self, X: NDArray[Any], rows: Rows, w: FloatArray) -> Located:
        """Scores at the weights w, sorted into cells."""
        coef, intercept = self.split(w)
        product = self.features(X, rows.blocks).product(coef)
        scores = product[0] + intercept[0] if rows.blocks is None else product + intercept[rows.blocks]
        part, occupied = locate(scores, rows.losses, rows.weights)
        return Located(scores, part.cell, occupied)

    def pull_back(self, X: NDArray[Any], rows: Rows, located: Located, field: Field) -> FloatArray:
        """The gradient in the weights: what the examples of the partition add to it."""
        gradient = evaluate(_part(located, rows), field, -1.0)
        blocks = np.zeros(gradient.size, np.int32) if rows.blocks is None else rows.blocks
        intercept = np.bincount(blocks, gradient, minlength=self.n_blocks)
        return np.concatenate([self.features(X, rows.blocks).adjoint(gradient).ravel(), intercept])

    def grams(self, X: NDArray[Any], rows: Rows) -> list[FloatArray]:
        """Σ (z, 1)(z, 1)ᵀ over the examples of each block."""
        return self.features(X, rows.blocks).grams()


def occupied_cells(located: Located) -> Occupied:
    """The part of ``Located`` that travels."""
    return located.occupied


def summarise_part(located: Located, rows: Rows, cells: Cells) -> CellSummary:
    """What a partition adds to the cells."""
    return summarise(_part(located, rows), located.occupied, cells)


def add(sums: list[list[FloatArray]]) -> list[FloatArray]:
    """Element by element."""
    return [np.sum(arrays, axis=0) for arrays in zip(*sums, strict=True)]


def largest_scores(
    X: NDArray[Any], columns: PartColumns, models: list[LinearModel], held_out: int | None
) -> FloatArray:
    """Highest score of a training example under each model."""
    trained = columns.trained_on(held_out)
    if not trained.any():
        return np.full(len(models), -np.inf)
    return np.array([scores[trained].max() for scores in _scores(X, columns, models)])


def held_out_scores(
    X: NDArray[Any], columns: PartColumns, models: list[LinearModel], held_out: int | None
) -> tuple[FloatArray, FloatArray]:
    """Losses and scores (n_models, n) of the examples held out; of all without folds."""
    held = slice(None) if held_out is None or columns.fold is None else columns.fold == held_out
    scores = [scores[held] for scores in _scores(X, columns, models)]
    return columns.losses[held], np.stack(scores)


def _scores(X: NDArray[Any], columns: PartColumns, models: list[LinearModel]) -> list[FloatArray]:
    classes = models[0].classes
    position = None
    if classes is not None and columns.predictions is not None:
        position = _positions(columns.predictions, classes)
    return [model(X, position) for model in models]


def _positions(predictions: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    if predictions.size == 0:  # an empty partition may have another type of labels
        return np.empty(0, np.intp)
    return locate_labels(predictions, classes, "predictions")


def _part(located: Located, rows: Rows) -> Part:
    return Part(located.scores, rows.losses, rows.weights, located.cell)
