"""The photographs that the shipped models are fitted to, for choices by cross-validation among them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from facereject.faces import FaceDataset
from facereject.faces.models.compact import CompactColumns
from facereject.faces.training.extract import Extractor, FaceTable, extract
from facereject.faces.training.fit_compact import LinearFit, learn_columns, linear_on_clean
from facereject.faces.training.fit_score import cross_fit, fit_score, photo_folds
from tools.train.default_model import ALPHA, FIT_SEED, extractors, set_aside

FOLDS, CLIP = 4, 10.0


class Part(NamedTuple):
    """Rows of a model's table, how they were made, and the photograph of each, near-copies under one name."""

    name: str
    table: FaceTable
    extractor: Extractor
    photo: NDArray[np.str_]


class Columns(NamedTuple):
    """Folds of photographs, the columns learned, and those of all rows, the linear ones out of fold."""

    fold: NDArray[np.int64]
    compact: CompactColumns
    seen: NDArray[np.float32]


def options_of(description: str) -> argparse.ArgumentParser:
    """Options that all choices have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", help="folder with annotated photographs (300-W layout)")
    parser.add_argument("--cache", help="folder for features that were already computed")
    parser.add_argument("--degradations", type=int, default=12)
    parser.add_argument("--models", nargs="+", default=["default", "thorough"])
    return parser


def fit_parts(options: argparse.Namespace) -> Iterator[Part]:
    """The fit part for every model asked for; photographs set aside for the card are not looked at."""
    fit, _, group, _ = set_aside(FaceDataset.load(options.data))
    for name, extractor in extractors(options.degradations).items():
        if name in options.models:
            table = extract(fit, extractor, cache=options.cache)
            photo = np.array([group[fit[int(i)].photo] for i in table.sample])
            yield Part(name, table, extractor, photo)


def columns_out_of_fold(part: Part, seed: int = FIT_SEED) -> Columns:
    """What trees see of every row, as in training: learned from photographs of other folds."""
    table, extractor = part.table, part.extractor
    fold = photo_folds(part.photo.tolist(), FOLDS, seed)
    hog = dataclasses.replace(
        table, features=np.ascontiguousarray(table.features[:, : extractor.hog.n_features])
    )
    folded = cross_fit(hog, fold, "sele", ALPHA, CLIP)
    linear = LinearFit(fit_score(hog, "sele", ALPHA, CLIP), folded.uncertainty)
    clean = linear_on_clean(hog, fold, ALPHA, CLIP)
    return Columns(fold, *learn_columns(table, extractor.features, fold, linear, clean))
