"""Nearest training examples: how near are those of the predicted class, and how well were they predicted."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.decomposition import PCA, TruncatedSVD

from facereject._validation import FloatArray, check_integer, check_vector

# up to this many examples all distances are computed; beyond, a tree in a few dimensions takes their place
_EXACT_ROWS = 20_000
_EXACT_DIMENSIONS = 64
_TREE_DIMENSIONS = 8
# distances held at once
_BLOCK = 4_000_000
# share of the typical distance that is added to every distance, so that copies have a logarithm
_TINY = 1e-3
# the same where classes are compared: a copy tells little more than an example at a third of that distance
_SMOOTHING = 0.3
# examples of each side whose mean distance is taken besides that of the nearest
_CLASS_NEIGHBOURS = 5
_ROUNDING = 1e-5
# neighbours among which a large index looks for the nearest of each class
_TREE_NEIGHBOURS = 32
# beyond this a number counts as this: distances are to stay finite
_LARGEST = 1e100
# a tree may report a neighbour up to 1 + this times as far as the nearest one
_TREE_SLACK = 1.0


class NeighbourIndex:
    """The nearest of n labelled examples, in standardised features.

    Up to 20,000 examples all distances are computed, in at most 64 principal components. A larger index is a
    k-d tree in 8 principal components that looks at 32 approximate neighbours of a query: time O(log n) each.

    Parameters
    ----------
    features : array-like or sparse matrix of shape (n, d)
        Finite, or NaN for missing, which counts as the mean of the column.
    labels : array-like of shape (n,), optional
        Their classes; needed by ``class_columns``.
    losses : array-like of shape (n,), optional
        Losses of predictions for them by predictors that have not seen them; needed by ``loss_columns``.
    targets : array-like of shape (n,) or (n, m), optional
        Their true values, for a regressor.
    n_neighbours : int
        How many neighbours are averaged.
    rows : int, optional
        Number of examples that decides between the two searches; n by default. Indices of parts of one table
        take that of the whole, so that their distances mean the same.

    Examples
    --------
    >>> from facereject.scores._neighbours import NeighbourIndex
    >>> index = NeighbourIndex([[0.0], [1.0], [4.0]], labels=[0, 0, 1])
    >>> near_zero, near_one = index.class_columns([[0.5], [4.5]], predictions=[0, 0])[:, 0]
    >>> bool(near_zero < 0 < near_one)  # the second lies nearer to an example of another class
    True
    """

    def __init__(
        self,
        features: Any,
        labels: Any = None,
        losses: Any = None,
        targets: Any = None,
        *,
        n_neighbours: int = 10,
        rows: int | None = None,
    ):
        n = features.shape[0] if sp.issparse(features) else len(features)
        if n == 0:
            raise ValueError("features must hold at least one example")
        self.n_neighbours = min(check_integer(n_neighbours, "n_neighbours", minimum=1), n)
        self._exact = (n if rows is None else rows) <= _EXACT_ROWS
        self._space = Space(features, _EXACT_DIMENSIONS if self._exact else _TREE_DIMENSIONS)
        points = self._space(features)
        self.classes_: NDArray[Any] | None = None
        if labels is not None:
            self.classes_, self._codes = np.unique(np.asarray(labels), return_inverse=True)
            if self._codes.shape != (n,):
                raise ValueError(f"labels must hold one class per example ({n}), got {self._codes.shape}")
        if losses is not None:
            losses = check_vector(losses, "losses", non_negative=True)
            if len(losses) != n:
                raise ValueError(f"losses must hold one value per example ({n}), got {len(losses)}")
        self._losses: FloatArray | None = losses
        self._targets: FloatArray | None = None
        if targets is not None:
            self._targets = np.asarray(targets, dtype=np.float64).reshape(n, -1)
            self._smallest_difference = _TINY * float(self._targets.std()) or _TINY
        if self._exact and self.classes_ is not None:
            # grouped by class, the nearest of each is a minimum over neighbouring columns
            order = np.argsort(self._codes, kind="stable")
            self._codes = self._codes[order]
            points = points[order]
            self._losses = None if losses is None else losses[order]
            self._targets = None if self._targets is None else self._targets[order]
        self._points = points
        self._tree = None if self._exact else cKDTree(points, leafsize=32, balanced_tree=False)
        sample = np.random.default_rng(0).choice(n, min(n, 256), replace=False)
        nearest = self._search(points[sample], min(2, n))[0][:, -1]
        typical, rounding = float(np.median(nearest)), _ROUNDING * np.sqrt(points.shape[1])
        # never so small that copies differ by rounding
        self._tiny = max(_TINY * typical, rounding)
        self._smoothing = max(_SMOOTHING * typical, rounding)

    def class_columns(self, features: Any, predictions: Any) -> FloatArray:
        """How near the training examples are, shape (n, 4).

        The first column is log(distance to the nearest example of the predicted class / to the nearest of
        another class): above 0 the neighbour contradicts the prediction. The second is log(distance to the
        nearest example). Two more are the same with the mean distance to the five nearest of each side, which
        a single example cannot change much. A share of the typical distance between neighbours is added to
        all distances.
        """
        if self.classes_ is None:
            raise ValueError("labels were not given: class_columns needs the classes of the examples")
        queries, predictions = self._space(features), np.asarray(predictions)
        codes = np.searchsorted(self.classes_, predictions).clip(max=len(self.classes_) - 1)
        codes = np.where(self.classes_[codes] == predictions, codes, -1)
        find = self._class_distances_exact if self._exact else self._class_distances_near
        columns = []
        # first the nearest of each side, then the mean of several
        for same, other in zip(*find(queries, codes), strict=True):
            nearest = np.minimum(same, other)
            # a class without examples is as far as can be told: nothing is known either way
            sides = [np.where(np.isfinite(part), part, nearest) for part in (same, other)]
            logs = [np.log(part + self._smoothing) for part in (*sides, nearest)]
            columns.extend([logs[0] - logs[1], logs[2]])
        return np.column_stack(columns)

    def loss_columns(self, features: Any, predictions: Any = None) -> FloatArray:
        """How well the nearest examples were predicted, shape (n, 2), or (n, 3) with targets.

        Logarithms of the mean distance to them, of their mean loss, and of the mean difference between their
        targets and this prediction.
        """
        if self._losses is None:
            raise ValueError("losses were not given: loss_columns needs the losses of the examples")
        distances, neighbours = self._search(self._space(features), self.n_neighbours)
        smallest = _TINY * float(self._losses.mean()) or _TINY
        columns = [
            np.log(distances.mean(axis=1) + self._tiny),
            np.log(self._losses[neighbours].mean(axis=1) + smallest),
        ]
        if self._targets is not None:
            predicted = np.asarray(predictions, dtype=np.float64).reshape(len(distances), 1, -1)
            differences = np.sqrt(((self._targets[neighbours] - predicted) ** 2).mean(axis=2))
            columns.append(np.log(differences.mean(axis=1) + self._smallest_difference))
        return np.column_stack(columns)

    def _search(self, queries: FloatArray, k: int) -> tuple[FloatArray, NDArray[np.intp]]:
        """Distances and positions of the k nearest examples, shape (n, k), nearest first."""
        if self._tree is not None:
            distances, neighbours = self._tree.query(queries, k=np.arange(1, k + 1), eps=_TREE_SLACK)
            return distances, neighbours
        parts = []
        for squared in self._blocks(queries):
            chosen = np.argpartition(squared, k - 1, axis=1)[:, :k] if k < squared.shape[1] else None
            if chosen is None:
                chosen = np.broadcast_to(np.arange(k), (len(squared), k))
            values = np.take_along_axis(squared, chosen, axis=1)
            order = np.argsort(values, axis=1, kind="stable")
            parts.append(
                (
                    np.sqrt(np.take_along_axis(values, order, axis=1)),
                    np.take_along_axis(chosen, order, axis=1),
                )
            )
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _class_distances_exact(
        self, queries: FloatArray, codes: NDArray[np.intp]
    ) -> tuple[FloatArray, FloatArray]:
        """Distances to examples of the class at ``codes`` and of any other, each (2, n); inf for none.

        The first row is that of the nearest, the second the mean of the five nearest.
        """
        assert self.classes_ is not None
        bounds = np.searchsorted(self._codes, np.arange(len(self.classes_) + 1))
        same, other = np.full((2, 2, len(queries)), np.inf)
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            start, end = (0, 0) if code < 0 else bounds[code : code + 2]
            done = 0
            for squared in self._blocks(queries[rows]):
                part = rows[done : done + len(squared)]
                done += len(squared)
                same[:, part] = _nearest_of(squared[:, start:end])
                # out of the way, what follows has the others alone
                squared[:, start:end] = np.inf
                other[:, part] = _nearest_of(squared)
        return same, other

    def _class_distances_near(
        self, queries: FloatArray, codes: NDArray[np.intp]
    ) -> tuple[FloatArray, FloatArray]:
        """The same among the neighbours found; a class not among them is at least as far as the farthest."""
        distances, neighbours = self._search(queries, min(_TREE_NEIGHBOURS, len(self._points)))
        agrees = self._codes[neighbours] == codes[:, None]
        k = min(_CLASS_NEIGHBOURS, distances.shape[1])

        def nearest(mask: NDArray[np.bool_]) -> FloatArray:
            few = np.sort(np.where(mask, distances, distances[:, -1:]), axis=1)[:, :k]
            return np.stack([few[:, 0], few.mean(axis=1)])

        return nearest(agrees), nearest(~agrees)

    def _blocks(self, queries: FloatArray) -> Any:
        """Squared distances to all examples, some queries at a time."""
        step = max(1, _BLOCK // len(self._points))
        lengths = np.einsum("ij,ij->i", self._points, self._points)
        for start in range(0, len(queries), step):
            part = queries[start : start + step]
            squared = part @ (-2.0 * self._points.T)
            squared += lengths
            squared += np.einsum("ij,ij->i", part, part)[:, None]
            yield np.maximum(squared, 0.0, out=squared)


def _nearest_of(squared: FloatArray) -> FloatArray:
    """Smallest distance of each row and mean of the five smallest, shape (2, rows); inf without columns."""
    k = min(_CLASS_NEIGHBOURS, squared.shape[1])
    if not k:
        return np.full((2, len(squared)), np.inf)
    few = np.partition(squared, k - 1, axis=1)[:, :k]
    # of an example itself, what the difference of large squares leaves is rounding
    few = np.sqrt(np.where(few < _ROUNDING**2, 0.0, few))
    # a class may have fewer examples than that
    known = np.isfinite(few)
    mean = np.where(known, few, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    return np.stack([few.min(axis=1), np.where(known.any(axis=1), mean, np.inf)])


class Space:
    """Features -> standardised features, in at most some principal components."""

    def __init__(self, features: Any, dimensions: int):
        self._reduction: Any = None
        if sp.issparse(features):
            self._scale = None
            reduced = min(dimensions, min(features.shape) - 1)
            if reduced >= 1:
                self._reduction = TruncatedSVD(reduced, random_state=0).fit(features)
            return
        table = _bounded(features)
        known = np.isfinite(table)
        count = np.maximum(known.sum(axis=0), 1)
        self._mean = np.where(known, table, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(known, table - self._mean, 0.0) ** 2).sum(axis=0) / count)
        # constant columns tell nothing about new examples either
        self._scale = np.divide(
            1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * np.abs(self._mean)
        )
        if table.shape[1] > dimensions and len(table) > dimensions:
            solver = "covariance_eigh" if table.shape[1] <= 1000 and len(table) > 1000 else "randomized"
            self._reduction = PCA(dimensions, svd_solver=solver, random_state=0).fit(self._standardise(table))

    def __call__(self, features: Any) -> FloatArray:
        if self._scale is not None:
            features = self._standardise(_bounded(features))
        if self._reduction is not None:
            return np.asarray(self._reduction.transform(features), dtype=np.float64)
        return np.asarray(features.toarray() if sp.issparse(features) else features, dtype=np.float64)

    def _standardise(self, table: FloatArray) -> FloatArray:
        standardised = ((table - self._mean) * self._scale).clip(-_LARGEST, _LARGEST)
        return np.where(np.isnan(standardised), 0.0, standardised)


def _bounded(features: Any) -> FloatArray:
    """The table without numbers whose squares are infinite; what is infinite itself is missing."""
    table = np.asarray(features, dtype=np.float64)
    return np.where(np.isfinite(table), table.clip(-_LARGEST, _LARGEST), np.nan)
