"""Rules: a threshold with a guarantee for the predictions in a file; apply it to others, and watch it."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import display_name, write_whole
from facereject._validation import FloatArray, check_number
from facereject.predictions._columns import (
    ColumnNames,
    ColumnScore,
    OutputScore,
    RowReader,
    Uncertainty,
    as_groups,
    as_numbers,
    check_probabilities,
    evaluate,
    find_columns,
    find_outputs,
    readings,
    wrong_way,
)
from facereject.predictions._comparison import goes_wrong_way
from facereject.predictions._files import (
    Column,
    PredictionFile,
    PredictionFileError,
    check_output,
    new_table,
    open_predictions,
)

if TYPE_CHECKING:
    from facereject.predictions._learned import LearnedScore
    from facereject.selection import RiskMonitor

_KIND, _FORMAT = "facereject rule for predictions", 1

# a rule is a few kilobytes
_MAX_RULE_BYTES = 1 << 24

# groups of neighbouring uncertainties from which expected errors are learned
_CALIBRATION_GROUPS = 2000

#: columns that `apply_rule` adds
ADDED = ("accepted", "expected_error", "reason")


@dataclass(frozen=True)
class Rule:
    """Accept predictions up to a threshold of their uncertainty; `find_rule` makes one.

    Parameters
    ----------
    score : Uncertainty
        The uncertainty, and the columns it is read from.
    thresholds : dict of str to float
        Largest accepted uncertainty by group; without groups under the empty name. -inf accepts nothing.
    columns : ColumnNames
        Labels, predictions, loss and groups of the file the rule was made from.
    max_risk, delta, loss_bound : float
        What is guaranteed.
    statement : str
        The guarantee in one sentence.
    coverage, risk : float
        Accepted share of the calibration rows, and their mean loss.
    calibration : (ndarray, ndarray)
        Uncertainties and the errors to expect there, both ascending.

    See Also
    --------
    find_rule : Makes it.
    apply_rule : Uses it.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import Rule, find_rule
    >>> with TemporaryDirectory() as folder:
    ...     path, rule = Path(folder, "predictions.npz"), Path(folder, "rule.json")
    ...     np.savez(path, loss=[0, 0, 0, 1] * 100, uncertainty=[0.1, 0.2, 0.3, 0.8] * 100)
    ...     find_rule(path, max_risk=0.1, loss_bound=1).save(rule)
    ...     Rule.load(rule).accept(np.array([0.2, 0.7]))
    array([ True, False])
    """

    score: Uncertainty
    thresholds: Mapping[str, float]
    columns: ColumnNames
    max_risk: float
    delta: float
    loss_bound: float
    statement: str
    coverage: float
    risk: float
    calibration: tuple[FloatArray, FloatArray]

    def accept(self, uncertainty: FloatArray, groups: NDArray[np.object_] | None = None) -> NDArray[np.bool_]:
        """Which predictions to accept: none without an uncertainty, none of a group the rule does not know.

        Parameters
        ----------
        uncertainty : ndarray of shape (n,)
            Higher = less certain; NaN where it is not known.
        groups : ndarray of shape (n,), optional
            Names of the groups; needed if the rule has groups.

        Returns
        -------
        ndarray of bool of shape (n,)
            True where the prediction is accepted.
        """
        if groups is None:
            limit: Any = self.thresholds[""]
        else:
            limit = np.array([self.thresholds.get(group, -math.inf) for group in groups], dtype=np.float64)
        accepted: NDArray[np.bool_] = uncertainty <= limit
        return accepted

    def expected_error(self, uncertainty: FloatArray) -> FloatArray:
        """Expected loss of predictions of these uncertainties; NaN where it is not known.

        Parameters
        ----------
        uncertainty : ndarray of shape (n,)
            Higher = less certain.

        Returns
        -------
        ndarray of shape (n,)
            The expected loss.
        """
        return np.asarray(np.interp(uncertainty, *self.calibration))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the rule as JSON.

        Parameters
        ----------
        path : path
            The file.
        overwrite : bool, default=False
            Replace the file if it exists.
        """
        definition = self.score.definition()
        inputs = []
        if "learned" in definition:
            inputs.append(definition["learned"])
            # beside the rule, if it is there: both can then be moved together
            folder = os.path.dirname(os.path.abspath(path))
            definition["learned"] = os.path.relpath(definition["learned"], folder)
        names = self.columns
        content = {
            "kind": _KIND,
            "format": _FORMAT,
            "score": definition,
            "thresholds": {group: _plain(value) for group, value in self.thresholds.items()},
            "columns": {key: getattr(names, key) for key in ("label", "prediction", "loss", "group")},
            "guarantee": {
                "max_risk": self.max_risk,
                "delta": self.delta,
                "loss_bound": self.loss_bound,
                "statement": self.statement,
                "coverage": self.coverage,
                "risk": self.risk,
            },
            "expected_error": dict(
                zip(("uncertainty", "error"), (part.tolist() for part in self.calibration), strict=True)
            ),
        }
        check_output(path, inputs, overwrite=overwrite)
        write_whole(path, json.dumps(content, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rule:
        """Read a rule that `save` has written.

        Parameters
        ----------
        path : path
            The file. Reading it never runs code.

        Returns
        -------
        Rule
            The rule.

        Raises
        ------
        PredictionFileError
            If it is not such a file.
        """
        name = os.fspath(path)

        def error(reason: str) -> PredictionFileError:
            return PredictionFileError(f"{display_name(name)}: {reason}")

        if not os.path.isfile(name):
            raise error("no such file" if not os.path.exists(name) else "is not a regular file")
        if os.path.getsize(name) > _MAX_RULE_BYTES:
            raise error("is too large for a rule")
        try:
            content = json.loads(Path(name).read_bytes())
        except (ValueError, RecursionError):
            raise error("is not a rule of facereject, which is a JSON file") from None
        except OSError as problem:
            raise error(f"cannot be read ({problem.strerror})") from None
        if not isinstance(content, dict) or content.get("kind") != _KIND:
            raise error("is not a rule of facereject; `facereject predictions threshold` makes one")
        if content.get("format") != _FORMAT:
            raise error("is damaged, or was written by a newer version of facereject; upgrade it")
        try:
            return cls._from_content(content, os.path.dirname(os.path.abspath(name)))
        except PredictionFileError:
            raise
        except (ArithmeticError, KeyError, TypeError, ValueError, AttributeError) as problem:
            raise error(f"is a damaged rule ({type(problem).__name__}: {problem})") from None

    @classmethod
    def _from_content(cls, content: Mapping[str, Any], folder: str) -> Rule:
        names = {
            key: _text_or_none(content["columns"][key]) for key in ("label", "prediction", "loss", "group")
        }
        guarantee = content["guarantee"]
        numbers = {
            key: _finite(guarantee[key]) for key in ("max_risk", "delta", "loss_bound", "coverage", "risk")
        }
        check_number(numbers["delta"], "delta", above=0, below=1)
        check_number(numbers["max_risk"], "max_risk", above=0, below=numbers["loss_bound"])
        knots = [
            np.array([_finite(value) for value in content["expected_error"][key]])
            for key in ("uncertainty", "error")
        ]
        if not len(knots[0]) or len(knots[0]) != len(knots[1]) or (np.diff(knots[0]) < 0).any():
            raise ValueError("expected_error must hold ascending uncertainties and one error for each")
        thresholds = {str(group): _limit(value) for group, value in content["thresholds"].items()}
        if not thresholds or (names["group"] is None) != (list(thresholds) == [""]):
            raise ValueError("thresholds must be one, or one per group")
        return cls(
            score=_score(content["score"], folder),
            thresholds=thresholds,
            columns=ColumnNames(
                names["label"], names["prediction"], loss=names["loss"], group=names["group"]
            ),
            statement=str(guarantee["statement"]),
            calibration=(knots[0], knots[1]),
            **numbers,
        )


def find_rule(
    path: str | os.PathLike[str] | PredictionFile,
    max_risk: float,
    delta: float = 0.05,
    *,
    columns: ColumnNames | None = None,
    learned: Iterable[Uncertainty] = (),
    loss_bound: float | None = None,
) -> Rule:
    """Find the threshold of largest coverage with a guaranteed risk, on labelled predictions in a file.

    Parameters
    ----------
    path : path or PredictionFile
        Predictions that neither the predictor nor the score was trained on; see `open_predictions`. Two or
        three numbers per row are kept in memory.
    max_risk : float
        The mean loss of accepted predictions that must not be exceeded.
    delta : float, default=0.05
        Probability that the guarantee fails.
    columns : ColumnNames, optional
        Which columns are what; with ``group`` each group gets a threshold, and the guarantee holds in all of
        them at once.
    learned : iterable of LearnedScore
        A score from `learn_score`, in place of a column.
    loss_bound : float, optional
        Larger losses count as this much. 1 for the zero-one loss; others need it.

    Returns
    -------
    Rule
        The rule; ``save`` writes it.

    Raises
    ------
    NoValidThresholdError
        If no threshold can be guaranteed.

    Warns
    -----
    UserWarning
        If the score goes the wrong way: confidence taken for uncertainty, or the other way round.

    See Also
    --------
    apply_rule : Decides about the predictions in another file.
    monitor_rule : Says when the guarantee no longer holds.
    facereject.selection.guaranteed_risk : The same for arrays, with more options.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import find_rule
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(size=2000)
    >>> label = rng.uniform(size=2000) < confidence  # everything is predicted to be True
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "predictions.npz")
    ...     np.savez(path, label=label, prediction=np.ones(2000, dtype=bool), confidence=confidence)
    ...     rule = find_rule(path, max_risk=0.1)
    >>> 0.7 < -rule.thresholds[""] < 0.9  # true error 0.1 where confidence is at least 0.8
    True
    """
    # not above: to apply a rule, neither SciPy's statistics nor scikit-learn are imported
    from facereject.selection import guaranteed_risk, guaranteed_risk_per_group

    file = path if isinstance(path, PredictionFile) else open_predictions(path)
    names = columns or ColumnNames()
    found = find_columns(file, names)
    chosen = (*learned, *(found.scores if names.confidence or names.uncertainty else ()))
    reader = RowReader(file, replace(found, scores=_one_score(file, chosen or found.scores, bool(chosen))))
    if loss_bound is None:
        if found.loss != "zero-one":
            raise file.error(
                f"the loss {found.loss!r} has no largest value: pass `loss_bound`, chosen before looking at "
                "the losses"
            )
        loss_bound = 1.0
    losses, uncertainty, groups = _read(reader)
    settings: dict[str, Any] = {"max_risk": max_risk, "delta": delta, "loss_bound": loss_bound}
    score = reader.columns.scores[0]
    if goes_wrong_way(losses, uncertainty):
        warnings.warn(wrong_way(score), UserWarning, stacklevel=2)
    if groups is None:
        selector = guaranteed_risk(losses, uncertainty, **settings)
        thresholds = {"": selector.threshold_}
        coverage, risk, guarantee = selector.coverage_, selector.selective_risk_, selector.guarantee_
    else:
        by_group = guaranteed_risk_per_group(losses, uncertainty, groups, **settings)
        thresholds = dict(by_group.thresholds_)
        coverage, risk, guarantee = by_group.coverage_, by_group.selective_risk_, by_group.guarantee_
    assert guarantee is not None
    return Rule(
        score=score,
        thresholds=thresholds,
        columns=ColumnNames(found.label, found.prediction, loss=found.loss, group=found.group),
        statement=guarantee.statement,
        coverage=coverage,
        risk=risk,
        calibration=expected_errors(losses, uncertainty),
        **settings,
    )


@dataclass(frozen=True)
class Decided:
    """What `apply_rule` has decided.

    Parameters
    ----------
    n, accepted : int
        Predictions, and the accepted ones.
    reasons : dict of str to int
        Rejected predictions by reason: ``uncertain``, ``no_score`` (the uncertainty is missing),
        ``no_guarantee`` (no threshold of the group could be guaranteed), or ``unknown_group``.

    See Also
    --------
    apply_rule : Returns it.
    """

    n: int
    accepted: int
    reasons: Mapping[str, int]


def apply_rule(
    rule: Rule | LearnedScore,
    path: str | os.PathLike[str] | PredictionFile,
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> Decided:
    """Decide about the predictions in a file, a chunk at a time.

    Parameters
    ----------
    rule : Rule or LearnedScore
        The rule. A score decides nothing: its columns are ``uncertainty`` and ``expected_error``.
    path : path or PredictionFile
        Predictions, with the columns that the score is read from. No labels are needed.
    output : path
        ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet`` (needs pyarrow) or ``.sqlite`` file to write: the columns
        of the input, then ``accepted``, ``expected_error`` and ``reason``; in SQLite as the table
        ``predictions``. Arrays of NPZ files that have two dimensions or another length are left out.
    overwrite : bool, default=False
        Replace ``output`` if it exists. Inputs are never replaced.

    Returns
    -------
    Decided
        How many were accepted, and why others were not.

    See Also
    --------
    find_rule : Makes the rule.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import apply_rule, find_rule
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(size=2000)
    >>> label = rng.uniform(size=2000) < confidence  # everything is predicted to be True
    >>> with TemporaryDirectory() as folder:
    ...     path, new, output = (Path(folder, name) for name in ("old.npz", "new.csv", "decided.csv"))
    ...     np.savez(path, label=label, prediction=np.ones(2000, dtype=bool), confidence=confidence)
    ...     _ = new.write_text("id,confidence\\n1,0.95\\n2,0.5\\n")
    ...     decided = apply_rule(find_rule(path, max_risk=0.1), new, output)
    ...     columns, *rows = output.read_text().splitlines()
    >>> columns, decided.reasons
    ('id,confidence,accepted,expected_error,reason', {'uncertain': 1})
    """
    file = path if isinstance(path, PredictionFile) else open_predictions(path)
    decide = _Decisions(rule, file)
    taken = [name for name in decide.added if name in file.columns]
    if taken:
        raise file.error(f"has a column {taken[0]!r} already, which would be added; rename it")
    check_output(output, [file.path], overwrite=overwrite)
    for name in decide.needed:
        if name not in file.columns:
            raise file.error(f"there is no column {name!r}, which the rule needs")
    repeated = file.repeated_columns(decide.needed)
    reasons: Counter[str] = Counter()
    first = 1
    with new_table(output, [*repeated, *decide.added]) as write:
        for chunk in file.chunks([name for name in file.columns if name in {*repeated, *decide.needed}]):
            columns, why = decide(chunk, first)
            reasons.update(why.tolist())
            write([*(chunk[name] for name in repeated), *columns])
            first += len(why)
    return Decided(first - 1, reasons.pop("", 0), dict(reasons))


class _Decisions:
    """What a rule, or a score alone, says about the rows of a chunk."""

    def __init__(self, rule: Rule | LearnedScore, file: PredictionFile) -> None:
        self._rule, self._file = rule, file
        self._score: Uncertainty = rule.score if isinstance(rule, Rule) else rule
        self._group = rule.columns.group if isinstance(rule, Rule) else None
        self.added = ADDED if isinstance(rule, Rule) else ("uncertainty", "expected_error")
        self.needed = [*self._score.columns, *([] if self._group is None else [self._group])]
        outputs, logits = find_outputs(file)
        self._probabilities = () if logits or not set(outputs).issubset(self.needed) else outputs

    def __call__(
        self, chunk: Mapping[str, Column], first: int
    ) -> tuple[Sequence[Column], NDArray[np.object_]]:
        """The columns to add, and the reasons: empty for what is accepted."""
        rule, file = self._rule, self._file
        numbers = {
            name: as_numbers(file, name, chunk[name], first, missing=True) for name in self._score.columns
        }
        if self._probabilities:
            check_probabilities(file, self._probabilities, numbers, first)
        uncertainty = evaluate(self._score, numbers)
        why = np.where(np.isnan(uncertainty), "no_score", "").astype(object)
        expected = rule.expected_error(uncertainty)
        if not isinstance(rule, Rule):
            return [uncertainty, expected], why
        groups = None if self._group is None else as_groups(file, self._group, chunk[self._group], first)
        accepted = rule.accept(uncertainty, groups)
        why[~accepted & (why == "")] = "uncertain"
        names = [""] * len(why) if groups is None else groups
        why[[rule.thresholds.get(name) == -math.inf for name in names]] = "no_guarantee"
        why[[name not in rule.thresholds for name in names]] = "unknown_group"
        return [accepted, expected, why], why


@dataclass(frozen=True)
class Monitored:
    """Whether the guarantee of a rule still holds on labelled predictions.

    Parameters
    ----------
    monitors : dict of str to RiskMonitor
        By group; without groups under the empty name.
    n, accepted, unlabelled : int
        Labelled predictions, the accepted ones of them, and rows that had no label.

    See Also
    --------
    monitor_rule : Returns it.
    """

    monitors: Mapping[str, RiskMonitor]
    n: int
    accepted: int
    unlabelled: int

    @property
    def alarm(self) -> bool:
        """Whether the guarantee no longer holds."""
        return any(monitor.alarm_ for monitor in self.monitors.values())


def monitor_rule(
    rule: Rule,
    path: str | os.PathLike[str] | PredictionFile,
    *,
    columns: ColumnNames | None = None,
    delta: float | None = None,
) -> Monitored:
    """Say whether the guarantee of a rule still holds, from labels that came in since.

    Parameters
    ----------
    rule : Rule
        The rule.
    path : path or PredictionFile
        Predictions in the order in which their labels came; rows without a label are left out. Which of them
        are labelled must not depend on whether they are right.
    columns : ColumnNames, optional
        Label, prediction and loss, if they have other names than in the file the rule was made from.
    delta : float, optional
        Probability of a false alarm, over all time and all groups; that of the rule by default.

    Returns
    -------
    Monitored
        ``alarm`` says whether the mean loss of accepted predictions is above what the rule guarantees;
        ``monitors`` hold the evidence.

    See Also
    --------
    facereject.selection.RiskMonitor : How it works.
    facereject.plotting.MonitorDisplay : Draws it.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import find_rule, monitor_rule
    >>> rng = np.random.default_rng(0)
    >>> confidence = rng.uniform(size=2000)
    >>> label = rng.uniform(size=2000) < confidence  # everything is predicted to be True
    >>> with TemporaryDirectory() as folder:
    ...     path, later = Path(folder, "old.npz"), Path(folder, "later.npz")
    ...     predicted = {"prediction": np.ones(2000, dtype=bool), "confidence": confidence}
    ...     np.savez(path, label=label, **predicted)
    ...     np.savez(later, label=rng.uniform(size=2000) < 0.5, **predicted)
    ...     monitored = monitor_rule(find_rule(path, max_risk=0.1), later)
    >>> monitored.alarm
    True
    """
    from facereject.selection import RiskMonitor

    file = path if isinstance(path, PredictionFile) else open_predictions(path)
    delta = check_number(rule.delta if delta is None else delta, "delta", above=0, below=1)
    names = columns or ColumnNames()
    own = rule.columns
    if own.group is not None and names.group is None and own.group not in file.columns:
        raise file.error(f"there is no column {own.group!r}, which the rule needs")
    names = ColumnNames(
        names.label or own.label,
        names.prediction or own.prediction,
        loss=names.loss or own.loss,
        group=names.group or own.group,
    )
    found = replace(find_columns(file, names), scores=(rule.score,))
    reader = RowReader(file, found, unlabelled=True)
    share = delta / len(rule.thresholds)
    monitors = {name: RiskMonitor(rule.max_risk, share, rule.loss_bound) for name in rule.thresholds}
    n = n_accepted = 0
    for rows in reader:
        accepted = rule.accept(rows.uncertainty[:, 0], rows.groups)
        n += len(accepted)
        n_accepted += int(accepted.sum())
        for name, monitor in monitors.items():
            mine = accepted if rows.groups is None else accepted & (rows.groups == name)
            monitor.update(rows.losses[mine])
    reader.check_classes()
    return Monitored(monitors, n, n_accepted, reader.n_unlabelled)


def _one_score(file: PredictionFile, scores: Sequence[Uncertainty], chosen: bool) -> tuple[Uncertainty, ...]:
    """The score to use, if any.

    Where the user has chosen none, it is a column before readings of outputs, of which the first is max-prob.
    """
    if not chosen:
        scores = [score for score in scores if not isinstance(score, OutputScore)] or scores[:1]
    if len(scores) > 1:
        listed = ", ".join(repr(score.name) for score in scores)
        raise file.error(
            f"a rule uses one score, but there are several ({listed}); pass one as `confidence` or "
            "`uncertainty`"
        )
    return tuple(scores)


def _read(reader: RowReader) -> tuple[FloatArray, FloatArray, NDArray[np.object_] | None]:
    """Losses, uncertainties and groups of all rows."""
    parts = [(rows.losses, rows.uncertainty[:, 0], rows.groups) for rows in reader]
    reader.check_classes()
    losses, uncertainty = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    if reader.columns.group is None:
        return losses, uncertainty, None
    return losses, uncertainty, np.concatenate([groups for _, _, groups in parts if groups is not None])


def expected_errors(losses: FloatArray, uncertainty: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Isotonic regression of the losses: uncertainties and expected errors, to interpolate between."""
    from sklearn.isotonic import IsotonicRegression

    n = len(losses)
    order = np.argsort(uncertainty, kind="stable")
    first = np.unique(np.arange(_CALIBRATION_GROUPS) * n // _CALIBRATION_GROUPS)
    counts = np.diff(first, append=n)
    means = [np.add.reduceat(values[order], first) / counts for values in (uncertainty, losses)]
    fit = IsotonicRegression().fit(means[0], means[1], sample_weight=counts)
    return np.asarray(fit.X_thresholds_, dtype=np.float64), np.asarray(fit.y_thresholds_, dtype=np.float64)


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _limit(value: Any) -> float:
    if value in ("inf", "-inf"):
        return float(value)
    return _finite(value)


def _finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def _text_or_none(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{value!r} is not the name of a column")
    return value


def _score(definition: Mapping[str, Any], folder: str) -> Uncertainty:
    """The score that `Uncertainty.definition` describes."""
    for kind in ("confidence", "uncertainty"):
        if isinstance(column := definition.get(kind), str):
            return ColumnScore(column, kind == "confidence")
    if "learned" in definition:
        from facereject.predictions._learned import LearnedScore

        return LearnedScore.load(os.path.join(folder, definition["learned"]), sha256=definition["sha256"])
    reading, logits = definition["reading"], bool(definition["logits"])
    outputs = tuple(map(str, definition["outputs"]))
    if reading not in readings(logits) or len(outputs) < 2:
        raise ValueError(f"unknown score {reading!r}")
    return OutputScore(reading, outputs, logits)
