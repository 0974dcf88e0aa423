"""What the columns of a file mean, and the losses and uncertainties they give.

Names in backticks in messages are arguments; the command line shows them as its options.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logsumexp, softmax

from facereject._labels import disagreement, error_probability, top_and_gap
from facereject._validation import FloatArray
from facereject.predictions._files import Column, PredictionFile
from facereject.predictions._ranking import RowSample

#: losses that labels and predictions give; anything else is the name of a column of losses
LOSSES = ("zero-one", "absolute", "squared")

# sums of squares of larger losses, over all rows of a file, could leave the range of numbers
_LARGEST_LOSS = 1e140

# more classes than this are no classes
_MOST_CLASSES = 10_000

# rows of which at least one is right, unless labels and predictions have different names
_FEWEST_NAMED = 20

# how far rounded probabilities may be from a sum of one
_ROUNDING = 0.01

_LABEL_NAMES = (
    "label",
    "labels",
    "y_true",
    "y",
    "target",
    "targets",
    "truth",
    "true_label",
    "true_class",
    "ground_truth",
    "actual",
)
_PREDICTION_NAMES = (
    "prediction",
    "predictions",
    "predicted",
    "pred",
    "y_pred",
    "y_hat",
    "predicted_label",
    "predicted_class",
)
_CONFIDENCE_NAMES = ("confidence", "confidences", "conf", "max_prob", "max_probability", "msp")
_UNCERTAINTY_NAMES = ("uncertainty", "uncertainties", "entropy", "variance", "std", "sigma", "spread")
_LOSS_NAMES = ("loss", "losses")
_PROBABILITIES = re.compile(r"(?:p|probs?|proba|probabilit(?:y|ies)|softmax)_(.+)", re.IGNORECASE)
_LOGITS = re.compile(r"logits?_(.+)", re.IGNORECASE)


class Uncertainty(Protocol):
    """An uncertainty that can be computed from columns of numbers."""

    @property
    def name(self) -> str:
        """What tables and pages call it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs."""

    def __call__(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        """Uncertainty of every row; higher = less certain."""

    def definition(self) -> dict[str, Any]:
        """What a rule stores, for `facereject.predictions._rule`."""


@dataclass(frozen=True)
class ColumnScore:
    """A column that holds a confidence or an uncertainty."""

    column: str
    confidence: bool

    @property
    def name(self) -> str:
        return self.column

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def __call__(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        values = numbers[self.column]
        return -values if self.confidence else values

    def definition(self) -> dict[str, Any]:
        return {"confidence" if self.confidence else "uncertainty": self.column}


#: uncertainties that probabilities give
_OF_PROBABILITIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "max-prob": error_probability,
    "gap": lambda probabilities: -top_and_gap(probabilities)[1],
    "entropy": lambda probabilities: np.asarray(entr(probabilities).sum(axis=1)),
    "doctor": disagreement,
}
#: uncertainties that only logits give
_OF_LOGITS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "energy": lambda logits: np.asarray(-logsumexp(logits, axis=1)),
    "max-logit": lambda logits: np.asarray(-logits.max(axis=1)),
}


@dataclass(frozen=True)
class OutputScore:
    """An uncertainty read from the probabilities or logits of all classes."""

    reading: str
    outputs: tuple[str, ...]
    logits: bool

    @property
    def name(self) -> str:
        return self.reading

    @property
    def columns(self) -> tuple[str, ...]:
        return self.outputs

    def __call__(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        values = np.column_stack([numbers[column] for column in self.outputs])
        if self.reading in _OF_LOGITS:
            return _OF_LOGITS[self.reading](values)
        return _OF_PROBABILITIES[self.reading](softmax(values, axis=1) if self.logits else values)

    def definition(self) -> dict[str, Any]:
        return {"reading": self.reading, "outputs": list(self.outputs), "logits": self.logits}


def stacked_outputs(numbers: Mapping[str, FloatArray], outputs: Sequence[str], logits: bool) -> FloatArray:
    """Logits or probabilities of all classes, (n, K)."""
    values = np.column_stack([numbers[column] for column in outputs])
    # rounded probabilities would not be recognised as such
    return values if logits else values / values.sum(axis=1, keepdims=True)


def readings(logits: bool) -> tuple[str, ...]:
    """Names of the uncertainties that probabilities, or logits, give."""
    return (*_OF_PROBABILITIES, *(_OF_LOGITS if logits else ()))


@dataclass(frozen=True)
class Columns:
    """Which columns of a file are what.

    Attributes
    ----------
    label, prediction, group : str or None
        Columns; without ``prediction`` the class of the largest output is predicted.
    loss : str
        One of `LOSSES`, or a column.
    scores : tuple of Uncertainty
        The uncertainties to use.
    outputs : tuple of str
        Probabilities or logits of all classes; empty if there are none.
    logits : bool
        Whether the outputs are logits.
    """

    label: str | None
    prediction: str | None
    loss: str
    scores: tuple[Uncertainty, ...]
    outputs: tuple[str, ...] = ()
    logits: bool = False
    group: str | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes of the outputs."""
        pattern = _LOGITS if self.logits else _PROBABILITIES
        return tuple(match[1] for match in map(pattern.fullmatch, self.outputs) if match)


