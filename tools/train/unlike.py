"""Teaches models how much larger the errors of faces unlike the calibration faces are.

    python -m tools.train.unlike ../shared/data/faces/300w --cache cache

Run it after `default_model` and `mesh_models`, which leave the factor out. Photos of the fit part become
images of other kinds (`tools/bench/_other_kinds.py`); kinds that the model does not call unlike are left
out. A ridge regression of true over expected errors on what describes a face, and on its expected error,
gives the factor of a batch. Its penalty, how far it is shrunk towards 1, and the spread were chosen for
`default` by leaving one kind out on these photos: that is what this script prints. A first look at the
photos set aside had shown that a regression helps once it is limited to batches called unlike.
`tools/bench/units.py` measures there, with the kind left out.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import Ridge

from facereject.faces import FaceDataset, FaceRejector
from facereject.faces.models.domain import STEPS, DomainCheck
from facereject.faces.models.unlike import UnlikeFactor, regressors
from facereject.faces.training.extract import Extractor, extract
from tools.bench._other_kinds import KINDS, MORE_KINDS, make_kind
from tools.train.default_model import PRETRAINED, TEST_SEED, set_aside

#: penalty of the regression, share of what it says that counts, standard error of the logarithm of the factor
ALPHA, SHARE, SPREAD = 300.0, 0.75, 0.15

#: photos that are made into other kinds
PHOTOS = 80

#: kinds that are not called unlike: expected errors are right or too large there
ALIKE = ("sepia", "vignette", "grey")

# a larger ratio of true to expected error counts as this
_LARGEST_RATIO = 6.0


class OtherKind(NamedTuple):
    """Faces of one kind: description in standard deviations, expected and true errors, uncertainty."""

    described: np.ndarray
    expected: np.ndarray
    losses: np.ndarray
    uncertainty: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=["default", "thorough", "mesh"])
    parser.add_argument("--output", type=Path, default=PRETRAINED)
    options = parser.parse_args()
    fit, *_ = set_aside(FaceDataset.load(options.data))
    for model in options.models:
        path = options.output / f"{model}.safetensors"
        rejector = FaceRejector.load(path)
        seen = other_kinds(rejector, fit, options.cache)
        print(f"{model}: expected over true error, errors in their 80 % interval; learned from other kinds")
        for name, kind in seen.items():
            factor = learn([seen[other] for other in seen if other != name])
            print(f"  {name:14s} {len(kind.losses):4d}   {show(rejector, factor, kind)}")
        rejector.score = dataclasses.replace(rejector.score, unlike=learn(list(seen.values())))
        rejector.save(path)


def other_kinds(rejector, fit, cache):
    """Some photos to fit, as images of every kind that the model calls unlike."""
    chosen = [fit[int(i)] for i in np.linspace(0, len(fit) - 1, PHOTOS)]
    extractor = Extractor(
        rejector.predictor,
        rejector.detector,
        rejector.hog,
        rejector.stability,
        0,
        TEST_SEED,
        rejector.context,
        rejector.upright_beyond,
        rejector.features.correction,
    )
    seen = {}
    for name in KINDS | MORE_KINDS:
        if name not in ALIKE:
            faces = list(make_kind(name, chosen, cache / f"fit-{name.replace(' ', '-')}"))
            seen[name] = of_table(rejector, extract(faces, extractor, workers=1, cache=cache))
    return seen


def of_table(rejector, table):
    """What the model says of the faces of a table."""
    domain, uncertainty = rejector.domain, rejector.score(table.features)
    described = domain.describe(domain.columns(table.features)) / STEPS
    return OtherKind(described, rejector.calibration.expected_error(uncertainty), table.losses, uncertainty)


def learn(kinds):
    """The factor from some kinds, each of which counts as much as the others."""
    X = np.concatenate([regressors(kind.described, kind.expected) for kind in kinds])
    ratios = [np.minimum(kind.losses / kind.expected, _LARGEST_RATIO) for kind in kinds]
    weights = np.concatenate([kind.expected / kind.expected.sum() for kind in kinds])
    # scikit-learn has an intercept without penalty; the last regressor is the constant
    model = Ridge(ALPHA).fit(X[:, :-1], np.concatenate(ratios), sample_weight=weights * len(X) / len(kinds))
    coef = SHARE * np.array([*model.coef_, model.intercept_ - 1])
    coef[-1] += 1
    return UnlikeFactor(coef.astype(np.float32), SPREAD)


def show(rejector, unlike, kind):
    """Expected over true error, and coverage of the intervals, before and after."""
    factor = unlike(kind.described, kind.expected)
    other = copy.copy(rejector)
    other.score = dataclasses.replace(rejector.score, unlike=unlike)
    other = other.for_unlike_faces(DomainCheck(len(kind.losses), 1.0, 0.0, factor))
    cells = []
    for calibration in (rejector.calibration, other.calibration):
        ratio = calibration.expected_error(kind.uncertainty).mean() / kind.losses.mean()
        low, high = calibration.error_interval(kind.uncertainty)
        inside = ((kind.losses >= low) & (kind.losses <= high)).mean()
        cells.append(f"{ratio:.2f} {inside:4.0%}")
    return "   ".join(cells)


if __name__ == "__main__":
    main()
