"""Whether percents hold away from home: intervals, the comparison of faces, a unit from 30 faces.

    python tools/bench/units.py ../shared/data/faces --cache cache

- intervals: share of the errors in their 80 % intervals, by third of the uncertainty, on photos set aside
  and, as these are few (a third has a standard error of 2 to 4 points), on the calibration faces, out of fold
- away: errors, ranking, expected errors, intervals and decisions on faces of other kinds
- comparison: how often batches of photos set aside are called unlike the calibration faces (false alarms),
  and batches of other faces: the London Set, a data set that a model was trained without, and stand-ins made
  from photos set aside, see `tools/bench/_other_kinds.py`
- unit: mean expected over mean true error before and after `with_unit` with 30 random faces, on the others
- unlike: the same, and intervals, with `FaceRejector.for_unlike_faces`, whose factor is learned from the
  other kinds and from photos of the fit part (`tools/train/unlike.py`)

What was looked at: the columns that are compared were chosen when all stand-ins up to "grey" had been seen.
The margin was 0.8 at first; it was raised to 0.83 when a run of this script called LFPW, left out, unlike, so
that the silence on data sets left out is no proof. "mosaic" and "painting" were made after the columns were
chosen, and seen before the margin was raised. Priors of the unit were chosen on the first seven stand-ins.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.models.calibration import Calibration
from facereject.faces.models.domain import STEPS
from facereject.faces.models.ranking import gap_closed
from facereject.faces.training.extract import Extractor, extract
from facereject.faces.training.options import Training
from facereject.faces.training.train import train_on_table
from tools.bench._other_kinds import KINDS, MORE_KINDS, make_kind
from tools.train.default_model import set_aside
from tools.train.interval_coverage import coverage_by_third
from tools.train.london_points import _MIDDLES, points_68
from tools.train.unlike import OtherKind, learn, of_table, other_kinds, show

ALIKE_DRAWS, DRAWS, UNIT_DRAWS, UNIT_FACES = 100, 20, 20, 30

# degraded versions of the photos set aside that intervals are measured on
INTERVAL_VERSIONS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with 300w and london")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--model", default="default")
    parser.add_argument("--faces", type=int, default=150, help="of every stand-in")
    options = parser.parse_args()
    rejector = FaceRejector.pretrained(options.model)
    samples = FaceDataset.load(options.data / "300w")
    fit, test, _, copies = set_aside(samples)
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
    away(rejector, sets, london)
    compare(rejector, sets, london)
    units(rejector, sets, london)
    unlike(rejector, sets, london, other_kinds(rejector, fit, cache))
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
    # as in the calibration, clean faces count as much as degraded ones
    even = np.where(table.clean, INTERVAL_VERSIONS, 1)
    for name, weights in (
        ("set aside, clean", table.clean * 1),
        ("set aside, degraded", ~table.clean * 1),
        ("half and half", even),
    ):
        thirds = coverage_by_third(rejector.calibration, table.losses, uncertainty, weights, table.sample)
        cells = [f"{share:5.1%} ({low:.0%} to {high:.0%})" for share, low, high in thirds]
        print(f"{name:22s} {'   '.join(cells)}", flush=True)
    print("the same out of fold: intervals from a random half of the calibration faces, on the other half")
    halves(rejector.calibration)
    print()


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


def away(rejector, sets, london):
    print(
        "errors, share of the gap closed from the detector's score to the true error as a ranking, mean "
        "expected over mean true error, errors in their 80 % interval, and accepted faces at the shipped "
        "target with their mean error"
    )
    for name, table in sets.items():
        uncertainty = rejector.score(table.features)
        show_away(name, rejector, table.losses, uncertainty, table.detector_scores)
    show_away("London Set, by hand", rejector, *(london[k] for k in ("losses", "uncertainty", "scores")))
    print()


def show_away(name, rejector, losses, uncertainty, scores):
    expected = rejector.calibration.expected_error(uncertainty).mean() / losses.mean()
    low, high = rejector.calibration.error_interval(uncertainty)
    inside, accepted = (losses >= low) & (losses <= high), rejector.decide(uncertainty)
    error = f"{losses[accepted].mean():5.2f} %" if accepted.any() else "    – "
    closed = gap_closed(losses, scores, uncertainty)
    print(
        f"{name:22s} {len(losses):4d}   {losses.mean():5.2f} %   {closed:4.0%}   "
        f"{expected:.2f}   {inside.mean():4.0%}   {accepted.mean():4.0%} {error}",
        flush=True,
    )


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


def unlike(rejector, sets, london, kinds):
    print(
        "mean expected over mean true error, and errors in their 80 % interval: as shipped; with "
        "`for_unlike_faces`, as learned from the other kinds, made of other photos"
    )
    for name in kinds:
        others = [each for other, each in kinds.items() if other != name]
        print(f"{name:22s} {show(rejector, learn(others), of_table(rejector, sets[name]))}", flush=True)
    expected = rejector.calibration.expected_error(london["uncertainty"])
    faces = OtherKind(london["description"] / STEPS, expected, london["losses"], london["uncertainty"])
    print(f"{'London Set, by hand':22s} {show(rejector, rejector.unlike, faces)}\n", flush=True)


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
    found = {name: [] for name in ("description", "uncertainty", "losses", "scores")}
    with np.load(folder / "points189.npz") as stored:
        for name in stored.files:
            for face in rejector(folder / f"{name}.jpg")[:1]:
                points = points_68(stored[name].astype(np.float64), face.landmarks)
                away = np.linalg.norm((face.landmarks - points)[placed], axis=1)
                found["losses"].append(100 * away.mean() / np.linalg.norm(points[45] - points[36]))
                found["scores"].append(face.detector_score)
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
