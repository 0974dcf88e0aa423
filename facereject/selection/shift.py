"""Density ratios for guarantees under covariate shift: how much likelier an input is in new data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from facereject._settings import check_integer, check_number
from facereject._validation import FloatArray


def density_ratio(
    X_calibration: Any,
    X_new: Any,
    classifier: Any = None,
    *,
    cv: int = 5,
    max_ratio: float = 20.0,
    random_state: int = 0,
) -> FloatArray:
    """Estimate the density ratio w(x) = q(x) / p(x) of new to calibration inputs.

    A classifier learns to tell new inputs (class 1) from calibration inputs (class 0); with P(1 | x) from a
    classifier that has not seen x (cross-validation), w(x) = P(1 | x) / P(0 | x) * n_calibration / n_new.
    No labels of new data are needed. The weights are estimates: what `guaranteed_risk` guarantees with
    them is about the distribution p(x) w(x), which is q(x) as far as the classifier is right.

    Parameters
    ----------
    X_calibration, X_new : array-like of shape (n, d) and (m, d)
        Inputs of the calibration examples and of the data the rule is meant for. A vector is one column: with
        the uncertainty alone as input, what is assumed is that the loss depends on nothing else.
    classifier : scikit-learn classifier with ``predict_proba``, optional
        By default logistic regression on standardised columns. Cloned.
    cv : int
        Number of folds.
    max_ratio : float
        Larger ratios are clipped to it. A few huge weights would leave nothing to certify.
    random_state : int
        Shuffles the folds.

    Returns
    -------
    ndarray of shape (n,)
        The ratio at the calibration inputs: ``weights`` of `guaranteed_risk`, which should be given
        ``weight_bound=max_ratio`` as well.

    See Also
    --------
    guaranteed_risk : Takes the weights.

    References
    ----------
    M. Sugiyama, T. Suzuki, T. Kanamori: Density Ratio Estimation in Machine Learning. Cambridge University
    Press, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.selection import density_ratio
    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(0, 1, 500), rng.normal(1, 1, 500)
    >>> weights = density_ratio(old, new)
    >>> bool(weights[old > 1].mean() > weights[old < 0].mean())
    True
    """
    # imported here: scoring a face imports this package and does not need them
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    first, second = _columns(X_calibration, "X_calibration"), _columns(X_new, "X_new")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"X_calibration and X_new must have the same columns, got {first.shape[1]} and {second.shape[1]}"
        )
    cv = check_integer(cv, "cv", minimum=2)
    max_ratio = check_number(max_ratio, "max_ratio", above=0)
    sizes = first.shape[0], second.shape[0]
    if min(sizes) < cv:
        raise ValueError(f"X_calibration and X_new must have at least cv = {cv} rows each, got {sizes}")
    if classifier is None:
        classifier = make_pipeline(StandardScaler(), LogisticRegression())
    elif isinstance(classifier, type) or not hasattr(classifier, "predict_proba"):
        raise TypeError(f"classifier must be an object with fit and predict_proba, got {classifier!r}")
    X = sparse.vstack([first, second]).tocsr() if sparse.issparse(first) else np.concatenate([first, second])
    is_new = np.repeat([0, 1], sizes)
    folds = StratifiedKFold(cv, shuffle=True, random_state=random_state)
    probability = cross_val_predict(clone(classifier), X, is_new, cv=folds, method="predict_proba")
    p = np.asarray(probability, dtype=np.float64)[: sizes[0], 1]
    with np.errstate(divide="ignore"):
        ratio = p / (1 - p) * (sizes[0] / sizes[1])
    return np.asarray(np.minimum(ratio, max_ratio), dtype=np.float64)


def _columns(X: Any, name: str) -> Any:
    array = X if sparse.issparse(X) else np.asarray(X)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} must be a table or a vector, got an array of shape {array.shape}")
    return array