@dataclass(frozen=True)
class ColumnNames:
    """Names of the columns of a file of predictions; obvious names are recognised where none is given.

    Parameters
    ----------
    label, prediction : str or None
        True and predicted class or value. Without ``prediction`` the class of the largest probability or
        logit is the prediction: ``p_cat``, ``p_dog``, … or ``logit_cat``, …
    confidence, uncertainty : tuple of str
        Scores; higher = more certain, and less certain. If any is given, no others are used. Probabilities
        and logits give the uncertainties max-prob, gap, entropy and doctor, logits also energy and max-logit.
    loss : str or None
        ``"zero-one"``, ``"absolute"``, ``"squared"``, or a column of losses. By default a column called loss,
        else zero-one.
    group : str or None
        The group of each row, for guarantees that hold in every group.

    See Also
    --------
    report_predictions : Takes them.

    Examples
    --------
    >>> from facereject.predictions import ColumnNames
    >>> ColumnNames(label="age", prediction="age_hat", uncertainty=("sigma",), loss="absolute").loss
    'absolute'
    """

    label: str | None = None
    prediction: str | None = None
    confidence: tuple[str, ...] = ()
    uncertainty: tuple[str, ...] = ()
    loss: str | None = None
    group: str | None = None


def find_columns(
    file: PredictionFile,
    names: ColumnNames,
    *,
    learned: Iterable[Uncertainty] = (),
) -> Columns:
    """Columns by the names given; obvious names are recognised where none is given.

    Parameters
    ----------
    file : PredictionFile
        The file.
    names : ColumnNames
        What the user says.
    learned : iterable of Uncertainty
        Further scores.
    """
    label, prediction, loss, group = names.label, names.prediction, names.loss, names.group
    for argument, name in (("label", label), ("prediction", prediction), ("group", group)):
        if name is not None:
            _check_column(file, name, argument)
    outputs, logits = find_outputs(file)
    read = readings(logits) if outputs else ()
    given: list[Uncertainty] = []
    for argument in ("confidence", "uncertainty"):
        for name in getattr(names, argument):
            if argument == "uncertainty" and name in read and name not in file.columns:
                given.append(OutputScore(name, outputs, logits))
                continue
            _check_column(file, name, argument)
            given.append(ColumnScore(name, argument == "confidence"))
    if loss is not None and loss not in LOSSES:
        _check_column(file, loss, "loss", f"; other losses: {', '.join(LOSSES)}")
    elif loss is None and label is None:
        loss = _guess(file, _LOSS_NAMES, "loss")
    scores = list(given)
    if not scores:
        scores += [ColumnScore(name, True) for name in _all_like(file, _CONFIDENCE_NAMES)]
        scores += [ColumnScore(name, False) for name in _all_like(file, _UNCERTAINTY_NAMES)]
        own = {score.name for score in scores}
        scores += [OutputScore(name, outputs, logits) for name in read if name not in own]
    scores += learned
    _check_distinct(file, scores)
    if (loss or "zero-one") in LOSSES:
        label = label or _guess(file, _LABEL_NAMES, "label")
        prediction = prediction or _guess(file, _PREDICTION_NAMES, "prediction")
        missing = "label" if label is None else "prediction" if prediction is None and not outputs else ""
        if missing:
            raise file.error(f"which column holds the {missing}s? Pass `{missing}`; {_listed(file)}")
        if loss in ("absolute", "squared") and prediction is None:
            raise file.error(f"the {loss} loss needs a column of predictions; pass `prediction`")
    return Columns(label, prediction, loss or "zero-one", tuple(scores), outputs, logits, group)


