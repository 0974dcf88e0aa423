"""Scores in a file of predictions, compared in two passes over it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from facereject._files import display_name, write_whole
from facereject._validation import FloatArray, check_integer, check_number
from facereject._words import counted
from facereject.predictions._columns import (
    ColumnNames,
    Columns,
    ColumnScore,
    OutputScore,
    PredictionRows,
    RowReader,
    Uncertainty,
    find_columns,
    read_sample,
    stacked_outputs,
    wrong_way,
)
from facereject.predictions._comparison import ScoreComparison, summarize
from facereject.predictions._files import PredictionFile, check_output, open_predictions
from facereject.predictions._ranking import (
    BLOCKS,
    SAMPLE,
    RowSample,
    ScoreRanking,
    assign_blocks,
    draw_blocks,
    stream,
)
from facereject.scores import PostHocScore
from facereject.scores._weighting import RankScale

# classes that a confusion matrix shows; the others are one
_SHOWN_CLASSES = 12
_OTHERS = "others"

# scores of outputs with a parameter, and their kind of `PostHocScore`; it is chosen on a sample of the rows
_PARAMETRIC = {"temperature": "temperature", "max-logit-norm": "max-logit"}
_MOST_CHOSEN, _CHOOSE_CELLS, _FEWEST_CHOSEN = 50_000, 4_000_000, 2_000

# fewer errors than this tell little about a score
_FEW_ERRORS = 30


@dataclass(frozen=True)
class Confusion:
    """Where a threshold rejects, in the confusion matrix.

    Parameters
    ----------
    score : str
        The score.
    coverage : float
        Accepted share of all predictions.
    classes : tuple of str
        Names of rows (labels) and columns (predictions); the last may be all other classes together.
    total, accepted : ndarray of int of shape (classes, classes)
        Predictions, and the accepted ones of them.
    rejected_right, rejected_wrong : int
        Rejected predictions that were right, and wrong.

    See Also
    --------
    report_predictions : Makes it.
    """

    score: str
    coverage: float
    classes: tuple[str, ...]
    total: NDArray[np.int64]
    accepted: NDArray[np.int64]
    rejected_right: int
    rejected_wrong: int


@dataclass(frozen=True)
class PredictionReport:
    """The scores in a file, compared.

    Parameters
    ----------
    source : str
        The file.
    loss : str
        The loss.
    comparison : ScoreComparison
        Areas, tests, what thresholds keep, and calibration.
    confusion : Confusion or None
        Where the best score rejects; None unless the loss is zero-one.
    notes : tuple of str
        What the reader should know.
    confidences : frozenset of str
        Scores that are confidences in the file: their uncertainty is the negative value.

    See Also
    --------
    report_predictions : Makes it.

    Examples
    --------
    >>> from facereject import compare_scores
    >>> from facereject.predictions import PredictionReport
    >>> compared = compare_scores([0, 1], {"mine": [0.1, 0.9]})
    >>> PredictionReport("predictions.csv", "zero-one", compared, None, ()).comparison.best
    'mine'
    """

    source: str
    loss: str
    comparison: ScoreComparison
    confusion: Confusion | None
    notes: tuple[str, ...]
    confidences: frozenset[str] = frozenset()


def report_predictions(
    path: str | os.PathLike[str] | PredictionFile,
    output: str | os.PathLike[str] | None = None,
    *,
    columns: ColumnNames | None = None,
    learned: Iterable[Uncertainty] = (),
    coverage: float = 0.9,
    max_discard: float = 0.2,
    overwrite: bool = False,
    seed: int = 0,
) -> PredictionReport:
    """Compare the scores in a file of predictions, and write a page about them.

    Parameters
    ----------
    path : path or PredictionFile
        The file; see `open_predictions`. It is read once, or twice if it has more than 262,144 rows, and
        once more if it has outputs; the memory does not grow with its length.
    output : path, optional
        HTML page to write.
    columns : ColumnNames, optional
        Which columns are what; obvious names are recognised.
    learned : iterable of LearnedScore
        Scores from `learn_score` to compare with.
    coverage : float, default=0.9
        Accepted share at which the confusion matrix is shown.
    max_discard : float, default=0.2
        The partial area of the EDC ends here.
    overwrite : bool, default=False
        Replace ``output`` if it exists.
    seed : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    PredictionReport
        The numbers of the page.

    Raises
    ------
    PredictionFileError
        If the file cannot be read or its columns cannot be used; the message names the column.

    See Also
    --------
    compare_scores : The same for arrays.
    find_rule : A threshold with a guarantee.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import report_predictions
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "predictions.csv")
    ...     _ = path.write_text("label,prediction,confidence\\ncat,cat,0.9\\ndog,cat,0.6\\ncat,dog,0.5\\n")
    ...     report = report_predictions(path)
    >>> report.comparison.scores["confidence"].aurc.value.__round__(3)
    0.389
    """
    file = path if isinstance(path, PredictionFile) else open_predictions(path)
    if output is not None:
        check_output(output, [file.path], overwrite=overwrite)
    check_number(coverage, "coverage", above=0, maximum=1)
    check_number(max_discard, "max_discard", above=0, maximum=1)
    names = columns or ColumnNames()
    given = names.confidence or names.uncertainty
    found = find_columns(file, names, learned=learned)
    rng = stream(check_integer(seed, "seed", minimum=0))
    if not given:
        found = _with_post_hoc(file, found, rng)
    passes = _TwoPasses(RowReader(file, found), rng)
    comparison = passes.comparison(max_discard)
    confusion = passes.confusion(comparison.best, coverage) if found.loss == "zero-one" else None
    report = PredictionReport(
        source=display_name(file.path),
        loss=found.loss,
        comparison=comparison,
        confusion=confusion,
        notes=tuple(_notes(passes, comparison)),
        confidences=frozenset(
            score.name for score in found.scores if isinstance(score, ColumnScore) and score.confidence
        ),
    )
    if output is not None:
        from facereject.predictions._page import report_page

        write_whole(output, report_page(report))
    return report


class CrossFitted:
    """A post-hoc score with a parameter, which was chosen on the other half of the rows.

    A row belongs to a half by its outputs, so that copies of it are in the same half.

    Parameters
    ----------
    name, kind : str
        What pages call it, and what `PostHocScore` does.
    columns : tuple of str
        Logits or probabilities of all classes.
    logits : bool
    losses, numbers
        Rows to choose on, with errors in both halves.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        columns: tuple[str, ...],
        logits: bool,
        losses: FloatArray,
        numbers: Mapping[str, FloatArray],
    ) -> None:
        self.name, self.columns, self._logits = name, columns, logits
        outputs = stacked_outputs(numbers, columns, logits)
        halves = halve_rows(outputs)
        self._scores = [
            PostHocScore(kind).fit(None, losses[half], outputs=outputs[half]) for half in halves[::-1]
        ]
        # halves with different parameters are ranked together
        self._scales = [RankScale.of(score.predict(None, outputs=outputs)) for score in self._scores]

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameter of each half."""
        return tuple(score.parameter_ for score in self._scores)

    def __call__(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        outputs = stacked_outputs(numbers, self.columns, self._logits)
        uncertainty = np.empty(len(outputs))
        for half, score, scale in zip(halve_rows(outputs), self._scores, self._scales, strict=True):
            if half.any():
                uncertainty[half] = scale(score.predict(None, outputs=outputs[half]))
        return uncertainty

    def definition(self) -> dict[str, Any]:
        """No rule stores it: `learn_score` makes a score of outputs that can be kept."""
        raise TypeError(f"score {self.name!r} belongs to the rows it was chosen on")


def halve_rows(outputs: FloatArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two halves of the rows, by a hash of each."""
    bits = np.ascontiguousarray(outputs).view(np.uint64)
    odd = np.uint64(0x9E3779B97F4A7C15) * np.arange(1, 2 * bits.shape[1], 2, dtype=np.uint64)
    first = ((bits * odd).sum(axis=1, dtype=np.uint64) >> np.uint64(63)).astype(bool)
    return first, ~first


