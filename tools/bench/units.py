"""Whether percents hold away from home: intervals, the comparison of faces, a unit from 30 faces.

    python tools/bench/units.py ../shared/data/faces --cache cache

- intervals: share of the errors in their 80 % intervals, by third of the uncertainty, on photos set aside
  and, as these are few (a third has a standard error of 2 to 4 points), on the calibration faces, out of fold
- comparison: how often batches of photos set aside are called unlike the calibration faces (false alarms),
  and batches of other faces: the London Set, a data set that a model was trained without, and stand-ins made
  from photos set aside, see `tools/bench/_other_kinds.py`
- unit: mean expected over mean true error before and after `with_unit` with 30 random faces, on the others
- correction: the same with larger expected errors for atypical faces, by typicality or by what describes a
  face; it is not shipped, see results/studies.md

What was looked at: the columns that are compared were chosen when all stand-ins up to "grey" had been seen.
The margin was 0.8 at first; it was raised to 0.83 when a run of this script called LFPW, left out, unlike, so
that the silence on data sets left out is no proof. "mosaic" and "painting" were made after the columns were
chosen, and seen before the margin was raised. Priors of the unit were chosen on the first seven stand-ins.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import Ridge

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from _other_kinds import KINDS, MORE_KINDS, make_kind

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.models.calibration import Calibration
from facereject.faces.training.extract import Extractor, extract
from facereject.faces.training.options import Training
from facereject.faces.training.train import train_on_table
from tools.train.default_model import set_aside
from tools.train.london_points import _MIDDLES, points_68

ALIKE_DRAWS, DRAWS, UNIT_DRAWS, UNIT_FACES = 100, 20, 20, 30

# degraded versions of the photos set aside that intervals are measured on, and bootstrap draws over photos
INTERVAL_VERSIONS, BOOTSTRAP_DRAWS = 8, 500

# faces below this typicality count as atypical, and the most that their expected errors are multiplied by
ATYPICAL, LARGEST_FACTOR = 0.1, 1.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with 300w and london")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--model", default="default")
    parser.add_argument("--faces", type=int, default=150, help="of every stand-in")
    options = parser.parse_args()
    rejector = FaceRejector.pretrained(options.model)
    samples = FaceDataset.load(options.data / "300w")
    _, test, _, copies = set_aside(samples)
    test = [sample for i, sample in enumerate(test) if i not in copies]
    cache = options.cache

    def table_of(faces, degradations=0, seed=1):
        return extract(faces, extractor_of(rejector, degradations, seed), workers=1, cache=cache)

    held_out = table_of(test, degradations=2)
    sets = {
        "set aside, clean": held_out.rows(held_out.clean),
        "set aside, degraded": held_out.rows(~held_out.clean),
    }
    for name in KINDS | MORE_KINDS:
        folder = cache / f"kind-{name.replace(' ', '-')}"
        sets[name] = table_of(list(make_kind(name, test[: options.faces], folder)))
    print(f"model {options.model}\n")
    intervals(rejector, table_of(test, degradations=INTERVAL_VERSIONS))
    london = london_faces(rejector, options.data / "london")
    compare(rejector, sets, london)
    units(rejector, sets, london)
    correction(rejector, sets)
    without(rejector, samples, table_of)


def extractor_of(rejector, degradations, seed):
    return Extractor(
        rejector.predictor,
        rejector.detector,
        rejector.hog,
        rejector.stability,
        degradations,
        seed,
        rejector.context,
        rejector.upright_beyond,
        rejector.features.correction,
    )


def intervals(rejector, table):
    print(
        "errors in their 80 % interval, by third of the uncertainty, and in all (95 % bootstrap over photos)"
    )
    uncertainty = rejector.score(table.features)
    low, high = rejector.calibration.error_interval(uncertainty)
    inside = (table.losses >= low) & (table.losses <= high)
    # as in the calibration, clean faces count as much as degraded ones
    even = np.where(table.clean, INTERVAL_VERSIONS, 1)
    rng, n = np.random.default_rng(0), table.sample.max() + 1
    draws = [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(BOOTSTRAP_DRAWS)]
    for name, weights in (
        ("set aside, clean", table.clean * 1),
        ("set aside, degraded", ~table.clean * 1),
        ("half and half", even),
    ):
        shares = thirds(uncertainty, inside, weights)
        drawn = [thirds(uncertainty, inside, weights * times[table.sample]) for times in draws]
        ends = np.quantile(drawn, [0.025, 0.975], axis=0).T
        cells = [f"{share:5.1%} ({a:.0%} to {b:.0%})" for share, (a, b) in zip(shares, ends, strict=True)]
        print(f"{name:22s} {'   '.join(cells)}", flush=True)
    print("the same out of fold: intervals from a random half of the calibration faces, on the other half")
    halves(rejector.calibration)
    print()


def thirds(uncertainty, inside, weights):
    """Weighted share inside, by third of the uncertainty and in all."""
    order = np.argsort(uncertainty)
    weights, inside = weights[order], inside[order]
    place = np.cumsum(weights) / weights.sum()
    parts = [place <= 1 / 3, (place > 1 / 3) & (place <= 2 / 3), place > 2 / 3, place <= 1]
    return [np.average(inside[part], weights=weights[part]) for part in parts]


def halves(calibration):
    """Coverage by third over random halves, of the errors as they are and as if the faces were unseen."""
    rng, n = np.random.default_rng(0), len(calibration.losses)
    ratio = calibration.unseen_ratio if len(calibration.unseen_ratio) else np.ones(n)
    held = {"seen by the predictor": [], "as if unseen": []}
    for _ in range(UNIT_DRAWS):
        first, second = np.array_split(rng.permutation(n), 2)
        fitted = Calibration(
            calibration.losses[first], calibration.uncertainty[first], unseen_ratio=ratio[first]
        )
        second = second[np.argsort(calibration.uncertainty[second])]
        low, high = fitted.error_interval(calibration.uncertainty[second])
        unseen = calibration.losses[second]
        for name, losses in zip(held, (unseen / ratio[second], unseen), strict=True):
            inside = (losses >= low) & (losses <= high)
            held[name].append([part.mean() for part in (*np.array_split(inside, 3), inside)])
    for name, shares in held.items():
        cells = "   ".join(f"{share:5.1%}" for share in np.mean(shares, axis=0))
        print(f"{name:22s} {cells}", flush=True)


def show_coverage(name, rejector, table):
    show_thirds(name, rejector, table.losses, rejector.score(table.features))


def show_thirds(name, rejector, losses, uncertainty):
    low, high = rejector.calibration.error_interval(uncertainty)
    cells = []
    for rows in (*np.array_split(np.argsort(uncertainty), 3), slice(None)):
        below, above = (losses < low)[rows].mean(), (losses > high)[rows].mean()
        cells.append(f"{1 - below - above:5.1%} ({below:5.1%}, {above:5.1%})")
    print(f"{name:22s} {'   '.join(cells)}", flush=True)


def compare(rejector, sets, london):
    print(
        f"called unlike the calibration faces, of {DRAWS} random batches, of photos set aside of "
        f"{ALIKE_DRAWS}; told apart on average"
    )
    domain, rng = rejector.domain, np.random.default_rng(0)
    batches = {name: described(domain, table) for name, table in sets.items()}
    batches["set aside, both"] = np.concatenate(
        [batches[f"set aside, {kind}"] for kind in ("clean", "degraded")]
    )
    batches["London Set"] = london["description"]
    for name, rows in batches.items():
        cells = []
        for size in (size for size in (40, 100, 200) if size < len(rows)):
            draws = range(ALIKE_DRAWS if name.startswith("set aside") else DRAWS)
            found = [domain.check(rows[rng.choice(len(rows), size, replace=False)]) for _ in draws]
            alarms = np.mean([check.unlike for check in found])
            cells.append(f"{size:4d} faces: {alarms:4.0%} ({np.mean([c.told_apart for c in found]):.2f})")
        print(f"{name:22s} {len(rows):4d}   {'   '.join(cells)}", flush=True)
    print()


def correction(rejector, sets):
    """Whether larger expected errors for atypical faces, learned from other kinds, help a kind left out."""
    print(
        f"expected over true, with larger expected errors for atypical faces: typicality, below {ATYPICAL}; "
        f"as shipped; by typicality, up to {LARGEST_FACTOR} times; the same, as much as the other kinds ask "
        "for; by a regression on what describes a face, from other kinds and photos"
    )
    seen = {}
    for name, table in sets.items():
        columns = rejector.domain.columns(table.features)
        expected = rejector.calibration.expected_error(rejector.score(table.features))
        described = rejector.domain.describe(columns) / 20
        seen[name] = Seen(
            rejector.domain.typicality(columns), expected, table.losses, described, table.sample
        )
    for name, left in seen.items():
        others = [values for other, values in seen.items() if other != name]
        sizes = np.linspace(1, 1.5, 26)
        learned = sizes[np.argmin([np.mean([harm(each, size) for each in others]) for size in sizes])]
        factors = [in_typicality(left.typicality, size) for size in (1.0, LARGEST_FACTOR, learned)]
        factors.append(in_description(left, others, [seen[home] for home in list(seen)[:2]]))
        ratios = "   ".join(f"{(left.expected * each).mean() / left.losses.mean():.2f}" for each in factors)
        touched = (left.typicality < ATYPICAL).mean()
        print(f"{name:22s} {left.typicality.mean():.2f} {touched:5.0%}   {ratios}", flush=True)
    print()


class Seen(NamedTuple):
    """Faces of one kind: what the model says of them, and their errors."""

    typicality: np.ndarray
    expected: np.ndarray
    losses: np.ndarray
    described: np.ndarray
    sample: np.ndarray


def in_typicality(typicality, size):
    """1 down to the typicality that counts as atypical, ``size`` at a fifth of it and below."""
    return size ** np.clip(np.log(ATYPICAL / typicality) / np.log(5), 0, 1)


def harm(faces, size):
    """How far the ratio is off; too small an expected error counts three times."""
    expected = (faces.expected * in_typicality(faces.typicality, size)).mean()
    away = np.log(expected / faces.losses.mean())
    return max(away, -3 * away)


def in_description(left, others, homes):
    """By a ridge regression of true over expected error; 1 for nine in ten of the faces at home."""
    factor = np.ones(len(left.losses))
    for half in (0, 1):
        known = [(each, each.sample % 2 != half) for each in others]
        X = np.concatenate([regressors(each)[rows] for each, rows in known])
        y = np.concatenate([np.minimum(each.losses / each.expected, 10)[rows] for each, rows in known])
        weights = np.concatenate([each.expected[rows] / each.expected[rows].sum() for each, rows in known])
        model = Ridge(30).fit(X, y, sample_weight=weights * len(y))
        home = np.concatenate([model.predict(regressors(each)[each.sample % 2 != half]) for each in homes])
        new = left.sample % 2 == half
        predicted = model.predict(regressors(left)[new]) / np.quantile(home, 0.9)
        factor[new] = np.clip(predicted, 1, 1.5)
    return factor


def regressors(faces):
    return np.column_stack([faces.described, np.log(faces.expected)])


def described(domain, table):
    return domain.describe(domain.columns(table.features))


def units(rejector, sets, london):
    print(
        f"mean expected over mean true error: as shipped; with {UNIT_FACES} faces, on the others: mean over "
        f"{UNIT_DRAWS} draws (least, most); factor within its 95 % interval"
    )
    for name, table in sets.items():
        show_unit(name, rejector, table.losses, rejector.score(table.features))
    show_unit("London Set, by hand", rejector, london["losses"], london["uncertainty"])
    print()


def show_unit(name, rejector, losses, uncertainty):
    rng = np.random.default_rng(0)
    expected = rejector.calibration.expected_error
    ratios, held, accepted = [], [], []
    for _ in range(UNIT_DRAWS):
        order = rng.permutation(len(losses))
        own, others = order[:UNIT_FACES], order[UNIT_FACES:]
        found, unit = rejector.calibration.with_unit(losses[own], uncertainty[own])
        ratios.append(found.expected_error(uncertainty[others]).mean() / losses[others].mean())
        truth = losses[others].mean() / expected(uncertainty[others]).mean()
        held.append(unit.interval[0] <= truth <= unit.interval[1])
        good = others[np.argsort(uncertainty[others])[: len(others) // 2]]
        accepted.append(found.expected_error(uncertainty[good]).mean() / losses[good].mean())
    before = expected(uncertainty).mean() / losses.mean()
    print(
        f"{name:22s} {len(losses):4d}   {before:.2f}   {np.mean(ratios):.2f} ({min(ratios):.2f}, "
        f"{max(ratios):.2f})   {np.mean(held):4.0%}   more certain half {np.mean(accepted):.2f}",
        flush=True,
    )


def london_faces(rejector, folder):
    """Of the neutral faces: what the model says, and the error over the points that were placed by hand."""
    placed = list(_MIDDLES)
    found = {name: [] for name in ("description", "uncertainty", "losses")}
    with np.load(folder / "points189.npz") as stored:
        for name in stored.files:
            for face in rejector(folder / f"{name}.jpg")[:1]:
                points = points_68(stored[name].astype(np.float64), face.landmarks)
                away = np.linalg.norm((face.landmarks - points)[placed], axis=1)
                found["losses"].append(100 * away.mean() / np.linalg.norm(points[45] - points[36]))
                for value in ("description", "uncertainty"):
                    found[value].append(getattr(face, value))
    return {name: np.array(values) for name, values in found.items()}


def without(rejector, samples, table_of):
    """A model trained without a data set, on that data set."""
    print("trained on two data sets, on the third (clean and degraded)")
    table = table_of(list(samples), degradations=1, seed=0)
    source = np.array([sample.photo.split("/")[0] for sample in samples])
    photos, extractor = [sample.photo for sample in samples], extractor_of(rejector, 1, 0)
    for name in sorted(set(source)):
        inside = source[table.sample] != name
        model = train_on_table(table.rows(inside), photos, extractor, "compact", Training(alphas=(1.0,)))
        other = table.rows(~inside)
        show_unit(f"{name}, unit", model, other.losses, model.score(other.features))
        show_coverage(f"{name}, intervals", model, other)
        checks = [
            model.domain.check(described(model.domain, other.rows(part)))
            for part in (other.clean, ~other.clean)
        ]
        told = ", ".join(f"{check.told_apart:.2f}{' UNLIKE' * check.unlike}" for check in checks)
        print(f"{name}, told apart: clean and degraded {told}", flush=True)


if __name__ == "__main__":
    main()
