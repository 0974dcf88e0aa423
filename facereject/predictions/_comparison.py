"""Several scores on the same predictions: areas with intervals, paired tests, what is kept, calibration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from facereject._validation import FloatArray, check_integer, check_number, check_same_length, check_vector
from facereject.predictions._ranking import (
    BLOCKS,
    SAMPLE,
    Areas,
    ScoreRanking,
    areas,
    draw_blocks,
    rank_all,
    replicates,
    stream,
    threshold_at,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from facereject.plotting import RiskCoverageDisplay

#: coverages at which tables tell the risk
COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3)

# coverages of the curves
_GRID = np.arange(1, 201) / 200

# standard deviations by which a score must be worse than chance to be called the wrong way round
_SURE = 2.6
# bootstrap replicates that are enough for a standard deviation
_FEW_REPLICATES = 100

# groups of equal size whose expected and true errors are compared
_CALIBRATION_GROUPS = 10


@dataclass(frozen=True)
class Estimate:
    """A value with a confidence interval.

    Parameters
    ----------
    value, low, high : float
        The estimate and the ends of its interval.
    """

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True)
class Kept:
    """What a threshold keeps.

    Parameters
    ----------
    coverage : float
        Accepted share.
    n : int
        Number of accepted predictions.
    threshold : float
        Accept where uncertainty <= threshold.
    risk : Estimate
        Mean loss of the accepted predictions.

    See Also
    --------
    compare_scores : Makes them.
    """

    coverage: float
    n: int
    threshold: float
    risk: Estimate


@dataclass(frozen=True)
class Calibrated:
    """Expected against true error of predictions of similar uncertainty.

    Parameters
    ----------
    n : int
        Number of predictions.
    expected : float
        Mean expected error.
    observed : Estimate
        Mean loss.

    See Also
    --------
    compare_scores : Makes them.
    """

    n: int
    expected: float
    observed: Estimate


@dataclass(frozen=True)
class ScoreResult:
    """How well one score ranks predictions.

    Parameters
    ----------
    aurc, eaurc, augrc, edc : Estimate
        Areas as defined in `facereject.metrics`; ``edc`` up to the ``max_discard`` asked for.
    risk : ndarray of shape (200,)
        Selective risk at the coverages 0.005, 0.01, …, 1.
    band : ndarray of shape (2, 200)
        Pointwise interval of the risk.
    kept : tuple of Kept
        What thresholds keep.
    calibration : tuple of Calibrated
        Expected error, learned from one half of the predictions, against the error of the other half.
    stated : tuple of Calibrated
        The error that the score itself states; empty unless losses are 0 or 1 and the score is a probability
        of error.
    wrong_way : bool
        Whether rejecting what it calls certain would be better: confidence taken for uncertainty.
    constant : bool
        Whether all predictions have the same uncertainty.

    See Also
    --------
    compare_scores : Makes them.
    """

    aurc: Estimate
    eaurc: Estimate
    augrc: Estimate
    edc: Estimate
    risk: FloatArray
    band: FloatArray
    kept: tuple[Kept, ...]
    calibration: tuple[Calibrated, ...]
    stated: tuple[Calibrated, ...]
    wrong_way: bool
    constant: bool


@dataclass(frozen=True)
class PairedTest:
    """Difference of the AuRC of two scores on the same predictions.

    Parameters
    ----------
    first, second : str
        The scores.
    difference : Estimate
        AuRC of ``first`` minus that of ``second``: negative if ``first`` is better.
    p_value : float
        Two-sided, of the hypothesis that both have the same AuRC; with Holm's correction for all pairs.

    See Also
    --------
    compare_scores : Makes them.

    References
    ----------
    .. [1] Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
       Statistics, 1979.
    """

    first: str
    second: str
    difference: Estimate
    p_value: float


@dataclass(frozen=True)
class ScoreComparison:
    """Scores of the same predictions, side by side; `compare_scores` makes it.

    Parameters
    ----------
    n : int
        Number of predictions.
    mean_loss : float
        Mean loss of all predictions: the AuRC of a score that knows nothing.
    scores : dict of str to ScoreResult
        Results of every score.
    tests : tuple of PairedTest
        All pairs of scores.
    oracle_aurc : float
        The AuRC of the best possible ranking.
    oracle_risk : ndarray of shape (200,)
        Its risk at the coverages 0.005, 0.01, …, 1.
    level : float
        Confidence of the intervals.
    max_discard : float
        Share of the predictions up to which ``edc`` is an area.

    See Also
    --------
    compare_scores : Makes it.

    Examples
    --------
    >>> from facereject import compare_scores
    >>> compared = compare_scores([0, 0, 1, 0], {"mine": [0.1, 0.2, 0.9, 0.4], "other": [1, 2, 3, 4]})
    >>> compared.best, compared.scores["mine"].aurc.value, compared.mean_loss
    ('mine', 0.0625, 0.25)
    """

    n: int
    mean_loss: float
    scores: dict[str, ScoreResult]
    tests: tuple[PairedTest, ...]
    oracle_aurc: float
    oracle_risk: FloatArray
    level: float
    max_discard: float

    @property
    def coverage(self) -> FloatArray:
        """Coverages of the curves."""
        return _GRID

    @property
    def best(self) -> str:
        """Name of the score with the lowest AuRC."""
        return min(self.scores, key=lambda name: self.scores[name].aurc.value)

    @property
    def frame(self) -> pandas.DataFrame:
        """One row per score: the areas, their intervals, and the p-value against the best (needs pandas)."""
        import pandas

        against = {(test.first, test.second): test.p_value for test in self.tests}
        rows = {}
        for name, result in self.scores.items():
            row: dict[str, float] = {}
            for area in ("aurc", "eaurc", "augrc", "edc"):
                value: Estimate = getattr(result, area)
                row |= {area: value.value, f"{area}_low": value.low, f"{area}_high": value.high}
            pair = (name, self.best)
            rows[name] = row | {"p_value": against.get(pair, against.get(pair[::-1], 1.0))}
        return pandas.DataFrame.from_dict(rows, orient="index")

    @property
    def test_frame(self) -> pandas.DataFrame:
        """One row per pair of scores (needs pandas)."""
        import pandas

        names = ["first", "second", "difference", "low", "high", "p_value"]
        rows = [
            (t.first, t.second, t.difference.value, t.difference.low, t.difference.high, t.p_value)
            for t in self.tests
        ]
        return pandas.DataFrame(rows, columns=names)

    def plot(self, ax: Axes | None = None, **plot_options: Any) -> RiskCoverageDisplay:
        """Draw the risk-coverage curves with their bands.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **plot_options
            Passed on to `RiskCoverageDisplay.plot`.

        Returns
        -------
        RiskCoverageDisplay
            What was drawn.
        """
        from facereject.plotting import RiskCoverageDisplay

        display = RiskCoverageDisplay(
            {name: (_GRID, result.risk) for name, result in self.scores.items()},
            aurc={name: result.aurc.value for name, result in self.scores.items()},
            bands={name: (_GRID, *result.band) for name, result in self.scores.items()},
            oracle=(_GRID, self.oracle_risk),
            oracle_aurc=self.oracle_aurc,
            random_risk=self.mean_loss,
        )
        return display.plot(ax, **plot_options)

    def __repr__(self) -> str:
        width = max(map(len, self.scores))
        lines = [f"{'score':{width}}  AuRC"]
        lines += [f"{name:{width}}  {result.aurc}" for name, result in self.scores.items()]
        return "\n".join(lines)


def compare_scores(
    losses: Any,
    scores: Mapping[str, Any],
    *,
    max_discard: float = 0.2,
    level: float = 0.95,
    n_replicates: int = 500,
    random_state: int = 0,
) -> ScoreComparison:
    """Compare uncertainty scores of the same predictions: areas with intervals, paired tests, a plot.

    Parameters
    ----------
    losses : array-like of shape (n,)
        Loss of each prediction, >= 0; none of the scores may have been fitted to them.
    scores : mapping of str to array-like of shape (n,)
        Uncertainties by name; higher = less certain.
    max_discard : float, default=0.2
        The partial area ``edc`` is that of discarding up to this share.
    level : float, default=0.95
        Confidence of the intervals.
    n_replicates : int, default=500
        Bootstrap replicates.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    ScoreComparison
        ``frame`` has one row per score, ``tests`` all pairs, ``plot()`` draws the curves with their bands.

    See Also
    --------
    report_predictions : The same for a file, as a page.
    facereject.metrics.aurc : One area alone.

    Notes
    -----
    Intervals and p-values come from a bootstrap over predictions, the same draws for all scores (above 1,000
    predictions, blocks of them chosen at random are drawn). They take the predictions as independent of each
    other: frames of one video are not.

    Examples
    --------
    >>> import numpy as np
    >>> from facereject import compare_scores
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.5, 1, size=400)  # probability of the predicted class
    >>> losses = rng.uniform(size=400) > p
    >>> compared = compare_scores(losses, {"max-prob": 1 - p, "random": rng.uniform(size=400)})
    >>> compared.best
    'max-prob'
    >>> compared.frame.columns[:3].tolist()
    ['aurc', 'aurc_low', 'aurc_high']
    >>> bool(compared.tests[0].p_value < 0.001)
    True
    """
    target = check_vector(losses, "losses", non_negative=True)
    if not isinstance(scores, Mapping) or not scores:
        raise ValueError("scores must be a mapping from names to uncertainties, with at least one entry")
    columns = {str(name): check_vector(values, f"scores[{name!r}]") for name, values in scores.items()}
    check_same_length(losses=target, **{f"scores[{name!r}]": values for name, values in columns.items()})
    rng = stream(check_integer(random_state, "random_state", minimum=0))
    # in units of the largest, the sums stay within the range of numbers
    unit = float(target.max()) or 1.0
    rankings = rank_all(target / unit, [*columns.values(), target / unit], rng)
    return summarize(
        dict(zip(columns, rankings[:-1], strict=True)),
        rankings[-1],
        binary=bool(np.isin(target, (0.0, 1.0)).all()),
        stating={},
        max_discard=check_number(max_discard, "max_discard", above=0, maximum=1),
        level=check_number(level, "level", above=0, below=1),
        draws=draw_blocks(
            min(len(target), BLOCKS), check_integer(n_replicates, "n_replicates", minimum=20), rng
        ),
        unit=unit,
    )


def goes_wrong_way(losses: FloatArray, uncertainty: FloatArray) -> bool:
    """Whether a score is worse than random rejection by more than chance explains."""
    rng = stream(0)
    unit = float(losses.max()) or 1.0
    if len(losses) > SAMPLE:
        rows = rng.integers(len(losses), size=SAMPLE)
        losses, uncertainty = losses[rows], uncertainty[rows]
    (ranking,) = rank_all(losses / unit, [uncertainty], rng)
    draws = draw_blocks(min(len(losses), BLOCKS), _FEW_REPLICATES, rng)
    whole = np.ones(1)
    exact = areas(ranking.groups, whole, 1.0)
    return _is_worse(exact, replicates(ranking, draws, whole, 1.0))


def _is_worse(exact: Areas, drawn: Areas) -> bool:
    """Whether the AuRC is above the mean loss, which is the risk at the last coverage, in spite of chance."""
    noise = float(np.std(drawn.aurc - drawn.risks[:, -1]))
    return float(exact.aurc - exact.risks[-1]) > max(_SURE * noise, 1e-9 * float(exact.aurc))


def summarize(
    rankings: Mapping[str, ScoreRanking],
    oracle: ScoreRanking,
    *,
    binary: bool,
    stating: Mapping[str, float],
    max_discard: float,
    level: float,
    draws: Any,
    unit: float = 1.0,
) -> ScoreComparison:
    """The comparison of scores whose rows have been ranked.

    Parameters
    ----------
    rankings, oracle : ScoreRanking
        By every score, and by the losses themselves.
    binary : bool
        Whether all losses are 0 or 1.
    stating : mapping of str to float
        Scores that are a probability of error less this number: 0 for 1 - p, 1 for -p.
    max_discard, level
        As in `compare_scores`.
    draws : ndarray of int of shape (replicates, blocks)
        The bootstrap.
    unit : float
        The loss that counts as 1 in the rankings.
    """
    best = areas(oracle.groups, _GRID, max_discard)
    best_drawn = replicates(oracle, draws, _GRID, max_discard)
    mean = float(best.risks[-1])
    results, drawn = {}, {}
    for name, ranking in rankings.items():
        exact = areas(ranking.groups, _GRID, max_discard)
        drawn[name] = many = replicates(ranking, draws, _GRID, max_discard)
        excess = np.maximum(exact.aurc - best.aurc, 0.0)
        stated = ranking.mean_values + stating[name] if name in stating else None
        results[name] = ScoreResult(
            aurc=_estimate(exact.aurc, many.aurc, level, unit),
            eaurc=_estimate(excess, many.aurc - best_drawn.aurc, level, unit),
            augrc=_estimate(exact.augrc, many.augrc, level, unit),
            edc=_estimate(exact.edc, many.edc, level, unit),
            risk=exact.risks * unit,
            band=np.maximum(np.quantile(many.risks, _ends(level), axis=0), 0.0) * unit,
            kept=_kept(ranking, many, binary, level, unit),
            calibration=_calibration(ranking, _cross_fitted(ranking), draws, level, unit),
            stated=() if stated is None else _calibration(ranking, stated, draws, level, unit),
            wrong_way=_is_worse(exact, many),
            constant=ranking.n_bins == 1,
        )
    return ScoreComparison(
        n=int(oracle.groups.counts.sum()),
        mean_loss=mean * unit,
        scores=results,
        tests=_paired_tests(results, drawn, level, unit),
        oracle_aurc=float(best.aurc) * unit,
        oracle_risk=best.risks * unit,
        level=level,
        max_discard=max_discard,
    )


def _ends(level: float) -> list[float]:
    return [(1 - level) / 2, (1 + level) / 2]


def _estimate(value: Any, drawn: FloatArray, level: float, unit: float, lowest: float = 0.0) -> Estimate:
    low, high = np.quantile(drawn, _ends(level))
    # where hardly anything varies, the correction for bins can leave the value outside
    return Estimate(float(value) * unit, min(max(low, lowest), value) * unit, max(high, value) * unit)


def _kept(ranking: ScoreRanking, drawn: Areas, binary: bool, level: float, unit: float) -> tuple[Kept, ...]:
    groups = ranking.groups
    n = int(groups.counts.sum())
    rows: dict[int, Kept] = {}
    for coverage in COVERAGES:
        threshold, kept, risk = threshold_at(groups, coverage)
        if binary:
            interval = _binomial(round(risk * kept), kept, level)
        else:
            place = max(round(kept / n * len(_GRID)) - 1, 0)
            interval = _estimate(risk, drawn.risks[:, place], level, unit)
        rows[kept] = Kept(kept / n, kept, threshold, interval)
    return tuple(rows.values())


def _binomial(errors: int, n: int, level: float) -> Estimate:
    """Clopper and Pearson's interval: also right where there is no error at all."""
    from scipy.special import betaincinv

    low, high = _ends(level)
    return Estimate(
        errors / n,
        float(betaincinv(errors, n - errors + 1, low)) if errors else 0.0,
        float(betaincinv(errors + 1, n - errors, high)) if errors < n else 1.0,
    )


