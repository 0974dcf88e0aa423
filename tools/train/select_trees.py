"""Recipes of the score's trees side by side, cross-validated on the photographs to fit.

    python -m tools.train.select_trees ../shared/data/faces/300w --cache cache

Every row changes one thing of the shipped recipe (``facereject/faces/training/_score_trees.py``). Printed are
the share of the gap between detector score and oracle that is closed on photographs of other folds, clean
and degraded with the detector's box, and by how much the mean of both differs from the shipped recipe's, with
a 95 % interval by resampling photographs, the same ones for all rows. Photographs set aside for the card are
not looked at, near-copies share a fold, and the linear columns are out of fold too. Numbers of trees are
taken as they stand; the shipped models could have stopped earlier and did not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces.features.context import QUALITY
from facereject.faces.models.compact import CompactColumns
from facereject.faces.training.extract import FaceTable
from facereject.faces.training.fit_compact import TreeOptions, clean_weights, grow_trees
from facereject.metrics import aurc
from tools.train.default_model import FIT_SEED
from tools.train.fit_part import CLIP, Columns, Part, columns_out_of_fold, fit_parts, options_of

FloatArray = NDArray[np.float64]


class Recipe(NamedTuple):
    """Trees by SELE (kind 0) and by least squares on the log error (kind 1), and what they learn from."""

    trees: TreeOptions = TreeOptions()
    clean_share: float = 0.3
    clip: float | None = CLIP
    versions: int = 12
    left_out: str = ""
    kinds: tuple[int, ...] = (0, 1)


class Row(NamedTuple):
    """Shares of the gap closed, and the difference of their mean to the shipped recipe with its interval."""

    clean: float
    degraded: float
    change: float
    low: float
    high: float


SHIPPED = "as shipped"
RECIPES = {
    SHIPPED: Recipe(),
    "75 of each kind": Recipe(TreeOptions(75)),
    "300 of each kind": Recipe(TreeOptions(300)),
    "300 by SELE alone": Recipe(TreeOptions(300), kinds=(0,)),
    "300 by squares alone": Recipe(TreeOptions(300), kinds=(1,)),
    "4 leaves, 300": Recipe(TreeOptions(300, max_leaf_nodes=4)),
    "16 leaves": Recipe(TreeOptions(max_leaf_nodes=16)),
    "rate 0.05, 300": Recipe(TreeOptions(300, learning_rate=0.05)),
    "clean faces as many as they are": Recipe(clean_share=0.0),
    "clean faces 50 %": Recipe(clean_share=0.5),
    "no clip of large errors": Recipe(clip=None),
    "6 degraded versions": Recipe(versions=6),
    "without the score of clean faces": Recipe(left_out="clean score"),
    "without image quality": Recipe(left_out="quality"),
}


def main() -> None:
    parser = options_of(__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=FIT_SEED, help="of the folds")
    parser.add_argument("--resamples", type=int, default=300)
    options = parser.parse_args()
    for part in fit_parts(options):
        columns = columns_out_of_fold(part, options.seed)
        print(f"{part.name}, {len(part.table)} pictures of {len(set(part.photo))} photographs")
        print(f"{'recipe':34s}  clean  degraded   mean - shipped (95 % interval)")
        for label, row in compare(part, columns, RECIPES, options.resamples).items():
            change, low, high = (100 * value for value in row[2:])
            interval = "" if label == SHIPPED else f"   {change:+5.2f} ({low:+.2f} to {high:+.2f})"
            print(f"{label:34s}  {row.clean:5.1%}  {row.degraded:8.1%}{interval}", flush=True)


def compare(part: Part, columns: Columns, recipes: dict[str, Recipe], resamples: int) -> dict[str, Row]:
    """A row per recipe, the shipped one among them, and one for the linear score alone."""
    found = {"linear score alone": columns.seen[:, 0].astype(np.float64)}
    grown: dict[Recipe, FloatArray] = {}
    for label, recipe in recipes.items():
        same = recipe._replace(kinds=())
        if same not in grown:
            grown[same] = out_of_fold(part.table, columns, recipe)
        kinds = list(recipe.kinds)
        factors = 1 / np.maximum(grown[same][part.table.clean].std(axis=0), 1e-9)
        found[label] = grown[same][:, kinds] @ factors[kinds]
    judged = np.column_stack(list(found.values()))
    shares = gaps(part.table, columns.fold, judged, np.arange(len(judged)))
    drawn = resampled(part, columns.fold, judged, resamples).mean(axis=1)
    first = list(found).index(SHIPPED)
    low, high = np.percentile(drawn - drawn[:, [first]], [2.5, 97.5], axis=0)
    means = shares.mean(axis=0)
    return {
        label: Row(*shares[:, k].tolist(), float(means[k] - means[first]), float(low[k]), float(high[k]))
        for k, label in enumerate(found)
    }


def out_of_fold(table: FaceTable, columns: Columns, recipe: Recipe) -> FloatArray:
    """What trees of either kind say of photographs they have not seen, shape (n, 2)."""
    seen = np.delete(columns.seen, positions(columns.compact, recipe.left_out), axis=1)
    judged = np.empty((len(table), 2))
    for k in np.unique(columns.fold):
        out = columns.fold == k
        rows = ~out & (table.variant <= recipe.versions)
        weights = clean_weights(table.clean[rows], recipe.clean_share)
        trees, _ = grow_trees(
            seen[rows],
            table.losses[rows],
            recipe.clip,
            weights,
            n_trees=recipe.trees.n_estimators,
            options=recipe.trees,
        )
        judged[out] = np.column_stack([kind(seen[out]) for kind in trees])
    return judged


def positions(compact: CompactColumns, name: str) -> list[int]:
    """Which columns are the score of clean faces, or the image quality."""
    if name == "clean score":
        return [len(compact.offsets) - 1]
    if name == "quality":
        # what further runs add comes last: two kinds of values, over each group, their mean and the largest
        end = compact.n_columns - (2 * (compact.layout.groups.shape[1] + 2) if compact.n_runs else 0)
        return list(range(end - len(QUALITY), end))
    return []


def gaps(
    table: FaceTable, fold: NDArray[np.int64], judged: FloatArray, rows: NDArray[np.int64]
) -> FloatArray:
    """Shares of the gap closed by each column, clean and degraded, mean over folds: shape (2, r)."""
    boxes = np.array(["box" in kind for kind in table.kinds])
    result = []
    for group in (table.clean, ~table.clean & ~boxes):
        shares = []
        for k in np.unique(fold):
            chosen = rows[group[rows] & (fold[rows] == k)]
            losses = table.losses[chosen]
            worst, best = aurc(losses, -table.detector_scores[chosen]), aurc(losses, losses)
            shares.append([(worst - aurc(losses, order)) / (worst - best) for order in judged[chosen].T])
        result.append(np.mean(shares, axis=0))
    return np.array(result)


def resampled(part: Part, fold: NDArray[np.int64], judged: FloatArray, number: int) -> FloatArray:
    """The same for photographs drawn with replacement, so many times: shape (number, 2, r)."""
    rng = np.random.default_rng(0)
    _, owner = np.unique(part.photo, return_inverse=True)
    rows_of = np.split(np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner))[:-1])
    draws = (rng.integers(len(rows_of), size=len(rows_of)) for _ in range(number))
    return np.array(
        [gaps(part.table, fold, judged, np.concatenate([rows_of[i] for i in draw])) for draw in draws]
    )


if __name__ == "__main__":
    main()
