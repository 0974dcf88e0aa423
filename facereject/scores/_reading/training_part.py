"""What a fitted predictor and the examples it was trained on tell about its predictions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from facereject._validation import FloatArray
from facereject.scores._neighbours import NeighbourIndex
from facereject.scores._plugin import PlugInRisk, check_probabilities
from facereject.scores._reading.predictor import check_one_value_per_class, find_response, read_outputs
from facereject.scores._reading.second_opinion import PANELS, ClassOpinion, SecondOpinion
from facereject.scores._reading.tables import TableEncoder, features_of, last_step

# predictions of more numbers than this, landmarks for instance, are not columns
_MAX_PREDICTED = 16
# quantiles one standard deviation from the centre of a normal distribution
_QUANTILES = (0.16, 0.84)
# smallest spread whose logarithm is used, as a share of the standard deviation of y
_TINY = 1e-4


class Required(NamedTuple):
    """What a score reads besides features and predictions."""

    response: str | None
    auxiliary: bool
    others: str | None

    @classmethod
    def by(cls, score: Any) -> Required:
        """What the score declares; nothing for a score of a user that declares nothing."""
        if not getattr(score, "use_outputs", True):
            return cls(None, False, None)
        auxiliary = bool(getattr(score, "reads_auxiliary", False))
        return cls(getattr(score, "response", None), auxiliary, getattr(score, "reference_models", None))


class Material(NamedTuple):
    """What a score is given about n predictions besides features; None for what there is not."""

    predictions: NDArray[Any] | None
    outputs: FloatArray | None
    auxiliary: FloatArray | None
    base_score: FloatArray | None

    def rows(self, index: Any) -> Material:
        """Those of the examples at ``index``."""
        return Material(*(None if part is None else part[index] for part in self))

    def arguments(self, required: Required) -> dict[str, Any]:
        """Keyword arguments of ``fit`` and ``predict`` of a score."""
        given: dict[str, Any] = {"predictions": self.predictions}
        if required.response is not None:
            given["outputs"] = self.outputs
        if required.auxiliary:
            given.update(auxiliary=self.auxiliary, base_score=self.base_score)
        return {name: value for name, value in given.items() if value is not None}


class TrainingPart:
    """The examples that a predictor was trained on, ready to be searched for neighbours.

    Parameters
    ----------
    predictor : fitted predictor
    X, y : its training examples
    losses : ndarray of shape (n,)
        Of predictions for them by predictors that have not seen them.
    classes : ndarray of shape (K,) or None
        Columns of the outputs, for a classifier.
    loss : callable (y, predictions) -> losses
    rows : int
        Size of the whole table.
    others : str or None
        Which of ``PANELS`` is trained on the same examples for a second opinion.
    """

    def __init__(
        self,
        predictor: Any,
        X: Any,
        y: NDArray[Any],
        losses: FloatArray,
        classes: NDArray[Any] | None,
        loss: Callable[[Any, Any], Any],
        rows: int,
        others: str | None,
    ):
        self.predictor = predictor
        self.classes = classes
        self._smallest = _TINY * float(np.std(y)) or _TINY if classes is None else 0.0
        self._quartiles = np.quantile(y, (0.25, 0.5, 0.75)) if classes is None and y.ndim == 1 else ()
        self._matrix = None if classes is None else loss_matrix(loss, classes)
        features = features_of(predictor, X)
        self._encoder = TableEncoder(features)
        self._index: NeighbourIndex | None = None
        self._opinion: SecondOpinion | None = None
        self._class_opinion: ClassOpinion | None = None
        if self._encoder.works:
            table = self._encoder(features)
            labels = y if classes is not None and y.ndim == 1 else None
            targets = y if classes is None and y.dtype.kind in "fiu" else None
            self._index = NeighbourIndex(table, labels, losses, targets, rows=rows)
            if others is not None and labels is not None:
                self._class_opinion = ClassOpinion(table, labels, PANELS[others], classes, self._matrix)
            if others is not None and targets is not None and targets.ndim == 1:
                panel = PANELS[others]
                if _spread(last_step(predictor), _safe_indexing(features, slice(0, 1))) is not None:
                    # members of an ensemble say as much as other trees would
                    panel = panel._replace(n_trees=0)
                if panel.n_trees or panel.boosted:
                    self._opinion = SecondOpinion(table, targets, losses, panel)

    def auxiliary(
        self, X: Any, predictions: NDArray[Any], outputs: FloatArray | None
    ) -> tuple[FloatArray | None, FloatArray | None]:
        """Columns about the predictions and the base score to start from; None for what there is not."""
        features = features_of(self.predictor, X)
        columns: list[FloatArray] = []
        if self.classes is not None:
            base_score = self._plug_in_base_score(outputs, predictions)
            if self._matrix is None and hasattr(self.predictor, "own_uncertainty"):
                base_score = self.predictor.own_uncertainty(X)
            if self._index is not None and self._index.classes_ is not None:
                table = self._encoder(features)
                columns.append(self._index.class_columns(table, predictions))
                if self._class_opinion is not None:
                    columns.append(self._class_opinion.columns(table, predictions))
        else:
            base_score = _log_spread(last_step(self.predictor), features, self._smallest)
            if predictions.dtype.kind in "fiu" and predictions[:1].size <= _MAX_PREDICTED:
                columns.append(self._bent(predictions.reshape(len(predictions), -1)))
            if self._index is not None:
                table = self._encoder(features)
                columns.append(self._index.loss_columns(table, predictions))
                if self._opinion is not None:
                    columns.append(self._opinion.columns(table, predictions))
        return np.hstack(columns).astype(np.float64) if columns else None, base_score

    def _bent(self, predictions: FloatArray) -> FloatArray:
        """Predictions, and for a single number what it exceeds the quartiles of y by: bends of a line."""
        if predictions.shape[1] > 1:
            return predictions
        return np.hstack([predictions, np.maximum(predictions - self._quartiles, 0.0)])

    def _plug_in_base_score(self, outputs: FloatArray | None, predictions: NDArray[Any]) -> FloatArray | None:
        """log of the expected loss under the probabilities; None for 0/1 loss, whose log-odds say more."""
        if (
            self._matrix is None
            or outputs is None
            or find_response(self.predictor, "auto") != "predict_proba"
        ):
            return None
        risk = PlugInRisk(self._matrix).from_outputs(check_probabilities(outputs), predictions, self.classes)
        return np.asarray(np.log(np.maximum(risk, 1e-12 * float(self._matrix.max()))))


def loss_matrix(loss: Callable[[Any, Any], Any], classes: NDArray[Any]) -> FloatArray | None:
    """Loss of predicting column ŷ when row y is true; None if it is that of 0/1 loss, or unknown.

    A loss that knows more than the two labels, as one with a weight per example, has no such matrix.
    """
    n_classes = len(classes)
    try:
        values = loss(np.repeat(classes, n_classes), np.tile(classes, n_classes))
        matrix = np.asarray(values, dtype=np.float64).reshape(n_classes, n_classes)
    except (TypeError, ValueError, IndexError):
        return None
    if not (np.isfinite(matrix).all() and matrix.min() >= 0 and matrix.max() > 0):
        return None
    errors = matrix[~np.eye(n_classes, dtype=bool)]
    plain = not np.diag(matrix).any() and np.ptp(errors) <= 1e-12 * errors.max()
    return None if plain else matrix


def outputs_of_all_classes(predictor: Any, X: Any, response: str, classes: NDArray[Any] | None) -> FloatArray:
    """Outputs with a column for every class of the whole sample, also for one that this fold lacked."""
    values = read_outputs(predictor, X, response)
    own: Any = getattr(predictor, "classes_", classes)
    if classes is None or np.array_equal(own, classes):
        return values
    if values.ndim == 1:
        # two classes are left, and one decision value for both: positive for the second
        values = np.column_stack([-values, values])
    check_one_value_per_class(predictor, values)
    # what a predictor never saw it would never predict: probability 0, or the lowest decision value
    probabilities = find_response(predictor, response) == "predict_proba"
    lowest = np.zeros(len(values)) if probabilities else values.min(axis=1)
    full = np.repeat(lowest[:, None], len(classes), axis=1)
    full[:, np.searchsorted(classes, own)] = values
    return full


def _log_spread(regressor: Any, features: Any, smallest: float) -> FloatArray | None:
    """log of the standard deviation that a regressor states for its predictions; None if it states none."""
    spread = _spread(regressor, features)
    if spread is None:
        return None
    spread = np.asarray(spread, dtype=np.float64)
    # several outputs: their root mean square
    spread = np.sqrt((spread.reshape(len(spread), -1) ** 2).mean(axis=1))
    return np.asarray(np.log(spread + smallest))


def _spread(regressor: Any, features: Any) -> Any:
    # loaded already if the regressor is one of them, and slow to load if not
    from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor, VotingRegressor

    if isinstance(regressor, (RandomForestRegressor, ExtraTreesRegressor)):
        # trees take float32 without names
        table = np.asarray(features, dtype=np.float32) if not hasattr(features, "tocsr") else features
        return _spread_of_members([tree.predict(table) for tree in regressor.estimators_])
    if isinstance(regressor, BaggingRegressor):
        table = np.asarray(features)
        members = zip(regressor.estimators_, regressor.estimators_features_, strict=True)
        return _spread_of_members([member.predict(table[:, columns]) for member, columns in members])
    if isinstance(regressor, VotingRegressor):
        return _spread_of_members([member.predict(features) for member in regressor.estimators_])
    try:
        options = inspect.signature(regressor.predict).parameters
    except ValueError:
        # compiled code without a signature
        return None
    if "return_std" in options:
        return regressor.predict(features, return_std=True)[1]
    if "quantiles" in options:
        low, high = np.asarray(regressor.predict(features, quantiles=list(_QUANTILES))).T
        return np.maximum(high - low, 0.0)
    return None


def _spread_of_members(predictions: list[Any]) -> FloatArray:
    return np.asarray(np.std(predictions, axis=0))