def _with_post_hoc(file: PredictionFile, found: Columns, rng: np.random.Generator) -> Columns:
    """Add the post-hoc scores that have a parameter, where scores are read from the outputs anyway."""
    names = [score.name for score in found.scores]
    read = any(isinstance(score, OutputScore) for score in found.scores)
    wanted = {name: kind for name, kind in _PARAMETRIC.items() if read and name not in names}
    if not wanted or found.loss != "zero-one":
        return found
    size = min(max(_CHOOSE_CELLS // len(found.outputs), _FEWEST_CHOSEN), _MOST_CHOSEN)
    sample = RowSample(rng, size)
    losses, numbers = read_sample(file, found, found.outputs, sample)
    halves = halve_rows(stacked_outputs(numbers, found.outputs, found.logits))
    if not all(losses[half].any() for half in halves):
        return found
    fitted = [
        CrossFitted(name, kind, found.outputs, found.logits, losses, numbers) for name, kind in wanted.items()
    ]
    return replace(found, scores=(*found.scores, *fitted))


class _TwoPasses:
    """First which values occur, then how many rows and losses belong to each."""

    def __init__(self, reader: RowReader, rng: np.random.Generator) -> None:
        self.reader, self._rng = reader, rng
        self.names = [score.name for score in reader.columns.scores]
        sample = RowSample(rng)
        labels = np.zeros(0, dtype=np.int64)
        self.binary, self.largest = True, 0.0
        lowest, highest = np.full(len(self.names), np.inf), np.full(len(self.names), -np.inf)
        for rows in reader:
            if not len(rows.losses):
                continue
            sample.add(_as_matrix(rows))
            self.binary &= bool(((rows.losses == 0) | (rows.losses == 1)).all())
            self.largest = max(self.largest, float(rows.losses.max()))
            lowest = np.minimum(lowest, rows.uncertainty.min(axis=0))
            highest = np.maximum(highest, rows.uncertainty.max(axis=0))
            seen = np.bincount(rows.labels, minlength=len(labels))
            seen[: len(labels)] += labels
            labels = seen
        self.never_predicted = reader.check_classes()
        self.n, self.exact = sample.n, sample.is_complete
        self._ranges = dict(zip(self.names, zip(lowest, highest, strict=True), strict=True))
        self._shown = np.argsort(-labels, kind="stable")[:_SHOWN_CLASSES]
        matrix = sample.rows()
        blocks = min(self.n, BLOCKS)
        self._rankings = [ScoreRanking(matrix[:, 1 + k], blocks) for k in range(len(self.names))]
        self._oracle = ScoreRanking(matrix[:, 0] / self._unit, blocks)
        size = len(self._shown) + 1
        self._cells = [np.zeros((size * size, r.n_bins), dtype=np.int64) for r in self._rankings]
        if self.exact:
            self._add(matrix)
        else:
            for rows in reader:
                self._add(_as_matrix(rows))

    @property
    def _unit(self) -> float:
        return self.largest or 1.0

    def _add(self, matrix: NDArray[np.float64]) -> None:
        blocks = assign_blocks(len(matrix), self.n, self._rng)
        losses = matrix[:, 0] / self._unit
        self._oracle.add(losses, losses, blocks)
        place = np.full(len(self.reader.names) + 1, len(self._shown))
        place[self._shown] = np.arange(len(self._shown))
        true, predicted = (place[matrix[:, k].astype(np.intp)] for k in (-2, -1))
        cell = true * (len(self._shown) + 1) + predicted
        for k, ranking in enumerate(self._rankings):
            bins = ranking.add(losses, matrix[:, 1 + k], blocks)
            counts = np.bincount(cell * ranking.n_bins + bins, minlength=self._cells[k].size)
            self._cells[k] += counts.reshape(self._cells[k].shape)

    def comparison(self, max_discard: float) -> ScoreComparison:
        return summarize(
            dict(zip(self.names, self._rankings, strict=True)),
            self._oracle,
            binary=self.binary,
            stating=self._stating(self.reader.columns),
            max_discard=max_discard,
            level=0.95,
            draws=draw_blocks(min(self.n, BLOCKS), 500, self._rng),
            unit=self._unit,
        )

    def _stating(self, columns: Columns) -> dict[str, float]:
        """Scores that state the probability of an error."""
        stating = {}
        for score in columns.scores if columns.loss == "zero-one" else ():
            low, high = self._ranges[score.name]
            if isinstance(score, ColumnScore) and score.confidence and -1 <= low <= high <= 0:
                stating[score.name] = 1.0
            elif score.name == "max-prob" and not isinstance(score, ColumnScore):
                stating[score.name] = 0.0
        return stating

    def confusion(self, name: str, coverage: float) -> Confusion:
        """The confusion matrix with the decisions of one score, at the end of a bin near this coverage."""
        k = self.names.index(name)
        size = len(self._shown) + 1
        kept = np.cumsum(self._cells[k].sum(axis=0))
        last = int(np.searchsorted(kept, coverage * self.n - 1e-9))
        total = self._cells[k].sum(axis=1).reshape(size, size)
        accepted = self._cells[k][:, : last + 1].sum(axis=1).reshape(size, size)
        classes = [self.reader.names[code] for code in self._shown]
        others = bool(total[-1].any() or total[:, -1].any())
        end = size if others else size - 1
        # zero-one losses: their sum is the number of errors
        wrong = round(float(self._rankings[k].block_sums[:, last + 1 :].sum()))
        return Confusion(
            name,
            float(kept[last] / self.n),
            (*classes, *([_OTHERS] if others else [])),
            total[:end, :end],
            accepted[:end, :end],
            self.n - int(kept[last]) - wrong,
            wrong,
        )


def _as_matrix(rows: PredictionRows) -> NDArray[np.float64]:
    """Losses, uncertainties, and codes of labels and predictions (-1 without classes) as columns."""
    codes = np.full((len(rows.losses), 2), -1.0)
    if len(rows.labels):
        codes[:, 0], codes[:, 1] = rows.labels, rows.predictions
    return np.column_stack([rows.losses, rows.uncertainty, codes])


def _notes(passes: _TwoPasses, comparison: ScoreComparison) -> Iterable[str]:
    columns = {score.name: score for score in passes.reader.columns.scores}
    for name, result in comparison.scores.items():
        if result.wrong_way:
            yield wrong_way(columns[name])
        if result.constant and comparison.n > 1:
            yield f"Score {name!r} is the same in every row: it ranks nothing"
    if comparison.mean_loss == 0:
        yield "All losses are 0: there is nothing to tell scores apart by"
    elif passes.binary and comparison.mean_loss * comparison.n < _FEW_ERRORS:
        errors = round(comparison.mean_loss * comparison.n)
        yield f"Only {counted(errors, 'error')}: differences between scores mean little"
    if passes.never_predicted:
        shown = ", ".join(map(repr, passes.never_predicted[:5]))
        more = len(passes.never_predicted) - 5
        yield (
            f"Never predicted, although a label of column {passes.reader.columns.label!r}: {shown}"
            f"{f' and {more} more' if more > 0 else ''}"
        )
    for score in columns.values():
        if isinstance(score, CrossFitted):
            chosen = " and ".join(f"{value:g}" for value in score.parameters)
            yield (
                f"Score {score.name!r}: its parameter ({chosen}) was chosen on one half of the rows and used "
                "on the other"
            )
    if not passes.exact:
        yield (
            f"Above {SAMPLE:,} rows, rows count as tied if their scores lie between two neighbouring values "
            "of a random sample"
        )
