"""Losses: how wrong each prediction is, as one number ≥ 0 per example.

`zero_one_loss` and `absolute_error` serve classification and (ordinal) regression; `landmark_nme` is the
normalised mean error of face landmarks. Of the 68 landmarks of 300-W, counted from 1 as in the literature,
37 to 42 are the right eye and 43 to 48 the left eye; their outer corners are 37 and 46.
"""

from __future__ import annotations

import re
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._validation import FloatArray, check_same_length, check_vector

__all__ = ["absolute_error", "landmark_nme", "zero_one_loss"]

N_LANDMARKS = 68
# 0-based positions of the landmarks named above.
OUTER_CORNERS = (36, 45)
RIGHT_EYE = slice(36, 42)
LEFT_EYE = slice(42, 48)

# rules that need to know where the eyes are
_RULES_OF_300W = ("outer_eyes", "pupils")
_POINT_PAIR = re.compile(r"points:(\d{1,5}),(\d{1,5})")


def zero_one_loss(y: Any, y_pred: Any) -> FloatArray:
    """Compute the 0/1 loss of each example: 1 where the label is wrong, else 0.

    Parameters
    ----------
    y, y_pred : array-like of shape (n,)
        True and predicted labels: numbers or strings, the same kind in both.

    Returns
    -------
    ndarray of shape (n,)
        0.0 where the labels agree and 1.0 where they differ (a fraction, not percent).

    See Also
    --------
    absolute_error : For numbers and ordinal labels.
    facereject.metrics.aurc : Summarises losses and uncertainties by one number.

    Examples
    --------
    >>> from facereject.losses import zero_one_loss
    >>> zero_one_loss(["cat", "dog", "cat"], ["cat", "cat", "cat"])
    array([0., 1., 0.])
    """
    true_labels, predicted = _check_labels(y, "y"), _check_labels(y_pred, "y_pred")
    check_same_length(y=true_labels, y_pred=predicted)
    kinds = {_label_kind(true_labels), _label_kind(predicted)}
    # for NumPy 1 and "1" are different, so that every prediction would count as wrong
    if len(kinds - {"objects"}) > 1:
        raise ValueError(
            f"y holds {_label_kind(true_labels)} but y_pred holds {_label_kind(predicted)}: "
            "convert one of them to the other's kind"
        )
    return np.asarray(true_labels != predicted, dtype=np.float64)


def absolute_error(y: Any, y_pred: Any) -> FloatArray:
    """Compute the absolute error |y − y_pred| of each example.

    Parameters
    ----------
    y, y_pred : array-like of shape (n,)
        True and predicted numbers.

    Returns
    -------
    ndarray of shape (n,)
        Errors in the unit of y.

    See Also
    --------
    zero_one_loss : For labels without an order.

    Examples
    --------
    >>> from facereject.losses import absolute_error
    >>> absolute_error([1, 2, 3], [1, 3, 1])
    array([0., 1., 2.])
    """
    targets, predicted = check_vector(y, "y"), check_vector(y_pred, "y_pred")
    check_same_length(y=targets, y_pred=predicted)
    return np.abs(targets - predicted)


def landmark_nme(landmarks: Any, landmarks_pred: Any, normalizer: Any = "outer_eyes") -> FloatArray | float:
    """Compute the normalised mean error of the landmarks of each face, in percent.

        loss = 100 / (k d) Σ_i ‖landmarks[i] − landmarks_pred[i]‖

    Parameters
    ----------
    landmarks, landmarks_pred : array-like of shape (n, k, 2) or (k, 2)
        True and predicted landmarks (x, y) in pixels; for "outer_eyes" and "pupils" the k = 68 of 300-W.
    normalizer : str, or array-like of shape (n,) or ()
        The length d: a rule of `landmark_scale`, applied to the true landmarks, or d itself in pixels, one
        number per face or one for all.

    Returns
    -------
    ndarray of shape (n,), or float for landmarks of shape (k, 2)
        Percent: 100 means that the landmarks are off by d on average.

    Raises
    ------
    ValueError
        If the input is malformed, or d is not positive for some face; the message names it.

    See Also
    --------
    landmark_scale : The length d by itself.

    References
    ----------
    C. Sagonas, E. Antonakos, G. Tzimiropoulos, S. Zafeiriou, M. Pantic: 300 Faces In-The-Wild Challenge:
    database and results. Image and Vision Computing 47, 2016.

    Examples
    --------
    >>> from facereject.losses import landmark_nme
    >>> true, predicted = [[0, 0], [100, 0], [50, 50]], [[0, 0], [100, 3], [50, 50]]
    >>> landmark_nme(true, predicted, normalizer="points:0,1")
    1.0
    """
    truth = _check_landmarks(landmarks, "landmarks", normalizer)
    predicted = _check_landmarks(landmarks_pred, "landmarks_pred", normalizer)
    if truth.shape != predicted.shape:
        raise ValueError(
            f"landmarks has shape {truth.shape} but landmarks_pred has shape {predicted.shape}; "
            "they must be the same"
        )
    faces = truth.reshape(-1, *truth.shape[-2:])
    if isinstance(normalizer, str):
        described = f"the {normalizer!r} normalizer of landmarks"
        lengths = _rule_lengths(faces, normalizer)
    else:
        described = "normalizer"
        lengths = _given_lengths(faces, normalizer)
    if (lengths <= 0).any():
        position = int(np.flatnonzero(lengths <= 0)[0])
        raise ValueError(
            f"{described}[{position}] is {lengths[position]} pixels; the error of that face is undefined"
        )
    distances = np.linalg.norm(faces - predicted.reshape(faces.shape), axis=2)
    errors = 100.0 * distances.mean(axis=1) / lengths
    return errors if truth.ndim == 3 else float(errors[0])


