"""Covariate shift: how much likelier an input is in new data, and whether new data differ at all."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr

from facereject._validation import FloatArray, check_integer, check_number


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
    two_sample_test : Whether new inputs differ from the calibration inputs.

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
    max_ratio = check_number(max_ratio, "max_ratio", above=0)
    p_calibration, p_new = _cross_fitted(X_calibration, X_new, classifier, cv, random_state)
    with np.errstate(divide="ignore"):
        ratio = p_calibration / (1 - p_calibration) * (len(p_calibration) / len(p_new))
    return np.asarray(np.minimum(ratio, max_ratio), dtype=np.float64)


class TwoSampleTest(NamedTuple):
    """Result of `two_sample_test`.

    Attributes
    ----------
    told_apart : float
        Of a new and a calibration input, how often the classifier recognises the new one: 0.5 is a guess, 1
        is always. It is the area under the ROC curve.
    standard_error : float
    p_value : float
        Of the hypothesis that ``told_apart`` is at most the margin.

    See Also
    --------
    two_sample_test : Gives it.

    Examples
    --------
    >>> from facereject.selection import TwoSampleTest
    >>> TwoSampleTest(0.87, 0.03, 0.001).told_apart
    0.87
    """

    told_apart: float
    standard_error: float
    p_value: float


def two_sample_test(
    X_calibration: Any,
    X_new: Any,
    classifier: Any = None,
    *,
    margin: float = 0.5,
    permutations: int = 200,
    cv: int = 5,
    random_state: int = 0,
) -> TwoSampleTest:
    """Test whether new inputs differ from calibration inputs by more than a margin.

    A classifier learns to tell them apart, as for `density_ratio`, and is tested on inputs it has not seen
    (cross-validation). With s its output, told_apart is the share of pairs with s(new) > s(calibration), ties
    counted half, and its standard error is that of DeLong et al. A margin above 0.5 asks for a difference
    that matters: with enough data, any two samples differ. The p-value is then that of a normal distribution.
    For a margin of 0.5 that would be too small, as a classifier without anything to learn follows chance; it
    is the share of ``permutations`` of all rows that are told apart as often.

    Parameters
    ----------
    X_calibration, X_new : array-like of shape (n, d) and (m, d)
        Independent inputs. A vector is one column.
    classifier : scikit-learn classifier with ``predict_proba``, optional
        By default logistic regression on standardised columns. Cloned.
    margin : float
        The null hypothesis is that told_apart is at most this.
    permutations : int
        For a margin of 0.5.
    cv : int
        Number of folds.
    random_state : int
        Shuffles the folds.

    Returns
    -------
    TwoSampleTest

    See Also
    --------
    density_ratio : How much likelier each calibration input is among the new ones.

    References
    ----------
    D. Lopez-Paz, M. Oquab: Revisiting Classifier Two-Sample Tests. ICLR, 2017.

    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson: Comparing the Areas under Two or More Correlated
    Receiver Operating Characteristic Curves. Biometrics 44, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject.selection import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> old, same, other = rng.normal(0, 1, 500), rng.normal(0, 1, 200), rng.normal(1, 1, 200)
    >>> two_sample_test(old, same, permutations=20).p_value > 0.05
    True
    >>> two_sample_test(old, other, margin=0.6).p_value < 0.01
    True
    """
    margin = check_number(margin, "margin", minimum=0.5, below=1)
    permutations = check_integer(permutations, "permutations", minimum=1)
    X = _rows(X_calibration, X_new)
    old, new = _cross_fitted(*X, classifier, cv, random_state)
    # for every new input the share of calibration inputs below it, and the reverse
    above = _share_below(old, new)
    below = 1 - _share_below(new, old)
    told_apart = float(above.mean())
    error = math.sqrt(above.var(ddof=1) / len(new) + below.var(ddof=1) / len(old))
    # where all are told apart there is no spread, but not certainty
    error = max(error, 0.5 / min(len(new), len(old)))
    if margin > 0.5:
        return TwoSampleTest(told_apart, error, float(ndtr(-(told_apart - margin) / error)))
    rng = np.random.default_rng(random_state)
    pooled = _stacked(*X)
    as_often = 1
    for _ in range(permutations):
        shuffled = pooled[rng.permutation(pooled.shape[0])]
        first, second = _cross_fitted(
            shuffled[: len(old)], shuffled[len(old) :], classifier, cv, random_state
        )
        as_often += float(_share_below(first, second).mean()) >= told_apart
    return TwoSampleTest(told_apart, error, as_often / (1 + permutations))


def _share_below(values: FloatArray, at: FloatArray) -> FloatArray:
    """Share of the values below each of some others; ties count half."""
    ordered = np.sort(values)
    places = np.searchsorted(ordered, at, side="left") + np.searchsorted(ordered, at, side="right")
    return np.asarray(places / (2 * len(ordered)))


def _cross_fitted(
    X_calibration: Any, X_new: Any, classifier: Any, cv: int, random_state: int
) -> tuple[FloatArray, FloatArray]:
    """P(new | x) of calibration and new inputs by a classifier that has not seen them."""
    # imported here: scoring a face imports this package and does not need them
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    first, second = _rows(X_calibration, X_new)
    cv = check_integer(cv, "cv", minimum=2)
    sizes = first.shape[0], second.shape[0]
    if min(sizes) < cv:
        raise ValueError(f"X_calibration and X_new must have at least cv = {cv} rows each, got {sizes}")
    if classifier is None:
        classifier = make_pipeline(StandardScaler(), LogisticRegression())
    elif isinstance(classifier, type) or not hasattr(classifier, "predict_proba"):
        raise TypeError(f"classifier must be an object with fit and predict_proba, got {classifier!r}")
    X = _stacked(first, second)
    is_new = np.repeat([0, 1], sizes)
    folds = StratifiedKFold(cv, shuffle=True, random_state=random_state)
    probability = cross_val_predict(clone(classifier), X, is_new, cv=folds, method="predict_proba")
    p = np.asarray(probability, dtype=np.float64)[:, 1]
    return p[: sizes[0]], p[sizes[0] :]


def _rows(X_calibration: Any, X_new: Any) -> tuple[Any, Any]:
    """Both as tables with the same columns."""
    first, second = _columns(X_calibration, "X_calibration"), _columns(X_new, "X_new")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"X_calibration and X_new must have the same columns, got {first.shape[1]} and {second.shape[1]}"
        )
    return first, second


def _stacked(first: Any, second: Any) -> Any:
    return (
        sparse.vstack([first, second]).tocsr() if sparse.issparse(first) else np.concatenate([first, second])
    )


def _columns(X: Any, name: str) -> Any:
    array = X if sparse.issparse(X) else np.asarray(X)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(f"{name} must be a table or a vector, got an array of shape {array.shape}")
    return array
