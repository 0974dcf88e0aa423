"""The Python API under abuse: odd arguments get a ValueError, TypeError or OSError that says something."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from facereject import FaceRejector, compare_scores, guaranteed_risk, metrics, score_files
from facereject.outputs import SortedFiles, Table
from facereject.pipeline import Running
from facereject.selective import SelectivePredictor
from tools.stress.stub import Brightness, write_photos
from tools.stress.trial import Trial

_EXPECTED = (ValueError, TypeError, OSError)


def abused_api(trial: Trial, folder: Path, count: int, rng: random.Random) -> None:
    """``count`` calls of public functions with odd arguments, estimators and files."""
    warnings.simplefilter("ignore")
    write_photos(folder / "photos", 3)
    kinds = [_metric, _guarantee, _compared, _selective, _files(folder), _faces(FaceRejector.pretrained())]
    for number in range(count):
        if not trial.goes_on():
            return
        kind = kinds[number % len(kinds)]
        try:
            problem = kind(rng)
        except _EXPECTED as error:
            problem = "" if len(str(error)) > 10 else f"{type(error).__name__} says only {str(error)!r}"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        trial.check(not problem, f"call {number}: {problem}")


def _array(rng: random.Random, n: int) -> Any:
    """Numbers, mostly, and mostly ``n`` of them."""
    good = np.random.default_rng(rng.randrange(1000)).uniform(size=n)
    odd = [
        good[: n // 2],
        good[:0],
        good[:1],
        good.reshape(1, -1),
        np.column_stack([good, good]),
        np.where(good > 0.9, np.nan, good),
        np.where(good > 0.9, np.inf, good),
        -good,
        good * 1e308,
        good.astype(np.float16),
        good.astype(complex),
        good.astype(str),
        good.astype(object),
        np.ma.masked_array(good, good > 0.5),
        (good > 0.5),
        np.zeros(n),
        np.full(n, 1e-320),
        [*good[:-1].tolist(), None],
        [good.tolist(), [1]],
        None,
        "text",
        3.0,
        {},
        iter(good),
    ]
    return good if rng.random() < 0.4 else rng.choice(odd)


_NUMBERS = [0.1, 0.5, 0, 1, -1, 2, math.nan, math.inf, 1e-300, 1e300, None, "0.1", True, 0.05, 10**30, [0.1]]


def _metric(rng: random.Random) -> str:
    names = ["aurc", "eaurc", "augrc", "sele_loss", "risk_coverage_curve", "error_discard_curve", "edc_area"]
    result = getattr(metrics, rng.choice(names))(_array(rng, 40), _array(rng, 40))
    if isinstance(result, float) and math.isnan(result):
        return "the result is NaN"
    metrics.risk_at_coverage(_array(rng, 40), _array(rng, 40), rng.choice(_NUMBERS))
    metrics.coverage_at_risk(_array(rng, 40), _array(rng, 40), rng.choice(_NUMBERS))
    return ""


def _guarantee(rng: random.Random) -> str:
    found = guaranteed_risk(
        _array(rng, 60), _array(rng, 60), max_risk=rng.choice(_NUMBERS), delta=rng.choice(_NUMBERS)
    )
    return "" if found is not None else "nothing was returned"


def _compared(rng: random.Random) -> str:
    scores = {"a": _array(rng, 40), "b": _array(rng, 40)}
    compare_scores(_array(rng, 40), rng.choice([scores, scores, {}, [1], None]))
    return ""


class _Odd(LogisticRegression):
    """A classifier that now and then raises, or returns other rows than it was asked for."""

    def __init__(self, fault: str = "", C: float = 1.0) -> None:
        super().__init__(C=C)
        self.fault = fault

    def predict(self, X: Any) -> Any:
        return self._spoilt(super().predict(X))

    def predict_proba(self, X: Any) -> Any:
        return self._spoilt(super().predict_proba(X))

    def _spoilt(self, rows: Any) -> Any:
        if self.fault == "raises":
            raise RuntimeError("the network is down")
        if self.fault == "index":
            return rows[10**6]
        changed = {
            "few": rows[:-1],
            "none": None,
            "empty": rows[:0],
            "many": np.repeat(rows, 2, axis=0),
            "nan": rows * np.nan,
            "text": rows.astype(str),
            "list": rows.tolist(),
        }
        return changed.get(self.fault, rows)


def _selective(rng: random.Random) -> str:
    draw = np.random.default_rng(rng.randrange(1000))
    X, y = draw.normal(size=(60, 3)), draw.integers(0, 2, 60)
    fault = rng.choice(["", "", "raises", "index", "few", "none", "empty", "many", "nan", "text", "list"])
    odd_X = rng.choice([X, X, X, X[:5], X[:, :0], X * np.nan, X.astype(str), X.tolist(), X[0], None])
    odd_y = rng.choice([y, y, y, y[:5], y * 0, y.astype(float), y.astype(str), y + 0.5, None])
    try:
        model = SelectivePredictor(_Odd(fault)).fit(odd_X, odd_y)
        model.predict(rng.choice([X, X[:, :2], X[:0], X * np.nan, None]))
    except Exception as error:
        if "_Odd" in str(error) and error.__cause__ is not None:
            # the fault of the predictor comes through, with its name and the rows
            return ""
        if fault in ("raises", "index", "few", "none", "empty", "many") and odd_X is X and odd_y is y:
            return "" if "_Odd" in str(error) else f"the predictor is not named: {error}"
        raise
    return ""


def _files(folder: Path) -> Callable[[random.Random], str]:
    def call(rng: random.Random) -> str:
        paths = [folder / "photos", "\ud800.png", "", "a\0b", [], None, 3, [None], "x" * 5000, b"photos", "@"]
        table = folder / "t.csv"
        outputs: list[Any] = [
            table,
            "\ud800.csv",
            "",
            None,
            3,
            [],
            [table, table],
            Table("a\0.csv"),
            b"x.csv",
        ]
        outputs += [SortedFiles(str(folder / "\ud800"), None), folder / "no" / "t.csv", "x" * 5000 + ".csv"]
        runnings: list[Any] = [None, Running(overwrite=True), 3, {}]
        rejector: Any = rng.choice([Brightness(0.0), Brightness(0.0), None if rng.random() < 0.02 else 3])
        path = rng.choice([paths[0], rng.choice(paths)])
        output = rng.choice([table, rng.choice(outputs)])
        score_files(path, output, rejector=rejector, running=rng.choice(runnings))
        return ""

    return call


def _faces(rejector: FaceRejector) -> Callable[[random.Random], str]:
    def call(rng: random.Random) -> str:
        good = np.full((60, 60, 3), 90, np.uint8)
        images = [
            good,
            good[..., 0],
            good[:0],
            good[:1, :1],
            good[::2, ::-1],
            good.astype(float),
            good[..., :2],
        ]
        images += [
            good.astype(bool),
            np.asfortranarray(good),
            good.astype(np.uint16) * 300,
            None,
            "a.png",
            [1],
        ]
        points = np.random.default_rng(rng.randrange(99)).uniform(0, 60, (68, 2))
        odd = [
            points,
            points[:5],
            points * np.nan,
            points * 1e300,
            points * 0,
            points.T,
            None,
            "x",
            points - 1e6,
        ]
        image: Any = rng.choice(images)
        if rng.random() < 0.5:
            rejector(image)
        else:
            rejector.assess(image, rng.choice(odd))
        return ""

    return call
