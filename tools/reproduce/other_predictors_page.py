"""results/predictors.md: the models that come with the package on predictors they were not made for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import pearsonr, rankdata, spearmanr

from facereject.faces.models.calibration import Calibration
from facereject.metrics import aurc
from tools.reproduce import from_files
from tools.reproduce.other_predictors import DLIB, FOLDER, MESH, TRACKERS

_RESAMPLES, _DRAWS, _FACES = 200, 40, 50
_OWN = "its own confidence"

_HEAD = """\
# One score, many predictors

How well do the models that come with the package rank the errors of predictors they were **not** made for?
Nothing is trained or tuned for these predictors unless a row says so. Made by
`python -m tools.reproduce predictors`; the numbers of every face are in `raw/predictors`.

The landmarks of seven trackers on AFW are those that the authors of OpenFace published. Those of MediaPipe's
mesh and of a dlib predictor were placed here, on all photographs of 300-W set aside; the dlib predictor was
trained on the other photographs, with fewer trees than the published one, so that it has not seen these.
**Only faces that were set aside when the shipped models were trained count here** ({n_afw} of AFW, {n_all} in
all); the last table has all 337 faces of AFW, of which the models have seen four fifths with landmarks of
dlib. The further runs that `default` and `thorough` compare landmarks with are of dlib's published predictor,
whose own training photos include all of these: that flatters the two. How much is under "With a dlib that has
not seen these faces".

Models of version 0.3.0 ({models}).

Per face: the loss is the mean distance of the 68 points from the annotation in percent of the distance of the
outer eye corners. *Spearman*, *Pearson*: correlation of loss and uncertainty (Pearson: expected error).
*AuRC*: mean loss of the accepted faces over all coverages; *share* is where it lies between a random order
(0) and the order of the losses themselves (1). *AUROC*: finding losses above 8 and above 10 percent. *Unit*:
mean expected error over mean loss; 1 is right. *Off*: mean distance of expected error and mean loss over five
groups of equal size by uncertainty, in percent of the eye distance. In brackets: 95 % bootstrap intervals
over photographs.

Per landmark: expected and true error of each of the 68 points; Spearman within a face, in the mean over the
faces, and Pearson over all points of all faces.

Two rows are trained for the predictor, by the SELE risk and on the annotated faces it has here, those of a
photograph by the others (five folds): *`default`, retrained* is linear in the columns that the trees of
`default` see and in their answer; *from nothing* is linear in the 2,448 HOG values. The second falls short of
scores that were never trained for the predictor: it has a few hundred faces without degraded versions, where
they had some ten thousand rows. Published landmarks cannot be had for degraded versions; for the mesh, which
can be run, `mesh` is the model that was trained in full.
"""

_COLUMNS = "| ranked by | Spearman | Pearson | AuRC | share | AUROC > 8 % | AUROC > 10 % | unit | off |\n"
_RULE = "|---|---|---|---|---|---|---|---|---|\n"

_PER_POINT = "\n| per landmark | Spearman in a face | Pearson, all points |\n|---|---|---|\n"

_CALIBRATED = """
## After `calibrate` on {faces} faces

{faces} faces, drawn at random {draws} times, give the unit (`FaceRejector.with_calibration`); those set aside
that were not drawn test it. Of AFW too few are set aside: there the {faces} are drawn from the others. The
order of the faces, and so Spearman, AuRC and AUROC of the tables above, stay as they are.

| predictor | model | unit before | off before | Pearson before | unit after | off after | Pearson after |
|---|---|---|---|---|---|---|---|
"""

_TAIL = """
## Beside published figures

UGLLI predicts landmarks and their uncertainty together, as Gaussians, and reports Pearson correlations of
0.58 and 0.53 between uncertainty and error on 300-W. What differs: its uncertainty belongs to the network
that was trained with it, on test sets of 300-W that are not used here, and its errors are smaller and more
alike. Here predictor and score do not know each other.

## How to add a row

1. Landmarks of your predictor on faces with 68-point annotation: `(n, 68, 2)` in pixels, counted from 0, and
   its own confidence if it has one.
2. Add them to `sources` in `tools/reproduce/other_predictors.py`, as an iterator of `Placed(sample,
   points, confidence)`; faces without landmarks are left out and counted by you.
