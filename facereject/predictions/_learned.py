"""Scores learned from the columns of a file: trained, stored without code, and used on other files."""

from __future__ import annotations

import copy
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from facereject import __version__
from facereject._files import display_name
from facereject._validation import FloatArray, check_integer
from facereject._words import counted
from facereject.modelfile import ModelFileError, read_model, write_model
from facereject.predictions._columns import (
    ColumnNames,
    Columns,
    ColumnScore,
    OutputScore,
    Uncertainty,
    find_columns,
    read_sample,
    readings,
    stacked_outputs,
)
from facereject.predictions._comparison import ScoreComparison, compare_scores
from facereject.predictions._files import PredictionFile, PredictionFileError, check_output, open_predictions
from facereject.predictions._ranking import RowSample, stream
from facereject.predictions._rule import expected_errors
from facereject.predictions._state import decode, encode
from facereject.scores import BoostedSELEScore, ConfidenceScore, PostHocScore, SELEScoreCV
from facereject.scores._base import BaseScore
from facereject.scores._weighting import compare_areas

_KIND = "score for predictions"

#: of files of scores, by which commands tell them from rules
SUFFIX = ".safetensors"

#: what can be learned
METHODS = ("auto", "confidence", "sele", "boosted")

_FEATURES = re.compile(r"(?:features?|f|x|emb|embeddings?)_\d+", re.IGNORECASE)

# share of the rows on which the score is compared with what it starts from, before it learns from all
_HELD_OUT = 0.2
# fewer rows than this tell nothing
_FEWEST_ROWS = 20
#: rows that a score is learned from, at most
MAX_ROWS = 200_000