def _cross_fitted(ranking: ScoreRanking) -> FloatArray:
    """Expected error of every bin of even blocks (first row) and odd ones, learned from the other ones."""
    from sklearn.isotonic import IsotonicRegression

    expected = np.zeros((2, ranking.n_bins))
    bins = np.arange(ranking.n_bins)
    for half in (0, 1):
        counts = ranking.block_counts[1 - half :: 2].sum(axis=0)
        sums = ranking.block_sums[1 - half :: 2].sum(axis=0)
        used = counts > 0
        if used.any():
            fit = IsotonicRegression(out_of_bounds="clip")
            fit.fit(bins[used], sums[used] / counts[used], counts[used])
            expected[half] = fit.predict(bins)
    return expected


def _calibration(
    ranking: ScoreRanking, expected: FloatArray, draws: Any, level: float, unit: float
) -> tuple[Calibrated, ...]:
    """Expected error of the bins, for all rows or for those of even and of odd blocks, against the losses."""
    counts, sums = ranking.block_counts, ranking.block_sums
    total = counts.sum(axis=0)
    if len(counts) < 2:
        return ()
    by_half = np.broadcast_to(expected, (2, ranking.n_bins))
    mass = sum(by_half[half] * counts[half::2].sum(axis=0) for half in (0, 1))
    ends = np.cumsum(total)
    group = np.minimum((ends - 0.5 * total) / ends[-1] * _CALIBRATION_GROUPS, _CALIBRATION_GROUPS - 1)
    member = group.astype(np.intp)[:, None] == np.arange(_CALIBRATION_GROUPS)
    drawn_counts, drawn_sums = draws @ (counts @ member), draws @ (sums @ member)
    rows = []
    for k in np.flatnonzero(member.any(axis=0)):
        mine = member[:, k]
        n = float(total[mine].sum())
        some = drawn_counts[:, k] > 0
        observed = _estimate(
            sums[:, mine].sum() / n, drawn_sums[some, k] / drawn_counts[some, k], level, unit
        )
        rows.append(Calibrated(int(n), float(mass[mine].sum() / n) * unit, observed))
    return tuple(rows)


def _paired_tests(
    results: Mapping[str, ScoreResult], drawn: Mapping[str, Areas], level: float, unit: float
) -> tuple[PairedTest, ...]:
    pairs = list(combinations(results, 2))
    tests = []
    for first, second in pairs:
        value = (results[first].aurc.value - results[second].aurc.value) / unit
        differences = drawn[first].aurc - drawn[second].aurc
        deviation = float(np.std(differences))
        # two-sided normal tail; equal scores do not differ at all
        p_value = math.erfc(abs(value) / deviation / math.sqrt(2)) if deviation > 0 else float(value == 0)
        tests.append((first, second, _estimate(value, differences, level, unit, -math.inf), p_value))
    # Holm: the smallest p-value counts as often as there are tests, the next one time less, …
    order = sorted(range(len(tests)), key=lambda k: tests[k][3])
    corrected, largest = {}, 0.0
    for place, k in enumerate(order):
        largest = max(largest, min(1.0, tests[k][3] * (len(tests) - place)))
        corrected[k] = largest
    return tuple(
        PairedTest(first, second, difference, corrected[k])
        for k, (first, second, difference, _) in enumerate(tests)
    )