3. `python -m tools.reproduce predictors`. What was made with the same models is not computed again.

Faces of 300-W that the shipped models were trained on must not decide anything: `aside` marks the others
(`set_aside` in `tools/train/default_model.py`). Other points than 68 need a map
(`facereject.faces.landmarks.conversion`) or a model trained for them. To compare another *score* instead,
rank the same losses by it: `losses`, `aside` and `photo` of the files in `raw/predictors` are all it takes.
"""


def write(results: Path) -> Path:
    """Write the page from all numbers there are."""
    stored = [json.loads(file.read_text()) for file in sorted((results / "raw" / FOLDER).glob("*.json"))]
    order = [*TRACKERS.values(), MESH, DLIB]
    stored.sort(key=lambda one: order.index(one["predictor"]) if one["predictor"] in order else len(order))
    sizes = {one["predictor"]: sum(one["aside"]) for one in stored}
    # of every file the same, or the page would mix versions
    (models,) = {json.dumps(one["models"], sort_keys=True) for one in stored}
    text = _HEAD.format(
        models=", ".join(f"`{name}` {digest[:8]}" for name, digest in json.loads(models).items()),
        n_afw=max((n for name, n in sizes.items() if name in TRACKERS.values()), default=0),
        n_all=max((n for name, n in sizes.items() if name not in TRACKERS.values()), default=0),
    )
    text += _overview(stored, aside=True)
    for one in stored:
        text += _section(one)
    text += _CALIBRATED.format(faces=_FACES, draws=_DRAWS)
    for one in stored:
        text += _calibrated(one)
    text += "\n## All faces of AFW\n\nThe photographs are not new to the models, the landmarks are.\n"
    text += _overview([one for one in stored if one["predictor"] in TRACKERS.values()], aside=False)
    if (results / "raw" / from_files.FILE).exists():
        text += "\n" + from_files.page(results)
    path = results / "predictors.md"
    path.write_text(text + _TAIL, encoding="utf-8")
    return path


def _faces(one: dict[str, Any], aside: bool) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Losses, photographs and uncertainties by what ranks, of the faces that count."""
    rows = np.array(one["aside"]) if aside else np.ones(len(one["losses"]), dtype=bool)
    scores = {f"`{name}`": np.array(values, dtype=float)[rows] for name, values in one["uncertainty"].items()}
    scores = {name: values for name, values in scores.items() if np.isfinite(values).all()}
    scores |= {name: np.array(values)[rows] for name, values in one["trained"].items()}
    if one["own"] is not None:
        scores[_OWN] = -np.array(one["own"], dtype=float)[rows]
    return np.array(one["losses"])[rows], np.array(one["photo"])[rows], scores


def _overview(stored: list[dict[str, Any]], *, aside: bool) -> str:
    names = list(dict.fromkeys(name for one in stored for name in _faces(one, aside)[2]))
    text = f"\n| share of random to oracle | faces | mean loss | {' | '.join(names)} |\n"
    text += f"|---|---|---|{'---|' * len(names)}\n"
    shares: dict[str, list[float]] = {name: [] for name in names}
    for one in stored:
        losses, _, scores = _faces(one, aside)
        cells = []
        for name in names:
            share = _share(losses, scores[name]) if name in scores else float("nan")
            shares[name].append(share)
            cells.append("–" if np.isnan(share) else f"{share:.0%}")
        text += f"| {one['predictor']} | {len(losses)} | {losses.mean():.2f} | {' | '.join(cells)} |\n"
    means = [f"**{np.nanmean(values):.0%}**" for values in shares.values()]
    return text + f"| mean | | | {' | '.join(means)} |\n"