@dataclass(frozen=True)
class _Inputs:
    """Columns that a score is learned from: features, outputs of all classes, and given scores.

    ``base`` is the score that the learned one starts from, found by `choose_base`; None where that is
    max-softmax of the outputs, or where there are features alone.
    """

    features: tuple[str, ...]
    outputs: tuple[str, ...]
    logits: bool
    given: tuple[ColumnScore, ...]
    base: PostHocScore | ColumnScore | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.features, *self.outputs, *(score.column for score in self.given)]))

    def choose_base(self, numbers: Mapping[str, FloatArray], losses: FloatArray) -> _Inputs:
        """Start from the best score: of the outputs, unless a given one is clearly better."""
        candidates: list[PostHocScore | ColumnScore] = [*self.given]
        if self.outputs:
            candidates.insert(0, PostHocScore().fit(None, losses, outputs=self._outputs(numbers)))
        if not candidates:
            return self
        best, equal = compare_areas(losses, [self._evaluate(base, numbers) for base in candidates])
        base = candidates[0 if 0 in equal else best]
        # scores read max-softmax from the outputs themselves
        own = isinstance(base, PostHocScore) and base.kind_ == "max-softmax"
        return self if own else replace(self, base=base)

    def arguments(self, numbers: Mapping[str, FloatArray]) -> tuple[FloatArray, dict[str, Any]]:
        """Features X, and what `facereject.scores` call outputs, base_score and auxiliary."""
        known: dict[str, Any] = {}
        further = [score(numbers) for score in self.given if score != self.base]
        if self.outputs:
            outputs = self._outputs(numbers)
            known["outputs"] = softmax(outputs, axis=1) if self.logits else outputs
            # what the probabilities no longer tell
            only = set(readings(self.logits)) - set(readings(False))
            further += [OutputScore(name, self.outputs, True)(numbers) for name in sorted(only)]
        if self.base is not None:
            known["base_score"] = self._evaluate(self.base, numbers)
        if further:
            known["auxiliary"] = np.column_stack(further)
        X = _stacked(numbers, self.features or self.outputs or [score.column for score in self.given])
        return X, known

    def _outputs(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        return stacked_outputs(numbers, self.outputs, self.logits)

    def base_scores(self, numbers: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Uncertainties that the learned score should beat, by name."""
        scores: list[Uncertainty] = [*self.given]
        if self.outputs:
            scores.insert(0, OutputScore("max-prob", self.outputs, self.logits))
        found = {score.name: score(numbers) for score in scores}
        if isinstance(self.base, PostHocScore):
            found[self.base.kind_] = self._evaluate(self.base, numbers)
        return found

    def _evaluate(self, base: PostHocScore | ColumnScore, numbers: Mapping[str, FloatArray]) -> FloatArray:
        if isinstance(base, ColumnScore):
            return base(numbers)
        return base.predict(None, outputs=self._outputs(numbers))


class LearnedScore:
    """An uncertainty learned from columns of a file; `learn_score` makes one, `load` reads one.

    Parameters
    ----------
    estimator : fitted score
        One of `facereject.scores`.
    inputs : object
        The columns it is computed from.
    method : str
        What was learned: confidence, sele or boosted.
    n, n_rows : int
        Number of rows it was learned from, and of all rows of the file.
    calibration : (ndarray, ndarray)
        Uncertainties and the errors to expect there.
    path : str, default=""
        Its file.
    held_out : ScoreComparison, optional
        On a fifth of the rows, left out at first: the score against those it could use. Not stored.

    See Also
    --------
    learn_score : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import LearnedScore, learn_score
    >>> with TemporaryDirectory() as folder:
    ...     path, file = Path(folder, "predictions.npz"), Path(folder, "mine.safetensors")
    ...     np.savez(path, loss=[0, 0, 0, 1] * 50, entropy=[0.1, 0.2, 0.3, 0.8] * 50)
    ...     _ = learn_score(path).save(file)
    ...     score = LearnedScore.load(file)
    >>> score.name, score.columns, score.method
    ('mine', ('entropy',), 'confidence')
    """

    def __init__(
        self,
        estimator: Any,
        inputs: _Inputs,
        method: str,
        n: int,
        n_rows: int,
        calibration: tuple[FloatArray, FloatArray],
        path: str = "",
        held_out: ScoreComparison | None = None,
    ) -> None:
        self._estimator, self._inputs, self._calibration, self._path = estimator, inputs, calibration, path
        self.method, self.n, self.n_rows, self.held_out = method, n, n_rows, held_out

    @property
    def name(self) -> str:
        """The name of its file without the suffix."""
        return Path(self._path).stem or "learned"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it needs."""
        return self._inputs.columns

    @property
    def weighting(self) -> str:
        """How much what was learned counts against the score it starts from, and why."""
        return f"weight {self._estimator.weight_:g}: {self._estimator._weighting.reason}"

    def __call__(self, numbers: Mapping[str, FloatArray]) -> FloatArray:
        """Uncertainty of every row; higher = less certain.

        Parameters
        ----------
        numbers : mapping of str to ndarray of shape (n,)
            The columns.

        Returns
        -------
        ndarray of shape (n,)
            The uncertainty.
        """
        X, known = self._inputs.arguments(numbers)
        return np.asarray(self._estimator.predict(X, **known)) if len(X) else np.empty(0)

    def expected_error(self, uncertainty: FloatArray) -> FloatArray:
        """Expected loss of predictions of these uncertainties, learned from the rows left out at first.

        Parameters
        ----------
        uncertainty : ndarray of shape (n,)
            Higher = less certain.

        Returns
        -------
        ndarray of shape (n,)
            The expected loss.
        """
        return np.asarray(np.interp(uncertainty, *self._calibration))

    def definition(self) -> dict[str, Any]:
        """What a rule stores.

        Returns
        -------
        dict
            The file and its digest.
        """
        if not self._path:
            raise ValueError("a rule refers to the file of a learned score; save the score first")
        return {"learned": self._path, "sha256": _digest(self._path)}

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> LearnedScore:
        """Write the score to a file.

        Parameters
        ----------
        path : path
            A ``.safetensors`` file.
        overwrite : bool, default=False
            Replace the file if it exists.

        Returns
        -------
        LearnedScore
            The score under the name of the file.
        """
        check_output(path, [], overwrite=overwrite, suffix=SUFFIX)
        arrays: dict[str, Any] = {"uncertainty": self._calibration[0], "error": self._calibration[1]}
        inputs = self._inputs
        header = {
            "version": __version__,
            "method": self.method,
            "n": self.n,
            "n_rows": self.n_rows,
            "features": list(inputs.features),
            "outputs": list(inputs.outputs),
            "logits": inputs.logits,
            "given": [[score.column, score.confidence] for score in inputs.given],
            "base": inputs.given.index(inputs.base)
            if isinstance(inputs.base, ColumnScore)
            else encode(inputs.base, arrays),
            "state": encode(self._estimator, arrays),
        }
        write_model(path, _KIND, header, arrays)
        saved = copy.copy(self)
        saved._path = os.fspath(path)
        return saved

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, sha256: str | None = None) -> LearnedScore:
        """Read a score that `save` has written; no code in the file is run.

        Parameters
        ----------
        path : path
            The file.
        sha256 : str, optional
            Digest that the file must have.

        Returns
        -------
        LearnedScore
            The score.

        Raises
        ------
        PredictionFileError
            If it is not such a file, or another one than the digest says.
        """
        name = display_name(path)
        try:
            header, arrays = read_model(path, _KIND, None)
        except FileNotFoundError:
            raise PredictionFileError(f"{name}: no such file") from None
        except OSError as error:
            raise PredictionFileError(f"{name}: cannot be read ({error.strerror})") from None
        except ModelFileError as error:
            raise PredictionFileError(str(error)) from None
        if sha256 is not None and _digest(path) != sha256:
            raise PredictionFileError(f"{name}: is another score than the rule was made with")
        try:
            inputs = _Inputs(
                tuple(map(str, header["features"])),
                tuple(map(str, header["outputs"])),
                bool(header["logits"]),
                tuple(ColumnScore(str(column), bool(confident)) for column, confident in header["given"]),
            )
            base = header["base"]
            base = inputs.given[base] if isinstance(base, int) else decode(base, arrays)
            if not isinstance(base, (PostHocScore, ColumnScore, type(None))):
                raise TypeError("starts from no score")
            inputs = replace(inputs, base=base)
            calibration = (np.asarray(arrays["uncertainty"]), np.asarray(arrays["error"]))
            estimator = decode(header["state"], arrays)
            if not isinstance(estimator, BaseScore):
                raise TypeError("is no score")
            if not len(calibration[0]) or calibration[0].shape != calibration[1].shape:
                raise ValueError("the expected errors have no values")
            numbers = int(header["n"]), int(header["n_rows"])
            score = cls(estimator, inputs, str(header["method"]), *numbers, calibration, os.fspath(path))
            # a score that lacks a part is noticed here, not in the middle of a file
            if score({name: np.full(1, 1 / max(len(inputs.outputs), 1)) for name in score.columns}).shape != (
                1,
            ):
                raise ValueError("gives no number per row")
            return score
        except (
            ArithmeticError,
            AttributeError,
            ImportError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            made = header.get("version")
            raise PredictionFileError(
                f"{name}: learned by facereject {made}, {__version__} cannot use it; learn it again"
            ) from None


def learn_score(
    path: str | os.PathLike[str] | PredictionFile,
    method: str = "auto",
    *,
    columns: ColumnNames | None = None,
    features: Iterable[str] = (),
    max_rows: int = MAX_ROWS,
    seed: int = 0,
) -> LearnedScore:
    """Learn which predictions in a file go wrong, from outputs, scores and features in its columns.

    It starts from the best score that the outputs give (`PostHocScore`), or from a column of the file that is
    clearly better; what is learned must earn its place against that on held-out losses.
    A fifth of the rows is left out at first: on it the score is compared with those it could use. Then it is
    learned from all rows, or from a random sample where there are more than ``max_rows``.

    Parameters
    ----------
    path : path or PredictionFile
        Labelled predictions that the predictor was not trained on; see `open_predictions`. It is read in
        chunks.
    method : {"auto", "confidence", "sele", "boosted"}
        `ConfidenceScore`, which weighs outputs and scores; `SELEScoreCV`, linear also in the features; or
        `BoostedSELEScore`, trees. "auto" is "boosted" where there are features, else "confidence".
    columns : ColumnNames, optional
        Which columns are what. Columns of confidence or uncertainty are inputs of the score.
    features : iterable of str, optional
        Columns of features; by default those called feature_0, x_0, emb_0, …
    max_rows : int, default=200000
        Number of rows to learn from, at most. Of a longer file at least half as many are kept in memory,
        drawn at random; ``n`` and ``n_rows`` of the score say how many.
    seed : int, default=0
        Seed for choosing the sample and the held-out rows.

    Returns
    -------
    LearnedScore
        The score; ``save`` writes it.

    Raises
    ------
    PredictionFileError
        If there is nothing to learn from.

    See Also
    --------
    find_rule : A threshold for it, with a guarantee; use other rows.
    facereject.scores.BoostedSELEScore : What is behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from facereject.predictions import learn_score
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(1000, 3))
    >>> wrong = rng.uniform(size=1000) < 0.5 * (features[:, 0] > 1)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "predictions.npz")
    ...     np.savez(path, label=wrong.astype(int), prediction=np.zeros(1000, int), features=features)
    ...     score = learn_score(path, "sele")
    >>> hard, easy = score({f"features_{k}": np.array([2.0 - 3.0 * k, -2.0 + 2.0 * k]) for k in range(3)})
    >>> bool(hard > easy)
    True
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    file = path if isinstance(path, PredictionFile) else open_predictions(path)
    found = find_columns(file, columns or ColumnNames())
    inputs = _find_inputs(file, found, tuple(features))
    if any(score.column == "learned" for score in inputs.given):
        raise file.error("column 'learned' has the name that the new score is compared under; rename it")
    if method == "auto":
        method = "boosted" if inputs.features else "confidence"
    if method == "confidence" and not inputs.outputs and not inputs.given:
        raise file.error(
            "there are no outputs and no scores to learn from; pass `confidence` or `uncertainty`"
        )
    rng = stream(check_integer(seed, "seed", minimum=0))
    sample = RowSample(rng, check_integer(max_rows, "max_rows", minimum=_FEWEST_ROWS))
    losses, numbers = read_sample(file, found, inputs.columns, sample)
    n = len(losses)
    if n < _FEWEST_ROWS:
        raise file.error(f"{counted(n, 'row is', 'rows are')} too few to learn from")
    if not losses.any():
        raise file.error("all losses are 0: there is no error to learn from")
    held_out, rest = np.split(rng.permutation(n), [round(_HELD_OUT * n)])
    tried, trial = _fit(method, inputs, _rows(numbers, rest), losses[rest], seed)
    checked = _rows(numbers, held_out)
    X, known = tried.arguments(checked)
    uncertainty = np.asarray(trial.predict(X, **known))
    comparison = compare_scores(losses[held_out], {"learned": uncertainty, **tried.base_scores(checked)})
    inputs, estimator = _fit(method, inputs, numbers, losses, seed)
    # what is used from here on is what a file would hold
    arrays: dict[str, Any] = {}
    estimator = decode(encode(estimator, arrays), arrays)
    calibration = expected_errors(losses[held_out], uncertainty)
    return LearnedScore(estimator, inputs, method, n, sample.n, calibration, held_out=comparison)


def _find_inputs(file: PredictionFile, found: Columns, features: tuple[str, ...]) -> _Inputs:
    for name in features:
        if name not in file.columns:
            raise file.error(f"`feature`: there is no column {name!r}")
    features = features or tuple(name for name in file.columns if _FEATURES.fullmatch(name))
    given = tuple(score for score in found.scores if isinstance(score, ColumnScore))
    inputs = _Inputs(features, found.outputs, found.logits, given)
    if not inputs.columns:
        raise file.error(
            "there is nothing to learn from: no probabilities, logits, scores or features; pass `feature`"
        )
    return inputs


def _rows(numbers: Mapping[str, FloatArray], index: Any) -> dict[str, FloatArray]:
    return {name: values[index] for name, values in numbers.items()}


def _stacked(numbers: Mapping[str, FloatArray], names: Iterable[str]) -> FloatArray:
    return np.column_stack([numbers[name] for name in names])


def _fit(
    method: str, inputs: _Inputs, numbers: Mapping[str, FloatArray], losses: FloatArray, seed: int
) -> tuple[_Inputs, Any]:
    """The score, and its inputs with the base score it starts from."""
    inputs = inputs.choose_base(numbers, losses)
    X, known = inputs.arguments(numbers)
    if method == "confidence":
        return inputs, ConfidenceScore().fit(X, losses, **known)
    kind = SELEScoreCV if method == "sele" else BoostedSELEScore
    return inputs, kind(random_state=seed).fit(X, losses, **known)


def _digest(path: str | os.PathLike[str]) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