def landmark_scale(landmarks: Any, normalizer: str = "outer_eyes") -> FloatArray | float:
    """Measure the length by which the errors of a face are normalised.

    Parameters
    ----------
    landmarks : array-like of shape (n, k, 2) or (k, 2)
        Landmarks (x, y) in pixels.
    normalizer : str
        ``"outer_eyes"``: distance of the outer eye corners (landmarks 37 and 46 of 68). ``"pupils"``:
        distance of the eye centres, each the mean of its six landmarks (of 68). ``"box"``:
        sqrt(width x height) of the tight box around the landmarks. ``"points:i,j"``: distance of two
        landmarks, counted from 0.

    Returns
    -------
    ndarray of shape (n,), or float for landmarks of shape (k, 2)
        Pixels; 0 where the landmarks coincide.

    See Also
    --------
    landmark_nme : The error in percent of this length.

    Examples
    --------
    >>> from facereject.losses import landmark_scale
    >>> landmark_scale([[0, 0], [30, 40]], normalizer="points:0,1")
    50.0
    """
    points = _check_landmarks(landmarks, "landmarks", normalizer)
    lengths = _rule_lengths(points.reshape(-1, *points.shape[-2:]), normalizer)
    return lengths if points.ndim == 3 else float(lengths[0])


def _rule_lengths(faces: FloatArray, rule: str) -> FloatArray:
    """The length d of each face by a named rule, in pixels."""
    if rule == "outer_eyes":
        right, left = OUTER_CORNERS
        return np.asarray(np.linalg.norm(faces[:, right] - faces[:, left], axis=1))
    if rule == "pupils":
        centres = faces[:, RIGHT_EYE].mean(axis=1) - faces[:, LEFT_EYE].mean(axis=1)
        return np.asarray(np.linalg.norm(centres, axis=1))
    if rule == "box":
        return np.asarray(np.sqrt(np.prod(np.ptp(faces, axis=1), axis=1)))
    pair = _POINT_PAIR.fullmatch(rule)
    if pair is None:
        raise ValueError(
            "normalizer must be 'outer_eyes', 'pupils', 'box', 'points:i,j' or an array of lengths, got "
            f"{rule!r}"
        )
    first, second = (int(number) for number in pair.groups())
    if first == second or max(first, second) >= faces.shape[1]:
        raise ValueError(
            f"normalizer {rule!r} must name two different points of {faces.shape[1]}, counted from 0"
        )
    return np.asarray(np.linalg.norm(faces[:, first] - faces[:, second], axis=1))


def _given_lengths(faces: FloatArray, normalizer: Any) -> FloatArray:
    """The lengths d that were given for the faces."""
    lengths = check_vector(np.atleast_1d(normalizer), "normalizer")
    if np.ndim(normalizer) == 0:
        return np.broadcast_to(lengths, len(faces))
    if len(lengths) != len(faces):
        raise ValueError(f"normalizer has {len(lengths)} value(s) for {len(faces)} face(s)")
    return lengths


def _check_landmarks(points: Any, name: str, normalizer: Any) -> FloatArray:
    """Finite float64 array of shape (n, k, 2), n >= 1, or (k, 2); k = 68 for the rules of 300-W."""
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None
    of_300w = isinstance(normalizer, str) and normalizer in _RULES_OF_300W
    if array.ndim not in (2, 3) or array.shape[-1] != 2 or (of_300w and array.shape[-2] != N_LANDMARKS):
        k = str(N_LANDMARKS) if of_300w else "k"
        other = "; 'box' and 'points:i,j' normalise other points" if of_300w else ""
        raise ValueError(f"{name} must have shape (n, {k}, 2) or ({k}, 2), got {array.shape}{other}")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one face")
    if not np.isfinite(array).all():
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, but {name}{list(position)} is {array[position]}")
    return array


def _check_labels(labels: Any, name: str) -> NDArray[Any]:
    """Non-empty 1-D array of labels of any kind, none of them missing."""
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got an array of shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must hold at least 1 value(s), got 0")
    if array.dtype.kind in "fc":
        missing = ~np.isfinite(array)
    elif array.dtype.kind == "O":
        missing = np.fromiter((_is_missing(label) for label in array), dtype=bool, count=len(array))
    else:
        return array
    if missing.any():
        position = int(np.flatnonzero(missing)[0])
        raise ValueError(f"{name} must hold labels, but {name}[{position}] is {array[position]}")
    return array


def _is_missing(label: Any) -> bool:
    """None, NaN, or a marker such as pandas.NA, whose comparison has no truth value."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def _label_kind(labels: NDArray[Any]) -> str:
    """What the labels are, in words; "objects" if they are of several kinds."""
    if labels.dtype.kind == "O":
        # Tables often hold strings and even numbers as objects.
        types = {type(label) for label in labels}
        if all(issubclass(kind, str) for kind in types):
            return "strings"
        numeric = all(issubclass(kind, (Number, np.bool_)) for kind in types)
        return "numbers" if numeric else "objects"
    kinds = {"U": "strings", "T": "strings", "S": "bytes", "M": "dates", "m": "durations"}
    return kinds.get(labels.dtype.kind, "numbers")