def _section(one: dict[str, Any]) -> str:
    losses, photo, scores = _faces(one, True)
    rows = np.array(one["aside"])
    text = f"\n## {one['predictor']}\n\n{len(losses)} faces, mean loss {losses.mean():.2f}; AuRC "
    text += f"{losses.mean():.2f} in random order, {aurc(losses, losses):.2f} by the losses themselves; "
    text += f"{(losses > 8).sum()} losses above 8 %, {(losses > 10).sum()} above 10 %.\n\n" + _COLUMNS + _RULE
    for name, score in scores.items():
        expected = one["expected"].get(name.strip("`"))
        expected = None if expected is None else np.array(expected, dtype=float)[rows]
        cells = [
            _with_interval(lambda i, s=score: spearmanr(losses[i], s[i]).statistic, photo),
            _with_interval(lambda i, e=expected: pearsonr(losses[i], e[i]).statistic, photo)
            if expected is not None
            else f"{pearsonr(losses, score).statistic:.2f}",
            f"{aurc(losses, score):.2f}",
            _with_interval(lambda i, s=score: _share(losses[i], s[i]), photo, percent=True),
            *(_with_interval(lambda i, s=score, b=b: _auroc(losses[i] > b, s[i]), photo) for b in (8, 10)),
            "–" if expected is None else f"{expected.mean() / losses.mean():.2f}",
            "–" if expected is None else f"{_off(losses, expected, score):.2f}",
        ]
        text += f"| {name} | {' | '.join(cells)} |\n"
    text += _PER_POINT if one["per_point"] else ""
    for name, values in one["per_point"].items():
        facts = np.array(values, dtype=float)
        cells = [
            _with_interval(lambda i, f=facts: float(np.nanmean(f[i, 0])), photo),
            _with_interval(lambda i, f=facts: _pooled(f[i, 1:]), photo),
        ]
        text += f"| `{name}` | {' | '.join(cells)} |\n"
    return text


def _calibrated(one: dict[str, Any]) -> str:
    aside, losses = np.array(one["aside"]), np.array(one["losses"])
    few = aside.sum() < 2 * _FACES
    text = ""
    for name in one["uncertainty"]:
        score, before = (np.array(one[key][name], dtype=float) for key in ("uncertainty", "expected"))
        rng = np.random.default_rng(0)
        found = []
        for _ in range(_DRAWS):
            known = rng.choice(np.flatnonzero(~aside if few else aside), _FACES, replace=False)
            others = np.setdiff1d(np.flatnonzero(aside), known)
            after = Calibration(losses=losses[known], uncertainty=score[known]).expected_error(score[others])
            found.append(_reliability(losses[others], after, score[others]))
        cells = [*_reliability(losses[aside], before[aside], score[aside]), *np.mean(found, axis=0)]
        text += f"| {one['predictor']} | `{name}` | {' | '.join(f'{cell:.2f}' for cell in cells)} |\n"
    return text


def _reliability(losses: np.ndarray, expected: np.ndarray, score: np.ndarray) -> tuple[float, float, float]:
    """Unit, off and Pearson of expected errors."""
    unit = float(expected.mean() / losses.mean())
    return unit, _off(losses, expected, score), float(pearsonr(losses, expected).statistic)


def _pooled(means: np.ndarray) -> float:
    """Pearson over all points of all faces, from the means of x, y, x^2, y^2 and xy of each face."""
    x, y, xx, yy, xy = means.mean(axis=0)
    return float((xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y)))


def _share(losses: np.ndarray, score: np.ndarray) -> float:
    """Where the order lies between a random one and that of the losses."""
    random, best = losses.mean(), aurc(losses, losses)
    return float((random - aurc(losses, score)) / (random - best)) if random > best else float("nan")


def _auroc(bad: np.ndarray, score: np.ndarray) -> float:
    if bad.all() or not bad.any():
        return float("nan")
    ranks = rankdata(score)
    n = bad.sum()
    return float((ranks[bad].sum() - n * (n + 1) / 2) / (n * (len(bad) - n)))


def _off(losses: np.ndarray, expected: np.ndarray, score: np.ndarray) -> float:
    groups = np.array_split(np.argsort(score, kind="stable"), 5)
    return float(np.mean([abs(losses[g].mean() - expected[g].mean()) for g in groups]))


def _with_interval(value: Callable[[np.ndarray], float], photo: np.ndarray, *, percent: bool = False) -> str:
    rng = np.random.default_rng(0)
    names, index = np.unique(photo, return_inverse=True)
    members = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
    found = []
    for _ in range(_RESAMPLES):
        rows = np.concatenate([members[i] for i in rng.integers(len(names), size=len(names))])
        found.append(value(rows))
    if np.isnan(found).mean() > 0.5:
        return "–"
    low, high = np.nanpercentile(found, [2.5, 97.5])
    style = ".0%" if percent else ".2f"
    return f"{value(np.arange(len(photo))):{style}} ({low:{style}}–{high:{style}})"
