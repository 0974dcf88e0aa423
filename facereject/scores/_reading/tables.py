"""What a score sees of an example: the columns that reach the last step of the predictor, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from facereject.scores._base import BaseScore
from facereject.scores._reading.predictor import PredictorScore

# categories of a column beyond this number share one indicator
_MAX_CATEGORIES = 20
# numbers of a sparse table that are written out for a score that needs all of them: half a gigabyte
_MAX_DENSE = 1 << 26


def unwrap(predictor: Any) -> Any:
    """The estimator found by a search, or the predictor itself."""
    while hasattr(predictor, "best_estimator_"):
        predictor = predictor.best_estimator_
    return predictor


def last_step(predictor: Any) -> Any:
    """The estimator that predicts, at the end of a pipeline or alone."""
    predictor = unwrap(predictor)
    return last_step(predictor[-1]) if isinstance(predictor, Pipeline) else predictor


def features_of(predictor: Any, X: Any) -> Any:
    """X as it reaches the last step: behind the transformers of a pipeline."""
    predictor = unwrap(predictor)
    if hasattr(predictor, "own_uncertainty"):
        # outputs that were saved: their columns are beside the features
        return predictor.features(X)
    if not isinstance(predictor, Pipeline):
        return X
    return features_of(predictor[-1], predictor[:-1].transform(X) if len(predictor) > 1 else X)


class TableEncoder:
    """Columns -> numbers: those of a frame that are not become indicators of their categories.

    ``works`` is False for what is no table, as a list of texts.
    """

    def __init__(self, features: Any):
        self._other: list[int] = []
        self._encoder: OneHotEncoder | None = None
        self.works = True
        if _is_frame(features):
            kinds = [getattr(kind, "kind", "O") for kind in features.dtypes]
            self._other = [i for i, kind in enumerate(kinds) if kind not in "fiub"]
            if self._other:
                self._encoder = OneHotEncoder(
                    max_categories=_MAX_CATEGORIES, handle_unknown="infrequent_if_exist", sparse_output=False
                ).fit(self._texts(features))
            return
        if sp.issparse(features):
            return
        try:
            self.works = _as_numbers(features).ndim == 2
        except (TypeError, ValueError):
            self.works = False

    @property
    def changes(self) -> bool:
        """Whether encoding changes the table."""
        return self._encoder is not None

    def __call__(self, features: Any) -> Any:
        """Numbers: an array of shape (n, d), or the sparse matrix that came in."""
        if sp.issparse(features):
            return features
        if self._encoder is None:
            return _as_numbers(features)
        numbers = features.iloc[:, [i for i in range(features.shape[1]) if i not in self._other]]
        indicators = self._encoder.transform(self._texts(features))
        return np.hstack([_as_numbers(numbers), indicators])

    def _texts(self, features: Any) -> Any:
        # one kind of value per column: categories, dates and missing values alike
        return np.asarray(features.iloc[:, self._other].astype(str), dtype=object)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "dtypes")


def _as_numbers(features: Any) -> Any:
    if _is_frame(features):
        # pandas has several kinds of missing values
        return features.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(features, dtype=np.float64)


class FeatureView:
    """X as a score sees it: behind the transformers of a pipeline, and as numbers.

    The transformers are those of the predictor trained on all examples. One that learns from y has seen the
    labels of the examples that the score learns from.
    """

    def __init__(self, predictor: Any, X: Any):
        self.predictor = predictor
        self._encoder = TableEncoder(features_of(predictor, X))

    def __call__(self, X: Any, score: Any) -> Any:
        """Features for the score; X itself for one that does not look at it."""
        if not getattr(score, "reads_features", True) or isinstance(score, PredictorScore):
            return X
        features = features_of(self.predictor, X)
        if sp.issparse(features) and isinstance(score, BaseScore):
            if features.shape[0] * features.shape[1] > _MAX_DENSE:
                raise ValueError(
                    f"{type(score).__name__} needs dense features, and {features.shape[0]:,} rows of "
                    f"{features.shape[1]:,} are too large: add TruncatedSVD to the pipeline, or use "
                    "ConfidenceScore, which does not look at features"
                )
            return features.toarray()
        return self._encoder(features) if self._encoder.changes else features
