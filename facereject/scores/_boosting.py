"""Boosted scores, the part that is LightGBM: inputs of the trees, early stopping by AuRC, equal results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from facereject._settings import check_integer, check_number
from facereject._validation import FloatArray, check_same_length, check_vector
from facereject.metrics import aurc
from facereject.scores._base import BaseScore
from facereject.scores._predictor import check_outputs
from facereject.scores.margin import top_and_gap

# share of the examples a leaf may at most be asked to hold, so that small samples still split
_LEAF_SHARE = 0.05


class LightGBMNotAvailableError(ImportError):
    """LightGBM cannot be imported; the message says what to install."""


def import_lightgbm() -> Any:
    """The module, or a sentence about what is missing."""
    try:
        import lightgbm
    except ImportError:
        raise LightGBMNotAvailableError(
            "boosted scores need LightGBM, which is not installed: pip install 'facereject[boost]'"
        ) from None
    except OSError as error:
        # the wheel is there, but the OpenMP runtime it links to is not
        raise LightGBMNotAvailableError(
            f"LightGBM is installed but cannot be loaded ({error}); "
            "it needs the OpenMP runtime: apt install libgomp1 (Debian, Ubuntu), brew install libomp (macOS)"
        ) from None
    return lightgbm


class BoostedScore(BaseScore):
    """Trees on the features, the predicted class and the outputs of the predictor."""

    response = "auto"
    _all_finite = "allow-nan"

    def __init__(
        self,
        n_trees: int = 500,
        *,
        learning_rate: float = 0.1,
        max_leaves: int = 31,
        l2: float = 5.0,
        min_leaf: int = 20,
        patience: int = 50,
        validation_fraction: float = 0.2,
        n_threads: int = 1,
        random_state: Any = 0,
    ):
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.l2 = l2
        self.min_leaf = min_leaf
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        losses: Any,
        predictions: Any = None,
        sample_weight: Any = None,
        *,
        outputs: Any = None,
        validation: Any = None,
    ) -> Any:
        """Learn the score.

        Parameters
        ----------
        X : array-like of shape (n, d)
            NaN is a missing value; in a column that had none in training the trees read it as 0.
        losses : array-like of shape (n,)
            Loss ≥ 0 of each prediction, on examples that the predictor was not trained on.
        predictions : array-like of shape (n,), optional
            Predicted classes, used as a categorical column.
        sample_weight : array-like of shape (n,), optional
        outputs : array-like of shape (n, K) or (n,), optional
            predict_proba or decision_function of the predictor, used as further columns together with the
            largest of each row and its distance to the second largest.
        validation : tuple (X, losses, predictions, outputs), optional
            Examples that decide the number of trees; None for what is absent, and trailing Nones may be left
            out. Without it a part of the training examples is held out for that, and the score is then fitted
            again to all of them.

        Raises
        ------
        LightGBMNotAvailableError
        """
        lightgbm = import_lightgbm()
        self._check_settings()
        data = self._check_fit(X, losses, predictions, sample_weight)
        self.classes_ = position = None
        if data.predictions is not None:
            self.classes_, position = np.unique(data.predictions, return_inverse=True)
        self.n_outputs_: int | None = None
        if outputs is not None:
            self.n_outputs_ = _as_columns(outputs, len(data.X)).shape[1]
        table = self._table(data.X, position, outputs)
        n = len(table)
        # in units of the mean loss, the trees do not depend on the unit
        self.mean_loss_ = float(np.average(data.target, weights=data.sample_weight))
        target = data.target / (self.mean_loss_ or 1.0)
        weight = np.ones(n) if data.sample_weight is None else data.sample_weight

        def train(rows: Any, n_trees: int, held_out: Any = None) -> Any:
            return self._train(lightgbm, table[rows], target[rows], weight[rows], n_trees, held_out)

        if validation is not None:
            self.booster_ = train(slice(None), self.n_trees, self._check_validation(validation))
            self.n_trees_ = 0 if self.booster_ is None else self.booster_.best_iteration
        else:
            if n < 2:
                raise ValueError("X must hold at least 2 examples: one of them is held out")
            order = check_random_state(self.random_state).permutation(n)
            n_held = min(n - 1, max(1, round(self.validation_fraction * n)))
            held, rest = order[:n_held], order[n_held:]
            first = train(rest, self.n_trees, (table[held], data.target[held]))
            self.n_trees_ = 0 if first is None else first.best_iteration
            self.booster_ = None if first is None else train(slice(None), self.n_trees_)
        return self

    def predict(self, X: Any, predictions: Any = None, *, outputs: Any = None) -> FloatArray:
        """Uncertainty of the prediction at each row of X; higher = less certain.

        Parameters
        ----------
        X : array-like of shape (n, d)
        predictions, outputs
            As in ``fit``; needed exactly when ``fit`` had them. A predicted class that training never saw is
            a missing value to the trees: they fall back on the other columns.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        X, position = self._check_predict(X, predictions, self.classes_)
        table = self._table(X, position, outputs)
        if self.booster_ is None:
            return np.full(len(table), self.mean_loss_)
        scores = self.booster_.predict(table, num_iteration=self.n_trees_, num_threads=self.n_threads)
        return np.asarray(scores, dtype=np.float64) * self._score_unit()

    def _check_settings(self) -> None:
        for name, least in (("n_trees", 1), ("max_leaves", 2), ("min_leaf", 1), ("patience", 1)):
            check_integer(getattr(self, name), name, minimum=least)
        check_number(self.learning_rate, "learning_rate", above=0, maximum=1)
        check_number(self.l2, "l2", minimum=0)
        check_number(self.validation_fraction, "validation_fraction", above=0, below=1)

    def _score_unit(self) -> float:
        return 1.0

    def _objective(self, target: FloatArray, weight: FloatArray) -> Any:
        """A name of a LightGBM objective, or a function (scores, dataset) -> (gradient, curvature)."""
        raise NotImplementedError

    def _train(
        self,
        lightgbm: Any,
        table: FloatArray,
        target: FloatArray,
        weight: FloatArray,
        n_trees: int,
        held_out: tuple[FloatArray, FloatArray] | None,
    ) -> Any:
        """A booster; None where no column can be split, which LightGBM would call a fatal error."""
        parameters = {
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaves,
            "lambda_l2": self.l2,
            "min_data_in_leaf": max(1, min(self.min_leaf, int(_LEAF_SHARE * len(table)))),
            # a bin holds 3 values by default: too many for a handful of examples
            "min_data_in_bin": min(3, max(1, len(table) // 100)),
            "feature_pre_filter": False,
            "metric": "none",
            "seed": int(check_random_state(self.random_state).randint(2**31)),
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": self.n_threads,
            "verbosity": -1,
        }
        categorical = [self.n_features_in_] if self.classes_ is not None else []
        dataset = lightgbm.Dataset(
            table, target, weight=weight, categorical_feature=categorical, params=parameters
        ).construct()
        if all(dataset.feature_num_bin(column) < 2 for column in range(table.shape[1])):
            return None
        parameters = {**parameters, "objective": self._objective(target, weight)}
        if held_out is None:
            return lightgbm.train(parameters, dataset, n_trees)

        def validation_aurc(scores: FloatArray, _: Any) -> tuple[str, float, bool]:
            return "AuRC", aurc(held_out[1], scores), False

        stop = lightgbm.early_stopping(self.patience, verbose=False)
        return lightgbm.train(
            parameters,
            dataset,
            n_trees,
            valid_sets=[dataset.create_valid(*held_out, params=dataset.get_params())],
            feval=validation_aurc,
            callbacks=[stop],
        )

    def _table(self, X: NDArray[Any], position: NDArray[np.intp] | None, outputs: Any) -> NDArray[Any]:
        """Columns of the trees: features, code of the predicted class, outputs, their top and its gap."""
        columns = [X]
        if position is not None:
            # LightGBM reads a negative category as missing
            columns.append(position[:, None])
        if (outputs is None) != (self.n_outputs_ is None):
            raise ValueError("outputs must be given to fit and to predict, or to neither")
        if outputs is not None:
            values = _as_columns(outputs, len(X))
            if values.shape[1] != self.n_outputs_:
                raise ValueError(
                    f"outputs must have {self.n_outputs_} columns as in fit, got {values.shape[1]}"
                )
            columns.append(values)
            if values.shape[1] > 1:
                columns.extend(part[:, None] for part in top_and_gap(values))
            else:
                columns.append(np.abs(values))
        return np.hstack(columns) if len(columns) > 1 else X

    def _check_validation(self, validation: Any) -> tuple[FloatArray, FloatArray]:
        if not isinstance(validation, (tuple, list)) or not 2 <= len(validation) <= 4:
            raise ValueError("validation must be a tuple (X, losses, predictions, outputs)")
        X, losses, predictions, outputs = (*validation, None, None)[:4]
        X, position = self._check_predict(X, predictions, self.classes_)
        losses = check_vector(losses, "losses of validation", non_negative=True)
        check_same_length(**{"X of validation": X, "losses of validation": losses})
        return self._table(X, position, outputs), losses


def _as_columns(outputs: Any, n: int) -> FloatArray:
    """Outputs as (n, K)."""
    values = check_outputs(outputs, "outputs")
    if len(values) != n:
        raise ValueError(f"outputs must have one row per row of X ({n}), got {len(values)}")
    return values[:, None] if values.ndim == 1 else values
