"""The trees of a compact score: half of them by SELE, half by least squares on the logarithm of the loss."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject._trees import TreeScore
from facereject.scores._lightgbm import import_lightgbm

FloatArray = NDArray[np.float64]


class TreeOptions(NamedTuple):
    """How trees are grown; ``tools/train/select_trees.py`` compares the defaults with others."""

    n_estimators: int = 150
    learning_rate: float = 0.1
    max_leaf_nodes: int = 8
    patience: int = 20


# the trees by least squares, in the words of LightGBM
_SQUARES: dict[str, Any] = {
    "objective": "l2",
    "lambda_l2": 20.0,
    "min_data_in_leaf": 20,
    "deterministic": True,
    "force_row_wise": True,
    "feature_pre_filter": False,
    "seed": 0,
    "verbosity": -1,
}

# percent: the logarithm of losses below tells noise apart; above, a face is lost
_FLOOR, _CEILING = 0.5, 20.0

_USUAL = TreeOptions()

# share of the photos held out in turn to find the number of trees
_HELD_OUT = 1 / 3

# weight of all clean rows together: what users show is mostly not degraded, most of the table is
_CLEAN_SHARE = 0.3

# values in a table; threads only pay on larger ones
_LARGE_TABLE = 1_000_000


class ScoreTrees(NamedTuple):
    """The trees of either kind."""

    by_sele: TreeScore
    by_squares: TreeScore


def clean_weights(clean: NDArray[np.bool_], least: float = _CLEAN_SHARE) -> FloatArray:
    """Weights of rows, 1 on average, by which clean ones count as this share of all if they are fewer."""
    weights = np.ones(len(clean))
    share = float(clean.mean())
    if 0 < share < least:
        weights[clean] = least / share
        weights[~clean] = (1 - least) / (1 - share)
    return weights


def grow_trees(
    columns: NDArray[np.float32],
    losses: FloatArray,
    clip: float | None,
    weights: FloatArray,
    *,
    groups: NDArray[np.str_] | None = None,
    n_trees: int | None = None,
    options: TreeOptions = _USUAL,
) -> tuple[ScoreTrees, int]:
    """Trees of both kinds and their number: ``n_trees``, or the number that ranks other groups best by SELE.

    Parameters
    ----------
    columns : ndarray of shape (n, c)
    losses : ndarray of shape (n,)
        In percent.
    clip : float or None
        For SELE, losses above count as this much.
    weights : ndarray of shape (n,)
    groups : ndarray of shape (n,), str, or None
        Rows of one group are held out together.
    n_trees : int or None
        Of either kind.
    options : TreeOptions
    """
    lightgbm = import_lightgbm()

    from facereject.scores import BoostedSELEScore

    if n_trees is not None:
        options = options._replace(n_estimators=n_trees)
    threads = os.cpu_count() or 1 if columns.size > _LARGE_TABLE else 1
    share = _HELD_OUT if n_trees is None else None
    fitted = BoostedSELEScore(**options._asdict(), validation_fraction=share, n_jobs=threads)
    bounded = losses if clip is None else np.minimum(losses, clip)
    fitted.fit(columns, bounded, sample_weight=weights, groups=groups)
    width = columns.shape[1]
    if fitted.booster_ is None:
        return ScoreTrees(TreeScore.constant(0.0, width), TreeScore.constant(0.0, width)), 1
    # a leaf holds at most 5 % of the rows, as for the trees by SELE, so that small samples still split
    leaf = max(1, min(_SQUARES["min_data_in_leaf"], len(columns) // 20))
    parameters = _SQUARES | {
        "learning_rate": options.learning_rate,
        "num_leaves": options.max_leaf_nodes,
        "num_threads": threads,
        "min_data_in_leaf": leaf,
    }
    data = lightgbm.Dataset(
        columns, np.log(_FLOOR + np.minimum(losses, _CEILING)), weight=weights, params=parameters
    )
    squares = lightgbm.train(parameters, data, fitted.n_estimators_)
    by_sele, by_squares = (TreeScore.from_lightgbm(booster) for booster in (fitted.booster_, squares))
    return ScoreTrees(by_sele, by_squares), fitted.n_estimators_