def find_outputs(file: PredictionFile) -> tuple[tuple[str, ...], bool]:
    """Columns of probabilities, or else of logits, of all classes; and whether they are logits."""
    for pattern in (_PROBABILITIES, _LOGITS):
        found = tuple(column for column in file.columns if pattern.fullmatch(column))
        if len(found) > 1:
            return found, pattern is _LOGITS
    return (), False


class PredictionRows(NamedTuple):
    """Some rows of a file: losses, uncertainties (rows, scores), codes of labels and predictions, groups."""

    losses: FloatArray
    uncertainty: FloatArray
    labels: NDArray[np.int32]
    predictions: NDArray[np.int32]
    groups: NDArray[np.object_] | None


class RowReader:
    """Reads losses and uncertainties of a file, a chunk at a time, as often as needed.

    Parameters
    ----------
    file, columns
        What to read.
    unlabelled : bool
        Leave out rows without a label, and give NaN for uncertainties that are missing. Else both are errors.

    Attributes
    ----------
    names : list of str
        Names of the classes met so far; codes of labels and predictions are positions in it.
    n_unlabelled : int
        Rows without a label that were left out.
    """

    def __init__(self, file: PredictionFile, columns: Columns, *, unlabelled: bool = False) -> None:
        if not columns.scores:
            raise file.error(
                "which column says how certain a prediction is? Pass `confidence` or `uncertainty`; "
                f"{_listed(file)}"
            )
        for score in columns.scores:
            for name in score.columns:
                if name not in file.columns:
                    raise file.error(f"there is no column {name!r}, which score {score.name!r} needs")
        self.file, self.columns = file, columns
        self.names: list[str] = []
        self.n_unlabelled = 0
        self._unlabelled = unlabelled
        self._codes: dict[Any, int] = {}
        self._of_output = np.array(
            [self._code(_class_name(name)) for name in columns.classes], dtype=np.int32
        )
        self._seen: tuple[set[int], set[int]] = (set(), set())
        self._n_labelled = 0

    def __iter__(self) -> Iterator[PredictionRows]:
        columns, first = self.columns, 1
        needed = {column for score in columns.scores for column in score.columns}
        if columns.loss in LOSSES:
            needed |= set(columns.outputs if columns.prediction is None else [columns.prediction])
        else:
            needed.add(columns.loss)
        named = (columns.label if columns.loss in LOSSES else None, columns.group)
        needed |= {name for name in named if name is not None}
        self.n_unlabelled = 0
        for chunk in self.file.chunks(sorted(needed, key=self.file.columns.index)):
            n = len(next(iter(chunk.values())))
            yield self._rows(chunk, first)
            first += n
        if first == 1:
            raise self.file.error("there are no rows")

    def check_classes(self) -> list[str]:
        """Names of classes that are labels but never predicted; an error if labels and predictions differ."""
        labels, predictions = self._seen
        # two names on both sides, or many rows: a few errors alone may look like it
        other_names = min(len(labels), len(predictions)) > 1 or self._n_labelled >= _FEWEST_NAMED
        if labels and not labels & predictions and other_names:
            shown = [", ".join(repr(self.names[k]) for k in sorted(seen)[:3]) for seen in self._seen]
            source = repr(self.columns.prediction) if self.columns.prediction else "the outputs"
            raise self.file.error(
                f"no label of column {self.columns.label!r} ({shown[0]}) is ever predicted by {source} "
                f"({shown[1]}); use the same names in both, or pass `loss` absolute or squared for numbers"
            )
        return sorted(self.names[k] for k in labels - predictions)

    def _rows(self, chunk: Mapping[str, Column], first: int) -> PredictionRows:
        columns = self.columns
        if self._unlabelled:
            key = columns.label if columns.loss in LOSSES else columns.loss
            labelled = np.array([not _is_missing(value) for value in chunk[str(key)]], dtype=bool)
            self.n_unlabelled += int((~labelled).sum())
            chunk = {name: _pick(column, labelled) for name, column in chunk.items()}
        numeric = {column for score in columns.scores for column in score.columns}
        if columns.loss == "zero-one" and columns.prediction is None:
            numeric |= set(columns.outputs)
        numbers = {
            name: as_numbers(self.file, name, chunk[name], first, missing=self._unlabelled)
            for name in numeric
        }
        if columns.outputs and not columns.logits and numeric.issuperset(columns.outputs):
            check_probabilities(self.file, columns.outputs, numbers, first)
        if columns.logits and numeric.issuperset(columns.outputs):
            self._check_logits(numbers)
        labels = predictions = np.empty(0, dtype=np.int32)
        if columns.loss == "zero-one":
            labels, predictions = self._classes(chunk, numbers, first)
            losses = (labels != predictions).astype(np.float64)
        elif columns.loss in LOSSES:
            true, predicted = (
                as_numbers(self.file, str(name), chunk[str(name)], first)
                for name in (columns.label, columns.prediction)
            )
            losses = np.abs(true - predicted)
            losses = losses**2 if columns.loss == "squared" else losses
            self._check_losses(losses, str(columns.prediction), first)
        else:
            losses = as_numbers(self.file, columns.loss, chunk[columns.loss], first)
            self._check_losses(losses, columns.loss, first)
        uncertainty = np.empty((len(losses), len(columns.scores)))
        for k, score in enumerate(columns.scores):
            uncertainty[:, k] = evaluate(score, numbers) if self._unlabelled else score(numbers)
        groups = None
        if columns.group is not None:
            groups = as_groups(self.file, columns.group, chunk[columns.group], first)
        return PredictionRows(losses, uncertainty, labels, predictions, groups)

    def _check_logits(self, numbers: Mapping[str, FloatArray]) -> None:
        outputs = np.column_stack([numbers[name] for name in self.columns.outputs])
        if len(outputs) > 1 and (outputs >= 0).all() and np.allclose(outputs.sum(axis=1), 1, atol=_ROUNDING):
            names = f"{self.columns.outputs[0]!r} … {self.columns.outputs[-1]!r}"
            raise self.file.error(
                f"columns {names} are called logits, but hold probabilities; call them p_0, p_1, …, in an "
                "NPZ file probabilities"
            )

    def _check_losses(self, losses: FloatArray, column: str, first: int) -> None:
        bad = np.flatnonzero((losses < 0) | (losses > _LARGEST_LOSS))
        if bad.size:
            value = losses[bad[0]]
            what = "is negative; losses are at least 0" if value < 0 else "is too large for a loss"
            raise self.file.error(f"column {column!r}, row {first + bad[0]:,}: {value:g} {what}")

    def _classes(
        self, chunk: Mapping[str, Column], numbers: Mapping[str, FloatArray], first: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        labels = self._encode(str(self.columns.label), chunk[str(self.columns.label)], first)
        if self.columns.prediction is not None:
            predictions = self._encode(self.columns.prediction, chunk[self.columns.prediction], first)
        else:
            outputs = np.column_stack([numbers[name] for name in self.columns.outputs])
            predictions = self._of_output[outputs.argmax(axis=1)]
        self._n_labelled += len(labels)
        for seen, codes in zip(self._seen, (labels, predictions), strict=True):
            seen.update(np.unique(codes).tolist())
        return labels, predictions

    def _encode(self, column: str, values: Column, first: int) -> NDArray[np.int32]:
        plain = values.tolist() if isinstance(values, np.ndarray) else values
        known = self._codes
        codes = np.empty(len(plain), dtype=np.int32)
        for i, value in enumerate(plain):
            try:
                code = known.get(value)
            except TypeError:
                raise self.file.error(
                    f"column {column!r}, row {first + i:,}: {value!r} is not a class"
                ) from None
            if code is None:
                if _is_missing(value):
                    raise self.file.error(
                        f"column {column!r}, row {first + i:,}: the cell is empty; leave such rows out"
                    )
                code = known[value] = self._code(_class_name(value))
                if len(self.names) > _MOST_CLASSES:
                    raise self.file.error(
                        f"column {column!r} has more than {_MOST_CLASSES:,} different values: if these are "
                        "numbers, pass `loss` absolute or squared"
                    )
            codes[i] = code
        return codes

    def _code(self, name: str) -> int:
        code = self._codes.get(("name", name))
        if code is None:
            code = self._codes[("name", name)] = len(self.names)
            self.names.append(name)
        return code


@dataclass(frozen=True)
class _Number:
    """A column of numbers in the place of a score, so that it is read and checked like one."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name,)

    def __call__(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        return numbers[self.name]

    def definition(self) -> dict[str, Any]:
        return {}


def read_sample(
    file: PredictionFile, columns: Columns, names: Sequence[str], sample: RowSample
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Losses and columns of numbers of a sample of the rows."""
    reader = RowReader(file, replace(columns, scores=tuple(map(_Number, names))))
    for rows in reader:
        sample.add(np.column_stack([rows.losses, rows.uncertainty]))
    reader.check_classes()
    losses, *values = sample.rows().T
    return losses, dict(zip(names, values, strict=True))


def as_numbers(
    file: PredictionFile, column: str, values: Column, first: int, *, missing: bool = False
) -> FloatArray:
    """A column as finite numbers, or an error that names it and the row.

    Parameters
    ----------
    file, column, values, first
        The column, and the number of its first row.
    missing : bool
        Give NaN for cells that are empty or hold no finite number.
    """
    # times and complex numbers could be cast, too, and lists would be further dimensions
    numeric = not isinstance(values, np.ndarray) or values.dtype.kind in "biufSU"
    try:
        numbers = np.asarray(values, dtype=np.float64) if numeric else np.empty(())
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([_number(value, file.decimal_comma) for value in values])
    if numbers.ndim != 1:
        numbers = np.full(len(values), np.nan)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size and missing:
        numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    elif bad.size:
        value = values[bad[0]]
        what = f"{repr(value) if isinstance(value, str) else value} is not a finite number"
        if _is_missing(value):
            what = "the cell is empty; leave such rows out"
        hint = "; write decimals with a point" if isinstance(value, str) and "," in value else ""
        raise file.error(f"column {column!r}, row {first + bad[0]:,}: {what}{hint}")
    return numbers


def check_probabilities(
    file: PredictionFile, outputs: Sequence[str], numbers: Mapping[str, FloatArray], first: int
) -> None:
    """An error that names the column and the row if the outputs are no probabilities; NaN is accepted."""
    for name in outputs:
        bad = np.flatnonzero((numbers[name] < 0) | (numbers[name] > 1 + _ROUNDING))
        if bad.size:
            value = numbers[name][bad[0]]
            raise file.error(
                f"column {name!r}, row {first + bad[0]:,}: {value:g} is not a probability: divide "
                "percentages by 100; columns of logits are called logit_0, logit_1, …"
            )
    total = np.sum([numbers[name] for name in outputs], axis=0)
    bad = np.flatnonzero(np.abs(total - 1) > _ROUNDING)
    if bad.size:
        names = f"{outputs[0]!r} … {outputs[-1]!r}"
        raise file.error(f"row {first + bad[0]:,}: columns {names} sum to {total[bad[0]]:g}, not 1")


def wrong_way(score: Uncertainty) -> str:
    """What to say of a score that is worse than random rejection."""
    if not isinstance(score, ColumnScore):
        return f"Score {score.name!r} is worse than random rejection"
    given, meant = ("confidence", "uncertainty") if score.confidence else ("uncertainty", "confidence")
    return (
        f"Column {score.name!r} goes the wrong way: as {given}, it is worse than random rejection. Pass it "
        f"as `{meant}` if that is what it is"
    )


def evaluate(score: Uncertainty, numbers: Mapping[str, FloatArray]) -> FloatArray:
    """Uncertainty of every row; NaN where a number it needs is missing."""
    table = np.column_stack([numbers[name] for name in score.columns])
    known = np.isfinite(table).all(axis=1)
    uncertainty = np.full(len(table), np.nan)
    uncertainty[known] = score({name: numbers[name][known] for name in score.columns})
    return uncertainty


def as_groups(file: PredictionFile, column: str, values: Column, first: int) -> NDArray[np.object_]:
    """A column as names of groups, or an error that names an empty cell."""
    groups = np.empty(len(values), dtype=object)
    # one object per name, however many rows there are
    names: dict[Any, str] = {}
    for i, value in enumerate(values.tolist() if isinstance(values, np.ndarray) else values):
        try:
            known = value in names
        except TypeError:
            raise file.error(
                f"column {column!r}, row {first + i:,}: {value!r} is not the name of a group"
            ) from None
        if not known:
            if _is_missing(value):
                raise file.error(
                    f"column {column!r}, row {first + i:,}: the cell is empty, but names the group"
                )
            names[value] = _group_name(value)
        groups[i] = names[value]
    return groups


def _number(value: Any, decimal_comma: bool) -> float:
    try:
        return float(value.replace(",", ".") if decimal_comma and isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() == "" or value.strip().lower() == "nan"
    return value is None or value != value


def _class_name(value: Any) -> str:
    """One name for True, "TRUE" and 1, else as for groups."""
    name = _group_name(value)
    return {"true": "1", "false": "0"}.get(name.lower(), name)


def _group_name(value: Any) -> str:
    """One name for 3, 3.0 and "3.0"; whole numbers of any size keep all their digits."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value).strip()
    for kind in (int, float):
        try:
            number = kind(text if not isinstance(value, bool) else value)
        except ValueError:
            continue
        if isinstance(number, int) or (number.is_integer() and abs(number) < 2**53):
            return str(int(number))
        # digits beyond the range of numbers still tell names apart
        return repr(number) if math.isfinite(number) else text
    return text


def _pick(column: Column, mask: NDArray[np.bool_]) -> Column:
    if isinstance(column, np.ndarray):
        return column[mask]
    return [value for value, wanted in zip(column, mask.tolist(), strict=True) if wanted]


def _check_column(file: PredictionFile, name: str, argument: str, more: str = "") -> None:
    if name not in file.columns:
        raise file.error(f"`{argument}`: there is no column {name!r}{more}; {_listed(file)}")


def _listed(file: PredictionFile) -> str:
    shown = ", ".join(map(repr, file.columns[:12]))
    return f"columns: {shown}{', …' if len(file.columns) > 12 else ''}"


def _all_like(file: PredictionFile, names: Sequence[str]) -> list[str]:
    return [column for column in file.columns if re.sub(r"[\s-]+", "_", column.strip().lower()) in names]


def _guess(file: PredictionFile, names: Sequence[str], argument: str) -> str | None:
    found = _all_like(file, names)
    if len(found) > 1:
        raise file.error(f"{' and '.join(map(repr, found))} could both be meant; pass `{argument}`")
    return found[0] if found else None


def _check_distinct(file: PredictionFile, scores: Sequence[Uncertainty]) -> None:
    names = [score.name for score in scores]
    for name in names:
        if names.count(name) > 1:
            raise file.error(f"two scores are called {name!r}; name each column once")
