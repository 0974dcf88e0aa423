"""Trees of LightGBM that grow one at a time, compared by their AuRC on held-out examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray
from sklearn.utils import check_random_state

from facereject._validation import FloatArray
from facereject.metrics import aurc

if TYPE_CHECKING:
    from facereject.scores._boosting.score import BoostedScore

# share of the examples a leaf may at most be asked to hold, so that small samples still split
_LEAF_SHARE = 0.05


class BoostingRows(NamedTuple):
    """Examples as the trees see them: table, losses in units of their mean, weights, score of the start."""

    table: NDArray[Any]
    target: FloatArray
    weight: FloatArray
    start: FloatArray

    def rows(self, index: Any) -> BoostingRows:
        """The examples at ``index``."""
        return BoostingRows(*(values[index] for values in self))


class Growth:
    """Trees that grow one by one on some examples, and their scores of the examples held out."""

    def __init__(
        self,
        score: BoostedScore,
        lightgbm: Any,
        part: BoostingRows,
        held_out: BoostingRows | None,
        n_leaves: int,
    ):
        parameters = {
            "learning_rate": score.learning_rate,
            "num_leaves": n_leaves,
            "lambda_l2": score.l2_regularization,
            "min_data_in_leaf": max(1, min(score.min_samples_leaf, int(_LEAF_SHARE * len(part.table)))),
            # a bin holds 3 values by default: too many for a handful of examples
            "min_data_in_bin": min(3, max(1, len(part.table) // 100)),
            "feature_pre_filter": False,
            "metric": "none",
            "objective": "none",
            "seed": int(check_random_state(score.random_state).randint(2**31)),
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": score.n_jobs,
            "verbosity": -1,
        }
        categorical = [score.n_features_in_] if score.classes_ is not None else []
        dataset = lightgbm.Dataset(
            part.table,
            part.target,
            weight=part.weight,
            init_score=part.start,
            categorical_feature=categorical,
            params=parameters,
        ).construct()
        self.booster: Any = None
        # LightGBM calls it a fatal error where no column can be split
        if any(dataset.feature_num_bin(column) > 1 for column in range(part.table.shape[1])):
            self.booster = lightgbm.Booster(parameters, dataset)
        self._objective = score._objective(part.target, part.weight)
        self._held_out = held_out
        self._scores = None if held_out is None else held_out.start.copy()
        self._threads = score.n_jobs

    def grow(self, n_trees: int) -> Any:
        """Add trees and return the booster."""
        for _ in range(n_trees if self.booster is not None else 0):
            grown = self.booster.current_iteration()
            self.booster.update(fobj=self._objective)
            # where no leaf can be split LightGBM adds nothing
            added = self.booster.current_iteration() > grown
            if added and self._held_out is not None and self._scores is not None:
                self._scores += self.booster.predict(
                    self._held_out.table,
                    start_iteration=grown,
                    num_iteration=1,
                    num_threads=self._threads,
                )
        return self.booster

    def area(self) -> float:
        """AuRC of the examples held out."""
        assert self._held_out is not None
        assert self._scores is not None
        return aurc(self._held_out.target, self._scores)
